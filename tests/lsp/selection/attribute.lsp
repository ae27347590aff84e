//! From a number in a list to the call.
def @f(%x: Tensor[(1, 3, 8, 8), float32], %w) { nn.relu(nn.conv2d(%x, %w, padding=[1, $01])) }
> selectionRange $0
[
  {
    "parent": {
      "parent": {
        "parent": {
          "parent": {
            "parent": {
              "parent": {
                "parent": {
                  "range": "1:1-2:1"
                },
                "range": "1:1-1:93"
              },
              "range": "1:7-1:93"
            },
            "range": "1:49-1:91"
          },
          "range": "1:57-1:90"
        },
        "range": "1:75-1:89"
      },
      "range": "1:83-1:89"
    },
    "range": "1:87-1:88"
  }
]
