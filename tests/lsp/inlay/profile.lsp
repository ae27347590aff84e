//! What lines take of the time, until the text changes. `relayc profile` says what stands behind `// profile:` here.
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) {
  let %a: Tensor[(1, 4), float32] = nn.dense(%x, %w, units=4);
  nn.relu(%a)$0
}
// profile: {"groups": [{"line": 3, "ms": 0.75, "share": 0.6, "bound": "compute", "of_peak": 0.5, "operators": ["nn.dense"], "kernel": "rows"}, {"line": 3, "ms": 0.25, "share": 0.2, "bound": "memory", "of_bandwidth": 0.25, "operators": ["add", "exp"], "kernel": "nest"}, {"line": 4, "ms": 0.25, "share": 0.2, "bound": "memory", "of_bandwidth": 0.5, "operators": ["nn.relu"], "kernel": "nest"}, {"line": 400, "ms": 0, "share": 0}]}
> executeCommand {"command": "relayc.profile"}
{
  "lines": [
    {
      "groups": [
        "nn.dense: 750 µs, 50 % of the peak; rows",
        "add + exp: 250 µs, 25 % of the bandwidth; nest"
      ],
      "label": "80.0 %, 1.00 ms",
      "line": 2,
      "ms": 1.0,
      "range": "3:1-3:63",
      "share": 0.8
    },
    {
      "groups": [
        "nn.relu: 250 µs, 50 % of the bandwidth; nest"
      ],
      "label": "20.0 %, 250 µs",
      "line": 3,
      "ms": 0.25,
      "range": "4:1-4:14",
      "share": 0.2
    },
    {
      "groups": [
        ": 0.00 ns, 0 % of the bandwidth; "
      ],
      "label": "0.0 %, 0.00 ns",
      "line": 399,
      "ms": 0.0,
      "range": "400:1-7:1",
      "share": 0.0
    }
  ]
}
> inlayHint
[
  {
    "kind": 1,
    "label": " -> Tensor[(1, 4), float32]",
    "position": "2:68"
  },
  {
    "label": "80.0 %, 1.00 ms",
    "paddingLeft": true,
    "position": "3:63",
    "tooltip": "nn.dense: 750 µs, 50 % of the peak; rows\nadd + exp: 250 µs, 25 % of the bandwidth; nest"
  },
  {
    "label": "20.0 %, 250 µs",
    "paddingLeft": true,
    "position": "4:14",
    "tooltip": "nn.relu: 250 µs, 50 % of the bandwidth; nest"
  }
]
> change $0..$0 " "
> inlayHint
[
  {
    "kind": 1,
    "label": " -> Tensor[(1, 4), float32]",
    "position": "2:68"
  }
]
> executeCommand {"command": "relayc.profile", "profile": {"groups": [{"line": 4, "ms": 12.5, "share": 1, "operators": ["nn.relu"]}]}}
{
  "lines": [
    {
      "groups": [
        "nn.relu: 12.5 ms, 0 % of the bandwidth; "
      ],
      "label": "100.0 %, 12.5 ms",
      "line": 3,
      "ms": 12.5,
      "range": "4:1-4:15",
      "share": 1.0
    }
  ]
}
> inlayHint
[
  {
    "kind": 1,
    "label": " -> Tensor[(1, 4), float32]",
    "position": "2:68"
  },
  {
    "label": "100.0 %, 12.5 ms",
    "paddingLeft": true,
    "position": "4:15",
    "tooltip": "nn.relu: 12.5 ms, 0 % of the bandwidth; "
  }
]
> executeCommand {"command": "relayc.profile", "profile": {"groups": []}, "textDocument": null}
{
  "lines": []
}
> inlayHint
[
  {
    "kind": 1,
    "label": " -> Tensor[(1, 4), float32]",
    "position": "2:68"
  }
]
