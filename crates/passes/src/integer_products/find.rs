//! Finds tensors of 8-bit integers behind the operators that widen and scale them.

use super::super::PassCx;
use super::super::build::{args, dtype, number, shape, value_of};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_ir::{ExprId, Module};
use relayc_ops::declarations::{CAST, DEQUANTIZE, MULTIPLY, QuantizeAttrs, RESHAPE, SUBTRACT, TRANSPOSE, TransposeAttrs};

/// `q - number - other` as int32, for integers `q` of 8 bits.
#[derive(Clone, Copy)]
pub(super) struct Widened {
    pub(super) q: ExprId,
    pub(super) zero: Zero,
}

/// A zero point: a number, and one that only a run knows, an int32.
#[derive(Clone, Copy, Default)]
pub(super) struct Zero {
    pub(super) number: i64,
    pub(super) other: Option<ExprId>,
}

/// `scale · widened` as float32.
#[derive(Clone, Copy)]
pub(super) struct Dequantized {
    pub(super) widened: Widened,
    pub(super) scale: ExprId,
}

/// Constant weights: integers of 8 bits less their zero point, and the scale, if they are floats.
pub(super) struct Weights {
    /// Of int8.
    pub(super) ints: Tensor,
    pub(super) scale: Option<Tensor>,
    /// The axis that the scale runs along, if it is a vector whose axis is named.
    axis: Option<usize>,
}

/// Whether a tensor has one element.
pub(super) fn is_one(module: &Module, expr: ExprId) -> bool {
    shape(module, expr).is_some_and(|shape| shape.iter().all(|&dim| dim == 1))
}

fn is_byte(module: &Module, expr: ExprId) -> bool {
    dtype(module, expr).is_some_and(|dtype| dtype == DType::I8 || dtype == DType::U8)
}

pub(super) fn widened(module: &Module, cx: &PassCx, expr: ExprId) -> Option<Widened> {
    let operands = args(module, expr);
    match (cx.called(module, expr)?.name, &operands[..]) {
        (name, &[q]) if name == CAST.name && dtype(module, expr) == Some(DType::I32) && is_byte(module, q) => {
            Some(Widened { q, zero: Zero::default() })
        }
        (name, &[data, zero]) if name == SUBTRACT.name && dtype(module, expr) == Some(DType::I32) && is_one(module, zero) => {
            let of = widened(module, cx, data)?;
            Some(Widened { zero: of.zero.and(module, zero)?, ..of })
        }
        _ => None,
    }
}

impl Zero {
    fn and(self, module: &Module, zero: ExprId) -> Option<Zero> {
        match number(module, zero) {
            Some(number) => Some(Zero { number: self.number + number as i64, ..self }),
            None if self.other.is_none() => Some(Zero { other: Some(zero), ..self }),
            None => None,
        }
    }
}

pub(super) fn dequantized(module: &Module, cx: &PassCx, expr: ExprId) -> Option<Dequantized> {
    let operands = args(module, expr);
    let float = dtype(module, expr) == Some(DType::F32);
    match (cx.called(module, expr)?.name, &operands[..]) {
        (name, &[q, scale, zero]) if name == DEQUANTIZE.name && float && is_byte(module, q) && is_one(module, zero) => {
            let zero = Zero::default().and(module, zero)?;
            Some(Dequantized { widened: Widened { q, zero }, scale })
        }
        (name, &[a, b]) if name == MULTIPLY.name && float => [(a, b), (b, a)].into_iter().find_map(|(of, scale)| {
            let ints = converted(module, cx, of)?;
            let widened = match is_byte(module, ints) {
                true => Widened { q: ints, zero: Zero::default() },
                false => widened(module, cx, ints)?,
            };
            Some(Dequantized { widened, scale })
        }),
        _ => None,
    }
}

/// The operand of a conversion to float32.
fn converted(module: &Module, cx: &PassCx, expr: ExprId) -> Option<ExprId> {
    let is_cast = cx.calls(module, expr, &CAST) && dtype(module, expr) == Some(DType::F32);
    if is_cast { args(module, expr).first().copied() } else { None }
}

/// A constant in another shape, or as int32 less another one, as importers write weights.
fn constant(module: &Module, cx: &PassCx, expr: ExprId) -> Option<Tensor> {
    if let Some(value) = value_of(module, expr) {
        return Some(value.clone());
    }
    let operands = args(module, expr);
    match (cx.called(module, expr)?.name, &operands[..]) {
        (name, &[of]) if name == RESHAPE.name => {
            let shape: Vec<usize> = shape(module, expr)?.into_iter().map(|dim| dim as usize).collect();
            constant(module, cx, of)?.reshape(&shape)
        }
        (name, &[of]) if name == CAST.name && dtype(module, expr) == Some(DType::I32) => {
            constant(module, cx, of)?.cast(DType::I32)
        }
        (name, &[of, zero]) if name == SUBTRACT.name && dtype(module, expr) == Some(DType::I32) => {
            let (of, zero) = (constant(module, cx, of)?, constant(module, cx, zero)?);
            (of.rank() >= zero.rank()).then(|| of.zip(&zero, |a, b| a - b, |a, b| a - b)).flatten()
        }
        _ => None,
    }
}

