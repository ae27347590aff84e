//! A call that only an older TVM wrote: today's form, and that of the whole text.
#[version = "0.0.5"]
def @f(%x: Tensor[(1, 2), float32]) {
  nn.p$0ad(%x, pad_value=1f, pad_width=[[0, 0], [1, 1]])
}
> codeAction $0
