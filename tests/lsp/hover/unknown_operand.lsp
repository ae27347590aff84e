//! What an operator costs is not known of an operand without a type.
def @main(: Tensor[(2), float32]%data: Tensor[(1, 3, 8, 8), float32], %w) {
  %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
  nn.relu(%$00)
}
> hover $0
3:11-3:13
```relay
%0: <error>
```

1 use
