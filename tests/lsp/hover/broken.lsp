//! In a text with a mistake below, what is understood is shown.
#[version = "0.0.5"]
def @main(%data: Tensor[(1, 3, 224, 224), float32], %w) {
  %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
  nn.relu(%$00
}
> hover $0
4:11-4:13
```relay
%0: Tensor[(1, 32, 224, 224), float32]
```

- `1`: `%data` is declared here, line 2
- `32`: decided by `channels`, line 3
- `224`: computed by `nn.conv2d`, rule C11, line 3
- `224`: computed by `nn.conv2d`, rule C11, line 3

6.1 MiB, 43.4 M multiply-adds

1 use
