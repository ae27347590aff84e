//! While the cursor moves nothing is checked: an action shows its edit when it is chosen.
#[version = "0.0.5"]
def @f(%x: int32) { let %y$0 = add(%x, 1); logical_and($1true, less(%y, 2)) }
> codeAction $0 {"context": {"diagnostics": [], "triggerKind": 2}}
[
  {
    "kind": "refactor.inline",
    "title": "Inline `%y`"
  },
  {
    "kind": "refactor.rewrite",
    "title": "Add the type `int32`"
  },
  {
    "kind": "refactor.rewrite",
    "title": "Turn the `let` into a graph binding"
  }
]
codeAction/resolve
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
          "range": "2:65-2:67"
        }
      ]
    }
  },
  "kind": "refactor.inline",
  "title": "Inline `%y`"
}
codeAction/resolve
{
  "edit": {
    "changes": {
      "file:///net.relay": [
        {
          "newText": ": int32",
          "range": "2:27-2:27"
        }
      ]
    }
  },
  "kind": "refactor.rewrite",
  "title": "Add the type `int32`"
}
codeAction/resolve
{
  "edit": {
    "changes": {
      "file:///net.relay": [
        {
          "newText": "%0",
          "range": "2:21-2:27"
        },
        {
          "newText": "%0",
          "range": "2:65-2:67"
        }
      ]
    }
  },
  "kind": "refactor.rewrite",
  "title": "Turn the `let` into a graph binding"
}
> codeAction $1 {"context": {"diagnostics": [], "triggerKind": 2}}
[
  {
    "diagnostics": [
      {
        "code": "E0204",
        "message": "there is no operator `true`\nnot an operator\nhelp: booleans are written `True` and `False`",
        "range": "2:54-2:58",
        "severity": 1,
        "source": "relayc"
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "True",
            "range": "2:54-2:58"
          }
        ]
      }
    },
    "isPreferred": true,
    "kind": "quickfix",
    "title": "booleans are written `True` and `False`"
  }
]
