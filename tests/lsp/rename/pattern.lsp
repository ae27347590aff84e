//! A variable of a pattern.
type L { Nil, Cons(int32, L) }
def @f(%l: L, %a: int32) { match (%l) { Nil => %a, Cons(%$0h, _) => add(%h, %a) } }
> rename $0 "head"
{
  "changes": {
    "file:///net.relay": [
      {
        "newText": "%head",
        "range": "2:57-2:59"
      },
      {
        "newText": "%head",
        "range": "2:71-2:73"
      }
    ]
  }
}
> rename $0 "%a"
{
  "error": "`%h` cannot become `%a`: the name has a meaning here already: `%a` in line 2 would mean something else"
}
