//! Replaces a loop by its turns, where constants say how many there are.
//!
//! A loop is a local function that calls itself in one place, as the last thing that one branch of its `if` does, and that is
//! called from one other place. If the condition depends on numbers that constants determine turn after turn, each turn becomes
//! the branch that it takes, with `let`s for the function's parameters. The rewrite is sound because these are the calls that a
//! run would make, in their order. Expressions that no turn changes are computed once, which requires that the branch has no
//! effects. Parameters lose their declared types: those that hold for all turns, `Tensor[(?, 8), float32]` for a list that grows,
//! are wider than those of one turn. So does the result, if only operators read it; a reference, for instance, needs the wider one.
//!
//! Importers write recurrent layers over a dynamic number of steps as such loops. Long loops stay, since each turn has code of its
//! own.
//!
//! ```text
//! let %f = fn (%i: int64, %x) { if (less(%i, 2i64)) { %f(add(%i, 1i64), tanh(%x)) } else { %x } };  %f(0i64, %y)
//!                                        →    tanh(tanh(%y))
//! ```

use super::bindings::declared;
use super::build::{args, bind, shape};
use super::copy::Copy;
use super::fold_constants::{concrete, lets};
use super::users::Users;
use super::{Pass, PassCx};
use relayc_ir::tensor::Tensor;
use relayc_ir::{ExprId, ExprKind, FuncId, Module, VarId};
use relayc_ops::eval::{ArgValue, EvalCx, OutTy, Outputs};
use relayc_ops::{Fixed, KnownFacts};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) const PASS: Pass = Pass {
    name: "unroll-loops",
    doc: "Puts the turns of a loop one after the other, if constants determine how many there are. Loops of more than 64 turns, or \
          4096 expressions in all, stay; those with tensors that grow, if they have more than 4096 turns, or 65536 expressions, in \
          artifacts 262144.",
    level: 2,
    run: |module, cx| Ok(run(module, cx, Most { turns: 4096, copied: 1 << 16 })),
    ..Pass::BASE
};

/// The pass as artifacts need it, where a tensor has no room to grow from turn to turn.
pub(crate) const ARTIFACT_PASS: Pass =
    Pass { run: |module, cx| Ok(run(module, cx, Most { turns: 4096, copied: 1 << 18 })), ..PASS };

/// The most turns of a loop, and the most expressions of all turns.
#[derive(Clone, Copy)]
struct Most {
    turns: usize,
    copied: usize,
}

/// Bounds for a loop whose tensors keep their sizes; each turn takes time to compile. A loop whose tensors grow would be compiled for
/// the sizes of each turn.
const STEADY: Most = Most { turns: 64, copied: 4096 };

/// The most elements of a tensor that counts turns.
const MAX_ELEMENTS: usize = 64;

/// The most bytes that counting takes for a tensor.
const MAX_BYTES: u64 = 1 << 10;

/// Unrolls loops. Those with tensors that grow may have a number of turns of their own.
fn run(module: &mut Module, cx: &PassCx, growing: Most) -> bool {
    let order = module.post_order(&module.roots());
    let loops: Vec<Loop> = order.iter().filter_map(|&expr| Loop::of(module, &order, expr)).collect();
    if loops.is_empty() {
        return false;
    }
    let lets = lets(module, &order);
    let mut known = Known::new(cx, &lets, None);
    known.learn(module, &order);
    let turns = |found: Loop| found.turns(module, &known, growing).map(|turns| (found, turns));
    let counted: Vec<(Loop, usize)> = loops.into_iter().filter_map(turns).collect();
    let (users, order) = Users::of(module);
    let mut mentions: FxHashMap<VarId, Vec<ExprId>> = FxHashMap::default();
    for &expr in &order {
        if let ExprKind::Var(var) = module.exprs[expr].kind {
            mentions.entry(var).or_default().push(expr);
        }
    }
    let narrowed: Vec<Option<Vec<VarId>>> =
        counted.iter().map(|(found, _)| operators_only(module, &users, &mentions, found.start)).collect();
    counted.iter().zip(narrowed).for_each(|((found, turns), names)| found.unroll(module, *turns, names));
    !counted.is_empty()
}

