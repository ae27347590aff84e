//! A graph number.
def @f(%x: int32) { %0 = add(%x, 1); %1 = add(%$00, %0); add(%0, %1) }
> rename $0 "%7"
{
  "changes": {
    "file:///net.relay": [
      {
        "newText": "%7",
        "range": "1:21-1:23"
      },
      {
        "newText": "%7",
        "range": "1:47-1:49"
      },
      {
        "newText": "%7",
        "range": "1:51-1:53"
      },
      {
        "newText": "%7",
        "range": "1:60-1:62"
      }
    ]
  }
}
> rename $0 "%1"
{
  "error": "`%0` cannot become `%1`: the name has a meaning here already: `%1` in line 1 would mean something else"
}
> rename $0 "%a"
{
  "error": "`%a`: a graph variable is a number, `%7`"
}
