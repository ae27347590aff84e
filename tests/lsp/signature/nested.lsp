//! The innermost call.
def @f(%x: Tensor[(2, 4), float32]) { add(nn.softmax(%x, axis=$0-1), $1%x) }
> signatureHelp $0
nn.softmax(data, «axis=-1»)
`exp(x - m) / sum(exp(x - m))` with `m = max(x)`, along `axis`
> signatureHelp $1
add(lhs, «rhs»)
`lhs + rhs`, broadcast
