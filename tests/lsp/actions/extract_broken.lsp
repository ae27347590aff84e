//! From a function whose end is missing.
#[version = "0.0.5"]
def @f(%x: Tensor[(2), float32]) {
  add($0nn.relu(%x)$1, %x)
> codeAction $0..$1 {"context": {"diagnostics": [], "only": ["refactor.extract"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "let %relu = nn.relu(%x);\n  ",
            "range": "3:3-3:3"
          },
          {
            "newText": "%relu",
            "range": "3:7-3:18"
          }
        ]
      }
    },
    "kind": "refactor.extract",
    "title": "Extract into `let %relu`"
  }
]
