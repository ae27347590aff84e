//! A tensor has no definition.
def @f(%$0x: Tensor[(2), float32]) { %x }
> typeDefinition $0
null
