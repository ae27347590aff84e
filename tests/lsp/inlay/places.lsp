//! Each dimension leads to where it was decided.
#[version = "0.0.5"]
def @main(%data: Tensor[(1, 3, 224, 224), float32], %w) {
  %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
  nn.relu(%0)
}
> inlayHint places
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
32: `%w` is declared here 2:53-2:55
3: `%w` is declared here 2:53-2:55
3: `%w` is declared here 2:53-2:55
3: `%w` is declared here 2:53-2:55
1: `%data` is declared here 2:11-2:51
32: decided by `channels` 3:51-3:62
224: computed by `nn.conv2d`, rule C11 3:8-3:83
224: computed by `nn.conv2d`, rule C11 3:8-3:83
