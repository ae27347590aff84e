//! A constructor: defined, called, in patterns.
type L { Nil, $0Cons(int32, L) }
def @f(%l: L) -> L { match (%l) { Nil => Cons(1, Nil), Cons(%h, %t) => Cons(%h, @f(%t)) } }
> rename $0 "Node"
{
  "changes": {
    "file:///net.relay": [
      {
        "newText": "Node",
        "range": "1:15-1:19"
      },
      {
        "newText": "Node",
        "range": "2:42-2:46"
      },
      {
        "newText": "Node",
        "range": "2:56-2:60"
      },
      {
        "newText": "Node",
        "range": "2:72-2:76"
      }
    ]
  }
}
