//! Nothing behind digits.
def @f(%x: int32) { add(%x, 12$0) }
> completion $0
nothing
