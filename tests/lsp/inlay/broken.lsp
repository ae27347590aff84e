//! Hints stay where the text is understood.
#[version = "0.0.5"]
def @main(%data: Tensor[(1, 3, 224, 224), float32], %w) {
  %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
  nn.relu(%0,
}
> inlayHint
[
  {
    "kind": 1,
    "label": ": Tensor[(32, 3, 3, 3), float32]",
    "position": "2:55"
  },
  {
    "kind": 1,
    "label": " -> Tensor[(1, 32, 224, 224), float32]",
    "position": "2:56"
  },
  {
    "kind": 1,
    "label": ": Tensor[(1, 32, 224, 224), float32]",
    "position": "3:5"
  }
]
