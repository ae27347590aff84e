//! Defaults that are written, left out; what follows stays.
#[version = "0.0.5"]
def @f(%x: Tensor[(2, 4), float32]) {
  su$0m(%x, axis=[1], keepdims=False, exclude=False)
}
def @g() { ze$1ros(dtype="", shape=[2]) }
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.rewrite"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "",
            "range": "3:19-3:35"
          },
          {
            "newText": "",
            "range": "3:35-3:50"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Leave out 2 defaults"
  }
]
> codeAction $1 {"context": {"diagnostics": [], "only": ["refactor.rewrite"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "",
            "range": "5:18-5:26"
          },
          {
            "newText": "",
            "range": "5:26-5:28"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Leave out `dtype=\"\"`, the default"
  }
]
