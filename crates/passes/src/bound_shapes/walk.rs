//! The walk over a function's expressions, and the values that take their places.

use super::loops::Loops;
use super::number::{Arith, Graph, Number, Why};
use super::padded::Padded;
use crate::build::{args, dims, tuple, typed, value_of};
use crate::regions::{RegionId, Regions};
use relayc_ir::types::{DType, Ty};
use relayc_ir::{AttrValue, ExprId, ExprKind, VarId};
use relayc_ops::OpDef;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

pub(super) const NO_RULE: Why = "an operator whose operand has a shape that only a run knows";
pub(super) const APART: Why = "two dimensions of which only a run could show that they are equal";

/// The largest number of elements of a tensor that are followed as numbers: shapes, and bounds of slices.
pub(super) const MAX_NUMBERS: usize = 64;

#[derive(Clone, Debug)]
pub(super) enum Value {
    Tensor(Padded),
    Tuple(Rc<[Value]>),
}

/// A parameter of a loop.
#[derive(Clone)]
pub(super) enum Param {
    /// Of the same type as before, with its elements if they are followed.
    Same(Option<Rc<[Number]>>),
    Other(Value),
}

/// The expressions in the order of evaluation, each with what takes its place.
pub(super) struct Walk<'a> {
    pub(super) graph: Graph<'a>,
    pub(super) values: FxHashMap<ExprId, Value>,
    pub(super) lets: FxHashMap<VarId, ExprId>,
    pub(super) regions: Regions,
    /// The `if` that each branch is of, and whether the branch is that of a true condition.
    pub(super) branches: FxHashMap<RegionId, (ExprId, bool)>,
    pub(super) loops: Loops,
    /// What the parameters of the loop are that is being followed.
    pub(super) params: FxHashMap<VarId, Param>,
    /// Integers that become sizes.
    pub(super) wanted: FxHashSet<ExprId>,
}

/// A call whose operands have been replaced.
pub(super) struct Call {
    pub(super) def: &'static OpDef,
    pub(super) attrs: Vec<AttrValue>,
    pub(super) args: Vec<Value>,
    /// 1 where a run computes it, 0 where it is in a branch that is not taken.
    pub(super) reached: Number,
    /// The type of the call before.
    pub(super) ty: Ty,
}

impl Call {
    pub(super) fn is_of(&self, defs: &[&OpDef]) -> bool {
        is_one_of(self.def, defs)
    }

    pub(super) fn attr(&self, name: &str) -> &AttrValue {
        let position = self.def.attrs.and_then(|schema| schema.position(name));
        position.and_then(|position| self.attrs.get(position)).unwrap_or(&AttrValue::None)
    }

    pub(super) fn int(&self, name: &str) -> Option<i64> {
        self.attr(name).as_int()
    }

    pub(super) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        match self.attr(name) {
            AttrValue::Int { value, .. } => Some(vec![*value]),
            value => value.as_list()?.iter().map(AttrValue::as_int).collect(),
        }
    }

    pub(super) fn is(&self, name: &str) -> bool {
        *self.attr(name) == AttrValue::Bool(true)
    }

    pub(super) fn text(&self, name: &str) -> &str {
        match self.attr(name) {
            AttrValue::Str(text) => text,
            _ => "",
        }
    }

    /// An operand that is a tensor.
    pub(super) fn tensor(&self, at: usize) -> Result<&Padded, Why> {
        match self.args.get(at) {
            Some(Value::Tensor(tensor)) => Ok(tensor),
            _ => Err("an operand that is no tensor"),
        }
    }

    /// The tensors of all operands.
    pub(super) fn tensors(&self) -> Vec<&Padded> {
        let mut found = vec![];
        self.args.iter().for_each(|arg| leaves(arg, &mut found));
        found
    }

    /// The axis that an attribute names, of so many.
    pub(super) fn axis(&self, name: &str, rank: usize) -> Result<usize, Why> {
        let axis = self.int(name).ok_or("an axis that is not given")?;
        counted(axis, rank)
    }
}

/// Whether an operator is one of several.
pub(super) fn is_one_of(def: &OpDef, defs: &[&OpDef]) -> bool {
    defs.iter().any(|other| other.name == def.name)
}

/// An axis that may count from the end.
pub(super) fn counted(axis: i64, rank: usize) -> Result<usize, Why> {
    let axis = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(axis).ok().filter(|&axis| axis < rank).ok_or("an axis that the tensor does not have")
}

