//! A test whose file is not there; a folder is taken from the address of the text.
def @f(%x: int32) { %x }
// run: @f(@none.npy) == 1
// run: @f(1)
//   == 1
> executeCommand {"command": "relayc.run"}
{
  "results": [
    {
      "call": "@f(@none.npy) == 1",
      "holds": false,
      "line": 1,
      "message": "argument `%x`: cannot read `/none.npy`: no such file or folder",
      "range": "2:1-2:27"
    },
    {
      "call": "@f(1) == 1",
      "holds": true,
      "line": 2,
      "range": "3:1-3:14"
    }
  ]
}
