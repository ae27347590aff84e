//! The line breaks of a text are not changed: only lines that differ otherwise.
#[version = "0.0.5"]
def @f(%x: int32) {
    add(%x,1)
}

$0def @g(%x: int32) {
    %x
}$1
> rangeFormatting $0..$1
[
  {
    "newText": "  %x\r\n",
    "range": "7:1-8:1"
  }
]
