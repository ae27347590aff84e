//! The function that a brace ends.
#[version = "0.0.5"]
def @f(%x: int32) {
      add(%x,1)
}$0

def @g(%x: int32) {
    %x
}
> onTypeFormatting $0 "}"
[
  {
    "newText": "  add(%x, 1)\n",
    "range": "3:1-4:1"
  }
]
