//! In text that is not understood in full.
def @f(%x: int32) { let %y = add(%$0x, ; %y }
> selectionRange $0
[
  {
    "parent": {
      "parent": {
        "parent": {
          "range": "1:1-2:1"
        },
        "range": "1:1-1:44"
      },
      "range": "1:7-1:44"
    },
    "range": "1:21-1:42"
  }
]
