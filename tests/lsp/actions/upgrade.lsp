//! Text of an older TVM.
v0.0.4
def @f(%x: int32) {
  ad$0d(%x, 1 /* ty=int32 */)
}
> codeAction $0
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "#[version = \"0.0.5\"]\n",
            "range": "1:1-2:1"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Rewrite to today's Relay"
  }
]
