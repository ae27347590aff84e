//! Behind characters of every width.
def @f(%x: Tensor[(2), float32]) { /* 𐐀ü語 */ nn.relu(%$0) }
> completion $0
1 %x | %x | Tensor[(2), float32]
