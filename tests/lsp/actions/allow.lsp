//! Comments that silence a lint: above the binding, behind the line of a parameter; one more name where there is a comment.
#[version = "0.0.5"]
def @f(%x: int32, %unused$0: int32) {
  let %y$1 = add(%x, 1);
  // allow: no-op
  %0$2 = add(%x, 2);
  %x
}
> codeAction $0 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[
  {
    "diagnostics": [
      {
        "code": "W0007",
        "message": "the parameter `%unused` is never used\ndeclared here, used nowhere\nhelp: leave it out, or name it `%_unused`",
        "range": "2:19-2:33",
        "severity": 2,
        "source": "relayc",
        "tags": [
          1
        ]
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "%_unused",
            "range": "2:19-2:26"
          }
        ]
      }
    },
    "isPreferred": true,
    "kind": "quickfix",
    "title": "leave it out, or name it `%_unused`"
  },
  {
    "diagnostics": [
      {
        "code": "W0007",
        "message": "the parameter `%unused` is never used\ndeclared here, used nowhere\nhelp: leave it out, or name it `%_unused`",
        "range": "2:19-2:33",
        "severity": 2,
        "source": "relayc",
        "tags": [
          1
        ]
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": " // allow: unused-parameter",
            "range": "2:36-2:36"
          }
        ]
      }
    },
    "kind": "quickfix",
    "title": "allow `unused-parameter` here"
  }
]
> codeAction $1 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[
  {
    "diagnostics": [
      {
        "code": "W0005",
        "message": "the variable `%y` is never used\nbound here, used nowhere\nhelp: leave the `let` out, or name it `%_y`",
        "range": "3:7-3:9",
        "severity": 2,
        "source": "relayc",
        "tags": [
          1
        ]
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "%_y",
            "range": "3:7-3:9"
          }
        ]
      }
    },
    "isPreferred": true,
    "kind": "quickfix",
    "title": "leave the `let` out, or name it `%_y`"
  },
  {
    "diagnostics": [
      {
        "code": "W0005",
        "message": "the variable `%y` is never used\nbound here, used nowhere\nhelp: leave the `let` out, or name it `%_y`",
        "range": "3:7-3:9",
        "severity": 2,
        "source": "relayc",
        "tags": [
          1
        ]
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "  // allow: unused-let\n",
            "range": "3:1-3:1"
          }
        ]
      }
    },
    "kind": "quickfix",
    "title": "allow `unused-let` here"
  }
]
> codeAction $2 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[
  {
    "diagnostics": [
      {
        "code": "W0006",
        "message": "the graph variable `%0` is never used\nbound here, used nowhere\nnote: nothing computes it: a graph variable is its expression where it is used\nhelp: leave the binding out",
        "range": "5:3-5:5",
        "severity": 2,
        "source": "relayc",
        "tags": [
          1
        ]
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": ", unused-graph-variable",
            "range": "4:18-4:18"
          }
        ]
      }
    },
    "kind": "quickfix",
    "title": "allow `unused-graph-variable` here"
  }
]
