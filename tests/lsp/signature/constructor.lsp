//! The inputs of a constructor.
type L { Nil, Cons(int32, L) }
def @f(%x: int32) { Cons(%x, $0Nil) }
> signatureHelp $0
Cons(int32, «L[]»)
a constructor of `L`
