//! Variables that fit come first.
def @f(%n: int32, %x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {
  nn.conv2d(%x, %$0
}
> completion $0
1 %w | %w | Tensor[(4, 3, 3, 3), float32]
1 %x | %x | Tensor[(1, 3, 8, 8), float32]
3 %n | %n | int32
