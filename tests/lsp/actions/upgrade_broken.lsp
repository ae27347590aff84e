//! Old text that cannot be read is not rewritten.
v0.0.4
def @f(%x: int32) {
  ad$0d(%x, 1 /* ty=int32 */
}
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.rewrite"]}}
[]
