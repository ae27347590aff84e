//! Gradients of dataflow programs, as dataflow: TVM's `FirstOrderGradient` (`src/relay/transforms/first_order_gradient.cc`).
//!
//! It binds the value of each expression, then the gradients in reverse. Function literals that are called are put in the places of their
//! calls first. Programs with branches, closures, cells, data types or calls of other functions are for `gradient`.
//!
//! ```text
//! def @main(%x) { multiply(%x, %x) }
//! →
//! def @main(%x) { let %y = multiply(%x, %x); (%y, (let %g = ones_like(%y); … add(multiply(%g, %x), multiply(%g, %x)),)) }
//! ```

use super::super::build::{Budget, args};
use super::super::defuse_ops;
use super::super::let_list::{LetList, mention};
use super::super::{Pass, PassCx, Stop, refused};
use super::{WITH_ONES, WITH_ZEROS, field, filled_like, of_operands, op, pair, result_ty};
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_ir::{ExprId, ExprKind, FuncId, Module, VarId};
use relayc_ops::call::{call, tuple};
use relayc_ops::declarations::ADD;
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "first-order-gradient",
    doc: "Adds the gradients with respect to the parameters to the result of each function. For dataflow only.",
    keeps_answers: false,
    run,
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> Result<bool, Box<Diagnostic>> {
    defuse_ops::defuse(module);
    let funcs: Vec<(FuncId, Span)> = module.globals.iter().map(|global| (global.func, global.span)).collect();
    let mut budget = Budget::default();
    for &(func, span) in &funcs {
        differentiate(module, cx, func, &mut budget).map_err(|stop| refused(&PASS, stop.at(span)))?;
    }
    Ok(!funcs.is_empty())
}

/// A value, and the sum of the gradients so far.
struct Dual {
    forward: ExprId,
    reverse: ExprId,
}

/// The numbers of the values whose gradients an expression contributes to.
struct Step {
    expr: ExprId,
    value: usize,
    operands: Vec<usize>,
}

fn differentiate(module: &mut Module, cx: &PassCx, func: FuncId, budget: &mut Budget) -> Result<(), Stop> {
    if !module.funcs[func].type_params.is_empty() {
        return Err("a function has type parameters".into());
    }
    let (params, body) = (module.funcs[func].params.clone(), module.funcs[func].body);
    let (duals, steps, list, of) = Default::default();
    let mut forward = Forward { budget, duals, list, steps, of };
    let mut of_params: FxHashMap<VarId, usize> = FxHashMap::default();
    for &param in &params {
        let value = mention(module, module.vars[param].span, param);
        of_params.insert(param, forward.bind(module, value)?);
    }
    for expr in module.post_order(&[body]) {
        forward.visit(module, cx, expr, &of_params).map_err(|stop| stop.at(module.exprs[expr].span))?;
    }
    let Forward { budget, mut duals, list, steps, of } = forward;
    let result = of[&body];
    duals[result].reverse = filled_like(module, duals[result].forward, WITH_ONES)?;
    let mut back = LetList::default();
    for step in steps.iter().rev() {
        let done = step_back(module, cx, step, &mut duals, &mut back, budget);
        done.map_err(|stop| stop.at(module.exprs[step.expr].span))?;
    }
    let grads: Vec<ExprId> = params.iter().map(|param| duals[of_params[param]].reverse).collect();
    let span = module.exprs[body].span;
    let grads = tuple(module, span, &grads);
    let grads = back.around(module, grads);
    let both = pair(module, duals[result].forward, grads);
    module.funcs[func].ret = result_ty(module, func);
    module.funcs[func].body = list.around(module, both);
    Ok(())
}

struct Forward<'a> {
    budget: &'a mut Budget,
    duals: Vec<Dual>,
    list: LetList,
    steps: Vec<Step>,
    /// The number of each expression's value.
    of: FxHashMap<ExprId, usize>,
}

