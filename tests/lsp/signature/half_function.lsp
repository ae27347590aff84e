//! A function whose arguments are missing, before another definition.
def @layer(%x: Tensor[(2), float32], %w) { add(%x, %w) }
def @f(%x: Tensor[(2), float32]) { @layer(%x,$0
def @g() { 1 }
> signatureHelp $0
@layer(%x: Tensor[(2), float32], «%w: _»)
