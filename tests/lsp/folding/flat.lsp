//! Nothing in a text of single lines.
def @f(%x: int32) { if (less(%x, 1)) { %x } else { 2 } }
> foldingRange
[]
