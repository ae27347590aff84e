//! Functions of the module.
def @helper(%a: int32) { %a }
def @f(%x: int32) { @h$0 }
> completion $0
2 @helper | @helper(${1:%a}) |
