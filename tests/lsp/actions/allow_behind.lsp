//! What does not begin its line gets the comment behind the line; not where it would be about more, or where none can stand.
#[version = "0.0.5"]
def @f(%x: int32) {
  if (True) { let %a$0 = %x; %x } else { %x }
}
def @g(%x: int32) {
  let %b = %x; let %c$1 = %x; // allow: no-op
  let %d = %x; let %e$2 = %x; // why not
  let %f = %x; let %g$3 = %x; %x }
> codeAction $0 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[
  {
    "diagnostics": [
      {
        "code": "W0005",
        "message": "the variable `%a` is never used\nbound here, used nowhere\nhelp: leave the `let` out, or name it `%_a`",
        "range": "3:19-3:21",
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
            "newText": "%_a",
            "range": "3:19-3:21"
          }
        ]
      }
    },
    "isPreferred": true,
    "kind": "quickfix",
    "title": "leave the `let` out, or name it `%_a`"
  },
  {
    "diagnostics": [
      {
        "code": "W0005",
        "message": "the variable `%a` is never used\nbound here, used nowhere\nhelp: leave the `let` out, or name it `%_a`",
        "range": "3:19-3:21",
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
            "newText": " // allow: unused-let",
            "range": "3:44-3:44"
          }
        ]
      }
    },
    "kind": "quickfix",
    "title": "allow `unused-let` here"
  }
]
> codeAction $1 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[
  {
    "diagnostics": [
      {
        "code": "W0005",
        "message": "the variable `%c` is never used\nbound here, used nowhere\nhelp: leave the `let` out, or name it `%_c`",
        "range": "6:20-6:22",
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
            "newText": "%_c",
            "range": "6:20-6:22"
          }
        ]
      }
    },
    "isPreferred": true,
    "kind": "quickfix",
    "title": "leave the `let` out, or name it `%_c`"
  },
  {
    "diagnostics": [
      {
        "code": "W0005",
        "message": "the variable `%c` is never used\nbound here, used nowhere\nhelp: leave the `let` out, or name it `%_c`",
        "range": "6:20-6:22",
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
            "newText": ", unused-let",
            "range": "6:44-6:44"
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
        "code": "W0005",
        "message": "the variable `%e` is never used\nbound here, used nowhere\nhelp: leave the `let` out, or name it `%_e`",
        "range": "7:20-7:22",
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
            "newText": "%_e",
            "range": "7:20-7:22"
          }
        ]
      }
    },
    "isPreferred": true,
    "kind": "quickfix",
    "title": "leave the `let` out, or name it `%_e`"
  }
]
> codeAction $3 {"context": {"diagnostics": [], "only": ["quickfix"]}}
[
  {
    "diagnostics": [
      {
        "code": "W0005",
        "message": "the variable `%g` is never used\nbound here, used nowhere\nhelp: leave the `let` out, or name it `%_g`",
        "range": "8:20-8:22",
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
            "newText": "%_g",
            "range": "8:20-8:22"
          }
        ]
      }
    },
    "isPreferred": true,
    "kind": "quickfix",
    "title": "leave the `let` out, or name it `%_g`"
  }
]
