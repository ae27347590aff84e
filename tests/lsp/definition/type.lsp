//! The type of a value.
type L { N, C(int32) }
def @f(%x: L) { %$0x }
> typeDefinition $0
[
  {
    "range": "1:6-1:7"
  }
]
