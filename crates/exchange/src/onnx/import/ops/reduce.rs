//! Converts reductions: `Reduce…`, `ArgMax`, `Softmax` and related ones, and `CumSum`, which keeps all elements.
//!
//! Axes are an attribute in older operator sets and an operand in newer ones. The operand must be known during the import,
//! because the axes of Relay's reductions are attributes.

use super::building_blocks::*;
use super::{Converter, op};

/// What a reduction computes.
#[derive(Clone, Copy)]
enum Of {
    Sum,
    Mean,
    Max,
    Min,
    Prod,
    L1,
    L2,
    LogSum,
    LogSumExp,
    SumSquare,
}

fn reduce(cx: &mut Cx, of: Of) -> Results {
    let x = cx.input(0)?;
    let keepdims = cx.flag("keepdims", true)?;
    let noop = cx.flag("noop_with_empty_axes", false)?;
    let axes = match cx.ints("axes")? {
        Some(axes) => axes,
        None => match cx.opt(1) {
            Some(_) => cx.given(1, "axes")?,
            None => vec![],
        },
    };
    let rank = cx.rank(x)?;
    // Where nothing is reduced, what is done to each number is still done.
    if rank == 0 || (axes.is_empty() && noop) {
        return one(reduced(cx, of, x, None, false)?);
    }
    let axes = if axes.is_empty() { axes_from(0, rank) } else { axes };
    one(reduced(cx, of, x, Some(&axes), keepdims)?)
}

fn reduced(cx: &mut Cx, of: Of, x: Val, axes: Option<&[i64]>, keepdims: bool) -> Result {
    let over = |cx: &mut Cx, op: &'static str, x: Val, keepdims: bool| -> Result {
        match axes {
            Some(axes) => cx.call(op, &[x], &[("axis", ints(axes)), ("keepdims", AttrValue::Bool(keepdims))]),
            None => Ok(x),
        }
    };
    match of {
        Of::Sum => over(cx, "sum", x, keepdims),
        Of::Mean => over(cx, "mean", x, keepdims),
        Of::Max => over(cx, "max", x, keepdims),
        Of::Min => over(cx, "min", x, keepdims),
        Of::Prod => over(cx, "prod", x, keepdims),
        Of::L1 => {
            let sizes = cx.unary("abs", x)?;
            over(cx, "sum", sizes, keepdims)
        }
        Of::L2 => {
            let squares = cx.binary("multiply", x, x)?;
            let sum = over(cx, "sum", squares, keepdims)?;
            cx.unary("sqrt", sum)
        }
        Of::SumSquare => {
            let squares = cx.binary("multiply", x, x)?;
            over(cx, "sum", squares, keepdims)
        }
        Of::LogSum => {
            let sum = over(cx, "sum", x, keepdims)?;
            cx.unary("log", sum)
        }
        Of::LogSumExp => {
            // Seen from the largest number, so that nothing overflows; from 0 where that is infinite.
            let max = over(cx, "max", x, true)?;
            let finite = cx.unary("isfinite", max)?;
            let zero = cx.like(x, 0.0)?;
            let base = cx.select(finite, max, zero)?;
            let low = cx.binary("subtract", x, base)?;
            let exps = cx.unary("exp", low)?;
            let sum = over(cx, "sum", exps, true)?;
            let log = cx.unary("log", sum)?;
            let result = cx.binary("add", log, base)?;
            match axes {
                Some(axes) if !keepdims => cx.call("squeeze", &[result], &[("axis", ints(axes))]),
                _ => Ok(result),
            }
        }
    }
}

fn arg_reduce(cx: &mut Cx, op: &'static str) -> Results {
    let x = cx.input(0)?;
    let axis = cx.int("axis", 0)?;
    let keepdims = AttrValue::Bool(cx.flag("keepdims", true)?);
    let last = AttrValue::Bool(cx.flag("select_last_index", false)?);
    let found = cx.call(op, &[x], &[("axis", ints(&[axis])), ("keepdims", keepdims), ("select_last_index", last)])?;
    one(cx.cast(found, DType::I64)?)
}

/// A running sum or product; `exclusive` excludes the element itself.
fn running(cx: &mut Cx, op: &str) -> Results {
    let x = cx.input(0)?;
    let axis = cx.given_int(1, "an axis")?;
    let exclusive = AttrValue::Bool(cx.flag("exclusive", false)?);
    let reverse = cx.flag("reverse", false)?;
    let turned = |cx: &mut Cx, x: Val| if reverse { cx.call("reverse", &[x], &[("axis", AttrValue::int(axis))]) } else { Ok(x) };
    let x = turned(cx, x)?;
    let sums = cx.call(op, &[x], &[("axis", AttrValue::int(axis)), ("exclusive", exclusive)])?;
    one(turned(cx, sums)?)
}

