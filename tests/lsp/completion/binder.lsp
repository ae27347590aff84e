//! A name that is bound is the author's.
def @f(%x: int32) { let %$0 = 1; %x }
def @$1
> completion $0
nothing
> completion $1
nothing
