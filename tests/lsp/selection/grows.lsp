//! From the name to the text.
#[version = "0.0.5"]
def @main(%data: Tensor[(1, 3, 224, 224), float32], %w) {
  %0 = nn.conv2d(%da$0ta, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
  nn.relu(%0)
}
> selectionRange $0
[
  {
    "parent": {
      "parent": {
        "parent": {
          "parent": {
            "parent": {
              "parent": {
                "range": "1:1-6:1"
              },
              "range": "2:1-5:2"
            },
            "range": "2:10-5:2"
          },
          "range": "3:3-4:14"
        },
        "range": "3:3-3:84"
      },
      "range": "3:8-3:83"
    },
    "range": "3:18-3:23"
  }
]
