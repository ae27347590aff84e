//! Parameters of an entry function whose values are known become constants of its body: TVM's `bind_params_by_name`
//! (`BindParamsByName`, `src/relay/backend/utils.cc`).
//!
//! Sound because the entry is then called with these values and no others: it has so many parameters less. An entry that the
//! program itself calls may get other values there, and is left as it is.
//!
//! ```text
//! def @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) { add(%x, %w) }
//!     → def @main(%x: Tensor[(2), float32]) { add(%x, meta[relay.Constant][0]) }
//! ```

use super::build::set_ty;
use super::rewrite::rewrite;
use crate::ir::{ExprId, ExprKind, GlobalId, Module, VarId};
use crate::tensor::Tensor;
use crate::types::Ty;
use rustc_hash::FxHashMap;

/// Makes constants of the parameters of `entry` that have a value by their name, without `%`, and takes the values. The
/// module and the values are of the types of the parameters. Says whether the entry allows it.
pub fn bind_params(module: &mut Module, entry: GlobalId, mut values: FxHashMap<String, Tensor>) -> bool {
    let func = module.globals[entry].func;
    let calls_entry = |expr: &ExprId| matches!(module.exprs[*expr].kind, ExprKind::Global(global) if global == entry);
    if module.post_order(&module.roots()).iter().any(calls_entry) {
        return false;
    }
    let mut constants: FxHashMap<VarId, ExprId> = FxHashMap::default();
    for var in module.funcs[func].params.clone() {
        let (name, span) = (&module.vars[var].name, module.vars[var].span);
        if let Some(value) = values.remove(&**name) {
            let constant = module.constant(value, span);
            set_ty(module, constant, module.vars[var].ty.unwrap_or(Ty::ERROR));
            constants.insert(var, constant);
        }
    }
    module.funcs[func].params.retain(|var| !constants.contains_key(var));
    rewrite(module, |module, expr| match module.exprs[expr].kind {
        ExprKind::Var(var) => constants.get(&var).copied(),
        _ => None,
    });
    true
}
