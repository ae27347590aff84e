//! Inside of a tuple that is an operand.
def @f(%a: Tensor[(2), float32]) { concatenate((%a, $0%a), axis=0) }
> signatureHelp $0
concatenate(«data», axis=0)
The tensors of the tuple one after the other along `axis`
