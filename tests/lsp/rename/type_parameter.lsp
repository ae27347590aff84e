//! A type parameter, of its function only.
def @f[$0A](%x: A) -> A { %x }
def @g[A](%y: A) -> A { %y }
> rename $0 "T"
{
  "changes": {
    "file:///net.relay": [
      {
        "newText": "T",
        "range": "1:8-1:9"
      },
      {
        "newText": "T",
        "range": "1:15-1:16"
      },
      {
        "newText": "T",
        "range": "1:21-1:22"
      }
    ]
  }
}
