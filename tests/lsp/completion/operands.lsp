//! The nearest binding first, then parameters that nothing uses.
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w, %b, %fc) {
  let %conv = nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3]);
  bias$0
}
> completion $0
3 nn.bias_add | nn.bias_add(${1:%conv}, ${2:%b}$3) | nn.bias_add(data, bias, axis=1)
3 let nn.bias_add | let %bias_add = nn.bias_add(${1:%conv}, ${2:%b}$3);\n$0 | nn.bias_add(data, bias, axis=1)
