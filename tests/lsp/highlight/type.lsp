//! A type and its constructor.
type $0L { Nil, Cons(int32, L) }
def @f(%l: L) { match (%l) { N$1il => 1, _ => 2 } }
> documentHighlight $0
[
  {
    "kind": 3,
    "range": "1:6-1:7"
  },
  {
    "kind": 2,
    "range": "1:27-1:28"
  },
  {
    "kind": 2,
    "range": "2:12-2:13"
  }
]
> documentHighlight $1
[
  {
    "kind": 3,
    "range": "1:10-1:13"
  },
  {
    "kind": 2,
    "range": "2:30-2:33"
  }
]
