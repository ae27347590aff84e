//! By their letters.
#[version = "0.0.5"]
def @main(%data: Tensor[(1, 3, 224, 224), float32], %w) {
  %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1], channels=32, kern$0);
  nn.relu(%0)
}
> completion $0
2 kernel_size | kernel_size=[$1] | int[] = None
2 kernel_layout | kernel_layout="${1:OIHW}" | string = "OIHW"
