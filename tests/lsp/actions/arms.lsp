//! The clauses that are missing, with values of the type that the others have.
#[version = "0.0.5"]
type Shape { Circle(float32), Rect(float32, float32), Point }
def @area(%s: Shape) -> float32 {
  match$0 (%s) {
    Circle(%r) => multiply(%r, %r)
  }
}
> codeAction $0 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[
  {
    "diagnostics": [
      {
        "code": "E0311",
        "message": "no clause matches `Point` and `Rect(_, _)`\nit may be one of these\nnote: a `match` covers every case; `match?` may fail when it runs\nhelp: add clauses for them, or a last one for all others: `_ => { … }`",
        "range": "4:10-4:12",
        "severity": 1,
        "source": "relayc"
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": ",",
            "range": "5:35-5:35"
          },
          {
            "newText": "    Rect(%a1, %a2) => { 0f },\n    Point => { 0f },\n",
            "range": "6:1-6:1"
          }
        ]
      }
    },
    "kind": "quickfix",
    "title": "Add 2 clauses"
  }
]
