//! No name, no highlight.
def @f(%x: int32) { $0{ %x } }
> documentHighlight $0
null
