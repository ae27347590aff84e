//! In a call whose program is broken elsewhere.
#[version = "0.0.5"]
def @f(%x: Tensor[(2, 4), float32]) { nn.soft$0max(%x, axis=-1) }
def @g( { 1 }
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.rewrite"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "",
            "range": "2:52-2:61"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Leave out `axis=-1`, the default"
  }
]
