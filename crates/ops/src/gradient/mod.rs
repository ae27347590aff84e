//! Gradients of operators: those that TVM registers (`python/tvm/relay/op/_tensor_grad.py`), built of the same calls in the same order. Every call is bound to a variable.
//!
//! A rule gets a call of an operator and the gradient of its result. It returns the gradient of each operand, which has the operand's
//! type. A comment gives the equation where the code does not: `g` is the gradient of the result.

mod elementwise;
mod products;
mod reductions;
mod shapes;

use super::call::{call, constant, project};
use super::table;
use relayc_base::Span;
use relayc_ir::attrs::{AttrSchema, OpTable};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, dims_of};
use relayc_ir::{AttrValue, ExprId, Module};

/// The gradients of the operands of a call; `None` if its attributes or types have none.
pub type Gradient = fn(&mut GradCx) -> Option<Vec<ExprId>>;

/// A call whose gradient is asked for.
pub struct GradCx<'a> {
    pub module: &'a mut Module,
    pub span: Span,
    /// The operands, typed.
    pub args: &'a [ExprId],
    /// The attributes of the call, by the schema of the operator.
    pub attrs: &'a [AttrValue],
    pub schema: Option<&'static AttrSchema>,
    /// The result of the call.
    pub out: ExprId,
    /// The gradient of the result.
    pub grad: ExprId,
    /// Binds a value; returns a mention of its variable.
    pub bind: &'a mut dyn FnMut(&mut Module, ExprId) -> ExprId,
}

/// The rule of an operator.
pub(crate) fn find(name: &str) -> Option<Gradient> {
    let all = [elementwise::GRADIENTS, products::GRADIENTS, reductions::GRADIENTS, shapes::GRADIENTS];
    all.into_iter().flatten().find(|(known, _)| *known == name).map(|(_, gradient)| *gradient)
}

impl GradCx<'_> {
    /// A call of an operator; attributes that are not set have their defaults.
    fn op(&mut self, name: &str, args: &[ExprId], set: &[(&str, AttrValue)]) -> ExprId {
        let def = table().def(table().find(name).expect("gradients are made of known operators"));
        let attrs = def.attrs.map_or(vec![], |schema| schema.values(set));
        let value = call(self.module, self.span, def, args, attrs);
        (self.bind)(self.module, value)
    }

    fn unary(&mut self, name: &str, data: ExprId) -> ExprId {
        self.op(name, &[data], &[])
    }

    fn binary(&mut self, name: &str, lhs: ExprId, rhs: ExprId) -> ExprId {
        self.op(name, &[lhs, rhs], &[])
    }

    fn mul(&mut self, lhs: ExprId, rhs: ExprId) -> ExprId {
        self.binary("multiply", lhs, rhs)
    }

    fn div(&mut self, lhs: ExprId, rhs: ExprId) -> ExprId {
        self.binary("divide", lhs, rhs)
    }

    /// The sum of a gradient over the axes along which an operand was broadcast, in the operand's dtype.
    fn collapse(&mut self, grad: ExprId, like: ExprId) -> ExprId {
        let is_alike = self.dtype(grad) == self.dtype(like);
        let grad = if is_alike { grad } else { self.binary("cast_like", grad, like) };
        self.binary("collapse_sum_like", grad, like)
    }

    fn zeros_like(&mut self, of: ExprId) -> ExprId {
        self.unary("zeros_like", of)
    }

    fn ones_like(&mut self, of: ExprId) -> ExprId {
        self.unary("ones_like", of)
    }

    /// The sum over axes, or over all.
    fn sum(&mut self, data: ExprId, axis: Option<&[i64]>, keepdims: bool, exclude: bool) -> ExprId {
        let axis = axis.map_or(AttrValue::None, AttrValue::ints);
        let set = [("axis", axis), ("keepdims", AttrValue::Bool(keepdims)), ("exclude", AttrValue::Bool(exclude))];
        self.op("sum", &[data], &set)
    }

    /// A scalar of the dtype of an expression.
    fn number(&mut self, value: f64, like: ExprId) -> Option<ExprId> {
        let dtype = self.dtype(like)?;
        Some(constant(self.module, self.span, Tensor::full(dtype, &[], value)?))
    }

    fn int(&mut self, value: i32) -> ExprId {
        constant(self.module, self.span, Tensor::scalar(value))
    }

    fn ints(&mut self, values: &[i64]) -> Option<ExprId> {
        let values: Vec<i32> = values.iter().map(|&value| value.try_into().ok()).collect::<Option<_>>()?;
        Some(constant(self.module, self.span, Tensor::from_fn(&[values.len()], |at| values[at])))
    }

    fn field(&mut self, tuple: ExprId, index: usize) -> ExprId {
        project(self.module, self.span, tuple, index)
    }

    fn dtype(&self, expr: ExprId) -> Option<DType> {
        self.module.types.as_tensor(self.module.ty(expr)).map(|(_, dtype)| dtype)
    }

    /// The shape of an expression, if it is known.
    fn shape(&self, expr: ExprId) -> Option<Vec<i64>> {
        self.module.types.as_tensor(self.module.ty(expr)).and_then(|(shape, _)| dims_of(shape))
    }

    fn rank(&self, expr: ExprId) -> Option<usize> {
        self.module.types.as_tensor(self.module.ty(expr)).map(|(shape, _)| shape.len())
    }

    /// An attribute of the call.
    fn attr(&self, name: &str) -> AttrValue {
        let at = self.schema.and_then(|schema| schema.position(name)).expect("a rule reads attributes of its operator");
        self.attrs[at].clone()
    }

    fn attr_int(&self, name: &str) -> Option<i64> {
        self.attr(name).as_int()
    }

    fn attr_bool(&self, name: &str) -> bool {
        self.attr(name) == AttrValue::Bool(true)
    }

    fn attr_ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attr(name).as_list()?.iter().map(AttrValue::as_int).collect()
    }

    fn attr_is(&self, name: &str, text: &str) -> bool {
        matches!(self.attr(name), AttrValue::Str(value) if &*value == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gradient_is_of_an_operator() {
        for (name, _) in [elementwise::GRADIENTS, products::GRADIENTS, reductions::GRADIENTS, shapes::GRADIENTS].concat() {
            assert!(table().find(name).is_some(), "{name}");
        }
    }
}
