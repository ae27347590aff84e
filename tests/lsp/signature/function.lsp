//! A function of the module.
def @g(%a: int32, %b: Tensor[(2), float32]) { %b }
def @f(%x: int32) { @g(%x, $0) }
> signatureHelp $0
@g(%a: int32, «%b: Tensor[(2), float32]»)
