//! The ranges in which elements lie, and sizes that are elements of tensors.
//!
//! Boxes that are clipped to an image give sizes that are no larger than it. Only what makes such sizes is followed: bounds, sums,
//! products, conversions, and moved elements.

use super::number::{Arith, Graph, Number, Why};
use super::padded::{Padded, room};
use super::range::Range;
use super::walk::{MAX_NUMBERS, Walk, is_one_of};
use crate::PassCx;
use crate::build::{args, dtype, shape, str_attr, value_of};
use relayc_ir::types::DType;
use relayc_ir::{ExprId, ExprKind, Module, VarId};
use relayc_ops::OpDef;
use relayc_ops::declarations::{
    ADD, BROADCAST_TO, CAST, CEIL, CLIP, CONCATENATE, ClipAttrs, DIVIDE, DYN_BROADCAST_TO, DYN_FULL, DYN_RESHAPE, DYN_RESIZE2D,
    DYN_STRIDED_SLICE, EXPAND_DIMS, FLOOR, FULL, GATHER_ND, MAX, MAXIMUM, MIN, MINIMUM, MULTIPLY, RESHAPE, ROUND,
    SCATTER_ELEMENTS, SPLIT, SQUEEZE, STRIDED_SLICE, SUBTRACT, TAKE, TRANSPOSE, WHERE, ZEROS,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Whether operands behind the first say how large the result is.
const BY_SIZES: &[&OpDef] = &[&DYN_BROADCAST_TO, &DYN_FULL, &DYN_RESHAPE, &DYN_RESIZE2D, &DYN_STRIDED_SLICE];

/// The operators whose results are elements of the first operand.
const MOVED: &[&OpDef] = &[
    &BROADCAST_TO,
    &EXPAND_DIMS,
    &FULL,
    &GATHER_ND,
    &MAX,
    &MIN,
    &RESHAPE,
    &SPLIT,
    &SQUEEZE,
    &STRIDED_SLICE,
    &TAKE,
    &TRANSPOSE,
    &CONCATENATE,
];

/// Those that compute an element from one of each operand.
const COMPUTED: &[&OpDef] = &[&ADD, &CAST, &CEIL, &CLIP, &DIVIDE, &FLOOR, &MAXIMUM, &MINIMUM, &MULTIPLY, &ROUND, &SUBTRACT];

/// The expressions whose elements become sizes.
pub(super) fn wanted(module: &Module, cx: &PassCx, order: &[ExprId], lets: &FxHashMap<VarId, ExprId>) -> FxHashSet<ExprId> {
    let mut wanted = FxHashSet::default();
    let mut work: Vec<ExprId> = vec![];
    for &expr in order {
        if cx.calls_any(module, expr, BY_SIZES) {
            work.extend(args(module, expr).into_iter().skip(1));
        }
    }
    while let Some(expr) = work.pop() {
        let is_small = |expr: ExprId| shape(module, expr).is_some_and(|dims| dims.iter().product::<i64>() <= MAX_NUMBERS as i64);
        let is_int = dtype(module, expr).is_some_and(|dtype| dtype.is_int());
        match module.exprs[expr].kind {
            ExprKind::Tuple(_) => work.extend(args(module, expr)),
            _ if !is_int || !is_small(expr) || !wanted.insert(expr) => {}
            ExprKind::Call { .. } => work.extend(args(module, expr)),
            ExprKind::Var(var) => work.extend(lets.get(&var)),
            _ => {}
        }
    }
    wanted
}

impl Graph<'_> {
    /// The range of the elements of an expression, of all fields of a tuple.
    fn range(&mut self, root: ExprId) -> Range {
        let mut work = vec![root];
        while let Some(&expr) = work.last() {
            let before = work.len();
            if !self.memo.ranges.contains_key(&expr) {
                let parts = self.ranged(expr);
                work.extend(parts.iter().filter(|part| !self.memo.ranges.contains_key(part)));
                if work.len() > before {
                    continue;
                }
                let of: Vec<Range> = parts.iter().map(|part| self.memo.ranges[part]).collect();
                let range = self.range_of(expr, &parts, &of);
                self.memo.ranges.insert(expr, range);
            }
            work.pop();
        }
        self.memo.ranges.get(&root).copied().unwrap_or(Range::ALL)
    }

    /// The expressions from whose elements those of an expression come.
    fn ranged(&self, expr: ExprId) -> Vec<ExprId> {
        let operands = args(self.module, expr);
        match self.module.exprs[expr].kind {
            ExprKind::Tuple(_) => operands,
            ExprKind::Proj { tuple, .. } => vec![tuple],
            ExprKind::Call { .. } => match self.cx.called(self.module, expr) {
                Some(def) if is_one_of(def, MOVED) => operands.into_iter().take(1).collect(),
                Some(def) if is_one_of(def, COMPUTED) => operands,
                Some(def) if is_one_of(def, &[&WHERE]) => operands.into_iter().skip(1).collect(),
                Some(def)
                    if is_one_of(def, &[&SCATTER_ELEMENTS])
                        && str_attr(self.cx, self.module, expr, "reduction") == Some("update") =>
                {
                    operands.into_iter().step_by(2).collect()
                }
                _ => vec![],
            },
            _ => vec![],
        }
    }

    fn range_of(&self, expr: ExprId, parts: &[ExprId], of: &[Range]) -> Range {
        if let Some(value) = value_of(self.module, expr) {
            return Range::of(value.to_f64s().into_iter().filter(|value| !value.is_nan()));
        }
        let all = || of.iter().copied().reduce(Range::or).unwrap_or(Range::ALL);
        let (Some(def), Some(to)) = (self.cx.called(self.module, expr), dtype(self.module, expr)) else { return all() };
        let is = |other: &OpDef| def.name == other.name;
        match *of {
            [] if is(&ZEROS) => Range::of([0.0]),
            [] => Range::ALL,
            [a] if is(&CAST) => {
                parts.first().and_then(|&part| dtype(self.module, part)).map_or(Range::ALL, |from| a.cast(from, to))
            }
            [a] if is(&CLIP) => {
                let ClipAttrs { a_min, a_max } = ClipAttrs::read(self.module.call_attrs(expr));
                Range { low: a.low.max(a_min).min(a_max), high: a.high.min(a_max).max(a_min) }.held(to)
            }
            [a] if is(&CEIL) || is(&FLOOR) || is(&ROUND) => Range { low: a.low.floor(), high: a.high.ceil() },
            [a, b] if is(&ADD) => a.ends(b, |a, b| a + b).held(to),
            [a, b] if is(&SUBTRACT) => a.ends(b, |a, b| a - b).held(to),
            [a, b] if is(&MULTIPLY) => a.ends(b, |a, b| a * b).held(to),
            [a, b] if is(&DIVIDE) && to.is_float() && (b.low > 0.0 || b.high < 0.0) => a.ends(b, |a, b| a / b).held(to),
            [a, b] if is(&MAXIMUM) => Range { low: a.low.max(b.low), high: a.high.max(b.high) },
            [a, b] if is(&MINIMUM) => Range { low: a.low.min(b.low), high: a.high.min(b.high) },
            _ if is_one_of(def, COMPUTED) => Range::ALL,
            _ => all(),
        }
    }
}

