//! A comment is in what is around it.
def @f(%x: int32) { /* $0one */ %x }
> selectionRange $0
[
  {
    "parent": {
      "parent": {
        "range": "1:1-2:1"
      },
      "range": "1:1-1:35"
    },
    "range": "1:7-1:35"
  }
]
