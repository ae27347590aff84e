//! A selected expression, named after its operator.
#[version = "0.0.5"]
def @f(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {
  let %y = nn.relu($0nn.conv2d(%x, %w)$1);
  add(%y, %y)
}
> codeAction $0..$1 {"context": {"diagnostics": [], "only": ["refactor.extract"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "let %conv = nn.conv2d(%x, %w);\n  ",
            "range": "3:3-3:3"
          },
          {
            "newText": "%conv",
            "range": "3:20-3:37"
          }
        ]
      }
    },
    "kind": "refactor.extract",
    "title": "Extract into `let %conv`"
  }
]
