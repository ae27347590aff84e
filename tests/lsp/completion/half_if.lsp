//! The condition of an `if` that is being written.
def @f(%flag: bool, %n: int32) { if (%$0
> completion $0
1 %flag | %flag | bool
3 %n | %n | int32
