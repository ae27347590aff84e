//! A long call, an element a line.
#[version = "0.0.5"]
def @main(%data: Tensor[(1, 3, 224, 224), float32], %w: Tensor[(64, 3, 7, 7), float32]) {
  nn.conv2d(%data, %w, strides=[2, 2], padding=[3, 3, 3, 3], channels=64, kernel_size=[7, 7], data_layout="NCHW")
}
> formatting
[
  {
    "newText": "  nn.conv2d(\n    %data,\n    %w,\n    strides=[2, 2],\n    padding=[3, 3, 3, 3],\n    channels=64,\n    kernel_size=[7, 7],\n    data_layout=\"NCHW\",\n  )\n",
    "range": "3:1-4:1"
  }
]