pub(super) fn leaves<'a>(value: &'a Value, out: &mut Vec<&'a Padded>) {
    match value {
        Value::Tensor(tensor) => out.push(tensor),
        Value::Tuple(fields) => fields.iter().for_each(|field| leaves(field, out)),
    }
}

impl Walk<'_> {
    /// The branch or the function that an expression is computed in.
    pub(super) fn home(&self, expr: ExprId) -> RegionId {
        self.regions.home(self.regions.region(expr))
    }

    /// 1 where a run computes an expression, 0 where it is in a branch that is not taken.
    pub(super) fn reached(&mut self, expr: ExprId) -> Result<Number, Why> {
        let (mut reached, mut home) = (Number::ONE, self.home(expr));
        while let Some(&(branch, if_true)) = self.branches.get(&home) {
            let ExprKind::If { cond, .. } = self.graph.module.exprs[branch].kind else { break };
            let Value::Tensor(cond) = self.get(cond)? else { break };
            let holds = self.truth(&cond)?;
            let holds = if if_true { holds } else { self.graph.arith(Arith::Sub, Number::ONE, holds)? };
            reached = self.graph.arith(Arith::Mul, reached, holds)?;
            home = self.home(branch);
        }
        Ok(reached)
    }

    /// 1 for a condition that holds, else 0.
    pub(super) fn truth(&mut self, cond: &Padded) -> Result<Number, Why> {
        if let Some(&[number]) = cond.numbers.as_deref() {
            return Ok(number);
        }
        if let Some(&known) = self.graph.memo.truths.get(&cond.expr) {
            return Ok(known);
        }
        let wide = self.graph.cast(cond.expr, DType::I64)?;
        let number = self.graph.number(wide, 0, 1);
        self.graph.memo.truths.insert(cond.expr, number);
        Ok(number)
    }

    pub(super) fn get(&self, expr: ExprId) -> Result<Value, Why> {
        self.values.get(&expr).cloned().ok_or("a value that nothing computes")
    }

    /// An expression whose type has known shapes.
    pub(super) fn of_type(&mut self, expr: ExprId) -> Result<Value, Why> {
        let module = &mut *self.graph.module;
        let (span, ty) = (module.exprs[expr].span, module.ty(expr));
        if let Some(fields) = module.types.as_tuple(ty).map(<[Ty]>::to_vec) {
            let of = |(index, ty): (usize, Ty)| {
                let field = typed(self.graph.module, span, ExprKind::Proj { tuple: expr, index: index as i32 }, ty);
                self.of_type(field)
            };
            return Ok(Value::Tuple(fields.into_iter().enumerate().map(of).collect::<Result<_, _>>()?));
        }
        let shape = dims(module, expr).ok_or("a value that is no tensor")?;
        let known: Option<Vec<Number>> = shape.iter().map(|dim| dim.value().map(Number::known)).collect();
        let mut tensor = Padded::new(expr, &known.ok_or("a dimension that no operand decides")?);
        tensor.numbers = self.constant_numbers(expr);
        Ok(Value::Tensor(tensor))
    }

    pub(super) fn constant_numbers(&self, expr: ExprId) -> Option<Rc<[Number]>> {
        let value = value_of(self.graph.module, expr).filter(|value| value.len() <= MAX_NUMBERS)?;
        let is_int = value.dtype().is_int() || value.dtype() == DType::BOOL;
        let number = |value: i128| i64::try_from(value).ok().map(Number::known);
        is_int.then(|| value.to_ints().into_iter().map(number).collect())?
    }

    /// Whether a value is an expression as it was.
    pub(super) fn is_same(&self, expr: ExprId, value: &Value) -> bool {
        match (self.graph.module.exprs[expr].kind, value) {
            (_, Value::Tensor(tensor)) => tensor.expr == expr && !tensor.is_live(),
            (ExprKind::Tuple(_), Value::Tuple(fields)) => {
                args(self.graph.module, expr).iter().zip(fields.iter()).all(|(&arg, field)| self.is_same(arg, field))
            }
            (_, Value::Tuple(_)) => false,
        }
    }

    /// A value as an expression.
    pub(super) fn expr(&mut self, value: &Value) -> ExprId {
        match value {
            Value::Tensor(tensor) => tensor.expr,
            Value::Tuple(fields) => {
                let fields: Vec<ExprId> = fields.iter().map(|field| self.expr(field)).collect();
                tuple(self.graph.module, self.graph.span, &fields)
            }
        }
    }
}
