//! A type parameter.
def @f[A](%x: $0A) -> A { %x }
> definition $0
[
  {
    "range": "1:8-1:9"
  }
]
