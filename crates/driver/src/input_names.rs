//! Which parameters operators take as weights, and which of them a program says are inputs all the same.

use relayc_base::Idx;
use relayc_ir::{AttrValue, Expr, ExprId, ExprKind, Func, Module, VarId};
use relayc_ops as ops;
use rustc_hash::{FxHashMap, FxHashSet};

/// The attribute that names the parameters of a function that are inputs.
const INPUT_NAMES: &str = "input_names";

/// The parameters that a function says are inputs.
pub(crate) fn names(func: &Func) -> FxHashSet<&str> {
    let said = func.attrs.iter().find(|(name, _)| &**name == INPUT_NAMES);
    let Some((_, AttrValue::List(names))) = said else { return FxHashSet::default() };
    names.iter().filter_map(|name| if let AttrValue::Str(name) = name { Some(&**name) } else { None }).collect()
}

/// Names the inputs of an imported `@main` in it, if operators take one of them as a weight.
pub(crate) fn name_inputs(module: &mut Module, inputs: &[(String, String)]) {
    let Some(global) = module.find_global("main") else { return };
    let func = module.globals[global].func;
    let weights = weights(module, &module.funcs[func].params);
    let names: FxHashSet<&str> = inputs.iter().map(|(name, _)| &**name).collect();
    if weights.keys().any(|&var| names.contains(&*module.vars[var].name)) {
        let names = AttrValue::List(inputs.iter().map(|(name, _)| AttrValue::str(name)).collect());
        module.funcs[func].attrs.push((INPUT_NAMES.into(), names));
    }
}

/// The parameters that operators take as weights, each with the first such operand: its name and its operator's. A weight may go
/// through operators of one operand on its way, such as a transposition, but not through a reduction: the mean of an image is none.
pub(crate) fn weights(module: &Module, params: &[VarId]) -> FxHashMap<VarId, (&'static str, &'static str)> {
    let params: FxHashSet<VarId> = params.iter().copied().collect();
    let mut found: FxHashMap<VarId, (&'static str, &'static str)> = FxHashMap::default();
    let binding = |expr: &Expr| if let ExprKind::Let { var, value, .. } = expr.kind { Some((var, value)) } else { None };
    let lets: FxHashMap<VarId, ExprId> = module.exprs.iter().filter_map(binding).collect();
    // The parameter that each expression is.
    let mut of: Vec<Option<VarId>> = vec![None; module.exprs.len()];
    for expr in module.post_order(&module.roots()) {
        of[expr.index()] = match module.exprs[expr].kind {
            ExprKind::Var(var) if params.contains(&var) => Some(var),
            ExprKind::Var(var) => lets.get(&var).and_then(|value| of[value.index()]),
            ExprKind::Call { callee, args, .. } => match (module.exprs[callee].kind, module.items(args)) {
                (ExprKind::Op(op), args) => {
                    let def = ops::table().def(op);
                    for (arg, param) in args.iter().enumerate().filter_map(|(i, arg)| Some((i, of[arg.expr.index()]?))) {
                        if let Some(arg) = def.args.get(arg).filter(|arg| arg.is_weight()) {
                            found.entry(param).or_insert((arg.name, def.name));
                        }
                    }
                    let is_moved = def.fuse != Some(ops::Fuse::CommReduce);
                    if let ([only], true) = (args, is_moved) { of[only.expr.index()] } else { None }
                }
                _ => None,
            },
            _ => None,
        };
    }
    found
}
