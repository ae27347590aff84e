//! Lowers reductions to loop nests.

use super::{ArgReduceAttrs, ReduceAttrs, VarianceAttrs, reduced_axes};
use crate::gather_lowering::read;
use crate::lower::{Rows, constant, converted, lane, stored, summing};
use crate::prelude::*;
use relayc_ir::kernel::{Reduction, Stage};

/// The reduction of each row, divided by its length for a mean.
pub(super) fn reduction(call: &Call, fold: Reduction, mean: bool) -> Option<Template> {
    let (attrs, data) = (ReduceAttrs::read(call.attrs), call.arg(0));
    // A sum of bools is no number of one, and a mean of integers is rounded.
    if data.dtype == DType::BOOL && !mean {
        return truth(call, if matches!(fold, Reduction::Sum | Reduction::Max) { Reduction::Max } else { Reduction::Min });
    }
    let lane = lane(data.dtype)?;
    let axes = reduced_axes(data.shape.len(), attrs.axis.as_deref(), attrs.exclude);
    let rows = Rows::new(&data.shape, &axes);
    // Of nothing there is no extreme, and a mean of no floats is NaN.
    let sums = matches!(fold, Reduction::Sum | Reduction::Product);
    (rows.count() > 0 || (sums && (!mean || lane.is_float()))).then_some(())?;
    let summing = if sums { summing(lane) } else { lane };
    let mut element = Body::new();
    let x = element.read(0);
    let x = converted(&mut element, x, lane, summing);
    let folds = Stage { each: true, body: element, reductions: vec![(x, fold)], stores: vec![] };
    let last = match mean {
        true if lane.is_float() => divided(summing, lane, rows.count() as f64)?,
        true => mean_of_ints(lane, summing, rows.count())?,
        false => {
            let mut body = Body::new();
            let val = body.folded(0);
            let val = converted(&mut body, val, summing, lane);
            stored(body, val)
        }
    };
    let out = rows.reduced(&axes, attrs.keepdims);
    Some(rows.nest(vec![], vec![folds, last], out))
}

/// A number of a lane.
fn number(body: &mut Body, lane: ScalarType, value: f64) -> Option<Val> {
    constant(body, &Tensor::full(lane.dtype()?, &[], value)?)
}

/// Stores the first fold divided, in another lane.
fn divided(summing: ScalarType, lane: ScalarType, divisor: f64) -> Option<Stage> {
    let mut body = Body::new();
    let (sum, divisor) = (body.folded(0), number(&mut body, summing, divisor)?);
    let val = body.bin(BinaryOp::Div, sum, divisor);
    let val = converted(&mut body, val, summing, lane);
    Some(stored(body, val))
}

/// The sum wraps before it is divided, which is done where the divisor has room.
fn mean_of_ints(lane: ScalarType, summing: ScalarType, count: u64) -> Option<Stage> {
    let roomy = match lane.int_bits()? {
        (64, false) => ScalarType::U64,
        (64, true) | (32, false) => ScalarType::I64,
        _ => ScalarType::I32,
    };
    let mut body = Body::new();
    let sum = body.folded(0);
    let sum = converted(&mut body, sum, summing, lane);
    let divisor = number(&mut body, roomy, i32::try_from(count).ok()?.into())?;
    let sum = converted(&mut body, sum, lane, roomy);
    let quotient = body.bin(BinaryOp::TruncDiv, sum, divisor);
    let val = converted(&mut body, quotient, roomy, lane);
    Some(stored(body, val))
}

pub(super) fn variance(call: &Call) -> Option<Template> {
    let (attrs, data, mean) = (VarianceAttrs::read(call.attrs), call.arg(0), call.arg(1));
    let lane = lane(data.dtype).filter(|lane| lane.is_float())?;
    let summing = summing(lane);
    let axes = reduced_axes(data.shape.len(), attrs.axis.as_deref(), attrs.exclude);
    let rows = Rows::new(&data.shape, &axes);
    let mut body = Body::new();
    let (x, m) = (body.read(0), body.read(1));
    let difference = body.bin(BinaryOp::Sub, x, m);
    let square = body.bin(BinaryOp::Mul, difference, difference);
    let square = converted(&mut body, square, lane, summing);
    let folds = Stage { each: true, body, reductions: vec![(square, Reduction::Sum)], stores: vec![] };
    let last = divided(summing, lane, rows.count() as f64 - f64::from(u8::from(attrs.unbiased)))?;
    let repeated = |(axis, index): (usize, &AxisMap)| if mean.shape[axis] == 1 { AxisMap::zero() } else { index.clone() };
    let means = rows.index.iter().enumerate().map(repeated).collect();
    let out = rows.reduced(&axes, attrs.keepdims);
    Some(rows.nest(vec![Read::of(Source::Arg(1), means)], vec![folds, last], out))
}

