//! Not where a value would be computed twice, at each call of a function, or after an effect.
#[version = "0.0.5"]
def @twice(%x: int32) { let %$0y = add(%x, 1); multiply(%y, %y) }
def @calls(%x: int32) { let %$1y = add(%x, 1); fn (%a: int32) { add(%a, %y) } }
def @effect(%r: ref(int32)) { let %$2y = ref_read(%r); let %z = ref_write(%r, 1); (%y, %z) }
> codeAction $0 {"context": {"diagnostics": [], "only": ["refactor.inline"]}}
[]
> codeAction $1 {"context": {"diagnostics": [], "only": ["refactor.inline"]}}
[]
> codeAction $2 {"context": {"diagnostics": [], "only": ["refactor.inline"]}}
[]
