//! Graph numbers before the place.
def @f(%x: Tensor[(2), float32]) {
  %0 = nn.relu(%x);
  %1 = exp(%0);
  %2 = add(%1, %$0);
  %2
}
> completion $0
1 %1 | %1 | Tensor[(2), float32]
1 %0 | %0 | Tensor[(2), float32]
1 %x | %x | Tensor[(2), float32]
