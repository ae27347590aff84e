//! A call that only an older TVM wrote: today's form, and that of the whole text.
#[version = "0.0.5"]
def @f(%x: Tensor[(1, 2), float32]) {
  nn.p$0ad(%x, pad_value=1f, pad_width=[[0, 0], [1, 1]])
}
> codeAction $0
[
  {
    "diagnostics": [
      {
        "code": "E0406",
        "message": "`nn.pad` as TVM 0.7 wrote it\nnot written so since TVM 0.8\nnote: `nn.pad(%x, pad_value=2f, pad_width=[[0, 1]])` is `nn.pad(%x, 2f, pad_width=[[0, 1]])` today\nhelp: write it as today's",
        "range": "3:3-3:9",
        "severity": 1,
        "source": "relayc"
      }
    ],
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "",
            "range": "3:12-3:26"
          },
          {
            "newText": ", 1f",
            "range": "3:12-3:12"
          }
        ]
      }
    },
    "isPreferred": true,
    "kind": "quickfix",
    "title": "write it as today's"
  },
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "  nn.pad(%x, 1f, pad_width=[[0, 0], [1, 1]])\n",
            "range": "3:1-4:1"
          }
        ]
      }
    },
    "kind": "source.fixAll.relayc",
    "title": "Fix 1 mistake"
  },
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": ", pad_mode=\"constant\"",
            "range": "3:54-3:54"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Write 1 default of `nn.pad`"
  },
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "  nn.pad(%x, 1f, pad_width=[[0, 0], [1, 1]])\n",
            "range": "3:1-4:1"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Rewrite to today's Relay"
  }
]
