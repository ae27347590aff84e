//! Nothing for what is no operator, and outside of calls.
def @f(%x: int32) { nn.nothing($0%x) }
def @g(%x: int32) { $1%x }
> signatureHelp $0
null
> signatureHelp $1
null