impl Forward<'_> {
    /// Binds a value, and zeros as its gradient.
    fn bind(&mut self, module: &mut Module, value: ExprId) -> Result<usize, Stop> {
        let forward = self.list.push(module, value);
        self.budget.spend(&module.types, module.ty(forward))?;
        let zeros = filled_like(module, forward, WITH_ZEROS)?;
        let reverse = self.list.push(module, zeros);
        self.duals.push(Dual { forward, reverse });
        Ok(self.duals.len() - 1)
    }

    fn visit(&mut self, module: &mut Module, cx: &PassCx, expr: ExprId, params: &FxHashMap<VarId, usize>) -> Result<(), Stop> {
        let span = module.exprs[expr].span;
        let operands: Vec<ExprId> = match module.exprs[expr].kind {
            ExprKind::Op(_) => return Ok(()),
            ExprKind::Var(var) => {
                let value = params.get(&var).ok_or("a variable is no parameter")?;
                self.of.insert(expr, *value);
                return Ok(());
            }
            ExprKind::Const(_) => vec![],
            ExprKind::Tuple(_) => args(module, expr),
            ExprKind::Proj { tuple, .. } => vec![tuple],
            ExprKind::Call { .. } if module.called_op(expr).is_some() => args(module, expr),
            _ => return Err("a function is more than dataflow: operators, tuples and constants".into()),
        };
        let operands: Vec<usize> = operands.iter().map(|operand| self.of[operand]).collect();
        let values: Vec<ExprId> = operands.iter().map(|&operand| self.duals[operand].forward).collect();
        let value = match module.exprs[expr].kind {
            ExprKind::Tuple(_) => tuple(module, span, &values),
            ExprKind::Proj { index, .. } => field(module, values[0], index as usize),
            ExprKind::Call { .. } => {
                let def = cx.called(module, expr).ok_or("a call of no operator")?;
                let attrs = module.call_attrs(expr).to_vec();
                call(module, span, def, &values, attrs)
            }
            _ => expr,
        };
        let value = self.bind(module, value)?;
        self.of.insert(expr, value);
        self.steps.push(Step { expr, value, operands });
        Ok(())
    }
}

/// Adds the gradients of the operands of an expression, given that of its value.
fn step_back(
    module: &mut Module,
    cx: &PassCx,
    step: &Step,
    duals: &mut [Dual],
    list: &mut LetList,
    budget: &mut Budget,
) -> Result<(), Stop> {
    let grad = duals[step.value].reverse;
    for &operand in &step.operands {
        budget.spend(&module.types, module.ty(duals[operand].reverse))?;
    }
    match module.exprs[step.expr].kind {
        ExprKind::Tuple(_) => {
            for (at, &operand) in step.operands.iter().enumerate() {
                let of_field = field(module, grad, at);
                duals[operand].reverse = sum(module, duals[operand].reverse, of_field, list)?;
            }
        }
        ExprKind::Proj { index, .. } => {
            let whole = duals[step.operands[0]].reverse;
            let n = module.types.as_tuple(module.ty(whole)).map_or(0, <[_]>::len);
            let mut fields = Vec::new();
            for at in 0..n {
                let of_field = field(module, whole, at);
                fields.push(if at == index as usize { sum(module, of_field, grad, list)? } else { of_field });
            }
            let fields = tuple(module, module.exprs[whole].span, &fields);
            duals[step.operands[0]].reverse = list.push(module, fields);
        }
        _ => {
            let Some(op) = module.called_op(step.expr) else { return Ok(()) };
            let values: Vec<ExprId> = step.operands.iter().map(|&operand| duals[operand].forward).collect();
            let attrs = module.call_attrs(step.expr).to_vec();
            let out = duals[step.value].forward;
            let grads = of_operands(module, cx, op, (out, &values, &attrs), grad, list)?;
            for (&operand, more) in step.operands.iter().zip(grads) {
                duals[operand].reverse = sum(module, duals[operand].reverse, more, list)?;
            }
        }
    }
    Ok(())
}

/// The sum of two tensors, or of two tuples field by field.
fn sum(module: &mut Module, x: ExprId, y: ExprId, list: &mut LetList) -> Result<ExprId, Stop> {
    let (span, ty) = (module.exprs[x].span, module.ty(x));
    if module.types.as_tensor(ty).is_some() {
        let sum = op(module, span, &ADD, &[x, y]);
        return Ok(list.push(module, sum));
    }
    let n = module.types.as_tuple(ty).map(<[_]>::len).ok_or("a value is neither a tensor nor a tuple of tensors")?;
    let mut fields = Vec::new();
    for at in 0..n {
        let (of_x, of_y) = (field(module, x, at), field(module, y, at));
        let (of_x, of_y) = (list.push(module, of_x), list.push(module, of_y));
        fields.push(sum(module, of_x, of_y, list)?);
    }
    let fields = tuple(module, span, &fields);
    Ok(list.push(module, fields))
}
