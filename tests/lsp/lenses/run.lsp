//! Tests are run at their lines, which then say what came of it until the text changes.
def @double(%x: int32) { add(%x, %x) }
// run: @double(2) == 4
// run: @double(3) == 7
def @k() { 1 }$0
> codeLens
2:1-2:24 ▶ Run | relayc.run [{"lines":[1],"textDocument":{}}]
2:1-2:24 ▶ Run all 2 tests | relayc.run [{"lines":null,"textDocument":{}}]
3:1-3:24 ▶ Run | relayc.run [{"lines":[2],"textDocument":{}}]
> executeCommand {"command": "relayc.run", "lines": [2]}
{
  "results": [
    {
      "call": "@double(3) == 7",
      "holds": false,
      "line": 2,
      "message": "1 of 1 elements differ; worst at []: 6 instead of 7; found int32 6",
      "range": "3:1-3:24"
    }
  ]
}
> codeLens
2:1-2:24 ▶ Run | relayc.run [{"lines":[1],"textDocument":{}}]
2:1-2:24 ▶ Run all 2 tests | relayc.run [{"lines":null,"textDocument":{}}]
3:1-3:24 ✗ 1 of 1 elements differ; worst at []: 6 instead of 7; found int32 6 | relayc.run [{"lines":[2],"textDocument":{}}]
> executeCommand {"command": "relayc.run"}
{
  "results": [
    {
      "call": "@double(2) == 4",
      "holds": true,
      "line": 1,
      "range": "2:1-2:24"
    },
    {
      "call": "@double(3) == 7",
      "holds": false,
      "line": 2,
      "message": "1 of 1 elements differ; worst at []: 6 instead of 7; found int32 6",
      "range": "3:1-3:24"
    }
  ]
}
> codeLens
2:1-2:24 ✓ holds | relayc.run [{"lines":[1],"textDocument":{}}]
2:1-2:24 ▶ Run all 2 tests | relayc.run [{"lines":null,"textDocument":{}}]
3:1-3:24 ✗ 1 of 1 elements differ; worst at []: 6 instead of 7; found int32 6 | relayc.run [{"lines":[2],"textDocument":{}}]
> change $0..$0 " "
> codeLens
2:1-2:24 ▶ Run | relayc.run [{"lines":[1],"textDocument":{}}]
2:1-2:24 ▶ Run all 2 tests | relayc.run [{"lines":null,"textDocument":{}}]
3:1-3:24 ▶ Run | relayc.run [{"lines":[2],"textDocument":{}}]
