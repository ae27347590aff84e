//! Multiplies the factor of a quantization, the reciprocal of its scale, into the constants before it.
//!
//! `relu(a·c + b) / s = relu(a·(c/s) + b/s)` for `s > 0`. Where no constant takes the factor, a multiplication replaces the
//! division. A quotient may differ in its last bit. Steps of rounding and limiting that change nothing are left out.

use super::super::PassCx;
use super::super::build::{args, dtype, number, rounded, value_of};
use super::super::users::Users;
use super::find;
use super::unsigned::{self, ROUNDING};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::declarations::{
    ADD, BIAS_ADD, CAST, CLIP, ClipAttrs, DIVIDE, MAXIMUM, MINIMUM, MULTIPLY, QUANTIZE, RELU, SUBTRACT,
};

/// The replacement of the division, or of the whole, of a quantization.
pub(super) fn quantized(module: &mut Module, cx: &PassCx, users: &Users, expr: ExprId) -> Option<ExprId> {
    if let Some(limited) = limited(module, cx, expr) {
        return Some(limited);
    }
    let scaling = Scaling { cx, users };
    let operands = args(module, expr);
    let span = module.exprs[expr].span;
    let quotient = cx.calls(module, expr, &DIVIDE) && scaling.is_rounded(module, expr);
    (quotient || cx.calls(module, expr, &QUANTIZE)).then_some(())?;
    let (&x, &scale) = (operands.first()?, operands.get(1)?);
    let scale = number(module, scale).filter(|&scale| scale > 0.0 && scale != 1.0)?;
    let by = (1.0 / scale) as f32;
    by.is_normal().then_some(())?;
    let scaled = match scaling.absorbed(module, x, expr, by) {
        Some(scaled) => scaled,
        None => {
            let by = cx.constant(module, span, Tensor::scalar(by));
            cx.typed_call(module, span, &MULTIPLY, &[x, by], vec![])?
        }
    };
    if quotient {
        return Some(scaled);
    }
    let one = cx.constant(module, span, Tensor::scalar(1f32));
    let values = module.call_attrs(expr).to_vec();
    cx.typed_call(module, span, &QUANTIZE, &[scaled, one, operands[2]], values)
}

/// A bound of `clip`, a float32 in its text.
fn float(value: f64) -> AttrValue {
    AttrValue::Float { value: f64::from(value as f32), bits: 32 }
}

/// The steps of a quantization, fewer of them: the zero point is added where the rounding number is subtracted, which is exact for
/// integers of so few bits, and a limit that an activation sets already is left out.
fn limited(module: &mut Module, cx: &PassCx, expr: ExprId) -> Option<ExprId> {
    let ends = match dtype(module, expr)? {
        DType::U8 => (0.0, 255.0),
        DType::I8 => (-128.0, 127.0),
        _ => return None,
    };
    let (number, zero) = unsigned::rounded(module, cx, expr, ends)?;
    let span = module.exprs[expr].span;
    let zero = zero as f64;
    let (low, high) = match cx.called(module, number)?.name {
        name if name == RELU.name => (0.0, f64::INFINITY),
        name if name == CLIP.name => {
            let limits = ClipAttrs::read(module.call_attrs(number));
            (limits.a_min.round_ties_even(), limits.a_max.round_ties_even())
        }
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let float = |module: &mut Module, number: f64| cx.constant(module, span, Tensor::scalar(number as f32));
    let (there, back) = (float(module, ROUNDING), float(module, ROUNDING - zero));
    let shifted = cx.typed_call(module, span, &ADD, &[number, there], vec![])?;
    let mut whole = cx.typed_call(module, span, &SUBTRACT, &[shifted, back], vec![])?;
    for (def, end, holds) in [(&MINIMUM, ends.1, high + zero <= ends.1), (&MAXIMUM, ends.0, low + zero >= ends.0)] {
        if !holds {
            let end = float(module, end);
            whole = cx.typed_call(module, span, def, &[whole, end], vec![])?;
        }
    }
    let values = module.call_attrs(expr).to_vec();
    cx.typed_call(module, span, &CAST, &[whole], values)
}

struct Scaling<'a> {
    cx: &'a PassCx<'a>,
    users: &'a Users,
}

impl Scaling<'_> {
    /// Whether the only use of a quotient is to be rounded.
    fn is_rounded(&self, module: &Module, quotient: ExprId) -> bool {
        let &[user] = self.users.list(quotient) else { return false };
        self.cx.calls(module, user, &ADD) && args(module, user).iter().any(|&operand| number(module, operand) == Some(ROUNDING))
    }

    /// The expression times a number, multiplied into constants; `None` if that needs another multiplication.
    fn absorbed(&self, module: &mut Module, expr: ExprId, user: ExprId, by: f32) -> Option<ExprId> {
        if let Some(value) = value_of(module, expr) {
            let scaled = value.to_vec::<f32>()?.into_iter().map(|number| f64::from(number) * f64::from(by)).collect();
            let scaled = rounded(&Tensor::from_vec(value.shape(), scaled), DType::F32)?;
            return Some(self.cx.constant(module, module.exprs[expr].span, scaled));
        }
        let def = self.cx.called(module, expr)?;
        let operands = args(module, expr);
        let span = module.exprs[expr].span;
        // What is dequantized once more costs less than to keep it.
        if def.name == MULTIPLY.name && (self.users.only(expr, user) || find::dequantized(module, self.cx, expr).is_some()) {
            let &[a, b] = &operands[..] else { return None };
            let (constant, other) = if value_of(module, b).is_some() { (b, a) } else { (a, b) };
            value_of(module, constant)?;
            let constant = self.absorbed(module, constant, expr, by)?;
            return self.cx.typed_call(module, span, def, &[other, constant], vec![]);
        }
        self.users.only(expr, user).then_some(())?;
        let mut values = module.call_attrs(expr).to_vec();
        let scaled: Vec<ExprId> = match def.name {
            name if name == ADD.name || name == BIAS_ADD.name || name == RELU.name => {
                operands.into_iter().map(|operand| self.absorbed(module, operand, expr, by)).collect::<Option<_>>()?
            }
            name if name == CLIP.name => {
                let limits = ClipAttrs::read(&values);
                let ends = [("a_min", limits.a_min), ("a_max", limits.a_max)];
                let ends = ends.map(|(end, number)| (end, float(number * f64::from(by))));
                values = CLIP.attrs?.values(&ends);
                vec![self.absorbed(module, *operands.first()?, expr, by)?]
            }
            _ => return None,
        };
        self.cx.typed_call(module, span, def, &scaled, values)
    }
}
