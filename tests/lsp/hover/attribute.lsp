//! An attribute: its kind, its documentation, its default.
#[version = "0.0.5"]
def @main(%data: Tensor[(1, 3, 224, 224), float32], %w) {
  %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1], chan$0nels=32, kernel_size=[3, 3]);
  nn.relu(%0)
}
> hover $0
3:51-3:59
```relay
channels: int
```

an integer or `None` of `nn.conv2d`: The output channels; `None` takes them from the weight.

default: `None`
