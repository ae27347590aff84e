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
use rustc_hash::{FxHashMap, FxHashSet};

/// Makes constants of the parameters of `entry` that have a value by their name, without `%`, and takes the values. The
/// module and the values are of the types of the parameters. Says whether the entry allows it.
pub fn bind_params(module: &mut Module, entry: GlobalId, mut values: FxHashMap<String, Tensor>) -> bool {
    let func = module.globals[entry].func;
    if is_called(module, entry) {
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

/// The way back: constants of the entry's body that are no scalars become parameters behind those it has, one for each value
/// however often it is mentioned, called `const_0`, `const_1`, … in the order in which they are evaluated. Their values by
/// these names; none where the program calls the entry itself. The module's types are known.
pub fn unbind_params(module: &mut Module, entry: GlobalId) -> Option<Vec<(String, Tensor)>> {
    let func = module.globals[entry].func;
    if is_called(module, entry) {
        return None;
    }
    let mut taken: FxHashSet<Box<str>> = module.vars.iter().map(|var| var.name.clone()).collect();
    let (mut values, mut vars, mut vars_at) = (Vec::new(), FxHashMap::default(), FxHashMap::default());
    for expr in module.evaluation_order(&[module.funcs[func].body]) {
        let ExprKind::Const(id) = module.exprs[expr].kind else { continue };
        if module.consts[id].rank() == 0 {
            continue;
        }
        if let Some(&var) = vars.get(&id) {
            vars_at.insert(expr, var);
            continue;
        }
        let name = (values.len()..).map(|n| format!("const_{n}")).find(|name| !taken.contains(name.as_str()))?;
        taken.insert(name.as_str().into());
        let ty = module.ty(expr);
        let var = module.var(&name, Some(ty), module.exprs[expr].span);
        module.vars[var].checked_ty = Some(ty);
        module.funcs[func].params.push(var);
        vars.insert(id, var);
        vars_at.insert(expr, var);
        values.push((name, module.consts[id].clone()));
    }
    rewrite(module, |module, expr| {
        let var = *vars_at.get(&expr)?;
        Some(module.expr(module.exprs[expr].span, ExprKind::Var(var)))
    });
    Some(values)
}

/// Whether the program itself mentions a function.
fn is_called(module: &Module, entry: GlobalId) -> bool {
    let calls_entry = |expr: &ExprId| matches!(module.exprs[*expr].kind, ExprKind::Global(global) if global == entry);
    module.post_order(&module.roots()).iter().any(calls_entry)
}
