//! The binding that a semicolon ends.
#[version = "0.0.5"]
def @f(%x: int32) {
  let %y=add(%x,1);$0
     %y
}
> onTypeFormatting $0 ";"
[
  {
    "newText": "  let %y = add(%x, 1);\n  %y\n",
    "range": "3:1-5:1"
  }
]
