//! Dtypes in quotes.
def @f(%x: Tensor[(2, 4), float32]) { cast(%x, dtype=$0) }
> completion $0
1 bool | "bool" |
1 int8 | "int8" |
1 int16 | "int16" |
1 int32 | "int32" |
1 int64 | "int64" |
1 uint8 | "uint8" |
1 uint16 | "uint16" |
1 uint32 | "uint32" |
1 uint64 | "uint64" |
1 float16 | "float16" |
1 bfloat16 | "bfloat16" |
1 float32 | "float32" |
… and 1 more
