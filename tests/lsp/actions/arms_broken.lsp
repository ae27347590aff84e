//! Beside text that is not understood.
#[version = "0.0.5"]
type L { N, C(int32) }
def @f(%l: L) -> int32 { match$0 (%l) { C(%a) => %a } }
def @g( { 1 }
> codeAction $0 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[
  {
    "diagnostics": [
      {
        "code": "E0311",
        "message": "no clause matches `N`\nit may be one of these\nnote: a `match` covers every case; `match?` may fail when it runs\nhelp: add clauses for them, or a last one for all others: `_ => { … }`",
        "range": "3:33-3:35",
        "severity": 1,
        "source": "relayc"
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": ",",
            "range": "3:50-3:50"
          },
          {
            "newText": "N => { 0 }, ",
            "range": "3:51-3:51"
          }
        ]
      }
    },
    "kind": "quickfix",
    "title": "Add 1 clause"
  }
]
