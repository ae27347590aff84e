//! A fix in text that cannot be read otherwise.
#[version = "0.0.5"]
def @f(%x: int32) {
  %$0y = add(%x, 1);
  %y
}
> codeAction $0 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[
  {
    "diagnostics": [
      {
        "code": "E0101",
        "message": "expected `let` before `%y`\nbound without `let`\nhelp: a local is bound by `let %y = …;`",
        "range": "3:3-3:5",
        "severity": 1,
        "source": "relayc"
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "let ",
            "range": "3:3-3:3"
          }
        ]
      }
    },
    "isPreferred": true,
    "kind": "quickfix",
    "title": "a local is bound by `let %y = …;`"
  }
]
