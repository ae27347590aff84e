//! Exports reductions to ONNX.

use super::*;
use crate::prelude::*;

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (SUM.name, Onnx::Nodes(|cx| fold_onnx(cx, "ReduceSum"))),
    (PROD.name, Onnx::Nodes(|cx| fold_onnx(cx, "ReduceProd"))),
    (MEAN.name, Onnx::Nodes(mean_onnx)),
    (VARIANCE.name, Onnx::Nodes(variance_onnx)),
    (MAX.name, Onnx::Nodes(|cx| fold_onnx(cx, "ReduceMax"))),
    (MIN.name, Onnx::Nodes(|cx| fold_onnx(cx, "ReduceMin"))),
    (ALL.name, Onnx::Nodes(|cx| truth_onnx(cx, false))),
    (ANY.name, Onnx::Nodes(|cx| truth_onnx(cx, true))),
    (ARGMAX.name, Onnx::Nodes(|cx| position_onnx(cx, "ArgMax"))),
    (ARGMIN.name, Onnx::Nodes(|cx| position_onnx(cx, "ArgMin"))),
];

/// The axes of a call, ascending, and whether they stay.
fn axes_onnx(cx: &OnnxCx) -> (Vec<i64>, bool) {
    let attrs = ReduceAttrs::read(cx.attrs);
    let axes = reduced_axes(cx.rank(cx.tensor(0)), attrs.axis.as_deref(), attrs.exclude);
    (axes.into_iter().map(|axis| axis as i64).collect(), attrs.keepdims)
}

/// One reduction. The sum takes its axes as an input, the others as an attribute.
fn reduced_onnx(cx: &mut OnnxCx, kind: &'static str, data: ValueId, (axes, keep): (Vec<i64>, bool)) -> ValueId {
    if axes.is_empty() {
        return cx.node("Identity", &[data]).one();
    }
    if kind == "ReduceSum" {
        let axes = cx.ints("axes", &axes);
        return cx.node(kind, &[data, axes]).int("keepdims", keep.into()).one();
    }
    cx.node(kind, &[data]).ints("axes", &axes).int("keepdims", keep.into()).one()
}

fn fold_onnx(cx: &mut OnnxCx, kind: &'static str) -> OnnxResult {
    let (data, dtype) = (cx.tensor(0), cx.out_dtype());
    if !dtype.is_float() && (dtype.bits < 32 || !dtype.is_int()) {
        return Err(format!("a reduction of `{dtype}`, where ONNX takes floats and wide integers only"));
    }
    let axes = axes_onnx(cx);
    Ok(reduced_onnx(cx, kind, data, axes).into())
}

fn mean_onnx(cx: &mut OnnxCx) -> OnnxResult {
    DTypeClass::Floats.require(cx.out_dtype())?;
    fold_onnx(cx, "ReduceMean")
}

fn variance_onnx(cx: &mut OnnxCx) -> OnnxResult {
    DTypeClass::Floats.require(cx.out_dtype())?;
    let attrs = VarianceAttrs::read(cx.attrs);
    let (data, mean) = (cx.tensor(0), cx.tensor(1));
    let axes = reduced_axes(cx.rank(data), attrs.axis.as_deref(), attrs.exclude);
    let all: Vec<i64> = axes.iter().map(|&axis| axis as i64).collect();
    let difference = cx.node("Sub", &[data, mean]).one();
    let squares = cx.node("Mul", &[difference, difference]).one();
    if !attrs.unbiased {
        return Ok(reduced_onnx(cx, "ReduceMean", squares, (all, attrs.keepdims)).into());
    }
    let count = axes.iter().map(|&axis| cx.dim(data, axis)).try_fold(1.0, |n, dim| dim.map(|dim| n * dim as f64))?;
    let sum = reduced_onnx(cx, "ReduceSum", squares, (all, attrs.keepdims));
    let count = cx.scalar("count", cx.out_dtype(), count - 1.0)?;
    Ok(cx.node("Div", &[sum, count]).one().into())
}

/// Whether any element is true, or none is false: by counting, also for empty rows.
fn truth_onnx(cx: &mut OnnxCx, wanted: bool) -> OnnxResult {
    let (data, axes, dtype) = (cx.tensor(0), axes_onnx(cx), cx.out_dtype());
    let mut truth = cx.cast(data, dtype, DType::BOOL)?;
    if !wanted {
        truth = cx.node("Not", &[truth]).one();
    }
    let numbers = cx.cast(truth, DType::BOOL, DType::I64)?;
    let count = reduced_onnx(cx, "ReduceSum", numbers, axes);
    let zero = cx.scalar("none", DType::I64, 0.0)?;
    let found = cx.node(if wanted { "Greater" } else { "Equal" }, &[count, zero]).one();
    Ok(cx.cast(found, DType::BOOL, dtype)?.into())
}

/// Along one axis as ONNX has it; along all of them, along that of the elements in a row.
fn position_onnx(cx: &mut OnnxCx, kind: &'static str) -> OnnxResult {
    let attrs = ArgReduceAttrs::read(cx.attrs);
    let data = cx.tensor(0);
    DTypeClass::Numbers.require(cx.dtype(data))?;
    let axes = reduced_axes(cx.rank(data), attrs.axis.as_deref(), attrs.exclude);
    let (row, axis, keep) = match axes[..] {
        [axis] => (data, axis as i64, attrs.keepdims),
        _ if axes.len() == cx.rank(data) => (cx.reshaped(data, &[-1]), 0, false),
        _ => return Err("positions along several of the axes".into()),
    };
    let node = cx.node(kind, &[row]).int("axis", axis).int("keepdims", keep.into());
    let position = node.int("select_last_index", attrs.select_last_index.into()).one();
    let position = cx.cast(position, DType::I64, cx.out_dtype())?;
    let all_kept = axes.len() > 1 && attrs.keepdims;
    Ok(if all_kept { cx.reshaped(position, &vec![1; axes.len()]) } else { position }.into())
}