/// A loop.
pub(crate) struct Loop {
    pub(crate) func: FuncId,
    pub(crate) cond: ExprId,
    /// The branch that ends with the next call, that call, and the branch that ends the loop.
    pub(crate) turn: ExprId,
    pub(crate) next: ExprId,
    pub(crate) end: ExprId,
    /// Whether the turn is the branch of a true condition.
    pub(crate) while_true: bool,
    /// The call from outside.
    pub(crate) start: ExprId,
}

impl Loop {
    /// The loop that an expression binds.
    pub(crate) fn of(module: &Module, order: &[ExprId], expr: ExprId) -> Option<Loop> {
        let ExprKind::Let { var, value, .. } = module.exprs[expr].kind else { return None };
        let ExprKind::Fn(func) = module.exprs[value].kind else { return None };
        let of = &module.funcs[func];
        (of.attrs.is_empty() && of.type_params.is_empty()).then_some(())?;
        let ExprKind::If { cond, then_branch, else_branch } = module.exprs[of.body].kind else { return None };
        let (turn, end, while_true) = match last_call(module, then_branch, var) {
            Some(_) => (then_branch, else_branch, true),
            None => (else_branch, then_branch, false),
        };
        let next = last_call(module, turn, var)?;
        let mut calls = vec![];
        let mut children = vec![];
        for &user in order {
            children.clear();
            module.children(user, &mut children);
            calls.extend(children.iter().filter(|&&child| is_var(module, child, var)).map(|_| user));
        }
        let start = match calls[..] {
            [a, b] if a == next => b,
            [a, b] if b == next => a,
            _ => return None,
        };
        let called = matches!(module.exprs[start].kind, ExprKind::Call { callee, .. } if is_var(module, callee, var));
        let straight = module.post_order(&[turn]).iter().all(|&expr| expr == next || is_straight(module, expr));
        let fits = |call: ExprId| args(module, call).len() == of.params.len();
        (called && straight && fits(start) && fits(next)).then_some(Loop { func, cond, turn, next, end, while_true, start })
    }

    /// Number of turns, if constants determine it and it is small.
    fn turns(&self, module: &mut Module, known: &Known, growing: Most) -> Option<usize> {
        let params = module.funcs[self.func].params.clone();
        let next = args(module, self.next);
        let counters = self.counters(module, &params, &next);
        let of_counters = |args: Vec<ExprId>| counters.iter().map(|&at| args[at]).collect::<Vec<ExprId>>();
        let (first, next) = (of_counters(args(module, self.start)), of_counters(next));
        let cond = module.post_order(&[self.cond]);
        let count = module.post_order(&next);
        let size = module.post_order(&[self.turn]).len();
        let mut values: Vec<Option<Tensor>> = first.iter().map(|&arg| known.get(arg).cloned()).collect();
        let grows = params.iter().any(|&param| module.vars[param].ty.is_some_and(|ty| module.types.has_open(ty)));
        let most = if grows { growing } else { STEADY };
        for turns in 0..=most.turns.min(most.copied / size.max(1)) {
            let mut turn = Known::new(known.cx, known.lets, Some(known));
            let params = counters.iter().map(|&at| params[at]);
            turn.vars.extend(params.zip(values).filter_map(|(param, value)| Some((param, value?))));
            turn.learn(module, &cond);
            let holds = turn.get(self.cond)?.to_ints().first()? != &0;
            if holds != self.while_true {
                return Some(turns);
            }
            turn.learn(module, &count);
            values = next.iter().map(|&arg| turn.get(arg).cloned()).collect();
        }
        None
    }

    /// The parameters, by number, on which the condition depends in this turn or a later one.
    fn counters(&self, module: &Module, params: &[VarId], next: &[ExprId]) -> Vec<usize> {
        let mut counters: Vec<usize> = vec![];
        let mut work = vec![self.cond];
        while let Some(expr) = work.pop() {
            for expr in module.post_order(&[expr]) {
                let ExprKind::Var(var) = module.exprs[expr].kind else { continue };
                let Some(at) = params.iter().position(|&param| param == var) else { continue };
                if !counters.contains(&at) {
                    counters.push(at);
                    work.push(next[at]);
                }
            }
        }
        counters
    }

