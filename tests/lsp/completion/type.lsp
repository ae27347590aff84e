//! Types: of the module, too.
type Tree[A] { Leaf(A), Node(Tree[A], Tree[A]) }
def @f[B](%x: $0) { %x }
> completion $0
0 Tensor | Tensor[(${1:1}), ${2:float32}] |
1 Tree | Tree[$1] |
1 B | B |
2 float64 | float64 |
2 float32 | float32 |
2 bfloat16 | bfloat16 |
2 float16 | float16 |
2 bool | bool |
2 int8 | int8 |
2 int16 | int16 |
2 int32 | int32 |
2 int64 | int64 |
… and 5 more
