//! The value of a binding above others: what is bound before it, not what follows.
def @f(%x: int32) {
  let %y = add(%x, 1);
  let %z = %$0
  let %v = add(%y, %y);
  %v
}
> completion $0
1 %y | %y | int32
1 %x | %x | int32
