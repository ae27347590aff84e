//! A function and its calls.
def @$0g(%a: int32) { %a }
def @f(%a: int32) { @g(@g(%a)) }
> linkedEditingRange $0
{
  "ranges": [
    "1:5-1:7",
    "2:21-2:23",
    "2:24-2:26"
  ],
  "wordPattern": "[%@][A-Za-z_][A-Za-z0-9_/]*"
}
