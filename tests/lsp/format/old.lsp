//! Text of an older TVM is not formatted, but rewritten by an action.
v0.0.4
def @f(%x: int32) {
    add(%x,1)
}
> formatting
null
