//! Where it is bound, and where it is read.
def @f(%$0x: int32) { let %y = add(%x, %x); %y }
> documentHighlight $0
[
  {
    "kind": 3,
    "range": "1:8-1:10"
  },
  {
    "kind": 2,
    "range": "1:34-1:36"
  },
  {
    "kind": 2,
    "range": "1:38-1:40"
  }
]
