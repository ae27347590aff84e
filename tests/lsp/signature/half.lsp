//! A call that nothing closes.
def @f(%x: Tensor[(2, 4), float32]) { nn.dense(%x, $0
> signatureHelp $0
nn.dense(data, «weight», units=…, out_dtype="")
`out[…, u] = sum over k of data[…, k] * weight[u, k]`: `data` is `(…, K)`, `weight` is `(units, K)`, the result is `(…, units)`
