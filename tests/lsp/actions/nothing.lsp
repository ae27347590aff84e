//! Nothing to do between definitions.
#[version = "0.0.5"]
$0
def @f(%x: int32) { %x }
> codeAction $0
[]
