//! A `let` that is used once, from its name and from its use.
#[version = "0.0.5"]
def @f(%x: int32) {
  let %$0y = add(%x, 1);
  // twice
  multiply(%$1y, 2)
}
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.inline"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "",
            "range": "3:1-4:1"
          },
          {
            "newText": "add(%x, 1)",
            "range": "5:12-5:14"
          }
        ]
      }
    },
    "kind": "refactor.inline",
    "title": "Inline `%y`"
  }
]
> codeAction $1 {"context": {"diagnostics": [], "only": ["refactor.inline"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "",
            "range": "3:1-4:1"
          },
          {
            "newText": "add(%x, 1)",
            "range": "5:12-5:14"
          }
        ]
      }
    },
    "kind": "refactor.inline",
    "title": "Inline `%y`"
  }
]
