//! Comments keep their places.
#[version = "0.0.5"]
def @f(%x: int32) { // first
  /* second */ add(%x,1) // third
}
> formatting
[
  {
    "newText": "  /* second */ add(%x, 1) // third\n",
    "range": "3:1-4:1"
  }
]
