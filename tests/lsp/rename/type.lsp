//! A type, in its own definition, in annotations, as an argument.
type $0List[A] { Nil, Cons(A, List[A]) }
def @f(%l: List[List[int32]]) -> List[int32] { match? (%l) { Cons(%h, _) => %h } }
> prepareRename $0
{
  "placeholder": "List",
  "range": "1:6-1:10"
}
> rename $0 "Seq"
{
  "changes": {
    "file:///net.relay": [
      {
        "newText": "Seq",
        "range": "1:6-1:10"
      },
      {
        "newText": "Seq",
        "range": "1:29-1:33"
      },
      {
        "newText": "Seq",
        "range": "2:12-2:16"
      },
      {
        "newText": "Seq",
        "range": "2:17-2:21"
      },
      {
        "newText": "Seq",
        "range": "2:34-2:38"
      }
    ]
  }
}
> rename $0 "%l"
{
  "error": "`%l`: expected a name of letters, digits and `_`"
}