    /// `names` are the variables of the result, if only operators read it: its type is then that of its value.
    fn unroll(&self, module: &mut Module, turns: usize, names: Option<Vec<VarId>>) {
        let params = module.funcs[self.func].params.clone();
        let (span, ty) = (module.exprs[self.start].span, module.ty(self.start));
        let turn = self.changing(module, &params, self.turn);
        let end = self.changing(module, &params, self.end);
        let last = Copy::of(module, &params, &end);
        let ret = if names.is_some() { None } else { module.funcs[self.func].ret };
        let mut body = declared(module, last.expr(self.end), ret);
        self.forget_types(module, &names.unwrap_or_default());
        let mut of_turn: Vec<VarId> = params.iter().map(|&param| last.var(param)).collect();
        for _ in 0..turns {
            self.forget_types(module, &of_turn);
            let copy = Copy::of(module, &params, &turn);
            let call = copy.expr(self.next);
            let bindings = of_turn.into_iter().zip(args(module, call));
            let bound = bind(module, span, ty, bindings, body);
            module.exprs[call].kind = module.exprs[bound].kind;
            body = copy.expr(self.turn);
            of_turn = params.iter().map(|&param| copy.var(param)).collect();
        }
        self.forget_types(module, &of_turn);
        let bindings = of_turn.into_iter().zip(args(module, self.start));
        let bound = bind(module, span, ty, bindings, body);
        module.exprs[self.start].kind = module.exprs[bound].kind;
    }

    fn forget_types(&self, module: &mut Module, params: &[VarId]) {
        for &param in params {
            (module.vars[param].ty, module.vars[param].checked_ty) = (None, None);
        }
    }

    /// The expressions of a branch that depend on the parameters or on what the branch binds, and the next call.
    fn changing(&self, module: &Module, params: &[VarId], branch: ExprId) -> Vec<ExprId> {
        let order = module.post_order(&[branch]);
        let bound = order.iter().filter_map(|&expr| match module.exprs[expr].kind {
            ExprKind::Let { var, .. } => Some(var),
            _ => None,
        });
        let bound: FxHashSet<VarId> = bound.chain(params.iter().copied()).collect();
        let mut changes: FxHashSet<ExprId> = FxHashSet::default();
        let mut children = vec![];
        for &expr in &order {
            children.clear();
            module.children(expr, &mut children);
            let own = match module.exprs[expr].kind {
                ExprKind::Var(var) => bound.contains(&var),
                ExprKind::Let { .. } => true,
                _ => expr == self.next,
            };
            if own || children.iter().any(|child| changes.contains(child)) {
                changes.insert(expr);
            }
        }
        order.into_iter().filter(|expr| changes.contains(expr)).collect()
    }
}

/// The variables that `let` binds to a value, if only operators read it and its fields. `mentions` are the expressions that are
/// each variable.
fn operators_only(module: &Module, users: &Users, mentions: &FxHashMap<VarId, Vec<ExprId>>, value: ExprId) -> Option<Vec<VarId>> {
    let (mut seen, mut work, mut names) = (FxHashSet::default(), vec![value], vec![]);
    while let Some(expr) = work.pop() {
        if !seen.insert(expr) {
            continue;
        }
        if users.is_result(expr) {
            return None;
        }
        for &user in users.list(expr) {
            match module.exprs[user].kind {
                ExprKind::Call { .. } if module.called_op(user).is_some() => {}
                ExprKind::Let { var, value, .. } if value == expr => {
                    names.push(var);
                    work.extend(mentions.get(&var).into_iter().flatten());
                }
                ExprKind::Proj { .. } | ExprKind::Tuple(_) | ExprKind::Let { .. } => work.push(user),
                _ => return None,
            }
        }
    }
    Some(names)
}

