//! Below an unfinished binding types are shown as before, whatever is missing of it.
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) {
  let %a = $0
  let %b = nn.dense(%x, %w, units=4);
  %0 = nn.relu(%b);
  (%a, %0)
}
> inlayHint
[
  {
    "kind": 1,
    "label": ": Tensor[(1, 4), float32]",
    "position": "4:9"
  },
  {
    "kind": 1,
    "label": ": Tensor[(1, 4), float32]",
    "position": "5:5"
  }
]
> change $0..$0 "nn."
> inlayHint
[
  {
    "kind": 1,
    "label": ": Tensor[(1, 4), float32]",
    "position": "4:9"
  },
  {
    "kind": 1,
    "label": ": Tensor[(1, 4), float32]",
    "position": "5:5"
  }
]
> change $0..$0 "conv2d(%x, "
> inlayHint
[
  {
    "kind": 1,
    "label": ": Tensor[(1, 4), float32]",
    "position": "4:9"
  },
  {
    "kind": 1,
    "label": ": Tensor[(1, 4), float32]",
    "position": "5:5"
  }
]
