//! A type, a match and its clauses.
type L {
  Nil,
  Cons(int32, L),
}
def @f(%l: L) {
  match (%l) {
    Nil => {
      1
    },
    Cons(%h, _) => %h,
  }
}
> foldingRange
[
  {
    "endLine": 3,
    "startLine": 0
  },
  {
    "endLine": 11,
    "startLine": 4
  },
  {
    "endLine": 10,
    "startLine": 5
  }
]
