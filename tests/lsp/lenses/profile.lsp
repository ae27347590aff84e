//! The function that runs is measured from a lens.
#[version = "0.0.5"]
def @main(%x: int32) { @f(%x) }
def @f(%x: int32) { add(%x, 1) }
> codeLens
2:5-2:10 Profile | relayc.profile [{"textDocument":{}}]
