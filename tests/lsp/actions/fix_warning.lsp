//! A binding without use.
#[version = "0.0.5"]
def @f(%x: int32) { let %y$0 = add(%x, 1); %x }
> codeAction $0 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[
  {
    "diagnostics": [
      {
        "code": "W0005",
        "message": "the variable `%y` is never used\nbound here, used nowhere\nhelp: leave the `let` out, or name it `%_y`",
        "range": "2:25-2:27",
        "severity": 2,
        "source": "relayc",
        "tags": [
          1
        ]
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "%_y",
            "range": "2:25-2:27"
          }
        ]
      }
    },
    "isPreferred": true,
    "kind": "quickfix",
    "title": "leave the `let` out, or name it `%_y`"
  },
  {
    "diagnostics": [
      {
        "code": "W0005",
        "message": "the variable `%y` is never used\nbound here, used nowhere\nhelp: leave the `let` out, or name it `%_y`",
        "range": "2:25-2:27",
        "severity": 2,
        "source": "relayc",
        "tags": [
          1
        ]
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": " // allow: unused-let",
            "range": "2:46-2:46"
          }
        ]
      }
    },
    "kind": "quickfix",
    "title": "allow `unused-let` here"
  }
]
