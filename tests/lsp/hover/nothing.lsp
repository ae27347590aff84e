//! Blanks mean nothing.
def @f(%x: int32) {
$0  %x
}
> hover $0
null
