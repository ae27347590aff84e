//! Rules on operators that move elements, and on no-ops.

use super::{Cx, operand, same_tensor};
use crate::build::{args, attr, number, shape, sized, to_shape};
use relayc_ir::{AttrValue, ExprId, ExprKind, Module};
use relayc_ops::OpDef;
use relayc_ops::blocks::are_near;
use relayc_ops::declarations::{
    BATCH_FLATTEN, CONCATENATE, EXPAND_DIMS, LAYOUT_TRANSFORM, Layout, LayoutTransformAttrs, PAD, PadAttrs, RESHAPE, SQUEEZE,
    STRIDED_SLICE, StridedSliceAttrs, TAKE, TRANSPOSE, TransposeAttrs,
};

/// The operators that only change the shape.
const SAME_ORDER: [&OpDef; 4] = [&RESHAPE, &EXPAND_DIMS, &SQUEEZE, &BATCH_FLATTEN];

/// `(x, y).0 == x`, where the other fields of the tuple have no effect.
pub(crate) fn field(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    let ExprKind::Proj { tuple, index } = module.exprs[expr].kind else { return None };
    let ExprKind::Tuple(_) = module.exprs[tuple].kind else { return None };
    let at = usize::try_from(index).ok()?;
    let fields = args(module, tuple);
    let others_pure = fields.iter().enumerate().all(|(other, &field)| other == at || cx.pure.is(field));
    fields.get(at).copied().filter(|_| others_pure)
}

/// `f(x) == x`, where the operator is declared a no-op for a result of the operand's type.
pub(crate) fn idle(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    let def = cx.passes.called(module, expr)?;
    let data = *args(module, expr).first()?;
    (def.no_op && same_tensor(module, module.ty(data), module.ty(expr))).then_some(data)
}

/// `reshape(reshape(x, a), b) == reshape(x, b)`, and `x` if that is its shape: the elements stay in order.
pub(crate) fn same_order(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    if !cx.passes.calls_any(module, expr, &SAME_ORDER) {
        return None;
    }
    let inner = operand(module, expr)?;
    let data = if cx.passes.calls_any(module, inner, &SAME_ORDER) { operand(module, inner)? } else { inner };
    if same_tensor(module, module.ty(data), module.ty(expr)) {
        return Some(data);
    }
    if data == inner {
        return None;
    }
    reshape(cx, module, expr, data)
}

/// A reshape of `data` to the shape of `expr`; the sizes of both must be known, as numbers or by names.
fn reshape(cx: &Cx, module: &mut Module, expr: ExprId, data: ExprId) -> Option<ExprId> {
    sized(module, data)?;
    let dims = sized(module, expr)?;
    cx.call(module, expr, &RESHAPE, &[data], &to_shape(dims))
}

/// Which axis of the operand each axis of a transposition is.
fn permutation(module: &Module, expr: ExprId) -> Option<Vec<usize>> {
    let rank = module.types.as_tensor(module.ty(expr))?.0.len();
    Some(TransposeAttrs::read(module.call_attrs(expr)).permutation(rank))
}

/// `transpose(transpose(x, a), b) == transpose(x, c)` with `c[i] == a[b[i]]`, and `x` if that moves nothing.
pub(crate) fn transposed_twice(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    if !cx.passes.calls(module, expr, &TRANSPOSE) {
        return None;
    }
    let inner = operand(module, expr)?;
    let outer_axes = permutation(module, expr)?;
    let (data, axes) = if cx.passes.calls(module, inner, &TRANSPOSE) {
        let inner_axes = permutation(module, inner)?;
        (operand(module, inner)?, outer_axes.iter().map(|&axis| inner_axes[axis]).collect())
    } else {
        (inner, outer_axes)
    };
    if axes.is_sorted() {
        return Some(data);
    }
    if data == inner {
        return None;
    }
    let axes: Vec<i64> = axes.into_iter().map(|axis| axis as i64).collect();
    // The type is the same by itself, also where dimensions are not known.
    let values = TRANSPOSE.attrs?.values(&[("axes", AttrValue::ints(&axes))]);
    Some(cx.passes.call(module, module.exprs[expr].span, &TRANSPOSE, &[data], values))
}

/// `transpose(x, axes) == reshape(x, …)` if only axes of length 1 change places.
pub(crate) fn transposed_units(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    if !cx.passes.calls(module, expr, &TRANSPOSE) {
        return None;
    }
    let data = operand(module, expr)?;
    let dims = sized(module, data)?;
    let long: Vec<usize> = permutation(module, expr)?.into_iter().filter(|&axis| dims[axis].value() != Some(1)).collect();
    if long.is_sorted() { reshape(cx, module, expr, data) } else { None }
}

