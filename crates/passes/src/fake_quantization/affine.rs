//! Affine types, and calls that convert between them.

use super::super::PassCx;
use super::super::build::{ExprKey, dtype, shape, value_of};
use super::super::fold_constants::concrete;
use relayc_base::Span;
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::OpDef;
use relayc_ops::declarations::{BROADCAST_TO, CAST, QUANTIZE, REQUANTIZE, RESHAPE};
use relayc_ops::eval::{ArgValue, EvalCx, MAX_TENSOR_BYTES, Outputs};

/// What the integers of a tensor mean: `real = (integer - zero_point) * scale`.
#[derive(Clone, Copy)]
pub(super) struct TensorAffineType {
    pub(super) scale: ExprId,
    pub(super) zero_point: ExprId,
    pub(super) dtype: DType,
    /// The axis along which several scales and zero points run; a negative axis counts from the end.
    pub(super) axis: i64,
}

#[derive(Clone)]
pub(super) enum AffineType {
    Tensor(TensorAffineType),
    Tuple(Vec<TensorAffineType>),
}

/// A tensor of integers.
#[derive(Clone, Copy)]
pub(super) struct Quantized {
    pub(super) expr: ExprId,
    pub(super) ty: TensorAffineType,
}

/// Builds expressions of one place in the text.
pub(super) struct Builder<'a> {
    pub(super) module: &'a mut Module,
    pub(super) cx: &'a PassCx<'a>,
    pub(super) span: Span,
}

/// An attribute that is a dtype.
pub(super) fn dtype_value(dtype: DType) -> AttrValue {
    AttrValue::DType(Some(dtype))
}

