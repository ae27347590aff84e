//! An operand that is a tuple.
def @f(%a: Tensor[(2), float32], %b: Tensor[(2), float32]) { concatenate((%a, %$0), axis=0) }
> completion $0
1 %b | %b | Tensor[(2), float32]
1 %a | %a | Tensor[(2), float32]
