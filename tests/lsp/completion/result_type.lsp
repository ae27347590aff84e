//! Behind an arrow.
def @f(%x: int32) -> T$0 { %x }
> completion $0
0 Tensor | Tensor[(${1:1}), ${2:float32}] |
2 float64 | float64 |
2 float32 | float32 |
2 bfloat16 | bfloat16 |
2 float16 | float16 |
2 int8 | int8 |
2 int16 | int16 |
2 int32 | int32 |
2 int64 | int64 |
2 uint8 | uint8 |
2 uint16 | uint16 |
2 uint32 | uint32 |
… and 1 more
