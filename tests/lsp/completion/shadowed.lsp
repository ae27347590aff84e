//! Of two bindings of a name in one scope the first, as TVM reads it; in a scope inside the one there.
def @f(%x: int32, %y: int32) { let %x = 2f; let %f = fn (%y: bool) { %$0 }; %x }
> completion $0
1 %y | %y | bool
1 %x | %x | int32
