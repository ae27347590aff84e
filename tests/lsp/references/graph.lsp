//! All mentions of a graph variable.
#[version = "0.0.5"]
def @main(%data: Tensor[(1, 3, 224, 224), float32], %w) {
  %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
  nn.relu(%$00)
}
> references $0
[
  {
    "range": "3:3-3:5"
  },
  {
    "range": "4:11-4:13"
  }
]
> documentHighlight $0
[
  {
    "kind": 3,
    "range": "3:3-3:5"
  },
  {
    "kind": 2,
    "range": "4:11-4:13"
  }
]
