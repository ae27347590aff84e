//! Only those that mean the same.
def @f(%$0x: int32) { let %y = fn (%x: bool) { %x }; (%y, %x) }
> linkedEditingRange $0
{
  "ranges": [
    "1:8-1:10",
    "1:57-1:59"
  ],
  "wordPattern": "[%@][A-Za-z_][A-Za-z0-9_/]*"
}
