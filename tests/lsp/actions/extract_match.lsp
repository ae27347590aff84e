//! In a clause, where the names of its pattern hold.
#[version = "0.0.5"]
type L { N, C(int32, L) }
def @f(%l: L) -> int32 {
  match (%l) {
    N => 0,
    C(%a, %t) => add(%a, $0@f(%t)$1),
  }
}
> codeAction $0..$1 {"context": {"diagnostics": [], "only": ["refactor.extract"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "let %f = @f(%t); ",
            "range": "6:18-6:18"
          },
          {
            "newText": "%f",
            "range": "6:26-6:32"
          }
        ]
      }
    },
    "kind": "refactor.extract",
    "title": "Extract into `let %f`"
  }
]
