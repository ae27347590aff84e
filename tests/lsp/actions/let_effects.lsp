//! A `let` with an effect is no graph binding: it would be computed where it is used.
#[version = "0.0.5"]
def @f(%r: ref(int32)) {
  let %$0y = ref_read(%r);
  let %z = ref_write(%r, 2);
  %y
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
  }
]
