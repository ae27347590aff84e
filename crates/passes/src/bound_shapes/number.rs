//! Integers that a run computes from the sizes of tensors, with the range in which each lies.
//!
//! An integer whose range is one number is known. Any other has an expression, an int64 scalar. Equal computations give one
//! expression, so that sizes which are computed alike are the same size.

use super::range::Range;
use crate::PassCx;
use relayc_base::Span;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::OpDef;
use relayc_ops::declarations::{
    ADD, CAST, CONCATENATE, EQUAL, FLOOR_DIVIDE, LESS, MAXIMUM, MINIMUM, MULTIPLY, RESHAPE, STOP_FUSION, SUBTRACT, WHERE,
};
use rustc_hash::FxHashMap;

/// Why a program has no bound, in words.
pub(super) type Why = &'static str;

/// An integer from `low` to `high`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Number {
    pub(super) low: i64,
    pub(super) high: i64,
    /// The int64 scalar that has its value, unless that is known.
    expr: Option<ExprId>,
}

impl Number {
    pub(super) const ZERO: Number = Number::known(0);
    pub(super) const ONE: Number = Number::known(1);

    pub(super) const fn known(value: i64) -> Number {
        Number { low: value, high: value, expr: None }
    }

    pub(super) fn value(self) -> Option<i64> {
        (self.low == self.high).then_some(self.low)
    }

    /// Whether only a run knows it.
    pub(super) fn is_live(self) -> bool {
        self.value().is_none()
    }
}

/// How a number is computed from others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Arith {
    Add,
    Sub,
    Mul,
    Min,
    Max,
    /// Rounded down; the divisor is above 0.
    Div,
    Equal,
    Less,
}

impl Arith {
    fn operator(self) -> &'static OpDef {
        match self {
            Arith::Add => &ADD,
            Arith::Sub => &SUBTRACT,
            Arith::Mul => &MULTIPLY,
            Arith::Min => &MINIMUM,
            Arith::Max => &MAXIMUM,
            Arith::Div => &FLOOR_DIVIDE,
            Arith::Equal => &EQUAL,
            Arith::Less => &LESS,
        }
    }

    fn of(self, a: i64, b: i64) -> i64 {
        match self {
            Arith::Add => a.saturating_add(b),
            Arith::Sub => a.saturating_sub(b),
            Arith::Mul => a.saturating_mul(b),
            Arith::Min => a.min(b),
            Arith::Max => a.max(b),
            Arith::Div => a.div_euclid(b.max(1)),
            Arith::Equal => i64::from(a == b),
            Arith::Less => i64::from(a < b),
        }
    }

    /// The range of the results. It is an interval's end at the ends of the operands, as every one of these but `Equal` is monotone
    /// in each of them.
    fn range(self, a: Number, b: Number) -> (i64, i64) {
        if self == Arith::Equal {
            let apart = a.high < b.low || b.high < a.low;
            return (0, i64::from(!apart));
        }
        let ends = [(a.low, b.low), (a.low, b.high), (a.high, b.low), (a.high, b.high)].map(|(a, b)| self.of(a, b));
        ends.into_iter().fold((i64::MAX, i64::MIN), |(low, high), end| (low.min(end), high.max(end)))
    }
}

/// Expressions that are made once.
#[derive(Default)]
pub(super) struct Memo {
    /// `[0, 1, …]`, by length.
    pub(super) positions: FxHashMap<i64, ExprId>,
    /// What counts, by dimensions and the axes that matter.
    pub(super) masks: FxHashMap<(Vec<Number>, Vec<bool>), ExprId>,
    /// The positions of what is true of a mask, and their number.
    pub(super) places: FxHashMap<ExprId, (ExprId, Number)>,
    /// Conditions as numbers.
    pub(super) truths: FxHashMap<ExprId, Number>,
    /// In which ranges the elements of expressions lie.
    pub(super) ranges: FxHashMap<ExprId, Range>,
    /// The tensors of which expressions are the first part along axes.
    pub(super) cuts: FxHashMap<ExprId, ExprId>,
}

/// The program that is being made.
pub(super) struct Graph<'a> {
    pub(super) module: &'a mut Module,
    pub(super) cx: &'a PassCx<'a>,
    /// Where new expressions come from.
    pub(super) span: Span,
    made: FxHashMap<(Arith, Number, Number), Number>,
    chosen: FxHashMap<[Number; 3], Number>,
    parts: FxHashMap<ExprId, (Arith, Number, Number)>,
    pub(super) memo: Memo,
}

