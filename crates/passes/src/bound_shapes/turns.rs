//! Loops, whose number of turns a size bounds.
//!
//! A loop that counts up to a size has at most as many turns as that can be. Its function goes on calling itself, on tensors that have
//! room for what they are after the last turn: a list that grows by a row each turn has as many rows as turns were made, which the
//! counter says. After a loop that counting alone ends, the size says it.

use super::loops::captured;
use super::number::{Arith, Number, Why};
use super::padded::{Padded, require_room, room};
use super::walk::{Param, Value, Walk, leaves};
use crate::build::{args, typed, value_of};
use crate::unroll_loops::Loop;
use relayc_ir::types::{DType, Ty, dims_of};
use relayc_ir::{ExprId, ExprKind, Module, Operand, VarId};
use relayc_ops::declarations::{ADD, LESS, LOGICAL_AND};
use rustc_hash::FxHashSet;
use std::rc::Rc;

const GROWS: Why = "a tensor whose shape changes from turn to turn by what only a run knows";
const NO_END: Why = "a loop with a tensor that grows, whose number of turns no size bounds";

/// A parameter that each turn increases by one.
struct Counter {
    at: usize,
    first: i64,
    /// There are no more turns once it is this.
    end: Number,
    /// Whether nothing else ends the loop.
    alone: bool,
}

/// A loop that is being followed.
struct Turns {
    of: Rc<Loop>,
    params: Vec<VarId>,
    first: Vec<Padded>,
    /// How much each dimension of each parameter grows in a turn. `None` for what stays as it is.
    growth: Vec<Option<Vec<i64>>>,
    counter: Option<Counter>,
}

/// Where in a loop an expression is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Turn,
    Condition,
    End,
}

