//! Functions, types and constructors.
type $1L { N, $2C(L) }
def @$0g(%a: L) -> L { C(%a) }
def @f() { @g(N) }
> rename $0 "helper"
{
  "changes": {
    "file:///net.relay": [
      {
        "newText": "@helper",
        "range": "2:5-2:7"
      },
      {
        "newText": "@helper",
        "range": "3:12-3:14"
      }
    ]
  }
}
> rename $1 "List"
{
  "changes": {
    "file:///net.relay": [
      {
        "newText": "List",
        "range": "1:6-1:7"
      },
      {
        "newText": "List",
        "range": "1:15-1:16"
      },
      {
        "newText": "List",
        "range": "2:12-2:13"
      },
      {
        "newText": "List",
        "range": "2:18-2:19"
      }
    ]
  }
}
> rename $2 "Cons"
{
  "changes": {
    "file:///net.relay": [
      {
        "newText": "Cons",
        "range": "1:13-1:14"
      },
      {
        "newText": "Cons",
        "range": "2:22-2:23"
      }
    ]
  }
}
