//! Behind the attributes of a parameter.
#[version = "0.0.5"]
def @f(%x: Tensor[(2), float32], %y$0 {}) { add(%x, %y) }
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.rewrite"]}}
[]
