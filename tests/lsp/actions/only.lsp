//! Only the kinds that are asked for.
def @f(%c: bool) { logical_and(%c, $0true) }
> codeAction $0 {"context": {"diagnostics": [], "only": ["source"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "#[version = \"0.0.5\"]\ndef @f(%c: bool) { logical_and(%c, True) }\n",
            "range": "1:1-2:1"
          }
        ]
      }
    },
    "kind": "source.fixAll.relayc",
    "title": "Fix 2 mistakes"
  }
]
