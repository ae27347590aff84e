//! Zeros of a shape.
#[version = "0.0.5"]
type L { N, C(Tensor[(2, 3), float32]) }
def @f(%l: L) { match$0 (%l) { C(%a) => %a } }
> codeAction $0 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[
  {
    "diagnostics": [
      {
        "code": "E0311",
        "message": "no clause matches `N`\nit may be one of these\nnote: a `match` covers every case; `match?` may fail when it runs\nhelp: add clauses for them, or a last one for all others: `_ => { … }`",
        "range": "3:24-3:26",
        "severity": 1,
        "source": "relayc"
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": ",",
            "range": "3:41-3:41"
          },
          {
            "newText": "N => { zeros(shape=[2, 3], dtype=\"float32\") }, ",
            "range": "3:42-3:42"
          }
        ]
      }
    },
    "kind": "quickfix",
    "title": "Add 1 clause"
  }
]