/// `layout_transform(layout_transform(x, A, B), B, C) == layout_transform(x, A, C)` if `B` pads no axis and `A` and `C` are near, and
/// `x` if `C` is `A`; `layout_transform(x, A, A) == x`.
pub(crate) fn two_layouts(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    if !cx.passes.calls(module, expr, &LAYOUT_TRANSFORM) {
        return None;
    }
    let inner = operand(module, expr)?;
    let outer = LayoutTransformAttrs::read(module.call_attrs(expr));
    if outer.src_layout == outer.dst_layout {
        return Some(inner);
    }
    if !cx.passes.calls(module, inner, &LAYOUT_TRANSFORM) {
        return None;
    }
    let data = operand(module, inner)?;
    let first = LayoutTransformAttrs::read(module.call_attrs(inner));
    let sizes = |layout: &str, expr: ExprId| {
        let (layout, dims) = (Layout::parse(layout).ok()?, shape(module, expr)?);
        let mut sizes: Vec<(char, u128)> = layout.letters().chars().map(|letter| (letter, layout.size(letter, &dims))).collect();
        sizes.sort_unstable();
        Some(sizes)
    };
    if first.dst_layout != outer.src_layout || sizes(&first.src_layout.0, data)? != sizes(&first.dst_layout.0, inner)? {
        return None;
    }
    if first.src_layout == outer.dst_layout {
        return same_tensor(module, module.ty(data), module.ty(expr)).then_some(data);
    }
    let (from, to) = (Layout::parse(&first.src_layout.0).ok()?, Layout::parse(&outer.dst_layout.0).ok()?);
    if !from.letters().chars().all(|letter| are_near(from.block(letter), to.block(letter))) {
        return None;
    }
    let layouts = [("src_layout", AttrValue::str(&first.src_layout.0)), ("dst_layout", AttrValue::str(&outer.dst_layout.0))];
    cx.call(module, expr, &LAYOUT_TRANSFORM, &[data], &layouts)
}

/// `concatenate((x,)) == x`.
pub(crate) fn one_part(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    if !cx.passes.calls(module, expr, &CONCATENATE) {
        return None;
    }
    let tuple = operand(module, expr)?;
    matches!(module.exprs[tuple].kind, ExprKind::Tuple(_)).then(|| operand(module, tuple))?
}

/// `strided_slice(x, …) == x` if it takes all positions in ascending order.
pub(crate) fn whole_slice(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    if !cx.passes.calls(module, expr, &STRIDED_SLICE) {
        return None;
    }
    let data = operand(module, expr)?;
    let attrs = StridedSliceAttrs::read(module.call_attrs(expr));
    let forth = attrs.slice_mode == "size" || attrs.strides.0.iter().flatten().all(|&stride| stride > 0);
    let known = sized(module, data).is_some();
    (forth && known && same_tensor(module, module.ty(data), module.ty(expr))).then_some(data)
}

/// `take(x, i, axis=a) == reshape(strided_slice(x, i, i + 1, axes=[a]))` for one constant position inside, where the axes before `a` have
/// length 1: what is taken lies in one piece, and a kernel reads a slice in its place, while indices are read and compared in each run.
pub(crate) fn one_position(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    if !cx.passes.calls(module, expr, &TAKE) || attr(cx.passes, module, expr, "batch_dims").and_then(AttrValue::as_int) != Some(0)
    {
        return None;
    }
    let [data, indices] = args(module, expr)[..] else { return None };
    let at = number(module, indices)?;
    let dims = sized(module, data)?;
    let axis = attr(cx.passes, module, expr, "axis")?.as_int()?;
    let axis = usize::try_from(if axis < 0 { axis + dims.len() as i64 } else { axis }).ok()?;
    let length = dims.get(axis)?.value()?;
    let one_piece = dims[..axis].iter().all(|dim| dim.value() == Some(1));
    if !one_piece || at < 0.0 || at >= length as f64 {
        return None;
    }
    let part = |value: i64| AttrValue::ints(&[value]);
    let part = [("begin", part(at as i64)), ("end", part(at as i64 + 1)), ("strides", part(1)), ("axes", part(axis as i64))];
    let values = STRIDED_SLICE.attrs?.values(&part);
    let slice = cx.passes.call(module, module.exprs[expr].span, &STRIDED_SLICE, &[data], values);
    reshape(cx, module, expr, slice)
}

/// `pad(x, v, 0) == x`, where `v` has no effect.
pub(crate) fn no_padding(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    let nothing = cx.passes.calls(module, expr, &PAD)
        && PadAttrs::read(module.call_attrs(expr)).pad_width.iter().flatten().all(|&n| n == 0);
    let operands = args(module, expr);
    let (&data, values) = operands.split_first()?;
    (nothing && cx.pure.are(values)).then_some(data)
}
