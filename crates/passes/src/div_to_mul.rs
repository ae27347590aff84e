//! Writes division by constant floats as multiplication by their inverses: TVM's `DivToMul` (`src/relay/transforms/div_to_mul.cc`).
//!
//! The rewrite is sound up to a rounding: the inverse is rounded once, and the product once more. A division stays if one of the inverses
//! is no finite number of the dtype, because `0 * inf` is no quotient, or if all are too small for their digits. TVM looks at the first number of the constant only.
//!
//! ```text
//! divide(%x, 4f)    →    multiply(%x, 0.25f)
//! ```

use super::build::{args, rounded, value_of};
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_ir::{ExprId, Module};
use relayc_ops::declarations::{DIVIDE, MULTIPLY};

pub(crate) const PASS: Pass = Pass {
    name: "div-to-mul",
    doc: "Writes division by constant floats as multiplication by their inverses. Results differ by a rounding.",
    keeps_answers: false,
    run: |module, cx| Ok(rewrite(module, |module, expr| product(module, cx, expr))),
    ..Pass::BASE
};

fn product(module: &mut Module, cx: &PassCx, expr: ExprId) -> Option<ExprId> {
    if !cx.calls(module, expr, &DIVIDE) {
        return None;
    }
    let [dividend, divisor] = args(module, expr).try_into().ok()?;
    let inverse = inverse(value_of(module, divisor)?)?;
    let span = module.exprs[divisor].span;
    let inverse = cx.constant(module, span, inverse);
    Some(cx.call(module, module.exprs[expr].span, &MULTIPLY, &[dividend, inverse], vec![]))
}

/// `1 / x` for each number, if the dtype holds these.
fn inverse(divisor: &Tensor) -> Option<Tensor> {
    if ![DType::F16, DType::F32, DType::F64].contains(&divisor.dtype()) {
        return None;
    }
    let inverses = divisor.to_f64s().into_iter().map(|x| 1.0 / x).collect();
    rounded(&Tensor::from_vec(divisor.shape(), inverses), divisor.dtype())
}
