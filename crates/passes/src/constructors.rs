//! Finds constructors that a change of types would break: those whose declared fields would have other types.

use relayc_ir::types::{Ty, Types};
use relayc_ir::{Ctor, CtorId, ExprId, ExprKind, Module, PatKind};

/// A constructor, among those that expressions mention, with a field of a type that `changed` changes.
pub(crate) fn changed_ctor(module: &mut Module, exprs: &[ExprId], mut changed: impl FnMut(&mut Types, Ty) -> Ty) -> Option<Ctor> {
    for ctor in mentioned(module, exprs) {
        let of = module.ctors[ctor].clone();
        if of.inputs.iter().any(|&input| changed(&mut module.types, input) != input) {
            return Some(of);
        }
    }
    None
}

/// The constructors that expressions name, or match.
fn mentioned(module: &Module, exprs: &[ExprId]) -> Vec<CtorId> {
    let mut found = Vec::new();
    let mut pats = Vec::new();
    for &expr in exprs {
        match module.exprs[expr].kind {
            ExprKind::Ctor(ctor) => found.push(ctor),
            ExprKind::Match { clauses, .. } => pats.extend(module.clause_items(clauses).iter().map(|clause| clause.pat)),
            _ => {}
        }
    }
    while let Some(pat) = pats.pop() {
        match module.pats[pat].kind {
            PatKind::Ctor(ctor, inside) => {
                found.push(ctor);
                pats.extend(module.sub_pats(inside));
            }
            PatKind::Tuple(inside) => pats.extend(module.sub_pats(inside)),
            PatKind::Error | PatKind::Wildcard | PatKind::Var(_) => {}
        }
    }
    found
}