impl<'a> Graph<'a> {
    pub(super) fn new(module: &'a mut Module, cx: &'a PassCx<'a>) -> Graph<'a> {
        let (made, chosen, parts) = Default::default();
        Graph { module, cx, span: Span::NONE, made, chosen, parts, memo: Default::default() }
    }

    /// A call with some attributes, the others being defaults.
    pub(super) fn call(&mut self, def: &OpDef, args: &[ExprId], attrs: &[(&str, AttrValue)]) -> Result<ExprId, Why> {
        let attrs = def.attrs.map_or(vec![], |schema| schema.values(attrs));
        self.call_with(def, args, attrs)
    }

    pub(super) fn call_with(&mut self, def: &OpDef, args: &[ExprId], attrs: Vec<AttrValue>) -> Result<ExprId, Why> {
        let call = self.cx.typed_call(self.module, self.span, def, args, attrs);
        call.ok_or("an operator whose operands do not fit at the largest sizes")
    }

    /// An expression that is computed once, as many elements read each of its own.
    pub(super) fn once(&mut self, expr: ExprId) -> Result<ExprId, Why> {
        self.call(&STOP_FUSION, &[expr], &[])
    }

    pub(super) fn constant(&mut self, value: Tensor) -> ExprId {
        self.cx.constant(self.module, self.span, value)
    }

    /// The int64 scalar that has the value of a number.
    pub(super) fn scalar(&mut self, number: Number) -> ExprId {
        number.expr.unwrap_or_else(|| self.constant(Tensor::scalar(number.low)))
    }

    /// The number that an int64 scalar has, which lies in a range.
    pub(super) fn number(&self, expr: ExprId, low: i64, high: i64) -> Number {
        Number { low, high, expr: (low != high).then_some(expr) }
    }

    pub(super) fn arith(&mut self, op: Arith, a: Number, b: Number) -> Result<Number, Why> {
        let (mut low, mut high) = op.range(a, b);
        if op == Arith::Sub && self.is_at_most(b, a) {
            low = low.max(0);
        }
        if op == Arith::Sub && self.is_at_most(a, b) {
            high = high.min(0);
        }
        if low == high {
            return Ok(Number::known(low));
        }
        // Sums and the like are written in one order.
        let commutes = matches!(op, Arith::Add | Arith::Mul | Arith::Min | Arith::Max | Arith::Equal);
        let (a, b) = if commutes && (b.expr, b.low) > (a.expr, a.low) { (b, a) } else { (a, b) };
        if let Some(simple) = self.simpler(op, a, b)? {
            return Ok(simple);
        }
        if let Some(&known) = self.made.get(&(op, a, b)) {
            return Ok(known);
        }
        let args = [self.scalar(a), self.scalar(b)];
        let mut expr = self.call(op.operator(), &args, &[])?;
        if matches!(op, Arith::Equal | Arith::Less) {
            expr = self.cast(expr, DType::I64)?;
        }
        let number = self.number(expr, low, high);
        self.parts.insert(expr, (op, a, b));
        self.made.insert((op, a, b), number);
        Ok(number)
    }

    /// A number that needs no computation, or a smaller one. A known operand of what commutes is the second.
    fn simpler(&mut self, op: Arith, a: Number, b: Number) -> Result<Option<Number>, Why> {
        Ok(match (op, b.value()) {
            (Arith::Add | Arith::Sub, Some(0)) | (Arith::Mul | Arith::Div, Some(1)) => Some(a),
            (Arith::Min, _) if a == b || self.is_at_most(a, b) => Some(a),
            (Arith::Min, _) if self.is_at_most(b, a) => Some(b),
            (Arith::Max, _) if a == b || self.is_at_most(a, b) => Some(b),
            (Arith::Max, _) if self.is_at_most(b, a) => Some(a),
            (Arith::Sub, _) if a == b => Some(Number::ZERO),
            (Arith::Equal, _) if a == b => Some(Number::ONE),
            (Arith::Less, _) if self.is_at_most(b, a) => Some(Number::ZERO),
            (Arith::Div, Some(by)) => match a.expr.and_then(|expr| self.parts.get(&expr).copied()) {
                Some((Arith::Mul, part, times)) if by > 0 && times.value().is_some_and(|times| times % by == 0) => {
                    Some(self.arith(Arith::Mul, part, Number::known(times.low / by))?)
                }
                _ => None,
            },
            _ => None,
        })
    }

    /// Whether it is certain that `a <= b`.
    pub(super) fn is_at_most(&self, a: Number, b: Number) -> bool {
        let of = |number: Number| number.expr.and_then(|expr| self.parts.get(&expr).copied());
        a == b
            || a.high <= b.low
            || matches!(of(a), Some((Arith::Min, x, y)) if self.is_at_most(x, b) || self.is_at_most(y, b))
            || matches!(of(b), Some((Arith::Max, x, y)) if self.is_at_most(a, x) || self.is_at_most(a, y))
            || matches!(of(a), Some((Arith::Sub, x, y)) if y.low >= 0 && self.is_at_most(x, b))
    }

    /// Whether it is certain that `a`, which is not negative, is 0 only if `b` is.
    pub(super) fn is_0_only_with(&self, a: Number, b: Number) -> bool {
        let part = a.expr.and_then(|expr| self.parts.get(&expr).copied());
        let both = |x: Number, y: Number| self.is_0_only_with(x, b) && self.is_0_only_with(y, b);
        a == b || a.low >= 1 || matches!(part, Some((Arith::Min, x, y)) if both(x, y))
    }

    /// `a` where a condition is not 0, else `b`.
    pub(super) fn choose(&mut self, cond: Number, a: Number, b: Number) -> Result<Number, Why> {
        match cond.value() {
            _ if a == b => return Ok(a),
            Some(0) => return Ok(b),
            Some(_) => return Ok(a),
            None => {}
        }
        if let Some(&known) = self.chosen.get(&[cond, a, b]) {
            return Ok(known);
        }
        let args = [cond, a, b].map(|number| self.scalar(number));
        let expr = self.call(&WHERE, &args, &[])?;
        let number = self.number(expr, a.low.min(b.low), a.high.max(b.high));
        self.chosen.insert([cond, a, b], number);
        Ok(number)
    }

    /// How much larger `b` is than `a`, if that is known.
    pub(super) fn step(&self, a: Number, b: Number) -> Option<i64> {
        match b.expr.and_then(|expr| self.parts.get(&expr).copied()) {
            Some((Arith::Add, x, more)) if x == a => more.value(),
            _ => b.value()?.checked_sub(a.value()?),
        }
    }

    pub(super) fn product(&mut self, numbers: &[Number]) -> Result<Number, Why> {
        numbers.iter().try_fold(Number::ONE, |product, &number| self.arith(Arith::Mul, product, number))
    }

    /// The factors of a product.
    pub(super) fn factors(&self, number: Number) -> Vec<Number> {
        match number.expr.and_then(|expr| self.parts.get(&expr).copied()) {
            Some((Arith::Mul, a, b)) => [self.factors(a), self.factors(b)].concat(),
            _ => vec![number],
        }
    }

    pub(super) fn cast(&mut self, expr: ExprId, dtype: DType) -> Result<ExprId, Why> {
        if crate::build::dtype(self.module, expr) == Some(dtype) {
            return Ok(expr);
        }
        self.call(&CAST, &[expr], &[("dtype", AttrValue::DType(Some(dtype)))])
    }

    pub(super) fn reshape(&mut self, expr: ExprId, shape: &[i64]) -> Result<ExprId, Why> {
        if crate::build::shape(self.module, expr).as_deref() == Some(shape) {
            return Ok(expr);
        }
        self.call(&RESHAPE, &[expr], &[("newshape", AttrValue::ints(shape)), ("allowzero", AttrValue::Bool(true))])
    }

    /// A tensor of numbers.
    pub(super) fn tensor_of(&mut self, numbers: &[Number], shape: &[i64], dtype: DType) -> Result<ExprId, Why> {
        if let Some(values) = numbers.iter().map(|number| number.value()).collect::<Option<Vec<i64>>>() {
            let shape: Vec<usize> = shape.iter().map(|&dim| dim as usize).collect();
            let value = Tensor::from_vec(&shape, values).cast(dtype).ok_or("a tensor of numbers of another kind")?;
            return Ok(self.constant(value));
        }
        let mut scalars = vec![];
        for &number in numbers {
            let scalar = self.scalar(number);
            scalars.push(self.reshape(scalar, &[1])?);
        }
        let joined = match scalars[..] {
            [one] => one,
            _ => {
                let fields = crate::build::tuple(self.module, self.span, &scalars);
                self.call(&CONCATENATE, &[fields], &[])?
            }
        };
        let reshaped = self.reshape(joined, shape)?;
        self.cast(reshaped, dtype)
    }
}
