//! A suggestion that is not certain.
#[version = "0.0.5"]
def @f(%x: Tensor[(2), float32]) { nn.re$0lo(%x) }
> codeAction $0 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[
  {
    "diagnostics": [
      {
        "code": "E0204",
        "message": "there is no operator `nn.relo`\nnot an operator\nhelp: there is `nn.relu`",
        "range": "2:36-2:43",
        "severity": 1,
        "source": "relayc"
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "nn.relu",
            "range": "2:36-2:43"
          }
        ]
      }
    },
    "isPreferred": true,
    "kind": "quickfix",
    "title": "there is `nn.relu`"
  }
]
