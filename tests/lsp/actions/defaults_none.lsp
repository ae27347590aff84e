//! A call without attributes has no defaults.
#[version = "0.0.5"]
def @f(%x: Tensor[(2), float32]) { nn.re$0lu(%x) }
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.rewrite"]}}
[]
