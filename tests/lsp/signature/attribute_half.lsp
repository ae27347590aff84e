//! An attribute that is being written, out of order.
def @f(%x: Tensor[(1, 3, 8, 8), float32], %w) { nn.conv2d(%x, %w, groups=1, strides=[1, $0
> signatureHelp $0
nn.conv2d(data, weight, «strides=[1, 1]», padding=[0, 0], dilation=[1, 1], groups=1, channels=None, kernel_size=None, data_layout="NCHW", kernel_layout="OIHW", out_layout="", out_dtype="")
In the layouts NCHW and OIHW: `out[n, o, y, x] = sum over i, h, w of data[n, g * I + i, y * strides[0] + h * dilation[0] - top, x * strides[1] + w * dilation[1] - left] * weight[o, i, h, w]`, where `g` is the group of `o` and padding is 0
