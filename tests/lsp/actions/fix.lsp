//! The fix of a diagnostic, and all that are certain.
def @f(%c: bool) {
  # a comment
  logical_and(%c, $0true)
}
> codeAction $0
[
  {
    "diagnostics": [
      {
        "code": "E0204",
        "message": "there is no operator `true`\nnot an operator\nhelp: booleans are written `True` and `False`",
        "range": "3:19-3:23",
        "severity": 1,
        "source": "relayc"
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "True",
            "range": "3:19-3:23"
          }
        ]
      }
    },
    "isPreferred": true,
    "kind": "quickfix",
    "title": "booleans are written `True` and `False`"
  },
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "#[version = \"0.0.5\"]\n",
            "range": "1:1-1:1"
          },
          {
            "newText": "  // a comment\n  logical_and(%c, True)\n",
            "range": "2:1-4:1"
          }
        ]
      }
    },
    "kind": "source.fixAll.relayc",
    "title": "Fix 3 mistakes"
  }
]
