//! Exports the operators that index to ONNX.

use super::*;

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (TAKE.name, Onnx::Nodes(take_onnx)),
    (GATHER.name, Onnx::Nodes(gather_onnx)),
    (GATHER_ND.name, Onnx::Nodes(gather_nd_onnx)),
    (ONE_HOT.name, Onnx::Nodes(one_hot_onnx)),
    (SLICE_LIKE.name, Onnx::Nodes(slice_like_onnx)),
];

/// An operand of indices as ONNX takes them: int32 or int64.
fn indices_onnx(cx: &mut OnnxCx, arg: usize) -> Result<(ValueId, DType), String> {
    let (indices, dtype) = (cx.tensor(arg), cx.dtype(cx.tensor(arg)));
    let wanted = if dtype == DType::I32 { DType::I32 } else { DType::I64 };
    Ok((cx.cast(indices, dtype, wanted)?, wanted))
}

/// ONNX counts negative indices from the end and refuses those outside, so both are brought inside first, unless they are
/// constants that are there.
fn take_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let attrs = TakeAttrs::read(cx.attrs);
    if attrs.batch_dims.unwrap_or(0) > 0 {
        return Err("axes that both operands share".into());
    }
    let (data, operand) = (cx.tensor(0), cx.tensor(1));
    let (data, axis, length) = match attrs.axis {
        Some(axis) => (data, axis, cx.dim(data, axis.rem_euclid(cx.rank(data) as i64) as usize)),
        None => {
            let length = cx.shape(data).map(|shape| shape.iter().product());
            (cx.reshaped(data, &[-1]), 0, length)
        }
    };
    let (mut indices, dtype) = indices_onnx(cx, 1)?;
    let inside = |length: i64| {
        let values = cx.known(operand).map(Tensor::to_ints);
        values.is_some_and(|values| values.iter().all(|&index| (0..i128::from(length)).contains(&index)))
    };
    let fast = attrs.mode == "fast" || length.as_ref().is_ok_and(|&length| inside(length));
    if !fast && let (Err(_), Some(axis)) = (&length, attrs.axis) {
        let length = cx.length(data, axis.rem_euclid(cx.rank(data) as i64) as usize);
        let length = cx.as_scalar(length, dtype)?;
        let one = cx.scalar("one", dtype, 1.0)?;
        indices = if attrs.mode == "wrap" {
            // ONNX Runtime divides by the length even if there are no indices, as where a detector has found nothing.
            let length = cx.node("Max", &[length, one]).one();
            cx.node("Mod", &[indices, length]).one()
        } else {
            let first = cx.scalar("first", dtype, 0.0)?;
            let last = cx.node("Sub", &[length, one]).one();
            cx.node("Clip", &[indices, first, last]).one()
        };
    } else if !fast {
        let length = length?;
        indices = if attrs.mode == "wrap" {
            let length = cx.scalar("length", dtype, length as f64)?;
            cx.node("Mod", &[indices, length]).one()
        } else {
            let (first, last) = (cx.scalar("first", dtype, 0.0)?, cx.scalar("last", dtype, length as f64 - 1.0)?);
            cx.node("Clip", &[indices, first, last]).one()
        };
    }
    Ok(cx.node("Gather", &[data, indices]).int("axis", axis).one().into())
}

fn gather_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let axis = GatherAttrs::read(cx.attrs).axis.unwrap_or(0);
    let (data, (indices, _)) = (cx.tensor(0), indices_onnx(cx, 1)?);
    Ok(cx.node("GatherElements", &[data, indices]).int("axis", axis).one().into())
}

/// The indices of one element stand on the first axis here, on the last in ONNX.
fn gather_nd_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let batch = GatherNdAttrs::read(cx.attrs).batch_dims.unwrap_or(0);
    let (data, indices) = (cx.tensor(0), cx.tensor(1));
    let rank = cx.rank(indices);
    // ONNX has no attribute for the number of indices.
    cx.dim(indices, 0)?;
    let wide = cx.cast(indices, cx.dtype(indices), DType::I64)?;
    let axes: Vec<usize> = (1..rank).chain([0]).collect();
    let indices = cx.transposed(wide, &axes);
    Ok(cx.node("GatherND", &[data, indices]).int("batch_dims", batch).one().into())
}

/// The most positions in a model to compare indices with.
const MAX_POSITIONS: usize = 1 << 24;

/// Not `OneHot`, which counts negative indices from the end: each index is compared with all positions.
fn one_hot_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let depth = OneHotAttrs::read(cx.attrs).depth;
    let depth = usize::try_from(depth).ok().filter(|&depth| depth <= MAX_POSITIONS).ok_or("a depth over 2^24")?;
    marks_onnx(cx, |cx, dtype, behind| {
        let shape = [vec![depth], vec![1; behind]].concat();
        let positions = Tensor::from_fn(&shape, |i| i as i64).cast(dtype).ok_or("a dtype that no tensor can hold")?;
        Ok(cx.constant("positions", positions))
    })
}

/// Compares each index with positions. These are made in a dtype, along an axis with a number of axes of dimension 1 behind it.
pub(crate) fn marks_onnx(
    cx: &mut OnnxCx,
    positions: impl FnOnce(&mut OnnxCx, DType, usize) -> Result<ValueId, String>,
) -> OnnxResult {
    let attrs = OneHotAttrs::read(cx.attrs);
    let rank = cx.rank(cx.tensor(0));
    let axis = if attrs.axis < 0 { rank } else { attrs.axis as usize };
    let (indices, dtype) = indices_onnx(cx, 0)?;
    let (axes, positions) = (cx.ints("axes", &[axis as i64]), positions(cx, dtype, rank - axis)?);
    let indices = cx.node("Unsqueeze", &[indices, axes]).one();
    let hot = cx.node("Equal", &[indices, positions]).one();
    let (on, off) = (cx.operand_as_out(1)?, cx.operand_as_out(2)?);
    Ok(cx.node("Where", &[hot, on, off]).one().into())
}

/// Ends that only a run knows are read from the shape of the second operand.
fn slice_like_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (data, like) = (cx.tensor(0), cx.tensor(1));
    if let Ok(ends) = cx.out_shape() {
        let (starts, ends) = (cx.ints("starts", &vec![0; ends.len()]), cx.ints("ends", &ends));
        return Ok(cx.node("Slice", &[data, starts, ends]).one().into());
    }
    let rank = cx.rank(data) as i64;
    let common = rank.min(cx.rank(like) as i64);
    let axes = SliceLikeAttrs::read(cx.attrs).axes.unwrap_or_else(|| (0..common).collect());
    let axes: Vec<i64> = axes.into_iter().map(|axis| axis.rem_euclid(rank)).collect();
    let shape = cx.node("Shape", &[like]).one();
    let (starts, axes) = (cx.ints("starts", &vec![0; axes.len()]), cx.ints("axes", &axes));
    let ends = cx.node("Gather", &[shape, axes]).int("axis", 0).one();
    Ok(cx.node("Slice", &[data, starts, ends, axes]).one().into())
}
