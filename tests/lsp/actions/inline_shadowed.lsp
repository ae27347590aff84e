//! Not where a name of the value means something else.
#[version = "0.0.5"]
type L { N, C(int32) }
def @f(%x: int32, %l: L) {
  let %$0y = add(%x, 1);
  match (%l) { N => 0, C(%x) => multiply(%y, %x) }
}
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.inline"]}}
[]
