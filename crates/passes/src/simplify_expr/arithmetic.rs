//! Rules on arithmetic.

use super::{Cx, operand, same_tensor};
use crate::build::{args, dtype, sized, value_of};
use relayc_ir::tensor::Tensor;
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::OpDef;
use relayc_ops::declarations::{
    ADD, BROADCAST_TO, CLIP, ClipAttrs, DIVIDE, FULL, FULL_LIKE, MAXIMUM, MINIMUM, MULTIPLY, NEGATIVE, ONES, ONES_LIKE, POWER,
    RELU, SUBTRACT, ZEROS, ZEROS_LIKE,
};

/// Arithmetic whose operands broadcast.
const BROADCASTING: [&OpDef; 7] = [&ADD, &SUBTRACT, &MULTIPLY, &DIVIDE, &POWER, &MAXIMUM, &MINIMUM];

/// Larger constants are not looked at.
const MAX_LOOKED_AT: usize = 1 << 16;

/// `x * 1 == x`, `x / 1 == x`, `x ** 1 == x`, `x - (+0) == x` and `x + (-0) == x`. With zeros of these signs, -0 stays -0.
/// Integers have only one zero.
pub(crate) fn neutral(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    let one = |x: f64| x == 1.0;
    let (is_neutral, commutes): (fn(f64) -> bool, bool) = if cx.passes.calls(module, expr, &MULTIPLY) {
        (one, true)
    } else if cx.passes.calls_any(module, expr, &[&DIVIDE, &POWER]) {
        (one, false)
    } else if cx.passes.calls(module, expr, &SUBTRACT) {
        (|x| x == 0.0 && x.is_sign_positive(), false)
    } else if cx.passes.calls(module, expr, &ADD) {
        let float = dtype(module, expr)?.is_float();
        (if float { |x| x == 0.0 && x.is_sign_negative() } else { |x| x == 0.0 }, true)
    } else {
        return None;
    };
    let [lhs, rhs] = args(module, expr).try_into().ok()?;
    let all = |module: &Module, constant: ExprId| {
        let value = value_of(module, constant).filter(|value| value.len() <= MAX_LOOKED_AT);
        value.is_some_and(|value| value.to_f64s().into_iter().all(is_neutral))
    };
    let data = if all(module, rhs) {
        lhs
    } else if commutes && all(module, lhs) {
        rhs
    } else {
        return None;
    };
    same_tensor(module, module.ty(data), module.ty(expr)).then_some(data)
}

/// `-(-x) == x`, `x - -y == x + y` and `x + -y == x - y`. Also `-x + y == y - x`, if one operand may be computed before the
/// other. A change of sign is exact, and integers wrap either way.
pub(crate) fn negated(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    let inside =
        |module: &Module, expr: ExprId| cx.passes.calls(module, expr, &NEGATIVE).then(|| operand(module, expr)).flatten();
    if cx.passes.calls(module, expr, &NEGATIVE) {
        return inside(module, operand(module, expr)?);
    }
    let subtracts = cx.passes.calls(module, expr, &SUBTRACT);
    if !subtracts && !cx.passes.calls(module, expr, &ADD) || dtype(module, expr)?.is_bool() {
        return None;
    }
    let [lhs, rhs] = args(module, expr).try_into().ok()?;
    let (def, operands) = match (inside(module, lhs), inside(module, rhs)) {
        (_, Some(y)) => (if subtracts { &ADD } else { &SUBTRACT }, [lhs, y]),
        (Some(x), None) if !subtracts && (cx.pure.is(x) || cx.pure.is(rhs)) => (&SUBTRACT, [rhs, x]),
        _ => return None,
    };
    cx.call(module, expr, def, &operands, &[])
}

/// What `clip(x, a, b) == max(min(x, b), a)` and `relu(x) == max(x, 0)` do.
struct Limits {
    data: ExprId,
    least: f64,
    most: f64,
}

impl Limits {
    /// Of floats only: bounds are rounded to an integer's dtype.
    fn of(cx: &Cx, module: &Module, expr: ExprId) -> Option<Limits> {
        let data = operand(module, expr)?;
        let dtype = dtype(module, expr).filter(|dtype| dtype.is_float())?;
        if cx.passes.calls(module, expr, &RELU) {
            return Some(Limits { data, least: 0.0, most: f64::INFINITY });
        }
        if !cx.passes.calls(module, expr, &CLIP) {
            return None;
        }
        let attrs = ClipAttrs::read(module.call_attrs(expr));
        let round = |bound: f64| Some(Tensor::full(dtype, &[], bound)?.to_f64s()[0]);
        Some(Limits { data, least: round(attrs.a_min)?, most: round(attrs.a_max)? })
    }
}

