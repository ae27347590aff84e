//! A layout whose quote is open.
def @f(%x: Tensor[(1, 3, 8, 8), float32], %w) { nn.conv2d(%x, %w, kernel_layout="$0
> completion $0
1 OIHW | OIHW |
1 HWIO | HWIO |
1 OHWI | OHWI |
1 HWOI | HWOI |
1 OIW | OIW |
1 OIDHW | OIDHW |