impl Walk<'_> {
    /// The value of a variable that a loop has. `Ok(None)` for the loop itself.
    pub(super) fn looped_var(&mut self, expr: ExprId, var: VarId) -> Option<Result<Option<Value>, Why>> {
        if self.loops.vars.contains(&var) {
            return Some(Ok(None));
        }
        Some(match self.params.get(&var)?.clone() {
            Param::Other(value) => Ok(Some(value)),
            Param::Same(numbers) => self.of_type(expr).map(|value| match value {
                Value::Tensor(tensor) => Some(Value::Tensor(Padded { numbers, ..tensor })),
                value => Some(value),
            }),
        })
    }

    /// The result of a loop that a call starts.
    pub(super) fn looped(&mut self, start: ExprId) -> Result<Value, Why> {
        // There are parameters while a loop is being followed.
        if !self.params.is_empty() {
            return Err("a loop in a loop");
        }
        let (var, of) = self.loops.starts.get(&start).cloned().ok_or("a function that is called")?;
        if self.reached(start)?.is_live() {
            return Err("a loop in a branch");
        }
        let next = args(self.graph.module, of.next);
        let mut first = vec![];
        for arg in args(self.graph.module, start) {
            match self.get(arg)? {
                Value::Tensor(tensor) => first.push(tensor),
                Value::Tuple(_) => return Err("a tuple that goes from turn to turn"),
            }
        }
        let params = self.graph.module.funcs[of.func].params.clone();
        let stays =
            |(&param, &next): (&VarId, &ExprId)| matches!(self.graph.module.exprs[next].kind, ExprKind::Var(var) if var == param);
        let growth =
            params.iter().zip(&next).zip(&first).map(|(both, first)| (!stays(both)).then(|| vec![0; first.rank()])).collect();
        let counter = self.counter(&of, &params, &next, &first)?;
        let mut turns = Turns { of, params, first, growth, counter };
        let carried = loop {
            self.follow(&turns, At::Turn, &next)?;
            if let Some(carried) = self.carried(&mut turns, &next)? {
                break carried;
            }
        };
        let (cond, end) = (turns.of.cond, turns.of.end);
        self.follow(&turns, At::Condition, &[cond])?;
        let Value::Tensor(cond) = self.get(cond)? else { return Err("a condition that is no tensor") };
        self.follow(&turns, At::End, &[end])?;
        let end = self.get(end)?;
        let value = self.call_of(&turns, var, cond.expr, &carried, &end);
        self.params.clear();
        value
    }

    /// What counts the turns.
    fn counter(&mut self, of: &Loop, params: &[VarId], next: &[ExprId], first: &[Padded]) -> Result<Option<Counter>, Why> {
        let param = |walk: &Self, expr: ExprId| match walk.graph.module.exprs[expr].kind {
            ExprKind::Var(var) => params.iter().position(|&param| param == var),
            _ => None,
        };
        // The condition is computed at the end of the turn before, or at the beginning of a turn.
        let before = param(self, of.cond);
        let mut work = vec![before.map_or(of.cond, |at| next[at])];
        let mut conditions = vec![];
        while let Some(expr) = work.pop() {
            let module = &*self.graph.module;
            match module.exprs[expr].kind {
                ExprKind::Var(var) if self.lets.contains_key(&var) => work.push(self.lets[&var]),
                _ if self.graph.cx.calls(module, expr, &LOGICAL_AND) => work.extend(args(module, expr)),
                _ => conditions.push(expr),
            }
        }
        for &condition in conditions.iter().filter(|_| of.while_true) {
            if !self.graph.cx.calls(self.graph.module, condition, &LESS) {
                continue;
            }
            let &[counted, end] = &args(self.graph.module, condition)[..] else { continue };
            let is_counter = |at: &usize| match before {
                Some(_) => next[*at] == counted && self.is_next(params[*at], counted),
                None => param(self, counted) == Some(*at) && self.is_next(params[*at], next[*at]),
            };
            let Some(at) = (0..params.len()).find(is_counter) else { continue };
            let number = |tensor: &Padded| match tensor.numbers.as_deref() {
                Some(&[number]) if tensor.rank() == 0 => Some(number),
                _ => None,
            };
            let Some(Value::Tensor(end)) = self.values.get(&end).cloned().filter(|_| !self.loops.contain(end)) else { continue };
            let end = self.seeded(end)?;
            let (Some(first_number), Some(end)) = (number(&first[at]), number(&end)) else { continue };
            let Some(known) = first_number.value() else { continue };
            let starts = self.graph.arith(Arith::Less, first_number, end)?;
            let alone = conditions.len() == 1 && before.is_none_or(|at| number(&first[at]) == Some(starts));
            return Ok(Some(Counter { at, first: known, end, alone }));
        }
        Ok(None)
    }

    /// Whether an expression is one more than a variable.
    fn is_next(&self, var: VarId, expr: ExprId) -> bool {
        let module = &*self.graph.module;
        let is_var = |expr: ExprId| matches!(module.exprs[expr].kind, ExprKind::Var(own) if own == var);
        let is_one = |expr: ExprId| {
            value_of(module, expr).is_some_and(|value| value.rank() == 0 && value.dtype().is_int() && value.to_ints() == [1])
        };
        match args(module, expr)[..] {
            [a, b] if self.graph.cx.calls(module, expr, &ADD) => is_var(a) && is_one(b) || is_var(b) && is_one(a),
            _ => false,
        }
    }

    /// Follows what a loop computes for some expressions.
    fn follow(&mut self, turns: &Turns, at: At, of: &[ExprId]) -> Result<(), Why> {
        self.params.clear();
        let n_turns = turns.counter.as_ref().map(|counter| counter.end.high.saturating_sub(counter.first).max(1));
        for (number, &var) in turns.params.iter().enumerate() {
            let param = self.param(turns, at, number, var, n_turns)?;
            self.params.insert(var, param);
        }
        // The roots are no values where a turn ends: a `let` around the next call, and the call.
        let mut tail = turns.of.turn;
        let mut ends = FxHashSet::from_iter([turns.of.next]);
        while let ExprKind::Let { body, .. } = self.graph.module.exprs[tail].kind {
            ends.insert(tail);
            tail = body;
        }
        let mut roots = of.to_vec();
        if at == At::Turn {
            roots.push(turns.of.turn);
        }
        for expr in self.graph.module.post_order(&roots) {
            if self.loops.contain(expr) && !ends.contains(&expr) {
                self.graph.span = self.graph.module.exprs[expr].span;
                if let Some(value) = self.visit(expr)? {
                    self.values.insert(expr, value);
                }
            }
        }
        Ok(())
    }

    /// A parameter at some place of a loop that has at most so many turns.
    fn param(&mut self, turns: &Turns, at: At, number: usize, var: VarId, n_turns: Option<i64>) -> Result<Param, Why> {
        let first = &turns.first[number];
        let Some(growth) = &turns.growth[number] else { return Ok(Param::Other(Value::Tensor(first.clone()))) };
        let made = match &turns.counter {
            None => None,
            Some(counter) => {
                let module = &mut *self.graph.module;
                let ty = module.vars[turns.params[counter.at]].checked_ty.or(module.vars[turns.params[counter.at]].ty);
                let expr = typed(module, self.graph.span, ExprKind::Var(turns.params[counter.at]), ty.unwrap_or(Ty::ERROR));
                let wide = self.graph.cast(expr, DType::I64)?;
                let most = n_turns.unwrap_or(1) - i64::from(at == At::Turn);
                let known = Number::known(counter.first);
                let now = match at {
                    At::End if counter.alone => self.graph.arith(Arith::Max, counter.end, known)?,
                    _ => self.graph.number(wide, counter.first, counter.first.saturating_add(most)),
                };
                let made = self.graph.arith(Arith::Sub, now, known)?;
                if counter.at == number {
                    return Ok(Param::Same(Some([now].into())));
                }
                Some((made, n_turns.unwrap_or(1), at != At::End || counter.alone))
            }
        };
        let (mut dims, mut most) = (vec![], vec![]);
        for (&dim, &by) in first.dims.iter().zip(growth) {
            let (made, turns) = match made {
                _ if by == 0 => (Number::ZERO, 0),
                Some((made, turns, true)) => (made, turns),
                _ => return Err(NO_END),
            };
            let more = self.graph.arith(Arith::Mul, made, Number::known(by))?;
            dims.push(self.graph.arith(Arith::Add, dim, more)?);
            most.push(dim.high.saturating_add(by.saturating_mul(turns)));
        }
        require_room(&most)?;
        let graph = &mut self.graph;
        let dtype = graph.dtype(first)?;
        let ty = graph.module.types.tensor_of(&most, dtype);
        let own = &mut graph.module.vars[var];
        let same = own.checked_ty.or(own.ty) == Some(ty) && !dims.iter().any(|dim| dim.is_live());
        (own.ty, own.checked_ty) = (Some(ty), Some(ty));
        if same {
            return Ok(Param::Same(None));
        }
        let expr = typed(graph.module, graph.span, ExprKind::Var(var), ty);
        let expr = graph.fit(expr, &room(&dims))?;
        Ok(Param::Other(Value::Tensor(Padded::new(expr, &dims))))
    }

    /// The arguments of the next turn, each with the room of its parameter. `None` if a tensor grows otherwise than was thought.
    fn carried(&mut self, turns: &mut Turns, next: &[ExprId]) -> Result<Option<Vec<ExprId>>, Why> {
        let mut carried = vec![];
        let mut as_thought = true;
        for (at, &arg) in next.iter().enumerate() {
            let Some(growth) = &mut turns.growth[at] else { continue };
            let (Value::Tensor(next), var) = (self.get(arg)?, turns.params[at]) else {
                return Err("a tuple that goes from turn to turn");
            };
            let now = match self.params.get(&var) {
                Some(Param::Other(Value::Tensor(now))) => now.dims.clone(),
                _ => turns.first[at].dims.clone(),
            };
            for ((&now, &next), by) in now.iter().zip(next.dims.iter()).zip(growth) {
                if next == self.graph.arith(Arith::Add, now, Number::known(*by))? {
                    continue;
                }
                let step = self.graph.step(now, next).filter(|&step| step > 0 && *by == 0);
                (*by, as_thought) = (step.ok_or(GROWS)?, false);
            }
            if as_thought {
                let shape = room_of(self.graph.module, var).ok_or(GROWS)?;
                carried.push(self.graph.fit(next.expr, &shape)?);
            }
        }
        Ok(as_thought.then_some(carried))
    }

    /// The call that starts a loop, whose function is made anew.
    fn call_of(&mut self, turns: &Turns, var: VarId, cond: ExprId, carried: &[ExprId], end: &Value) -> Result<Value, Why> {
        let mut tensors = vec![];
        leaves(end, &mut tensors);
        let ends = tensors.iter().flat_map(|tensor| tensor.dims.iter()).filter(|dim| dim.is_live());
        let of_sizes: Vec<ExprId> = ends.map(|&dim| self.graph.scalar(dim)).collect();
        let is_own =
            |&expr: &ExprId| matches!(self.graph.module.exprs[expr].kind, ExprKind::Var(var) if turns.params.contains(&var));
        if self.graph.module.post_order(&of_sizes).iter().any(is_own) {
            return Err("a loop with a result whose shape is that of its last turn");
        }
        let end_expr = self.expr(end);
        let graph = &mut self.graph;
        let span = graph.module.exprs[turns.of.start].span;
        let params: Vec<VarId> =
            turns.params.iter().zip(&turns.growth).filter(|(_, growth)| growth.is_some()).map(|(&var, _)| var).collect();
        let types: Vec<Ty> = params.iter().map(|&var| graph.module.vars[var].ty.unwrap_or(Ty::ERROR)).collect();
        let ret = graph.module.ty(end_expr);
        let ty = graph.module.types.func(&types, ret);
        (graph.module.vars[var].ty, graph.module.vars[var].checked_ty) = (Some(ty), Some(ty));
        let call = |module: &mut Module, args: &[ExprId]| {
            let callee = typed(module, span, ExprKind::Var(var), ty);
            let args: Vec<Operand> = args.iter().map(|&expr| Operand { expr, span }).collect();
            let args = module.operands(&args);
            typed(module, span, ExprKind::Call { callee, args, attrs: None }, ret)
        };
        let next = call(graph.module, carried);
        let (then_branch, else_branch) = if turns.of.while_true { (next, end_expr) } else { (end_expr, next) };
        let body = typed(graph.module, span, ExprKind::If { cond, then_branch, else_branch }, ret);
        let own: Vec<VarId> = params.iter().copied().chain([var]).collect();
        let (body, captured) = captured(graph.module, body, &own);
        self.loops.made.extend(captured);
        let mut first = vec![];
        for (tensor, &var) in turns.first.iter().zip(&turns.params).filter(|(_, var)| params.contains(var)) {
            let shape = room_of(graph.module, var).ok_or(GROWS)?;
            first.push(graph.fit(tensor.expr, &shape)?);
        }
        let func = &mut graph.module.funcs[turns.of.func];
        (func.params, func.body, func.ret) = (params, body, Some(ret));
        let made = typed(graph.module, span, ExprKind::Fn(turns.of.func), ty);
        self.loops.made.push((var, made));
        let result = call(self.graph.module, &first);
        let value = self.of_type(result)?;
        Ok(with_dims(&value, end))
    }
}

/// The shape of a parameter that has room.
fn room_of(module: &Module, var: VarId) -> Option<Vec<i64>> {
    let (dims, _) = module.types.as_tensor(module.vars[var].ty?)?;
    dims_of(dims)
}

/// A value with the dimensions of another of its type.
fn with_dims(value: &Value, like: &Value) -> Value {
    match (value, like) {
        (Value::Tensor(tensor), Value::Tensor(like)) => Value::Tensor(Padded::new(tensor.expr, &like.dims)),
        (Value::Tuple(fields), Value::Tuple(like)) => {
            Value::Tuple(fields.iter().zip(like.iter()).map(|(field, like)| with_dims(field, like)).collect())
        }
        _ => value.clone(),
    }
}