impl Builder<'_> {
    /// A call of an operator; an error unless it takes the operands.
    pub(super) fn call(&mut self, def: &OpDef, operands: &[ExprId], attrs: Vec<AttrValue>) -> Result<ExprId, String> {
        let call = self.cx.typed_call(self.module, self.span, def, operands, attrs);
        call.ok_or_else(|| format!("`{}` does not take the integers", def.name))
    }

    /// A call of an operator with some attributes set.
    pub(super) fn with(&mut self, def: &OpDef, operands: &[ExprId], set: &[(&str, AttrValue)]) -> Result<ExprId, String> {
        self.call(def, operands, def.attrs.map_or(vec![], |schema| schema.values(set)))
    }

    /// As [`Builder::with`]; a constant if the operands are.
    pub(super) fn number(&mut self, def: &OpDef, operands: &[ExprId], set: &[(&str, AttrValue)]) -> Result<ExprId, String> {
        let call = self.with(def, operands, set)?;
        let values = operands.iter().map(|&operand| value_of(self.module, operand).cloned().map(ArgValue::Tensor));
        let Some(args) = values.collect::<Option<Vec<ArgValue>>>() else { return Ok(call) };
        let Some(out) = concrete(&self.module.types, self.module.ty(call)) else { return Ok(call) };
        let cx = EvalCx { args: &args, attrs: self.module.call_attrs(call), out: &out, max_bytes: MAX_TENSOR_BYTES };
        match (def.eval)(&cx) {
            Ok(Outputs::One(value)) => Ok(self.cx.constant(self.module, self.span, value)),
            _ => Ok(call),
        }
    }

    /// A conversion of a tensor to a dtype.
    pub(super) fn cast(&mut self, tensor: ExprId, to: DType) -> Result<ExprId, String> {
        self.number(&CAST, &[tensor], &[("dtype", dtype_value(to))])
    }

    pub(super) fn rank(&self, expr: ExprId) -> Result<usize, String> {
        let tensor = self.module.types.as_tensor(self.module.ty(expr));
        tensor.map(|(shape, _)| shape.len()).ok_or_else(|| "a tensor of unknown rank".into())
    }

    /// The number of channels with scales or zero points of their own; `None` if all elements have the same.
    pub(super) fn channels(&self, ty: &TensorAffineType) -> Option<i64> {
        let several = |number: ExprId| match shape(self.module, number).as_deref() {
            Some([]) | Some([1]) => None,
            Some([n]) => Some(*n),
            // A number of numbers that is not known is no 1.
            _ => Some(-1),
        };
        several(ty.scale).or_else(|| several(ty.zero_point))
    }

    /// The axis of the channels, from the first.
    pub(super) fn axis(&self, of: &Quantized) -> Result<usize, String> {
        let (axis, rank) = (of.ty.axis, self.rank(of.expr)?);
        let axis = if axis < 0 { axis + rank as i64 } else { axis };
        usize::try_from(axis)
            .ok()
            .filter(|&axis| axis < rank)
            .ok_or_else(|| "an axis of scales that the tensor does not have".into())
    }

    /// Whether two numbers of affine types are equal, up to a hundred-thousandth.
    fn is_close(&self, a: ExprId, b: ExprId) -> bool {
        match (value_of(self.module, a), value_of(self.module, b)) {
            (Some(x), Some(y)) => {
                let close = x.compare(y, |x, y| (x - y).abs() <= 1e-5 * y.abs(), |x, y| x == y);
                close.is_some_and(|close| close.to_ints().into_iter().all(|close| close != 0))
            }
            _ => ExprKey::of(self.module, a) == ExprKey::of(self.module, b),
        }
    }

    /// Whether integers mean the same in two affine types, if their channels lie on one axis.
    pub(super) fn is_same(&self, a: &TensorAffineType, b: &TensorAffineType) -> bool {
        a.dtype == b.dtype && self.is_close(a.scale, b.scale) && self.is_close(a.zero_point, b.zero_point)
    }

    /// The tensor in another affine type.
    pub(super) fn converted(&mut self, of: &Quantized, to: &TensorAffineType) -> Result<ExprId, String> {
        let aligned = self.channels(&of.ty).is_none() || self.axis(of)? == self.axis(&Quantized { ty: *to, ..*of })?;
        if self.is_same(&of.ty, to) && aligned { Ok(of.expr) } else { self.requantized(of, to, to.dtype) }
    }

    /// `qnn.requantize` of a tensor to the numbers of an affine type.
    pub(super) fn requantized(&mut self, of: &Quantized, to: &TensorAffineType, dtype: DType) -> Result<ExprId, String> {
        // An axis without meaning may be none of the tensor's.
        let axis = if self.channels(&of.ty).is_some() || self.axis(of).is_ok() { of.ty.axis } else { -1 };
        let operands = [of.expr, of.ty.scale, of.ty.zero_point, to.scale, to.zero_point];
        self.with(&REQUANTIZE, &operands, &[("axis", AttrValue::int(axis)), ("out_dtype", dtype_value(dtype))])
    }

    /// `qnn.quantize` of floats to an affine type, whose channels lie on its axis of the floats.
    pub(super) fn quantized(&mut self, floats: ExprId, to: &TensorAffineType) -> Result<ExprId, String> {
        let axis = if self.channels(to).is_some() { to.axis } else { -1 };
        let set = [("axis", AttrValue::int(axis)), ("out_dtype", dtype_value(to.dtype))];
        self.with(&QUANTIZE, &[floats, to.scale, to.zero_point], &set)
    }

    /// A number of an affine type in the shape that broadcasts along the channels of a tensor.
    pub(super) fn along(&mut self, number: ExprId, of: &Quantized) -> Result<ExprId, String> {
        let Some(n) = self.channels(&of.ty) else { return Ok(number) };
        let mut dims = vec![1; self.rank(of.expr)?];
        dims[self.axis(of)?] = -1;
        let numbers = match shape(self.module, number) {
            Some(own) if own == [n] => number,
            _ => self.number(&BROADCAST_TO, &[number], &[("shape", AttrValue::ints(&[n]))])?,
        };
        self.number(&RESHAPE, &[numbers], &[("newshape", AttrValue::ints(&dims))])
    }

    /// An affine type of these numbers, if a tensor is of its dtype.
    pub(super) fn typed(&self, expr: ExprId, ty: TensorAffineType) -> Result<(ExprId, AffineType), String> {
        match dtype(self.module, expr) == Some(ty.dtype) {
            true => Ok((expr, AffineType::Tensor(ty))),
            false => Err(format!("the result is not of {}", ty.dtype)),
        }
    }
}
