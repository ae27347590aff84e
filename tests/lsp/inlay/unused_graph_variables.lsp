//! What nothing uses yet has a type, unless it is wrong.
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) {
  %0 = nn.dense(%x, %w, units=4);
  %1 = split(%0, indices_or_sections=2, axis=1);
  %2 = nn.dense(%0, %w, units=4);
  let %f = fn (%y) { nn.relu(%y) };
  %3 = %f(%1.0);
  exp(%x)
}
> inlayHint
[
  {
    "kind": 1,
    "label": " -> Tensor[(1, 8), float32]",
    "position": "2:68"
  },
  {
    "kind": 1,
    "label": ": Tensor[(1, 4), float32]",
    "position": "3:5"
  },
  {
    "kind": 1,
    "label": ": (Tensor[(1, 2), float32], Tensor[(1, 2), float32])",
    "position": "4:5"
  }
]
