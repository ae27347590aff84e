//! A clause that takes a constructor in part leaves the rest.
#[version = "0.0.5"]
type L { N, C(int32, L) }
def @f(%l: L) { match$0 (%l) { N => (0, N), C(%a, N) => (%a, %l), } }
> codeAction $0 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[
  {
    "diagnostics": [
      {
        "code": "E0311",
        "message": "no clause matches `C(_, C(_, _))`\nit may be one of these\nnote: a `match` covers every case; `match?` may fail when it runs\nhelp: add clauses for them, or a last one for all others: `_ => { … }`",
        "range": "3:24-3:26",
        "severity": 1,
        "source": "relayc"
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "C(%a1, %a2) => { (0, N) }, ",
            "range": "3:65-3:65"
          }
        ]
      }
    },
    "kind": "quickfix",
    "title": "Add 1 clause"
  }
]
