//! Comments that allow nothing, and names that are no lints.
#[version = "0.0.5"]
def @f(%x: int32) {
  // allow: unused$0-let
  let %y = add(%x, 1);
  let %z = add(%y, 1); // allow: unused-parameter,$1 unused-grph-variable$2
  // allow: unused-parameter$3, unused-let
  let %unused = add(%z, 1);
  %z
}
> codeAction $0 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[
  {
    "diagnostics": [
      {
        "code": "W0020",
        "message": "`unused-let` is not reported here\nallows nothing\nhelp: leave it out",
        "range": "3:13-3:23",
        "severity": 2,
        "source": "relayc"
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "",
            "range": "3:1-4:1"
          }
        ]
      }
    },
    "isPreferred": true,
    "kind": "quickfix",
    "title": "leave it out"
  }
]
> codeAction $1 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[]
> codeAction $2 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[
  {
    "diagnostics": [
      {
        "code": "W0019",
        "message": "there is no lint `unused-grph-variable`\nunknown\nhelp: write `unused-graph-variable`",
        "range": "5:52-5:72",
        "severity": 2,
        "source": "relayc"
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "unused-graph-variable",
            "range": "5:52-5:72"
          }
        ]
      }
    },
    "isPreferred": true,
    "kind": "quickfix",
    "title": "write `unused-graph-variable`"
  }
]
> codeAction $3 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[
  {
    "diagnostics": [
      {
        "code": "W0020",
        "message": "`unused-parameter` is not reported here\nallows nothing\nhelp: leave it out",
        "range": "6:13-6:29",
        "severity": 2,
        "source": "relayc"
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "",
            "range": "6:13-6:31"
          }
        ]
      }
    },
    "isPreferred": true,
    "kind": "quickfix",
    "title": "leave it out"
  }
]
