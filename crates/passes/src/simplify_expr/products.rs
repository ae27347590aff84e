//! Rules on convolutions, pools and matrix products.

use super::{Cx, operand, same_tensor};
use crate::build::{args, sized};
use crate::fold_explicit_padding::{MAXIMA, folded};
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::declarations::{BATCH_MATMUL, BatchMatmulAttrs, DENSE, MATMUL, MatmulAttrs, TRANSPOSE, TransposeAttrs};

/// Padding becomes that of the window behind it, where this is exact. A maximum is not: a window of minus
/// infinities does not see its own padding, but the finite number that `nn.pad` has put there.
pub(crate) fn padded(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    if cx.passes.calls_any(module, expr, &MAXIMA) {
        return None;
    }
    let new = folded(cx.passes, module, expr)?;
    same_tensor(module, module.ty(new), module.ty(expr)).then_some(new)
}

/// Whether an expression swaps the last two axes of its operand, and only those; then the operand.
fn swapped(cx: &Cx, module: &Module, expr: ExprId) -> Option<ExprId> {
    if !cx.passes.calls(module, expr, &TRANSPOSE) {
        return None;
    }
    let rank = module.types.as_tensor(module.ty(expr))?.0.len();
    let mut swap: Vec<usize> = (0..rank).collect();
    swap.swap(rank.checked_sub(2)?, rank - 1);
    if TransposeAttrs::read(module.call_attrs(expr)).permutation(rank) == swap { operand(module, expr) } else { None }
}

/// `dense(x, W) == matmul(x, W, transpose_b)`. A transposition of an operand becomes the attribute; without any transposition,
/// the product becomes `dense` again.
pub(crate) fn transposed_operand(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    let [a, b] = args(module, expr).try_into().ok()?;
    let batched = cx.passes.calls(module, expr, &BATCH_MATMUL);
    let (mut flags, dense) = if cx.passes.calls(module, expr, &DENSE) {
        ([false, true], true)
    } else if cx.passes.calls(module, expr, &MATMUL) {
        let attrs = MatmulAttrs::read(module.call_attrs(expr));
        ([attrs.transpose_a, attrs.transpose_b], false)
    } else if batched {
        let attrs = BatchMatmulAttrs::read(module.call_attrs(expr));
        ([attrs.transpose_a, attrs.transpose_b], false)
    } else {
        return None;
    };
    let mut operands = [a, b];
    let mut changed = false;
    for (at, operand) in operands.iter_mut().enumerate() {
        if let Some(data) = swapped(cx, module, *operand) {
            *operand = data;
            flags[at] = !flags[at];
            changed = true;
        }
    }
    let [transpose_a, transpose_b] = [("transpose_a", AttrValue::Bool(flags[0])), ("transpose_b", AttrValue::Bool(flags[1]))];
    if batched {
        let flags = [transpose_a, transpose_b];
        return if changed { cx.with_attrs(module, expr, &operands, &flags) } else { None };
    }
    let schema = if dense { DENSE.attrs? } else { MATMUL.attrs? };
    let value = |name: &str| Some(module.call_attrs(expr)[schema.position(name)?].clone());
    let (units, out_dtype) = (value("units")?, value("out_dtype")?);
    let common = [("units", units), ("out_dtype", out_dtype)];
    if flags == [false, true] {
        // The lengths of what is summed are compared when checking only by one of the two.
        let (a, b) = (sized(module, operands[0])?.last(), sized(module, operands[1])?.last());
        let fits = a.zip(b).is_some_and(|(a, b)| a.same(*b));
        return if (changed || !dense) && fits { cx.call(module, expr, &DENSE, &operands, &common) } else { None };
    }
    if !changed {
        return None;
    }
    let [units, out_dtype] = common;
    cx.call(module, expr, &MATMUL, &operands, &[units, out_dtype, transpose_a, transpose_b])
}
