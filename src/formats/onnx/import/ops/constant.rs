//! Constants, and what is made of shapes alone.

use super::super::cx::{Cx, Results};
use super::super::errors::Refusal;
use super::{Converter, op};
use crate::ir::AttrValue;
use crate::tensor::Tensor;
use crate::types::DType;

fn constant(cx: &mut Cx) -> Results {
    let value = if let Some(value) = cx.tensor("value")? {
        value
    } else if let Some(value) = cx.sparse_tensor("sparse_value")? {
        value
    } else if let Some(value) = cx.opt_float("value_float")? {
        // The attribute is a float32.
        Tensor::full(DType::F32, &[], value).ok_or_else(|| Refusal::wrong("a constant that no tensor can hold"))?
    } else if let Some(values) = cx.floats("value_floats")? {
        let n = [values.len()];
        let wide = Tensor::from_vec(&n, values);
        wide.cast(DType::F32).ok_or_else(|| Refusal::wrong("a constant that no tensor can hold"))?
    } else if let Some(value) = cx.opt_int("value_int")? {
        Tensor::scalar(value)
    } else if let Some(values) = cx.ints("value_ints")? {
        Tensor::from_vec(&[values.len()], values)
    } else if cx.has("value_string") || cx.has("value_strings") {
        return Err(Refusal::unsupported("tensors of strings"));
    } else {
        return Err(Refusal::wrong("it has no value"));
    };
    Ok(vec![cx.constant(value)])
}

/// One value in a shape that is an operand.
fn constant_of_shape(cx: &mut Cx) -> Results {
    let shape = cx.input(0)?;
    let value = cx.tensor("value")?.unwrap_or_else(|| Tensor::from_vec(&[1], vec![0f32]));
    let value = value.reshape(&[]).ok_or_else(|| Refusal::wrong("the attribute `value` has more than one element"))?;
    let dtype = value.dtype();
    let value = cx.constant(value);
    Ok(vec![cx.full(value, shape, dtype)?])
}

impl Cx<'_> {
    /// A scalar everywhere in a shape that is an operand.
    pub fn full(
        &mut self,
        value: super::super::build::Val,
        shape: super::super::build::Val,
        dtype: DType,
    ) -> super::super::cx::Result {
        let dtype = ("dtype", AttrValue::DType(Some(dtype)));
        match self.known_ints(shape).or_else(|| self.declared.first().cloned().flatten()) {
            Some(dims) => self.call("full", &[value], &[("shape", AttrValue::ints(&dims)), dtype]),
            None => self.call("dyn.full", &[value, shape], &[("shape", AttrValue::ints(&[])), dtype]),
        }
    }
}

pub const FAMILY: &[Converter] = &[
    op("Constant", &[1, 9, 11, 12, 13, 19, 21], constant).but("strings"),
    op("ConstantOfShape", &[9, 20, 21], constant_of_shape),
];
