//! What type parameters of functions are at calls.

use relayc_ir::types::{Ty, TyData, Types};
use rustc_hash::FxHashSet;

/// The types that stand where types with parameters have these: from pairs of a type of a function and that at its call. A parameter
/// may be found more than once.
pub(crate) fn matched(types: &Types, params: &[Ty], mut pairs: Vec<(Ty, Ty)>) -> Vec<(Ty, Ty)> {
    let mut found = Vec::new();
    let mut seen: FxHashSet<(Ty, Ty)> = FxHashSet::default();
    while let Some((formal, actual)) = pairs.pop() {
        if !types.has_param(formal) || !seen.insert((formal, actual)) {
            continue;
        }
        if params.contains(&formal) {
            found.push((formal, actual));
            continue;
        }
        // A function with type parameters of its own says nothing.
        if matches!(types.data(actual), TyData::Fn { type_params, .. } if !type_params.is_empty()) {
            continue;
        }
        let (mut formals, mut actuals) = (Vec::new(), Vec::new());
        types.children(formal, &mut formals);
        types.children(actual, &mut actuals);
        if formals.len() == actuals.len() {
            pairs.extend(formals.into_iter().zip(actuals));
        }
    }
    found
}
