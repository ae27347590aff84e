//! Arguments of a function and of a constructor by their types.
type L { Nil, Cons(int32, L) }
def @layer(%x: Tensor[(2), float32], %n: int32) { %x }
def @f(%a: Tensor[(2), float32], %b: int32, %l: L) {
  let %y = @layer(%a, %$0);
  Cons(%b, %$1)
}
> completion $0
1 %b | %b | int32
3 %l | %l | L[]
3 %a | %a | Tensor[(2), float32]
> completion $1
1 %l | %l | L[]
3 %y | %y |
3 %b | %b | int32
3 %a | %a | Tensor[(2), float32]
