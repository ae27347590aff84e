//! An operator keeps its name.
def @f(%x: int32) { a$0dd(%x, %x) }
> prepareRename $0
{
  "error": "`add` is an operator of Relay: it keeps its name"
}
