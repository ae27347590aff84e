//! A number refers to nothing.
def @f(%x: int32) { add(%x, 1$02) }
> references $0
null
