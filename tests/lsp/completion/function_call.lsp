//! A function with places for its arguments; itself, too.
def @layer(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) { add(%x, %w) }
def @main(%a: Tensor[(2), float32]) { @$0 }
> completion $0
2 @layer | @layer(${1:%x}, ${2:%w}) |
2 @main | @main(${1:%a}) |
