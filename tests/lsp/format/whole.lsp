//! As `relayc fmt`; only lines that differ are touched.
#[version = "0.0.5"]
def @f(%x: int32) {
    add(%x,1)
}

def @g(%x: int32) {
  %x
}
> formatting
[
  {
    "newText": "  add(%x, 1)\n",
    "range": "3:1-4:1"
  }
]
