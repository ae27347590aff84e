//! Replaces parameters of an entry function by constants, where their values are known: TVM's `bind_params_by_name`
//! (`BindParamsByName`, `src/relay/backend/utils.cc`).
//!
//! The rewrite is sound because the entry is then called with these values and no others; the bound parameters disappear. An
//! entry that the program itself calls may get other values there, so it stays as it is.
//!
//! ```text
//! def @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) { add(%x, %w) }
//!     → def @main(%x: Tensor[(2), float32]) { add(%x, meta[relay.Constant][0]) }
//! ```

use super::build::set_ty;
use super::rewrite::rewrite;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::Ty;
use relayc_ir::{ExprId, ExprKind, GlobalId, Module, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Replaces the parameters of `entry` that have a value, found by name without `%`, and consumes these values. The module and the
/// values have the parameters' types. Returns false if the program itself calls the entry.
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

/// The inverse: turns the constants of the entry's body that are not scalars into parameters, appended to the existing ones. Each
/// value becomes one parameter, however often it is mentioned. The parameters are named `const_0`, `const_1`, … in the order of
/// evaluation. Returns the values by these names, or `None` where the program calls the entry itself. The module must be typed.
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
