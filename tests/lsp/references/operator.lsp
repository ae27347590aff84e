//! All calls of an operator; one by a sign is no name.
def @f(%x: int32) { a$0dd(%x, add(%x, 1)) + 2 }
> references $0
[
  {
    "range": "1:21-1:24"
  },
  {
    "range": "1:29-1:32"
  },
  {
    "range": "1:41-1:42"
  }
]
