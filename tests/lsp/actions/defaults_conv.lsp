//! Every default of a call with many.
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {
  nn.con$0v2d(%x, %w, padding=[1, 1, 1, 1], data_layout="NCHW")
}
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.rewrite"]}}
[
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": ", strides=[1, 1], dilation=[1, 1], groups=1, channels=None, kernel_size=None, kernel_layout=\"OIHW\", out_layout=\"\", out_dtype=\"\"",
            "range": "3:61-3:61"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Write 8 defaults of `nn.conv2d`"
  },
  {
    "edit": {
      "changes": {
        "file:///net.relay": [
          {
            "newText": "",
            "range": "3:41-3:61"
          }
        ]
      }
    },
    "kind": "refactor.rewrite",
    "title": "Leave out `data_layout=\"NCHW\"`, the default"
  }
]
