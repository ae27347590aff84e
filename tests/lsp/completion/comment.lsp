//! Nothing in a comment.
def @f(%x: int32) { %x } // nn.$0
> completion $0
nothing