/// `clip(clip(x, a, b), c, d) == clip(x, max(a, c), min(b, d))` if that is a range. The same holds for `relu`, whose bounds are 0
/// and infinity. NaN passes all of them. The rule skips bounds of -0, because it would have to distinguish them from +0.
pub(crate) fn limits(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    let outer = Limits::of(cx, module, expr)?;
    let inner = Limits::of(cx, module, outer.data)?;
    let bounds = [outer.least, outer.most, inner.least, inner.most];
    let odd = bounds.iter().any(|bound| bound.is_nan() || (*bound == 0.0 && bound.is_sign_negative()));
    let (least, most) = (outer.least.max(inner.least), outer.most.min(inner.most));
    if odd || least > most || outer.least > outer.most || inner.least > inner.most {
        return None;
    }
    if (least, most) == (0.0, f64::INFINITY) {
        return cx.call(module, expr, &RELU, &[inner.data], &[]);
    }
    if most.is_infinite() {
        return None;
    }
    let bounds = [("a_min", AttrValue::float(least)), ("a_max", AttrValue::float(most))];
    cx.call(module, expr, &CLIP, &[inner.data], &bounds)
}

/// `f(x, full(v)) == f(x, v)` where `x` has the result's shape: a scalar broadcasts. The shape operand of `zeros_like` and
/// similar operators has no effect.
pub(crate) fn one_value(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    if !cx.passes.calls_any(module, expr, &BROADCASTING) {
        return None;
    }
    let operands: [ExprId; 2] = args(module, expr).try_into().ok()?;
    sized(module, expr)?;
    for at in [0, 1] {
        let other = operands[1 - at];
        if !same_tensor(module, module.ty(other), module.ty(expr)) || value_of(module, other).is_some() {
            continue;
        }
        if !cx.pure.is(operands[at]) {
            continue;
        }
        let Some(scalar) = value_everywhere(cx, module, operands[at]) else { continue };
        let mut new = operands;
        new[at] = scalar;
        return cx.call(module, expr, cx.passes.called(module, expr)?, &new, &[]);
    }
    None
}

/// The scalar that a tensor of more than a scalar's rank holds everywhere.
fn value_everywhere(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    let (span, dtype) = (module.exprs[expr].span, dtype(module, expr)?);
    if sized(module, expr)?.is_empty() {
        return None;
    }
    let constant = |module: &mut Module, value: Tensor| Some(cx.passes.constant(module, span, value));
    if cx.passes.calls_any(module, expr, &[&ZEROS, &ZEROS_LIKE]) {
        return constant(module, Tensor::full(dtype, &[], 0.0)?);
    }
    if cx.passes.calls_any(module, expr, &[&ONES, &ONES_LIKE]) {
        return constant(module, Tensor::full(dtype, &[], 1.0)?);
    }
    let operands = args(module, expr);
    let source = if cx.passes.calls_any(module, expr, &[&FULL, &BROADCAST_TO]) {
        value_of(module, *operands.first()?)?
    } else if cx.passes.calls(module, expr, &FULL_LIKE) {
        value_of(module, *operands.get(1)?)?
    } else {
        value_of(module, expr)?
    };
    let value = uniform(source)?.cast(dtype)?;
    constant(module, value)
}

/// The one value of a tensor, as a scalar.
fn uniform(tensor: &Tensor) -> Option<Tensor> {
    if tensor.is_empty() || tensor.len() > MAX_LOOKED_AT {
        return None;
    }
    let bytes = tensor.to_le_bytes();
    let width = tensor.dtype().bytes() as usize;
    let same = bytes.chunks(width).all(|element| element == &bytes[..width]);
    if same { Tensor::from_le_bytes(tensor.dtype(), &[], &bytes[..width]) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_ir::types::DType;

    #[test]
    fn zeros_of_both_signs_are_two_values() {
        assert_eq!(uniform(&Tensor::from_vec(&[2], vec![0f32, -0.0])), None);
        assert_eq!(uniform(&Tensor::from_vec(&[2], vec![3i8, 3])), Some(Tensor::scalar(3i8)));
        assert_eq!(uniform(&Tensor::full(DType::F32, &[0], 1.0).expect("f32")), None);
    }
}
