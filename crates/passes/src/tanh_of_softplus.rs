//! Computes `tanh(softplus(x))`, which Mish multiplies with `x`, with one exponential in place of two and a logarithm.
//!
//! With `t = e^-|x|` it is `(2t + 1) / (2t + 1 + 2t²)` for `x >= 0` and `(2t + t²) / (2t + t² + 2)` below, for
//! `tanh(log(u)) = (u² - 1) / (u² + 1)`. No step overflows or cancels, so the result is within a few units of the last place, and
//! below -16 closer than by way of the logarithm, which rounds `1 + t`. Results differ in their last bits.
//!
//! ```text
//! tanh(nn.relu(%x) + log(exp(negative(abs(%x))) + 1f)), tanh(log(exp(%x) + 1f))
//!     →    divide(2t + s, 2t + s + 2r) with (s, r) = (1, t²) where %x >= 0, else (t², 1)
//! ```

use super::build::{ExprKey, args, dtype, value_of};
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_ir::{ExprId, Module};
use relayc_ops::OpDef;
use relayc_ops::declarations::{ABS, ADD, DIVIDE, EXP, GREATER_EQUAL, LOG, MULTIPLY, NEGATIVE, RELU, TANH, WHERE};

pub(crate) const PASS: Pass = Pass {
    name: "tanh-of-softplus",
    doc: "Computes `tanh(softplus(x))`, as in Mish, with one exponential. Results differ in their last bits.",
    level: 3,
    run: |module, cx| Ok(rewrite(module, |module, expr| by_one_exponential(module, cx, expr))),
    ..Pass::BASE
};

fn by_one_exponential(module: &mut Module, cx: &PassCx, tanh: ExprId) -> Option<ExprId> {
    let x = softplus(module, cx, operand(module, cx, tanh, &TANH)?)?;
    let dtype = dtype(module, tanh).filter(|&dtype| dtype == DType::F32 || dtype == DType::F64)?;
    let span = module.exprs[tanh].span;
    let number = |module: &mut Module, value: f64| Some(cx.constant(module, span, Tensor::full(dtype, &[], value)?));
    let call = |module: &mut Module, def: &OpDef, operands: &[ExprId]| cx.typed_call(module, span, def, operands, vec![]);
    let (zero, one, two) = (number(module, 0.0)?, number(module, 1.0)?, number(module, 2.0)?);
    let size = call(module, &ABS, &[x])?;
    let below = call(module, &NEGATIVE, &[size])?;
    let t = call(module, &EXP, &[below])?;
    let square = call(module, &MULTIPLY, &[t, t])?;
    let is_positive = call(module, &GREATER_EQUAL, &[x, zero])?;
    let s = call(module, &WHERE, &[is_positive, one, square])?;
    let r = call(module, &WHERE, &[is_positive, square, one])?;
    let (twice, more) = (call(module, &MULTIPLY, &[t, two])?, call(module, &MULTIPLY, &[r, two])?);
    let above = call(module, &ADD, &[twice, s])?;
    let below = call(module, &ADD, &[above, more])?;
    call(module, &DIVIDE, &[above, below])
}

/// The operand of which an expression is the logarithm of one more than the exponential.
fn softplus(module: &Module, cx: &PassCx, expr: ExprId) -> Option<ExprId> {
    if let Some(sum) = operand(module, cx, expr, &LOG) {
        return operand(module, cx, plus_one(module, cx, sum)?, &EXP);
    }
    either_way(module, cx, expr, |positive, log| {
        let x = operand(module, cx, positive, &RELU)?;
        let exp = plus_one(module, cx, operand(module, cx, log, &LOG)?)?;
        let size = operand(module, cx, operand(module, cx, exp, &EXP)?, &NEGATIVE)?;
        (ExprKey::of(module, operand(module, cx, size, &ABS)?) == ExprKey::of(module, x)).then_some(x)
    })
}

/// What an expression is one more than.
fn plus_one(module: &Module, cx: &PassCx, expr: ExprId) -> Option<ExprId> {
    either_way(module, cx, expr, |x, one| {
        let value = value_of(module, one).filter(|value| value.len() == 1)?;
        (value.to_f64s()[0] == 1.0).then_some(x)
    })
}

/// Tries both orders of a sum's operands.
fn either_way(module: &Module, cx: &PassCx, sum: ExprId, matches: impl Fn(ExprId, ExprId) -> Option<ExprId>) -> Option<ExprId> {
    cx.calls(module, sum, &ADD).then_some(())?;
    let [a, b] = args(module, sum).try_into().ok()?;
    matches(a, b).or_else(|| matches(b, a))
}

/// The operand of a call of `def`.
fn operand(module: &Module, cx: &PassCx, expr: ExprId, def: &OpDef) -> Option<ExprId> {
    cx.calls(module, expr, def).then(|| args(module, expr).first().copied()).flatten()
}
