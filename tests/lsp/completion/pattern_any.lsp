//! Of a value without a known type, all constructors.
type L { Nil, Cons(int32) }
type M { One }
def @f(%l) { match (%l) { $0 } }
> completion $0
1 Nil | Nil => { $0 }, | L
1 Cons | Cons(${1:%a1}) => { $0 }, | L
1 One | One => { $0 }, | M
3 _ | _ => { $0 }, |
