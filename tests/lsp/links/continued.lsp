//! A run line goes on in the next one.
def @main(%x: int32, %y: int32) { add(%x, %y) }
// run: @main(@x.npy,
//   @y.npy) == 3
// @not.npy
> documentLink
[
  {
    "range": "2:16-2:21",
    "target": "file:///x.npy"
  },
  {
    "range": "3:7-3:12",
    "target": "file:///y.npy"
  }
]
