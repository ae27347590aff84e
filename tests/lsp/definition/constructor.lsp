//! A constructor, from a call and from a pattern.
type L { Nil, Cons(int32, L) }
def @f(%l: L) { match (%l) { N$0il => C$1ons(1, Nil), _ => %l } }
> definition $0
[
  {
    "range": "1:10-1:13"
  }
]
> definition $1
[
  {
    "range": "1:15-1:19"
  }
]
