//! In text that is broken at a function and beside a test, what is understood has its lenses.
//! client: {"relayc": {"commands": ["relayc.showPicture"]}}
def @f(%x: int32) { add(%x, }
def @g(%x: int32) { %x }
// run: @g(1) ==
// run:
> codeLens
1:5-1:7 Picture | relayc.showPicture ["file:///net.relay","f"]
2:5-2:7 Picture | relayc.showPicture ["file:///net.relay","g"]
3:1-3:17 ▶ Run | relayc.run [{"lines":[2],"textDocument":{}}]
3:1-3:17 ▶ Run all 2 tests | relayc.run [{"lines":null,"textDocument":{}}]
4:1-4:8 ▶ Run | relayc.run [{"lines":[3],"textDocument":{}}]
> executeCommand {"command": "relayc.run"}
{
  "error": "E0103: `(` is never closed, line 1"
}
