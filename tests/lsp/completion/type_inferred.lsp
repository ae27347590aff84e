//! The type that a parameter has, where it is to be written.
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: $0) { nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3]) }
def @g(%x: Tensor[(2), float32]) { let %y: $1 = nn.relu(%x); %y }
> completion $0
0 Tensor[(4, 3, 3, 3), float32] | Tensor[(4, 3, 3, 3), float32] |
0 Tensor | Tensor[(${1:1}), ${2:float32}] |
2 float64 | float64 |
2 float32 | float32 |
2 bfloat16 | bfloat16 |
2 float16 | float16 |
2 bool | bool |
2 int8 | int8 |
2 int16 | int16 |
2 int32 | int32 |
2 int64 | int64 |
2 uint8 | uint8 |
… and 4 more
> completion $1
0 Tensor[(2), float32] | Tensor[(2), float32] |
0 Tensor | Tensor[(${1:1}), ${2:float32}] |
2 float64 | float64 |
2 float32 | float32 |
2 bfloat16 | bfloat16 |
2 float16 | float16 |
2 bool | bool |
2 int8 | int8 |
2 int16 | int16 |
2 int32 | int32 |
2 int64 | int64 |
2 uint8 | uint8 |
… and 4 more