impl Walk<'_> {
    /// The elements of a small tensor of integers as numbers, if they have bounds.
    pub(super) fn seeded(&mut self, tensor: Padded) -> Result<Padded, Why> {
        let shape = room(&tensor.dims);
        let n: i64 = shape.iter().product();
        let range = self.graph.range(tensor.expr);
        // Sums of some of them are in range.
        const MOST: f64 = (1i64 << 40) as f64;
        let is_known = tensor.numbers.is_some() || !self.graph.dtype(&tensor)?.is_int();
        if is_known
            || tensor.is_live()
            || n > MAX_NUMBERS as i64
            || range.low < -MOST
            || range.high > MOST
            || range.low > range.high
        {
            return Ok(tensor);
        }
        let graph = &mut self.graph;
        let mut numbers = vec![];
        for at in 0..n {
            let flat = graph.reshape(tensor.expr, &[n])?;
            let one = graph.slice(flat, 0, [at, at + 1, 1])?;
            let scalar = graph.reshape(one, &[])?;
            let wide = graph.cast(scalar, DType::I64)?;
            numbers.push(graph.number(wide, range.low as i64, range.high as i64));
        }
        Ok(Padded { numbers: Some(numbers.into()), ..tensor })
    }

    /// A number that is a position: below 0 it counts from the end of `n`.
    pub(super) fn counted_from(&mut self, at: Number, n: Number) -> Result<Number, Why> {
        let graph = &mut self.graph;
        match (at.low >= 0, at.high < 0) {
            (true, _) => Ok(at),
            (_, true) => graph.arith(Arith::Add, at, n),
            _ => {
                let is_negative = graph.arith(Arith::Less, at, Number::ZERO)?;
                let from_end = graph.arith(Arith::Add, at, n)?;
                graph.choose(is_negative, from_end, at)
            }
        }
    }
}
