//! The types of a value beside text that is not understood.
type L { Nil, Cons(int32, L) }
def @f(%$0l: L) { match (%l) { Nil => 1, 
> typeDefinition $0
[
  {
    "range": "1:6-1:7"
  }
]
