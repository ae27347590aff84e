//! Not half an expression, an attribute, a variable, or across an effect.
#[version = "0.0.5"]
def @f(%x: Tensor[(2, 2), float32]) { nn.softmax($0nn.relu(%x)$1, axis=$2-1$3) }
def @g(%r: ref(int32)) { (ref_write(%r, 1), $4ref_read(%r)$5, $6%r$7) }
> codeAction $1..$2 {"context": {"diagnostics": [], "only": ["refactor.extract"]}}
[]
> codeAction $2..$3 {"context": {"diagnostics": [], "only": ["refactor.extract"]}}
[]
> codeAction $4..$5 {"context": {"diagnostics": [], "only": ["refactor.extract"]}}
[]
> codeAction $6..$7 {"context": {"diagnostics": [], "only": ["refactor.extract"]}}
[]
