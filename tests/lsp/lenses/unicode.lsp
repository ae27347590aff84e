//! Lines with wide characters: a lens spans the line in the columns of the client.
def @f(%x: int32) { %x } // 𐐀
// run: @f(1) == 2 𐐀ü
> codeLens
2:1-2:23 ▶ Run | relayc.run [{"lines":[1],"textDocument":{}}]
> executeCommand {"command": "relayc.run"}
{
  "results": [
    {
      "call": "@f(1) == 2 𐐀ü",
      "holds": false,
      "line": 1,
      "message": "`𐐀ü` after the end",
      "range": "2:1-2:23"
    }
  ]
}
> codeLens
2:1-2:23 ✗ `𐐀ü` after the end | relayc.run [{"lines":[1],"textDocument":{}}]
