//! A variable is renamed where it is meant, not where another has its name.
def @f(%x: int32) { let %y = add(%$0x, 1); let %z = fn (%x: int32) { %x }; add(%y, %x) }
> prepareRename $0
{
  "placeholder": "%x",
  "range": "1:34-1:36"
}
> rename $0 "%input"
{
  "changes": {
    "file:///net.relay": [
      {
        "newText": "%input",
        "range": "1:8-1:10"
      },
      {
        "newText": "%input",
        "range": "1:34-1:36"
      },
      {
        "newText": "%input",
        "range": "1:82-1:84"
      }
    ]
  }
}
