//! Graph bindings as `let`, one or all.
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(3, 3, 3, 3), float32]) {
  %$00 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]);
  %1 = nn.relu(%0);
  %2 = nn.conv2d(%1, %w, padding=[1, 1, 1, 1]);
  add(%2, %1)
}
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.rewrite"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "let %conv",
            "range": "3:3-3:5"
          },
          {
            "newText": "%conv",
            "range": "4:16-4:18"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Name `%0` `%conv`"
  },
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "let %conv",
            "range": "3:3-3:5"
          },
          {
            "newText": "%conv",
            "range": "4:16-4:18"
          },
          {
            "newText": "let %relu",
            "range": "4:3-4:5"
          },
          {
            "newText": "%relu",
            "range": "5:18-5:20"
          },
          {
            "newText": "%relu",
            "range": "6:11-6:13"
          },
          {
            "newText": "let %conv1",
            "range": "5:3-5:5"
          },
          {
            "newText": "%conv1",
            "range": "6:7-6:9"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Turn 3 graph bindings into `let`"
  }
]
