//! The type of a binding.
#[version = "0.0.5"]
def @f(%x: Tensor[(2), float32]) { let %$0y = nn.relu(%x); %y }
> codeAction $0
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "",
            "range": "2:36-2:58"
          },
          {
            "newText": "nn.relu(%x)",
            "range": "2:58-2:60"
          }
        ]
      }
    },
    "kind": "refactor.inline",
    "title": "Inline `%y`"
  },
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": ": Tensor[(2), float32]",
            "range": "2:42-2:42"
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
            "range": "2:36-2:42"
          },
          {
            "newText": "%0",
            "range": "2:58-2:60"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Turn the `let` into a graph binding"
  }
]
