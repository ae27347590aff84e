//! The words that an attribute takes.
def @f(%x: Tensor[(1, 3, 8, 8), float32]) { image.resize2d(%x, size=[4, 4], method="$0") }
> completion $0
1 linear | linear |
1 nearest_neighbor | nearest_neighbor |
1 cubic | cubic |
