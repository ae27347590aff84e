//! In a function that is broken behind it.
#[version = "0.0.5"]
def @f(%x: int32) { let %$0y = add(%x, 1); multiply(%y, 2) }
def @g(%x: int32) { add(%x, ) ) }
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.inline"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "",
            "range": "2:21-2:42"
          },
          {
            "newText": "add(%x, 1)",
            "range": "2:51-2:53"
          }
        ]
      }
    },
    "kind": "refactor.inline",
    "title": "Inline `%y`"
  }
]
