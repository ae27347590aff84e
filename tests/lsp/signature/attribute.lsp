//! The attribute whose value is being written.
#[version = "0.0.5"]
def @main(%data: Tensor[(1, 3, 224, 224), float32], %w) {
  %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1], channels=$032, kernel_size=[3, 3]);
  nn.relu(%0)
}
> signatureHelp $0
nn.conv2d(data, weight, strides=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1, «channels=None», kernel_size=None, data_layout="NCHW", kernel_layout="OIHW", out_layout="", out_dtype="")
In the layouts NCHW and OIHW: `out[n, o, y, x] = sum over i, h, w of data[n, g * I + i, y * strides[0] + h * dilation[0] - top, x * strides[1] + w * dilation[1] - left] * weight[o, i, h, w]`, where `g` is the group of `o` and padding is 0
