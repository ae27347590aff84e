//! Continuation-passing style, and the way out of it: TVM's `to_cps` and `un_cps` (`src/relay/transforms/to_cps.cc`).
//!
//! A function `(A) -> B` becomes `(A, B -> answer) -> answer`, for a type parameter `answer`: it hands its result to a function, the
//! continuation. What follows a branch or a call becomes a function literal.

pub(super) mod convert;
pub(super) mod revert;

use relayc_ir::Module;
use relayc_ir::types::{Ty, TyData};
use rustc_hash::FxHashSet;

/// Type parameters that no type of a module mentions.
struct TypeParams {
    next: u32,
}

impl TypeParams {
    fn fresh(&mut self, module: &mut Module, name: &str) -> Ty {
        self.next += 1;
        module.types.intern(TyData::Param { id: self.next - 1, name: name.into() })
    }
}

fn fresh_type_params(module: &Module) -> TypeParams {
    let of_funcs = module.funcs.iter().flat_map(|func| func.type_params.iter().copied().chain(func.ret));
    let of_vars = module.vars.iter().flat_map(|var| var.ty.into_iter().chain(var.checked_ty));
    let of_adts = module.adts.iter().flat_map(|adt| adt.params.iter().copied());
    let mut left: Vec<Ty> = of_funcs.chain(of_vars).chain(of_adts).collect();
    let mut seen: FxHashSet<Ty> = FxHashSet::default();
    let mut next = 0;
    while let Some(ty) = left.pop() {
        if !seen.insert(ty) {
            continue;
        }
        match module.types.data(ty) {
            TyData::Param { id, .. } => next = next.max(id + 1),
            TyData::Fn { type_params, .. } => left.extend(type_params),
            _ => {}
        }
        module.types.children(ty, &mut left);
    }
    TypeParams { next }
}
