//! The types of a dataflow function from those of its parameters.
//!
//! [`super::reinfer`] finds them for any program. Here every operand has its type before its user, so nothing waits, and equal
//! calls of operators on operands of equal types run their relation once: a network that repeats its layers costs one of them.

use super::call_attrs;
use relayc_base::IndexVec;
use relayc_ir::attrs::{AttrValue, OpId};
use relayc_ir::types::{Solver, Ty};
use relayc_ir::{ExprId, ExprKind, FuncId, Module};
use relayc_ops::Table;
use relayc_ops::rel::RelCx;
use rustc_hash::FxHashMap;

/// Types a function of operators on tensors, fused or not, whose parameters have their types. Returns whether all is typed: if
/// not, something else is in it, or a relation refuses, and the module must not be used.
pub fn retype(module: &mut Module, ops: &Table, func: FuncId) -> bool {
    module.expr_tys = IndexVec::filled(None, module.exprs.len());
    Forward { ops, known: FxHashMap::default() }.func(module, func).is_some()
}

/// An operator and the types of its operands.
type Signature = (OpId, Box<[Ty]>);

struct Forward<'a> {
    ops: &'a Table,
    /// Calls and their types; those of one signature differ in attributes.
    known: FxHashMap<Signature, Vec<(ExprId, Ty)>>,
}

impl Forward<'_> {
    fn func(&mut self, module: &mut Module, func: FuncId) -> Option<()> {
        let body = module.funcs[func].body;
        for expr in module.post_order_by(&[body], outside_of_groups) {
            let ty = match module.exprs[expr].kind {
                ExprKind::Call { callee, .. } => match module.exprs[callee].kind {
                    ExprKind::Fn(group) => self.group(module, expr, callee, group)?,
                    ExprKind::Op(op) => self.call(module, expr, op)?,
                    _ => return None,
                },
                _ => plain(module, expr)?,
            };
            module.expr_tys[expr] = Some(ty);
        }
        module.funcs[func].ret = module.expr_tys[body];
        Some(())
    }

    /// A call of a group, whose body consists of operators.
    fn group(&mut self, module: &mut Module, call: ExprId, callee: ExprId, group: FuncId) -> Option<Ty> {
        let (params, body) = (module.funcs[group].params.clone(), module.funcs[group].body);
        let args = arg_tys(module, call)?;
        if params.len() != args.len() || !module.funcs[group].is_primitive() {
            return None;
        }
        for (&param, &ty) in params.iter().zip(&args) {
            (module.vars[param].ty, module.vars[param].checked_ty) = (Some(ty), Some(ty));
        }
        for expr in module.post_order(&[body]) {
            let ty = match module.exprs[expr].kind {
                ExprKind::Call { .. } => self.call(module, expr, module.called_op(expr)?)?,
                // The callee of a call, which has no type of its own.
                ExprKind::Op(_) => continue,
                _ => plain(module, expr)?,
            };
            module.expr_tys[expr] = Some(ty);
        }
        let ret = module.expr_tys[body]?;
        module.funcs[group].ret = Some(ret);
        module.expr_tys[callee] = Some(module.types.func(&args, ret));
        Some(ret)
    }

    /// A call of an operator.
    fn call(&mut self, module: &mut Module, expr: ExprId, op: OpId) -> Option<Ty> {
        let args = arg_tys(module, expr)?;
        let known = self.known.entry((op, args.clone())).or_default();
        let attrs = call_attrs(module, expr);
        if let Some((_, ty)) = known.iter().find(|(other, _)| call_attrs(module, *other) == attrs) {
            return Some(*ty);
        }
        let attrs = attrs.to_vec();
        let ty = related(module, self.ops, op, &args, &attrs)?;
        known.push((expr, ty));
        Some(ty)
    }
}

/// The type that a relation determines.
fn related(module: &mut Module, ops: &Table, op: OpId, args: &[Ty], attrs: &[AttrValue]) -> Option<Ty> {
    let mut solver = Solver::with_written(&module.types);
    let out = solver.fresh(&mut module.types);
    let mut cx = RelCx::new(&mut module.types, &mut solver, attrs, args, out);
    cx.objects = Some(&module.objects);
    (ops.def(op).rel)(&mut cx).ok()?;
    let ty = solver.resolve(&mut module.types, out);
    (!module.types.has_hole(ty) && ty != Ty::ERROR).then_some(ty)
}

/// An expression that is no call.
fn plain(module: &mut Module, expr: ExprId) -> Option<Ty> {
    Some(match module.exprs[expr].kind {
        ExprKind::Const(id) => {
            let value = &module.consts[id];
            let shape: Vec<i64> = value.shape().iter().map(|&dim| dim as i64).collect();
            let dtype = value.dtype();
            module.types.tensor_of(&shape, dtype)
        }
        ExprKind::Var(var) => module.vars[var].checked_ty.or(module.vars[var].ty)?,
        ExprKind::Tuple(fields) => {
            let fields = module.items(fields).iter().map(|field| module.expr_tys[field.expr]);
            let fields: Vec<Ty> = fields.collect::<Option<_>>()?;
            module.types.tuple(&fields)
        }
        ExprKind::Proj { tuple, index } => *module.types.as_tuple(module.expr_tys[tuple]?)?.get(usize::try_from(index).ok()?)?,
        _ => return None,
    })
}

fn arg_tys(module: &Module, call: ExprId) -> Option<Box<[Ty]>> {
    let ExprKind::Call { args, .. } = module.exprs[call].kind else { return None };
    module.items(args).iter().map(|arg| module.expr_tys[arg.expr]).collect()
}

/// The children of an expression, without the callee of a call.
fn outside_of_groups(module: &Module, expr: ExprId, out: &mut Vec<ExprId>) {
    match module.exprs[expr].kind {
        ExprKind::Call { args, .. } => out.extend(module.items(args).iter().map(|arg| arg.expr)),
        _ => module.children(expr, out),
    }
}
