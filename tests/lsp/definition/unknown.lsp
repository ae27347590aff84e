//! Nothing of what is not defined, and of operators.
def @f(%x: int32) { a$0dd(%nothin$1g, %x) }
> definition $0
null
> definition $1
null
