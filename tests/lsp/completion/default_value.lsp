//! The default of a number.
def @f(%x: Tensor[(2, 4), float32]) { nn.softmax(%x, axis=$0) }
> completion $0
1 -1 | -1 |
