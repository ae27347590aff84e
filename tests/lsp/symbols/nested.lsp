//! Functions with parameters, types with constructors.
type L[A] { N, C(A, L[A]) }
def @main(%data: Tensor[(1, 3, 224, 224), float32], %w) {
  %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
  nn.relu(%0)
}
> documentSymbol
[
  {
    "children": [
      {
        "kind": 22,
        "name": "N",
        "range": "1:13-1:14",
        "selectionRange": "1:13-1:14"
      },
      {
        "kind": 22,
        "name": "C",
        "range": "1:16-1:26",
        "selectionRange": "1:16-1:17"
      }
    ],
    "kind": 10,
    "name": "L",
    "range": "1:1-1:28",
    "selectionRange": "1:6-1:7"
  },
  {
    "children": [
      {
        "detail": "Tensor[(1, 3, 224, 224), float32]",
        "kind": 13,
        "name": "%data",
        "range": "2:11-2:51",
        "selectionRange": "2:11-2:16"
      },
      {
        "detail": "Tensor[(32, 3, 3, 3), float32]",
        "kind": 13,
        "name": "%w",
        "range": "2:53-2:55",
        "selectionRange": "2:53-2:55"
      }
    ],
    "detail": "Tensor[(1, 32, 224, 224), float32]",
    "kind": 12,
    "name": "@main",
    "range": "2:1-5:2",
    "selectionRange": "2:5-2:10"
  }
]
