//! `let` without types as graph bindings; one with a type stays.
#[version = "0.0.5"]
def @f(%x: int32) {
  let %$0y = add(%x, 1);
  let %z: int32 = multiply(%y, 2);
  let %a = (%z, %y);
  %a.0
}
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.rewrite"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": ": int32",
            "range": "3:9-3:9"
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
            "newText": "%0",
            "range": "3:3-3:9"
          },
          {
            "newText": "%0",
            "range": "4:28-4:30"
          },
          {
            "newText": "%0",
            "range": "5:17-5:19"
          },
          {
            "newText": "%1",
            "range": "5:3-5:9"
          },
          {
            "newText": "%1",
            "range": "6:3-6:5"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Turn 2 `let`s into graph bindings"
  }
]
