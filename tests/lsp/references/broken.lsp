//! In text that is not understood in full.
def @f(%$0x: int32) { add(%x, }
def @g(%x: int32) { %x }
> references $0
[
  {
    "range": "1:8-1:10"
  },
  {
    "range": "1:25-1:27"
  }
]
