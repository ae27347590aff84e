//! The name of a size.
def @f(%x: Tensor[($0batch, 2), float32], %y: Tensor[(batch, 2), float32]) { add(%x, %y) }
> rename $0 "n"
{
  "changes": {
    "file:///net.relay": [
      {
        "newText": "n",
        "range": "1:20-1:25"
      },
      {
        "newText": "n",
        "range": "1:53-1:58"
      }
    ]
  }
}
