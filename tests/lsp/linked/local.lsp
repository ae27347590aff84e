//! The mentions that are typed over together.
def @f(%$0x: int32) { add(%x, %x) }
> linkedEditingRange $0
{
  "ranges": [
    "1:8-1:10",
    "1:25-1:27",
    "1:29-1:31"
  ],
  "wordPattern": "[%@][A-Za-z_][A-Za-z0-9_/]*"
}