/// The constants of `cast(ints, "float32") * scale`.
fn scaled(module: &Module, cx: &PassCx, expr: ExprId) -> Option<(Tensor, Tensor)> {
    let &[a, b] = &args(module, expr)[..] else { return None };
    cx.calls(module, expr, &MULTIPLY).then_some(())?;
    [(a, b), (b, a)].into_iter().find_map(|(of, scale)| {
        let ints = constant(module, cx, converted(module, cx, of)?).filter(|ints| ints.dtype().is_int())?;
        Some((ints, constant(module, cx, scale)?))
    })
}

/// Constant weights as integers of 8 bits; `None` if they are none.
pub(super) fn weights(module: &Module, cx: &PassCx, expr: ExprId) -> Option<Weights> {
    if cx.calls(module, expr, &TRANSPOSE) {
        let of = weights(module, cx, *args(module, expr).first()?)?;
        let axes = TransposeAttrs::read(module.call_attrs(expr)).axes;
        (of.ints.shape().len() == 2 && of.axis.is_none() && axes.is_none_or(|axes| axes == [1, 0])).then_some(())?;
        let turned = |tensor: Tensor| if tensor.shape().len() == 2 { Some(tensor.permute(&[1, 0])) } else { None };
        let scale = match of.scale {
            Some(scale) if scale.len() > 1 => Some(turned(scale)?),
            scale => scale,
        };
        return Some(Weights { ints: turned(of.ints)?, scale, axis: None });
    }
    if let Some(ints) = constant(module, cx, expr).filter(|ints| ints.dtype().is_int()) {
        return Some(Weights { ints: bytes(&ints, 0)?, scale: None, axis: None });
    }
    if let Some((ints, scale)) = scaled(module, cx, expr) {
        return Some(Weights { ints: bytes(&ints, 0)?, scale: Some(scale), axis: None });
    }
    let of = dequantized(module, cx, expr)?;
    of.widened.zero.other.is_none().then_some(())?;
    let ints = bytes(value_of(module, of.widened.q)?, of.widened.zero.number)?;
    let scale = value_of(module, of.scale)?.clone();
    let axis = match cx.calls(module, expr, &DEQUANTIZE) && scale.len() > 1 {
        true => {
            let axis = QuantizeAttrs::read(module.call_attrs(expr)).axis;
            Some(usize::try_from(if axis < 0 { axis + ints.shape().len() as i64 } else { axis }).ok()?)
        }
        false => None,
    };
    Some(Weights { ints, scale: Some(scale), axis })
}

/// The data and the weights of a product of `qnn`, whose zero points are operands 2 and 3.
pub(super) fn with_zero_points(module: &Module, operands: &[ExprId]) -> Option<(Widened, Weights)> {
    let &[q, weight, zero, weight_zero, ..] = operands else { return None };
    (is_byte(module, q) && is_one(module, zero)).then_some(())?;
    let zero = Zero::default().and(module, zero)?;
    let ints = bytes(value_of(module, weight)?, number(module, weight_zero)? as i64)?;
    Some((Widened { q, zero }, Weights { ints, scale: None, axis: None }))
}

/// The integers less their zero point as int8, if they are.
fn bytes(value: &Tensor, zero: i64) -> Option<Tensor> {
    let bytes = value.to_ints().into_iter().map(|int| i8::try_from(int - i128::from(zero)).ok());
    Some(Tensor::from_vec(value.shape(), bytes.collect::<Option<Vec<i8>>>()?))
}

impl Weights {
    /// The scale of each position of an axis, or one for all; `None` if it runs along another axis, or if there is none.
    pub(super) fn scales(&self, axis: usize) -> Option<Vec<f32>> {
        let scale = self.scale.as_ref()?;
        let rank = self.ints.shape().len();
        let own = scale.shape();
        let numbers = || scale.to_f64s().into_iter().map(|number| number as f32).collect();
        if scale.len() == 1 || self.axis == Some(axis) {
            return Some(numbers());
        }
        let first = rank.checked_sub(own.len())?;
        let along = own.iter().enumerate().all(|(at, &dim)| dim == 1 || first + at == axis);
        (self.axis.is_none() && along).then(numbers)
    }
}
