//! In parentheses where operators are written by signs, or a field is taken.
#[version = "0.0.5"]
def @f(%x: int32) { let %$0y = %x + 1; let %p$1 = (%y * 2, 3); %p.0 }
def @g(%x: Tensor[(4), float32]) { let %s$2 = split(%x, indices_or_sections=2); %s.1 }
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.inline"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "",
            "range": "2:21-2:38"
          },
          {
            "newText": "(%x + 1)",
            "range": "2:48-2:50"
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
            "range": "2:38-2:60"
          },
          {
            "newText": "(%y * 2, 3)",
            "range": "2:60-2:62"
          }
        ]
      }
    },
    "kind": "refactor.inline",
    "title": "Inline `%p`"
  }
]
> codeAction $2 {"context": {"diagnostics": [], "only": ["refactor.inline"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "",
            "range": "3:36-3:79"
          },
          {
            "newText": "(split(%x, indices_or_sections=2))",
            "range": "3:79-3:81"
          }
        ]
      }
    },
    "kind": "refactor.inline",
    "title": "Inline `%s`"
  }
]
