//! Makes a program static whose shapes data decides. Each tensor gets room for the largest shape that it can have, and beside it
//! the run computes how many positions of each axis count.
//!
//! `argwhere` of a mask of 100 elements finds at most 100; what follows works on rows of which the first ones count, and a number.
//! A sum along such an axis takes zeros for what does not count, a sort puts it behind, `concatenate` moves what counts together.
//! The result has a tensor for each of the function's, whose elements that count come first in row-major order. If one of them is
//! open, the dimensions of each follow, as vectors of int64.
//!
//! The rewrite is sound because what counts is computed from what counts alone, and by the same operators, which trap where they did.
//! Both branches of an `if` are computed: an operator that may trap gets operands that do not where its branch is not taken.
//!
//! A loop of as many turns as a size says stays one, of tensors with room for what they are after the last turn. A size that is an
//! element of a tensor needs a range, as clipped boxes have.
//!
//! Does not rewrite other functions and data types, sizes of any range (a `k` that is an input), and operators without a rule here.
//!
//! ```text
//! %0 = argwhere(%mask);                 %0 = cumsum(%mask, exclusive=True);                        where each is
//! take(%x, squeeze(%0, axis=[1]))   →   %1 = scatter_elements(zeros, where(%mask, %0, n), 0…n);
//!                                       (take(%x, %1), sum(%mask))
//! ```

mod calls;
mod known;
mod loops;
mod number;
mod padded;
mod range;
mod ranges;
mod resize;
mod slices;
mod turns;
mod walk;

use super::PassCx;
use super::build::{args, bind};
use super::regions::Regions;
use loops::Loops;
use number::{Graph, Why};
use padded::Padded;
use relayc_base::Span;
use relayc_ir::types::{DType, Ty};
use relayc_ir::{ExprId, ExprKind, FuncId, Module, Operand};
use relayc_ops::declarations::WHERE;
use rustc_hash::FxHashMap;
use walk::{Call, Value, Walk, leaves};

/// Gives a function of a typed module static shapes. Returns which of the tensors of its result were open. Types must be inferred
/// again. `None` for a function with others inside that are no loops. Errors: an expression that has no bound, and what it is.
pub fn bound_shapes(module: &mut Module, cx: &PassCx, func: FuncId) -> Result<Option<Vec<bool>>, (ExprId, Why)> {
    let body = module.funcs[func].body;
    let order = module.post_order(&[body]);
    let let_value = |&expr: &ExprId| match module.exprs[expr].kind {
        ExprKind::Let { var, value, .. } => Some((var, value)),
        _ => None,
    };
    let lets = order.iter().filter_map(let_value).collect();
    let Some(loops) = Loops::of(module, &order, &lets) else { return Ok(None) };
    let wanted = ranges::wanted(module, cx, &order, &lets);
    let regions = Regions::of(module, &module.post_order(&module.roots()));
    let mut branches = FxHashMap::default();
    let is_branch = |expr: ExprId| matches!(module.exprs[expr].kind, ExprKind::If { .. }) && !loops.is_branch(module, expr);
    for &expr in order.iter().filter(|&&expr| is_branch(expr)) {
        let branch = |at: usize| Some((regions.home(regions.inside(expr, at)?), (expr, at == 0)));
        branches.extend([0, 1].into_iter().filter_map(branch));
    }
    let mut walk = Walk {
        graph: Graph::new(module, cx),
        values: FxHashMap::default(),
        lets,
        regions,
        branches,
        loops,
        params: FxHashMap::default(),
        wanted,
    };
    for expr in order {
        if walk.loops.contain(expr) {
            continue;
        }
        walk.graph.span = walk.graph.module.exprs[expr].span;
        if let Some(value) = walk.visit(expr).map_err(|why| (expr, why))? {
            walk.values.insert(expr, value);
        }
    }
    let (result, open) = walk.result(body).map_err(|why| (body, why))?;
    let loops = std::mem::take(&mut walk.loops.made);
    module.funcs[func].body = bind(module, Span::NONE, Ty::ERROR, loops.into_iter(), result);
    module.funcs[func].ret = None;
    Ok(Some(open))
}

