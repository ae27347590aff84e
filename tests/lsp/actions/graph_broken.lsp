//! A graph number in text that is not understood in full.
#[version = "0.0.5"]
def @f(%x: Tensor[(2), float32]) {
  %$00 = nn.relu(%x);
  %1 = add(%0, ;
  %0
}
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.rewrite"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "let %relu",
            "range": "3:3-3:5"
          },
          {
            "newText": "%relu",
            "range": "4:12-4:14"
          },
          {
            "newText": "%relu",
            "range": "5:3-5:5"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Name `%0` `%relu`"
  },
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "let %relu",
            "range": "3:3-3:5"
          },
          {
            "newText": "%relu",
            "range": "4:12-4:14"
          },
          {
            "newText": "%relu",
            "range": "5:3-5:5"
          },
          {
            "newText": "let %add",
            "range": "4:3-4:5"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Turn 2 graph bindings into `let`"
  }
]
