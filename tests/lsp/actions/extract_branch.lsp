//! Inside of a branch, with blanks selected; the condition goes before the `if`.
#[version = "0.0.5"]
def @f(%x: int32) {
  if ($2less(%x, 1)$3) {
    add(%x,$0 multiply(%x, 2) $1)
  } else { %x }
}
> codeAction $0..$1 {"context": {"diagnostics": [], "only": ["refactor.extract"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "let %multiply = multiply(%x, 2);\n    ",
            "range": "4:5-4:5"
          },
          {
            "newText": "%multiply",
            "range": "4:13-4:28"
          }
        ]
      }
    },
    "kind": "refactor.extract",
    "title": "Extract into `let %multiply`"
  }
]
> codeAction $2..$3 {"context": {"diagnostics": [], "only": ["refactor.extract"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "let %less = less(%x, 1);\n  ",
            "range": "3:3-3:3"
          },
          {
            "newText": "%less",
            "range": "3:7-3:18"
          }
        ]
      }
    },
    "kind": "refactor.extract",
    "title": "Extract into `let %less`"
  }
]
