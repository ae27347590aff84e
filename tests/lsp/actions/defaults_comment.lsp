//! A comment is not lost with a default.
#[version = "0.0.5"]
def @f(%x: Tensor[(2, 4), float32]) { nn.soft$0max(%x /* rows */, axis=-1) }
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.rewrite"]}}
[]
