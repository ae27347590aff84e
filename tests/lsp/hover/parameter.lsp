//! A parameter without a type has the one that its use decides.
#[version = "0.0.5"]
def @main(%data: Tensor[(1, 3, 224, 224), float32], %$0w) {
  %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
  nn.relu(%0)
}
> hover $0
2:53-2:55
```relay
%w: Tensor[(32, 3, 3, 3), float32]
```

3.4 KiB

1 use
