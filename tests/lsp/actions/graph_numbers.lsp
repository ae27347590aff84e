//! Numbers that are free.
#[version = "0.0.5"]
def @f(%x: int32) {
  %3 = add(%x, 1);
  let %$0y = multiply(%3, 2);
  subtract(%y, %3)
}
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.rewrite"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": ": int32",
            "range": "4:9-4:9"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Add the type `int32`"
  },
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "%4",
            "range": "4:3-4:9"
          },
          {
            "newText": "%4",
            "range": "5:12-5:14"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Turn the `let` into a graph binding"
  }
]
