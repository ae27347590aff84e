//! The constructors of the type that is matched.
type L { N, C(int32) }
type M { O }
def @f(%x: L) { match (%x) { $0 } }
> completion $0
1 N | N => { $0 }, | L
1 C | C(${1:%a1}) => { $0 }, | L
2 every case | N => { $1 },\nC(%a1) => { $2 }, | a clause for each of 2
3 O | O => { $0 }, | M
3 _ | _ => { $0 }, |
