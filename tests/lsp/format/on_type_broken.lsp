//! Nothing while the rest is not understood.
def @f(%x: int32) {
  let %y=add(%x,1);$0
  add(
> onTypeFormatting $0 ";"
null
