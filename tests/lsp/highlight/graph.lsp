//! A graph number.
def @f(%x: int32) { %0 = add(%x, 1); multiply(%$00, %0) }
> documentHighlight $0
[
  {
    "kind": 3,
    "range": "1:21-1:23"
  },
  {
    "kind": 2,
    "range": "1:47-1:49"
  },
  {
    "kind": 2,
    "range": "1:51-1:53"
  }
]