impl Walk<'_> {
    /// The value of an expression. `None` for what has none, such as an operator.
    fn visit(&mut self, expr: ExprId) -> Result<Option<Value>, Why> {
        Ok(Some(match self.graph.module.exprs[expr].kind {
            ExprKind::Op(_) => return Ok(None),
            ExprKind::Const(_) => self.of_type(expr)?,
            ExprKind::Var(var) => match self.looped_var(expr, var) {
                Some(value) => return value,
                None if self.lets.contains_key(&var) => self.get(self.lets[&var])?,
                None => self.of_type(expr)?,
            },
            ExprKind::Let { body, .. } => self.get(body)?,
            ExprKind::Tuple(_) => {
                let fields = args(self.graph.module, expr).into_iter().map(|field| self.get(field));
                Value::Tuple(fields.collect::<Result<_, _>>()?)
            }
            ExprKind::Proj { tuple, index } => match self.get(tuple)? {
                Value::Tuple(fields) => fields.get(index as usize).cloned().ok_or("a field that the tuple does not have")?,
                Value::Tensor(_) => return Err("a field of no tuple"),
            },
            ExprKind::If { cond, then_branch, else_branch } => {
                let (cond, a, b) = (self.get(cond)?, self.get(then_branch)?, self.get(else_branch)?);
                self.either(&cond, &a, &b)?
            }
            ExprKind::Call { .. } => self.call(expr)?,
            ExprKind::Match { .. } | ExprKind::Ctor(_) => return Err("a data type"),
            ExprKind::RefNew(_) | ExprKind::RefRead(_) | ExprKind::RefWrite { .. } => return Err("a reference"),
            ExprKind::Fn(_) | ExprKind::Global(_) | ExprKind::Error => return Err("a function that is called or passed on"),
        }))
    }

    fn call(&mut self, expr: ExprId) -> Result<Value, Why> {
        let value = self.called(expr)?;
        match value {
            Value::Tensor(tensor) if tensor.numbers.is_none() && self.wanted.contains(&expr) => {
                self.seeded(tensor).map(Value::Tensor)
            }
            value => Ok(value),
        }
    }

    fn called(&mut self, expr: ExprId) -> Result<Value, Why> {
        if self.loops.start_at(expr) {
            return self.looped(expr);
        }
        let Some(def) = self.graph.cx.called(self.graph.module, expr) else { return Err("a function that is called") };
        let operands = args(self.graph.module, expr);
        let values = operands.iter().map(|&arg| self.get(arg)).collect::<Result<Vec<_>, _>>()?;
        let ty = self.graph.module.ty(expr);
        let attrs = self.graph.module.call_attrs(expr).to_vec();
        let mut call = Call { def, attrs, args: values, reached: self.reached(expr)?, ty };
        if def.random {
            return Err("an operator that draws random numbers");
        }
        if call.reached.is_live() && calls::may_trap(&call, &self.graph) {
            self.guard(&mut call)?;
        }
        if let Some(numbers) = self.numbers(&call)? {
            return Ok(numbers);
        }
        let is_same = operands.iter().zip(&call.args).all(|(&arg, value)| self.is_same(arg, value));
        let is_static = super::fold_constants::concrete(&self.graph.module.types, ty).is_some();
        if is_same && is_static && !calls::decides(def) {
            return self.of_type(expr);
        }
        if is_static && !calls::decides(def) && !call.tensors().iter().any(|tensor| tensor.is_live()) {
            let again = self.again(&call)?;
            return self.of_type(again);
        }
        self.rule(&call)
    }

    /// The value of one branch or the other, both with room for either.
    fn either(&mut self, cond: &Value, a: &Value, b: &Value) -> Result<Value, Why> {
        match (cond, a, b) {
            (Value::Tensor(cond), Value::Tensor(a), Value::Tensor(b)) => self.either_tensor(cond, a, b).map(Value::Tensor),
            (_, Value::Tuple(a), Value::Tuple(b)) => {
                let fields = a.iter().zip(b.iter()).map(|(a, b)| self.either(cond, a, b));
                Ok(Value::Tuple(fields.collect::<Result<_, _>>()?))
            }
            _ => Err("branches of different types"),
        }
    }

    fn either_tensor(&mut self, cond: &Padded, a: &Padded, b: &Padded) -> Result<Padded, Why> {
        let number = self.truth(cond)?;
        let graph = &mut self.graph;
        if let Some(value) = number.value() {
            return Ok(if value != 0 { a.clone() } else { b.clone() });
        }
        let mut dims = vec![];
        for (&a, &b) in a.dims.iter().zip(b.dims.iter()) {
            dims.push(graph.choose(number, a, b)?);
        }
        let room = padded::room(&dims);
        padded::require_room(&room)?;
        let (a, b) = (graph.fit(a.expr, &room)?, graph.fit(b.expr, &room)?);
        let expr = graph.call(&WHERE, &[cond.expr, a, b], &[])?;
        Ok(Padded::new(expr, &dims))
    }

    /// The result, with the dimensions of its tensors behind it if one is open, and which are.
    fn result(&mut self, body: ExprId) -> Result<(ExprId, Vec<bool>), Why> {
        let value = self.get(body)?;
        let mut tensors = vec![];
        leaves(&value, &mut tensors);
        let (mut fields, mut sizes, mut open) = (vec![], vec![], vec![]);
        for tensor in tensors {
            fields.push(self.graph.leading(tensor)?);
            open.push(tensor.is_live());
            sizes.push(self.graph.tensor_of(&tensor.dims, &[tensor.rank() as i64], DType::I64)?);
        }
        if !open.contains(&true) {
            sizes.clear();
        }
        let span = self.graph.span;
        let fields: Vec<Operand> = fields.into_iter().chain(sizes).map(|expr| Operand { expr, span }).collect();
        let fields = self.graph.module.operands(&fields);
        Ok((self.graph.module.expr(span, ExprKind::Tuple(fields)), open))
    }
}