/// Whether all elements are true, as the minimum of 0 and 1; whether any is, as the maximum.
pub(super) fn truth(call: &Call, fold: Reduction) -> Option<Template> {
    let (attrs, data) = (ReduceAttrs::read(call.attrs), call.arg(0));
    let lane = lane(data.dtype)?;
    let axes = reduced_axes(data.shape.len(), attrs.axis.as_deref(), attrs.exclude);
    let rows = Rows::new(&data.shape, &axes);
    let out = rows.reduced(&axes, attrs.keepdims);
    let mut element = Body::new();
    let x = element.read(0);
    let truth = is_true(&mut element, x, lane)?;
    let number = element.un(UnaryOp::BoolToInt, truth);
    let folds = Stage { each: true, body: element, reductions: vec![(number, fold)], stores: vec![] };
    // Of nothing the least is the greatest integer, which is true, and the other way round.
    let mut body = Body::new();
    let (folded, zero) = (body.folded(0), body.i32(0));
    let truth = body.cmp(Cmp::Gt, folded, zero);
    let val = match lane {
        ScalarType::F32 => body.un(UnaryOp::BoolToFloat, truth),
        ScalarType::I32 => body.un(UnaryOp::BoolToInt, truth),
        ScalarType::Bool => truth,
        _ => body.un(UnaryOp::To(lane), truth),
    };
    let last = stored(body, val);
    Some(rows.nest(vec![], vec![folds, last], out))
}

fn is_true(body: &mut Body, x: Val, lane: ScalarType) -> Option<Val> {
    if lane == ScalarType::Bool {
        return Some(x);
    }
    let zero = number(body, lane, 0.0)?;
    Some(body.cmp(Cmp::Ne, x, zero))
}

/// The lane of the dtypes whose elements a register holds as they are.
fn plain(dtype: DType) -> Option<ScalarType> {
    lane(dtype).filter(|lane| matches!(lane, ScalarType::F32 | ScalarType::I32 | ScalarType::Bool))
}

/// Elements of a row at most whose positions are worth a table.
const LONGEST: u64 = 1 << 24;

/// Computes the extreme of each row, then the first or the last position of an equal element. For NaN the first position counts
/// either way, so the search for the last position counts positions of NaN from the other end.
pub(super) fn position(call: &Call, extreme: Reduction) -> Option<Template> {
    let (attrs, data) = (ArgReduceAttrs::read(call.attrs), call.arg(0));
    let lane = plain(data.dtype)?;
    (call.out().dtype == DType::I32).then_some(())?;
    let axes = reduced_axes(data.shape.len(), attrs.axis.as_deref(), attrs.exclude);
    let rows = Rows::new(&data.shape, &axes);
    let n = rows.count();
    (1..=LONGEST).contains(&n).then_some(())?;
    let mut template = Template { dims: rows.dims.clone(), reduce: rows.reduce.clone(), ..Template::default() };
    let mut body = Body::new();
    let element = Read::of(Source::Arg(0), rows.index.clone());
    let x = read(&mut template, &mut body, element);
    let x = comparable(&mut body, x, lane);
    let first = Stage { each: true, body, reductions: vec![(x, extreme)], stores: vec![] };
    let mut body = Body::new();
    let (x, best) = (body.read(0), body.folded(0));
    let x = comparable(&mut body, x, lane);
    let place = read(&mut template, &mut body, Read::table(Table::ints(0..n as i32), rows.position()));
    let last = attrs.select_last_index;
    let never = body.i32(if last { -1 } else { i32::MAX });
    let same = body.cmp(Cmp::Eq, x, best);
    let mut key = body.select(same, place, never);
    if lane == ScalarType::F32 {
        let (is_nan, most) = (body.cmp(Cmp::Ne, x, x), body.i32(i32::MAX));
        let counted = if last { body.bin(BinaryOp::Sub, most, place) } else { place };
        key = body.select(is_nan, counted, key);
    }
    let folds = vec![(key, if last { Reduction::Max } else { Reduction::Min })];
    let second = Stage { each: true, body, reductions: folds, stores: vec![] };
    let mut body = Body::new();
    let mut val = body.folded(1);
    if last && lane == ScalarType::F32 {
        let (best, most) = (body.folded(0), body.i32(i32::MAX));
        let (is_nan, turned) = (body.cmp(Cmp::Ne, best, best), body.bin(BinaryOp::Sub, most, val));
        val = body.select(is_nan, turned, val);
    }
    let third = stored(body, val);
    template.stages = vec![first, second, third];
    template.outs = vec![rows.reduced(&axes, attrs.keepdims)];
    Some(template)
}

/// A bool as a number, which can be compared.
fn comparable(body: &mut Body, x: Val, lane: ScalarType) -> Val {
    if lane == ScalarType::Bool { body.un(UnaryOp::BoolToInt, x) } else { x }
}