/// The call of a function variable with which an expression ends, behind bindings.
fn last_call(module: &Module, branch: ExprId, func: VarId) -> Option<ExprId> {
    let mut expr = branch;
    while let ExprKind::Let { body, .. } = module.exprs[expr].kind {
        expr = body;
    }
    let ExprKind::Call { callee, .. } = module.exprs[expr].kind else { return None };
    is_var(module, callee, func).then_some(expr)
}

fn is_var(module: &Module, expr: ExprId, var: VarId) -> bool {
    matches!(module.exprs[expr].kind, ExprKind::Var(own) if own == var)
}

/// Whether an expression may be in a turn: it has no effect and no code of its own that runs elsewhere.
fn is_straight(module: &Module, expr: ExprId) -> bool {
    match module.exprs[expr].kind {
        ExprKind::Call { .. } => module.called_op(expr).is_some() || module.called_ctor(expr).is_some(),
        ExprKind::Var(_) | ExprKind::Const(_) | ExprKind::Op(_) | ExprKind::Ctor(_) | ExprKind::Let { .. } => true,
        ExprKind::Tuple(_) | ExprKind::Proj { .. } => true,
        _ => false,
    }
}

/// Small tensors that constants determine.
struct Known<'a> {
    cx: &'a PassCx<'a>,
    /// What `let` binds variables to.
    lets: &'a FxHashMap<VarId, ExprId>,
    /// What is known outside of a turn.
    outside: Option<&'a Known<'a>>,
    exprs: FxHashMap<ExprId, Tensor>,
    /// The parameters of a turn.
    vars: FxHashMap<VarId, Tensor>,
}

impl<'a> Known<'a> {
    fn new(cx: &'a PassCx<'a>, lets: &'a FxHashMap<VarId, ExprId>, outside: Option<&'a Known<'a>>) -> Known<'a> {
        Known { cx, lets, outside, exprs: FxHashMap::default(), vars: FxHashMap::default() }
    }

    fn get(&self, expr: ExprId) -> Option<&Tensor> {
        self.exprs.get(&expr).or_else(|| self.outside?.get(expr))
    }

    /// Evaluates expressions, children before parents, as far as that is possible.
    fn learn(&mut self, module: &mut Module, order: &[ExprId]) {
        for &expr in order {
            if self.get(expr).is_some() {
                continue;
            }
            let value = match module.exprs[expr].kind {
                ExprKind::Const(id) => Some(module.consts[id].clone()),
                ExprKind::Var(var) => self.vars.get(&var).or_else(|| self.get(*self.lets.get(&var)?)).cloned(),
                ExprKind::Call { .. } => self.call(module, expr),
                _ => None,
            };
            if let Some(value) = value.filter(|value| value.len() <= MAX_ELEMENTS) {
                self.exprs.insert(expr, value);
            }
        }
    }

    /// The result of an operator on known operands, or of one that only asks for shapes.
    fn call(&self, module: &Module, expr: ExprId) -> Option<Tensor> {
        let def = self.cx.called(module, expr).filter(|def| !def.internal && !def.random)?;
        let operands = args(module, expr);
        let known: Vec<Option<Tensor>> = operands.iter().map(|&arg| self.get(arg).cloned()).collect();
        if let Some(values) = known.iter().cloned().map(|value| value.map(ArgValue::Tensor)).collect::<Option<Vec<ArgValue>>>() {
            let out = concrete(&module.types, module.ty(expr))?;
            let is_small = |out: &OutTy| out.shape.iter().product::<usize>() <= MAX_ELEMENTS;
            out.iter().all(is_small).then_some(())?;
            let cx = EvalCx { args: &values, attrs: module.call_attrs(expr), out: &out, max_bytes: MAX_BYTES };
            return match (def.eval)(&cx).ok()? {
                Outputs::One(tensor) => Some(tensor),
                Outputs::Tuple(_) => None,
            };
        }
        let shapes = operands.iter().map(|&arg| shape(module, arg)).collect();
        match (def.fixed?)(&KnownFacts { attrs: module.call_attrs(expr), values: known, shapes })? {
            Fixed::Value(value) => Some(value),
            Fixed::Call { .. } => None,
        }
    }
}
