//! Of two bindings in one scope the first, as TVM reads it; in a scope inside the one there.
def @f(%x: int32) { let %x = 1; let %y = fn (%x: bool) { %$0x }; add(%$1x, 2) }
> definition $0
[
  {
    "range": "1:46-1:48"
  }
]
> definition $1
[
  {
    "range": "1:8-1:10"
  }
]
