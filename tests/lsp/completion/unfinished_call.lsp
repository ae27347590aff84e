//! In a call that nothing closes, above other bindings.
#[version = "0.0.5"]
def @f(%x: Tensor[(2, 4), float32], %n: int32) {
  let %y = nn.relu(%x);
  let %z = nn.dense(%y, %$0
  let %v = nn.relu(%y);
  nn.relu(%$1)
}
> completion $0
1 %y | %y | Tensor[(2, 4), float32]
1 %x | %x | Tensor[(2, 4), float32]
3 %n | %n | int32
> completion $1
1 %v | %v | Tensor[(2, 4), float32]
1 %z | %z |
1 %y | %y | Tensor[(2, 4), float32]
1 %n | %n | int32
1 %x | %x | Tensor[(2, 4), float32]
