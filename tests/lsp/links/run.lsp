//! Files of run lines.
def @main(%x: int32) { %x }
// run: @main(@data/x.npy) == @y.npy
// see: @not.npy
> documentLink
[
  {
    "range": "2:16-2:26",
    "target": "file:///data/x.npy"
  },
  {
    "range": "2:32-2:37",
    "target": "file:///y.npy"
  }
]
