//! The types of parameters, one or all.
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w$0, %b) {
  nn.bias_add(nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3]), %b)
}
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.rewrite"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": ": Tensor[(4, 3, 3, 3), float32]",
            "range": "2:48-2:48"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Add the type `Tensor[(4, 3, 3, 3), float32]`"
  },
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": ": Tensor[(4, 3, 3, 3), float32]",
            "range": "2:48-2:48"
          },
          {
            "newText": ": Tensor[(4), float32]",
            "range": "2:52-2:52"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Add the types of 2 parameters"
  }
]
