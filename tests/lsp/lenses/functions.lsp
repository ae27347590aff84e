//! A client that can show pictures and passes is offered both at each function.
//! client: {"relayc": {"commands": ["relayc.showPicture", "relayc.showPass"]}}
type L { N }
def @f(%x: int32) { %x }
def @g() { @f(1) }
> codeLens
2:5-2:7 Picture | relayc.showPicture ["file:///net.relay","f"]
2:5-2:7 Passes | relayc.showPass ["file:///net.relay","f"]
3:5-3:7 Picture | relayc.showPicture ["file:///net.relay","g"]
3:5-3:7 Passes | relayc.showPass ["file:///net.relay","g"]
