//! All certain fixes of one kind.
#[version = "0.0.5"]
def @f(%c: bool) { logical_and(tr$0ue, logical_or(false, %c)) }
> codeAction $0 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[
  {
    "diagnostics": [
      {
        "code": "E0204",
        "message": "there is no operator `true`\nnot an operator\nhelp: booleans are written `True` and `False`",
        "range": "2:32-2:36",
        "severity": 1,
        "source": "relayc"
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "True",
            "range": "2:32-2:36"
          }
        ]
      }
    },
    "isPreferred": true,
    "kind": "quickfix",
    "title": "booleans are written `True` and `False`"
  },
  {
    "diagnostics": [
      {
        "code": "E0204",
        "message": "there is no operator `true`\nnot an operator\nhelp: booleans are written `True` and `False`",
        "range": "2:32-2:36",
        "severity": 1,
        "source": "relayc"
      },
      {
        "code": "E0204",
        "message": "there is no operator `false`\nnot an operator\nhelp: booleans are written `True` and `False`",
        "range": "2:49-2:54",
        "severity": 1,
        "source": "relayc"
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "True",
            "range": "2:32-2:36"
          },
          {
            "newText": "False",
            "range": "2:49-2:54"
          }
        ]
      }
    },
    "kind": "quickfix",
    "title": "Fix all 2 of E0204"
  }
]
