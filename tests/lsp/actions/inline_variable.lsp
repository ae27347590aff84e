//! What is only another name goes everywhere.
#[version = "0.0.5"]
def @f(%x: int32) { let %$0y = %x; multiply(%y, fn (%a: int32) { add(%a, %y) }(%y)) }
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.inline"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "",
            "range": "2:21-2:34"
          },
          {
            "newText": "%x",
            "range": "2:43-2:45"
          },
          {
            "newText": "%x",
            "range": "2:72-2:74"
          },
          {
            "newText": "%x",
            "range": "2:78-2:80"
          }
        ]
      }
    },
    "kind": "refactor.inline",
    "title": "Inline `%y`"
  }
]
