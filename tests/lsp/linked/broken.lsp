//! In a function that is being written.
def @f(%$0x: int32) { add(%x, multiply(%x,
> linkedEditingRange $0
{
  "ranges": [
    "1:8-1:10",
    "1:25-1:27",
    "1:38-1:40"
  ],
  "wordPattern": "[%@][A-Za-z_][A-Za-z0-9_/]*"
}
