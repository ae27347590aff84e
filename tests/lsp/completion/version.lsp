//! The version of a text, begun.
#[v$0
def @main(%x: int32) { %x }
> completion $0
1 #[version] | #[version = "0.0.5"] |
