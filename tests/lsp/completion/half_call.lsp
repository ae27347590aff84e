//! In a call that nothing closes.
#[version = "0.0.5"]
def @f(%x: Tensor[(2, 4), float32], %n: int32) {
  let %y = nn.dense(%x, %$0
> completion $0
1 %x | %x | Tensor[(2, 4), float32]
3 %n | %n | int32
