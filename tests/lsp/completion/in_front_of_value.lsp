//! Before the value of an attribute: only its name, over all of the one that stands there.
def @f(%x: Tensor[(1, 2, 8, 8), float32], %w) {
  let %a = nn.conv2d(%x, %w, gr$0=1);
  nn.conv2d(%a, %w, strid$1s=[1, 1])
}
> completion $0
2 groups | groups | int = 1
> completion $1
3:21-3:27
2 strides | strides | int[] = [1, 1]
