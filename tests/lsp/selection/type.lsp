//! From a dimension to its type, its parameter, the function.
def @f(%x: Tensor[(2, $03), float32]) { %x }
> selectionRange $0
[
  {
    "parent": {
      "parent": {
        "parent": {
          "parent": {
            "parent": {
              "range": "1:1-2:1"
            },
            "range": "1:1-1:43"
          },
          "range": "1:7-1:43"
        },
        "range": "1:8-1:35"
      },
      "range": "1:12-1:35"
    },
    "range": "1:23-1:24"
  }
]
