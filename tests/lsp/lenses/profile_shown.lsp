//! A client that shows profiles in a way of its own is asked to.
//! client: {"relayc": {"commands": ["relayc.showProfile"]}}
#[version = "0.0.5"]
def @main(%x: int32) { %x }
> codeLens
2:5-2:10 Profile | relayc.showProfile ["file:///net.relay"]
