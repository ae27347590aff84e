//! A region that is being rewritten, as rules of operators see it.

use super::super::build::{args, value_of};
use super::affine::{AffineType, Builder, Quantized, TensorAffineType};
use relayc_ir::{AttrValue, ExprId};
use relayc_ops::OpDef;
use rustc_hash::FxHashMap;

/// An expression in the place of one of a region. One without an affine type is made of constants.
#[derive(Clone)]
pub(super) struct Value {
    pub(super) expr: ExprId,
    pub(super) ty: Option<AffineType>,
}

/// A region that is being rewritten.
pub(super) struct Region<'a> {
    pub(super) build: Builder<'a>,
    /// The affine type of the region's result; none for an operator by itself.
    pub(super) wanted: Option<TensorAffineType>,
    /// The expression that the region quantizes.
    pub(super) last: Option<ExprId>,
    /// By the expressions of the region as it was.
    pub(super) values: FxHashMap<ExprId, Value>,
}

/// A call of a region as it was, with the operands as they are.
pub(super) struct Call {
    pub(super) expr: ExprId,
    pub(super) def: &'static OpDef,
    pub(super) operands: Vec<Value>,
    pub(super) attrs: Vec<AttrValue>,
}

/// An operand of a call, and whether it is quantized.
pub(super) enum Operand {
    Quantized(Quantized),
    /// Floats.
    Constant(ExprId),
}

impl Region<'_> {
    /// What the operands of an expression have become.
    pub(super) fn operands(&self, expr: ExprId) -> Vec<Value> {
        args(self.build.module, expr).iter().map(|operand| self.values[operand].clone()).collect()
    }

    /// A value that is a quantized tensor.
    pub(super) fn tensor(&self, value: &Value) -> Result<Quantized, String> {
        match value.ty {
            Some(AffineType::Tensor(ty)) => Ok(Quantized { expr: value.expr, ty }),
            _ => Err("an operand is not quantized".into()),
        }
    }

    /// The affine type of the region's result.
    pub(super) fn wanted(&self) -> Result<TensorAffineType, String> {
        self.wanted.ok_or_else(|| "the scale of the result is not known".into())
    }

    /// Whether nothing but the quantization stands behind a call.
    pub(super) fn is_last(&self, call: &Call) -> bool {
        self.last == Some(call.expr)
    }

    /// An operand that is quantized.
    pub(super) fn operand(&self, call: &Call, at: usize) -> Result<Quantized, String> {
        call.operands.get(at).ok_or_else(|| "an operand is missing".into()).and_then(|value| self.tensor(value))
    }

    /// An operand that is quantized, or a constant.
    pub(super) fn any_operand(&self, call: &Call, at: usize) -> Result<Operand, String> {
        let value = call.operands.get(at).ok_or("an operand is missing")?;
        match value_of(self.build.module, value.expr).filter(|_| value.ty.is_none()) {
            Some(_) => Ok(Operand::Constant(value.expr)),
            None => self.tensor(value).map(Operand::Quantized),
        }
    }

    /// The affine types of the tuple that a call gets.
    pub(super) fn fields(&self, call: &Call) -> Result<(ExprId, Vec<TensorAffineType>), String> {
        match call.operands.first() {
            Some(Value { expr, ty: Some(AffineType::Tuple(types)) }) => Ok((*expr, types.clone())),
            _ => Err("the operand is no tuple of quantized tensors".into()),
        }
    }

    /// The call on its new operands.
    pub(super) fn same(&mut self, call: &Call) -> Result<ExprId, String> {
        let operands: Vec<ExprId> = call.operands.iter().map(|value| value.expr).collect();
        self.build.call(call.def, &operands, call.attrs.clone())
    }
}

impl Call {
    /// The attribute of a name.
    pub(super) fn attr(&self, name: &str) -> Option<&AttrValue> {
        self.attrs.get(self.def.attrs?.position(name)?)
    }

    /// The text of an attribute.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match self.attr(name)? {
            AttrValue::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Attributes for another operator: those of the call that it has too, and some that are set.
    pub(super) fn attrs_for(&self, def: &OpDef, set: &[(&'static str, AttrValue)]) -> Vec<AttrValue> {
        let Some(schema) = def.attrs else { return vec![] };
        let own = schema.fields.iter().filter_map(|field| Some((field.name, self.attr(field.name)?.clone())));
        let own = own.filter(|(name, _)| set.iter().all(|(known, _)| known != name));
        schema.values(&own.chain(set.iter().cloned()).collect::<Vec<_>>())
    }
}