/// Up to operator set 12 the axes from `axis` on are one, and `axis` defaults to 1; later it defaults to the last.
fn softmax(cx: &mut Cx, op: &'static str) -> Results {
    let (x, version) = (cx.input(0)?, cx.version);
    one(along_axis(cx, x, version, |cx, x, axis| cx.call(op, &[x], &[("axis", AttrValue::int(axis))]))?)
}

fn hardmax(cx: &mut Cx) -> Results {
    let (x, version) = (cx.input(0)?, cx.version);
    one(along_axis(cx, x, version, |cx, x, axis| {
        let (rank, dtype) = (cx.rank(x)?, cx.dtype(x)?);
        let axis = cx.axis(axis, rank)?;
        let n = cx.dim(x, axis)?;
        let best = cx.call("argmax", &[x], &[("axis", positions(&[axis]))])?;
        let (on, off) = (cx.like(x, 1.0)?, cx.like(x, 0.0)?);
        let attrs = [("depth", AttrValue::int(n)), ("axis", int(axis)), ("dtype", AttrValue::DType(Some(dtype)))];
        cx.call("one_hot", &[best, on, off], &attrs)
    })?)
}

/// An operation along the node's `axis`. Before operator set 13, that axis and all behind it are one.
pub(super) fn along_axis(cx: &mut Cx, x: Val, version: i64, op: impl Fn(&mut Cx, Val, i64) -> Result) -> Result {
    if version >= 13 {
        let axis = cx.int("axis", -1)?;
        return op(cx, x, axis);
    }
    let rank = cx.rank(x)?;
    let axis = cx.axis_attr("axis", 1, rank)?;
    if axis.saturating_add(1) == rank {
        return op(cx, x, -1);
    }
    let shape = cx.sized(x)?.ok_or_else(|| refuse(SHAPE))?;
    let (before, behind) = shape.split_at(axis);
    let flat = [cx.product(before), cx.product(behind)];
    let flat = cx.reshape_to_dims(x, &flat)?;
    let result = op(cx, flat, 1)?;
    cx.reshape_to_dims(result, &shape)
}

const AXES: &str = "axes that only a run knows";

/// The refusal of operators that merge several axes into one.
const SHAPE: &str = "an unknown shape before operator set 13";

pub(crate) const FAMILY: &[Converter] = &[
    op("ReduceSum", &[1, 11, 13], |cx| reduce(cx, Of::Sum)).but(AXES),
    op("ReduceMean", &[1, 11, 13, 18], |cx| reduce(cx, Of::Mean)).but(AXES),
    op("ReduceMax", &[1, 11, 12, 13, 18, 20], |cx| reduce(cx, Of::Max)).but(AXES),
    op("ReduceMin", &[1, 11, 12, 13, 18, 20], |cx| reduce(cx, Of::Min)).but(AXES),
    op("ReduceProd", &[1, 11, 13, 18], |cx| reduce(cx, Of::Prod)).but(AXES),
    op("ReduceL1", &[1, 11, 13, 18], |cx| reduce(cx, Of::L1)).but(AXES),
    op("ReduceL2", &[1, 11, 13, 18], |cx| reduce(cx, Of::L2)).but(AXES),
    op("ReduceLogSum", &[1, 11, 13, 18], |cx| reduce(cx, Of::LogSum)).but(AXES),
    op("ReduceLogSumExp", &[1, 11, 13, 18], |cx| reduce(cx, Of::LogSumExp)).but(AXES),
    op("ReduceSumSquare", &[1, 11, 13, 18], |cx| reduce(cx, Of::SumSquare)).but(AXES),
    op("ArgMax", &[1, 11, 12, 13], |cx| arg_reduce(cx, "argmax")),
    op("ArgMin", &[1, 11, 12, 13], |cx| arg_reduce(cx, "argmin")),
    op("CumProd", &[26], |cx| running(cx, "cumprod")).but("an axis that only a run knows"),
    op("CumSum", &[11, 14], |cx| running(cx, "cumsum")).but("an axis that only a run knows"),
    op("Softmax", &[1, 11, 13], |cx| softmax(cx, "nn.softmax")).but(SHAPE),
    op("LogSoftmax", &[1, 11, 13], |cx| softmax(cx, "nn.log_softmax")).but(SHAPE),
    op("Hardmax", &[1, 11, 13], hardmax).but("an unknown shape before operator set 13; an axis of unknown length"),
];
