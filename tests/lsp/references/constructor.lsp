//! A constructor and a type.
type $1L { Nil, $0Cons(int32, L) }
def @f(%l: L) { match (%l) { Nil => Cons(1, Nil), Cons(%h, %t) => %t } }
> references $0
[
  {
    "range": "1:15-1:19"
  },
  {
    "range": "2:37-2:41"
  },
  {
    "range": "2:51-2:55"
  }
]
> references $1
[
  {
    "range": "1:6-1:7"
  },
  {
    "range": "1:27-1:28"
  },
  {
    "range": "2:12-2:13"
  }
]
