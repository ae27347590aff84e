//! Inside of a variable, before a projection, of a dtype and of a type: all of the name is replaced.
def @f(%pair: (int32, int32), %page: Ten$2sor[(1), flo$3at32]) {
  let %a = add(%pa$0ir, 1);
  %pa$1.0
}
> completion $0
2:16-2:21
1 %page | %page | Tensor[(1), float32]
3 %pair | %pair | (int32, int32)
> completion $1
1 %page | %page | Tensor[(1), float32]
1 %pair | %pair | (int32, int32)
> completion $2
1:38-1:44
0 Tensor | Tensor |
> completion $3
1:50-1:57
1 float64 | float64 |
1 float32 | float32 |
1 float16 | float16 |
1 bfloat16 | bfloat16 |
