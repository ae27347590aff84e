//! Converts constants and operators on shapes alone.

use super::super::cx::{Cx, Result, Results, dims_attr};
use super::super::errors::Refusal;
use super::{Converter, op};
use relayc_ir::AttrValue;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Dim, dims_of};

fn constant(cx: &mut Cx) -> Results {
    type Read = fn(&mut Cx<'_>, &'static str) -> Result<Option<Tensor>>;
    let reads: [(&str, Read); 6] = [
        ("value", |cx, name| cx.tensor(name)),
        ("sparse_value", |cx, name| cx.sparse_tensor(name)),
        // These attributes are float32.
        ("value_float", |cx, name| Ok(cx.opt_float(name)?.and_then(|value| Tensor::full(DType::F32, &[], value)))),
        ("value_floats", |cx, name| {
            Ok(cx.floats(name)?.and_then(|values| Tensor::from_vec(&[values.len()], values).cast(DType::F32)))
        }),
        ("value_int", |cx, name| Ok(cx.opt_int(name)?.map(Tensor::scalar))),
        ("value_ints", |cx, name| Ok(cx.ints(name)?.map(|values| Tensor::from_vec(&[values.len()], values)))),
    ];
    for (name, read) in reads {
        if let Some(value) = cx.held(name, read)? {
            return Ok(vec![value]);
        }
    }
    match cx.has("value_string") || cx.has("value_strings") {
        true => Err(Refusal::unsupported("tensors of strings")),
        false => Err(Refusal::wrong("it has no value")),
    }
}

/// Fills a shape that is an operand with one value.
fn constant_of_shape(cx: &mut Cx) -> Results {
    let shape = cx.input(0)?;
    let value = cx.tensor("value")?.unwrap_or_else(|| Tensor::from_vec(&[1], vec![0f32]));
    let value = value.reshape(&[]).ok_or_else(|| Refusal::wrong("the attribute `value` has more than one element"))?;
    let dtype = value.dtype();
    let value = cx.constant(value);
    Ok(vec![cx.full(value, shape, dtype)?])
}

impl Cx<'_> {
    /// Fills a shape that is an operand with a scalar.
    pub(crate) fn full(
        &mut self,
        value: super::super::build::Val,
        shape: super::super::build::Val,
        dtype: DType,
    ) -> super::super::cx::Result {
        let dtype = ("dtype", AttrValue::DType(Some(dtype)));
        match self.known_sizes(shape) {
            Some(dims) => self.call("full", &[value], &[("shape", dims_attr(&dims)), dtype]),
            None => {
                let full = self.call("dyn.full", &[value, shape], &[("shape", AttrValue::ints(&[])), dtype])?;
                let full = self.narrowed(full, shape)?;
                self.as_declared(full)
            }
        }
    }
}

impl Cx<'_> {
    /// A tensor whose shape is that of an operand, with the dimensions that are known of it in its type. The type says what a
    /// reshape to them can: all dimensions, or all but one.
    pub(crate) fn narrowed(
        &mut self,
        val: super::super::build::Val,
        shape: super::super::build::Val,
    ) -> super::super::cx::Result {
        let Some(elements) = self.b.elements(shape) else { return Ok(val) };
        let dims: Vec<Option<Dim>> = elements.iter().map(|element| element.size()).collect();
        if let Some(dims) = dims.iter().copied().collect::<Option<Vec<Dim>>>() {
            return self.reshape_to_dims(val, &dims);
        }
        let positive = |dim: &&Dim| dim.value().is_none_or(|dim| dim > 0);
        match dims.len() > 1 && dims.iter().flatten().filter(positive).count() == dims.len().saturating_sub(1) {
            true => {
                let dims: Vec<Dim> = dims.into_iter().map(|dim| dim.unwrap_or(Dim::known(-1))).collect();
                match dims_of(&dims) {
                    Some(dims) => self.reshape(val, &dims),
                    None => self.reshape_to_dims(val, &dims),
                }
            }
            false => Ok(val),
        }
    }
}

pub(crate) const FAMILY: &[Converter] = &[
    op("Constant", &[1, 9, 11, 12, 13, 19, 21], constant).but("strings"),
    op("ConstantOfShape", &[9, 20, 21], constant_of_shape),
];
