//! A dtype in a type that nothing closes.
def @f(%x: Tensor[(1, 3), fl$0
> completion $0
1 float64 | float64 |
1 float32 | float32 |
1 float16 | float16 |
1 bfloat16 | bfloat16 |
