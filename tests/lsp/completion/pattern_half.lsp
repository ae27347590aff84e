//! A clause in a match that is half written.
type L { Nil, Cons(int32, L) }
def @f(%l: L) { match (%l) { Nil => 1, C$0
> completion $0
1 Cons | Cons(${1:%a1}, ${2:%a2}) => { $0 }, | L
