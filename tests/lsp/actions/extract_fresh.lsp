//! A name that is free; in one line.
#[version = "0.0.5"]
def @f(%add: int32) { let %add1 = 1; multiply($0%add + %add1$1, 2) }
> codeAction $0..$1 {"context": {"diagnostics": [], "only": ["refactor.extract"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "let %add2 = %add + %add1; ",
            "range": "2:38-2:38"
          },
          {
            "newText": "%add2",
            "range": "2:47-2:59"
          }
        ]
      }
    },
    "kind": "refactor.extract",
    "title": "Extract into `let %add2`"
  }
]
