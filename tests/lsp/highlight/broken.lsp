//! In a call that is half written.
def @f(%x: int32) { let %y = add(%x, 1); multiply(%$0y, %y
> documentHighlight $0
[
  {
    "kind": 3,
    "range": "1:25-1:27"
  },
  {
    "kind": 2,
    "range": "1:51-1:53"
  },
  {
    "kind": 2,
    "range": "1:55-1:57"
  }
]
