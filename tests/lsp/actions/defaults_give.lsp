//! The defaults of a call, written down.
#[version = "0.0.5"]
def @f(%x: Tensor[(2, 4), float32]) {
  nn.leaky_re$0lu(nn.soft$1max(%x))
}
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.rewrite"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": ", alpha=0.25f",
            "range": "3:31-3:31"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Write 1 default of `nn.leaky_relu`"
  }
]
> codeAction $1 {"context": {"diagnostics": [], "only": ["refactor.rewrite"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": ", axis=-1",
            "range": "3:30-3:30"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Write 1 default of `nn.softmax`"
  }
]
