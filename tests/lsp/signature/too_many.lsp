//! Past the last operand, no part is marked.
def @f(%x: Tensor[(2), float32]) { nn.relu(%x, %x, $0) }
> signatureHelp $0
nn.relu(data)
`max(x, 0)` of each element
