//! Values of attributes.
def @f(%x: Tensor[(1, 3, 8, 8), float32], %w) {
  nn.conv2d(%x, %w, data_layout="$0")
}
> completion $0
1 NCHW | NCHW |
1 NHWC | NHWC |
1 NCW | NCW |
1 NWC | NWC |
1 NCDHW | NCDHW |
1 NDHWC | NDHWC |
1 NCHW16c | NCHW16c |
