//! In text that is not understood in full.
type L { Nil, $1Cons(int32, L) }
def @f(%$0x: int32) { let %y = add(%x, 1); Cons(%y, }
def @g(%l: L) { match (%l) { Nil => 1, Cons(%h, _) => %h } }
> rename $0 "%input"
{
  "changes": {
    "file:///net.relay": [
      {
        "newText": "%input",
        "range": "2:8-2:10"
      },
      {
        "newText": "%input",
        "range": "2:34-2:36"
      }
    ]
  }
}
> rename $1 "Node"
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
        "range": "3:40-3:44"
      }
    ]
  }
}
