//! The value of a `let` without an end, with what it may use.
def @f(%x: int32) {
  let %y = add(%x, 1);
  let %z = %$0
  %y
}
> completion $0
1 %y | %y | int32
1 %x | %x | int32
