//! Before a graph binding.
#[version = "0.0.5"]
def @f(%x: Tensor[(2), float32]) {
  %0 = nn.relu(%x);
  %1 = add(%0, $0exp(%0)$1);
  %1
}
> codeAction $0..$1 {"context": {"diagnostics": [], "only": ["refactor.extract"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "let %exp = exp(%0);\n  ",
            "range": "4:3-4:3"
          },
          {
            "newText": "%exp",
            "range": "4:16-4:23"
          }
        ]
      }
    },
    "kind": "refactor.extract",
    "title": "Extract into `let %exp`"
  }
]
