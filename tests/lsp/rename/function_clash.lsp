//! A function: refused where there is another.
def @$0g(%a: int32) { %a }
def @h(%a: int32) { @g(%a) }
> rename $0 "@h"
{
  "error": "`@g` cannot become `@h`: the name has a meaning here already"
}
> rename $0 "main"
{
  "changes": {
    "file:///net.relay": [
      {
        "newText": "@main",
        "range": "1:5-1:7"
      },
      {
        "newText": "@main",
        "range": "2:21-2:23"
      }
    ]
  }
}
