//! A type is known beside text that is not understood.
#[version = "0.0.5"]
def @f(%x: Tensor[(2), float32]) {
  let %y$0 = nn.relu(%x);
  add(%y,
}
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.rewrite"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": ": Tensor[(2), float32]",
            "range": "3:9-3:9"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Add the type `Tensor[(2), float32]`"
  },
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "%0",
            "range": "3:3-3:9"
          },
          {
            "newText": "%0",
            "range": "4:7-4:9"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Turn the `let` into a graph binding"
  }
]
