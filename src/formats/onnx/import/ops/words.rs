//! What converters say often, on top of [`Cx`]: sequences of Relay calls that are one thing in ONNX.
//!
//! Numbers that are counted with are small here: what is beyond [`MAX_NUMBER`] is refused where it is read, so that sums and
//! products of two of them stay far within an `i64`.

pub use super::super::build::Val;
pub use super::super::cx::{Cx, Result, Results, positions};
pub use super::super::errors::Refusal;
use super::super::tensors;
pub use crate::ir::attrs::AttrValue;
pub use crate::tensor::Tensor;
use crate::tensor::{Element, with_dtype};
pub use crate::types::{DType, DTypeCode};

/// Sizes, positions and the like are not greater, and not less than its negative.
pub const MAX_NUMBER: i64 = 1 << 31;

/// Numbers that are written out as a constant.
pub const MAX_CONSTANT: i64 = 1 << 24;

/// Axes of a tensor.
pub const MAX_RANK: i64 = 32;

/// What Relay has nothing for, in words: lower case, no full stop.
pub fn refuse(reason: impl Into<String>) -> Refusal {
    Refusal::unsupported(reason)
}

/// The result of a node that has one.
pub fn one(val: Val) -> Results {
    Ok(vec![val])
}

/// A node that is a call of a Relay operator on its operand.
pub fn unary(cx: &mut Cx, relay: &str) -> Results {
    let x = cx.input(0)?;
    one(cx.unary(relay, x)?)
}

/// A node that is a call of a Relay operator on its two operands.
pub fn binary(cx: &mut Cx, relay: &str) -> Results {
    let (a, b) = (cx.input(0)?, cx.input(1)?);
    one(cx.binary(relay, a, b)?)
}

pub fn ints(values: &[i64]) -> AttrValue {
    AttrValue::ints(values)
}

pub fn int(value: usize) -> AttrValue {
    AttrValue::int(i64::try_from(value).unwrap_or(i64::MAX))
}

/// The product of dimensions.
pub fn product(dims: &[i64]) -> i64 {
    dims.iter().fold(1, |n, &dim| n.saturating_mul(dim))
}

/// The axes from one on, of a tensor of so many.
pub fn axes_from(first: usize, rank: usize) -> Vec<i64> {
    (first..rank).map(|axis| i64::try_from(axis).unwrap_or(i64::MAX)).collect()
}

/// The indices of a flat position.
pub fn unravel(mut at: i64, shape: &[i64]) -> Vec<i64> {
    let mut indices: Vec<i64> = shape
        .iter()
        .rev()
        .map(|&n| {
            let i = at.checked_rem(n).unwrap_or(0);
            at = at.checked_div(n).unwrap_or(0);
            i
        })
        .collect();
    indices.reverse();
    indices
}

fn small(values: Vec<i64>, what: &str) -> Result<Vec<i64>> {
    match values.iter().find(|value| !(-MAX_NUMBER..=MAX_NUMBER).contains(*value)) {
        Some(value) => Err(refuse(format!("{what} with the number {value}"))),
        None => Ok(values),
    }
}

impl Cx<'_> {
    // ---- What is given ----

    /// An attribute that names an axis of an operand of so many.
    pub fn axis_attr(&mut self, name: &'static str, default: i64, rank: usize) -> Result<usize> {
        let axis = self.int(name, default)?;
        self.axis(axis, rank)
    }

    /// An attribute that must be there, a small number.
    pub fn required_int(&mut self, name: &'static str) -> Result<i64> {
        let value = self.opt_int(name)?.ok_or_else(|| Refusal::wrong(format!("the attribute `{name}` is missing")))?;
        Ok(small(vec![value], name)?[0])
    }

    /// A list of small numbers.
    pub fn small_ints(&mut self, name: &'static str) -> Result<Option<Vec<i64>>> {
        self.ints(name)?.map(|values| small(values, name)).transpose()
    }

    /// The dimensions of a tensor, all known and small.
    pub fn sizes(&self, val: Val) -> Result<Vec<i64>> {
        small(self.dims(val)?, "an operand")
    }

    /// One of them.
    pub fn size(&self, val: Val, axis: usize) -> Result<i64> {
        Ok(small(vec![self.dim(val, axis)?], "an operand")?[0])
    }

    /// The small integers of an operand that must be known.
    pub fn given(&self, index: usize, what: &str) -> Result<Vec<i64>> {
        small(self.ints_of(self.input(index)?, what)?, what)
    }

    /// The one integer of an operand that must be known.
    pub fn given_int(&self, index: usize, what: &str) -> Result<i64> {
        match self.given(index, what)?[..] {
            [value] => Ok(value),
            _ => Err(Refusal::wrong(format!("expected one number as {what}"))),
        }
    }

    /// The numbers of an operand that must be known.
    pub fn given_floats(&self, index: usize, what: &str) -> Result<Vec<f64>> {
        let known = self.known(self.input(index)?).map(Tensor::to_f64s);
        known.ok_or_else(|| refuse(format!("{what} that only a run knows")))
    }

    /// The integers of an operand, where it is there and they are known and small.
    pub fn known_small(&self, val: Val, what: &str) -> Result<Option<Vec<i64>>> {
        self.known_ints(val).map(|values| small(values, what)).transpose()
    }

    /// The axes that are named, all of them where none are.
    pub fn axes_or_all(&self, axes: Option<Vec<i64>>, rank: usize) -> Result<Vec<usize>> {
        match axes {
            Some(axes) => self.axes(&axes, rank),
            None => Ok((0..rank).collect()),
        }
    }

    /// The dtype that a number of `TensorProto.DataType` stands for.
    pub fn dtype_of(&self, code: i64) -> Result<DType> {
        tensors::dtype_of(i32::try_from(code).unwrap_or(-1)).map_err(Refusal::unsupported)
    }

    // ---- Constants ----

    pub fn put(&mut self, value: Tensor) -> Result {
        Ok(self.constant(value))
    }

    /// A constant of a number for each row-major position, converted as `cast` does.
    ///
    /// Errors: a shape that is too large to be written out.
    pub fn put_numbers(&mut self, shape: &[i64], dtype: DType, at: impl Fn(usize) -> f64) -> Result {
        let sizes: Option<Vec<usize>> = shape.iter().map(|&dim| usize::try_from(dim).ok()).collect();
        let sizes = sizes.filter(|_| product(shape) <= MAX_CONSTANT);
        let sizes = sizes.ok_or_else(|| refuse(format!("{shape:?} numbers, each of which would be written out")))?;
        self.b.charge_elements(sizes.iter().product(), dtype)?;
        let value = with_dtype!(dtype, |T| Tensor::from_fn(&sizes, |i| <T as Element>::from_f64(at(i))));
        let value = value.ok_or_else(|| refuse(format!("a constant of {dtype}")))?;
        self.put(value)
    }

    /// To be asked before so many numbers of 64 bits are made for constants.
    ///
    /// Errors: a model that asks for too many.
    pub fn charge(&mut self, n: i64) -> Result<()> {
        self.b.charge_elements(usize::try_from(n).unwrap_or(usize::MAX), DType::I64)
    }

    /// A constant, converted as `cast` does.
    pub fn put_as(&mut self, value: Tensor, dtype: DType) -> Result {
        let value = value.cast(dtype).ok_or_else(|| refuse(format!("a constant of {dtype}")))?;
        Ok(self.constant(value))
    }

    /// A scalar of a tensor's dtype.
    pub fn like(&mut self, val: Val, value: f64) -> Result {
        let dtype = self.dtype(val)?;
        self.scalar(dtype, value)
    }

    pub fn zeros(&mut self, shape: &[i64], dtype: DType) -> Result {
        self.call("zeros", &[], &[("shape", ints(shape)), ("dtype", AttrValue::DType(Some(dtype)))])
    }

    pub fn ones(&mut self, shape: &[i64], dtype: DType) -> Result {
        self.call("ones", &[], &[("shape", ints(shape)), ("dtype", AttrValue::DType(Some(dtype)))])
    }

    // ---- Calls ----

    /// The fields of a call that gives a tuple of so many.
    pub fn call_many(&mut self, op: &str, args: &[Val], attrs: &[(&str, AttrValue)], n: usize) -> Results {
        let tuple = self.call(op, args, attrs)?;
        (0..n).map(|i| self.field(tuple, i)).collect()
    }

    /// `op` along some axes.
    pub fn reduce(&mut self, op: &str, val: Val, axes: &[i64], keepdims: bool) -> Result {
        self.call(op, &[val], &[("axis", ints(axes)), ("keepdims", AttrValue::Bool(keepdims))])
    }

    pub fn select(&mut self, condition: Val, then: Val, other: Val) -> Result {
        self.call("where", &[condition, then, other], &[])
    }

    /// So many equal parts.
    pub fn split(&mut self, val: Val, n: i64, axis: i64) -> Results {
        let attrs = [("indices_or_sections", AttrValue::int(n)), ("axis", AttrValue::int(axis))];
        self.call_many("split", &[val], &attrs, usize::try_from(n).unwrap_or(0))
    }

    pub fn stack(&mut self, vals: &[Val], axis: usize) -> Result {
        let tuple = self.tuple(vals);
        self.call("stack", &[tuple], &[("axis", int(axis))])
    }

    /// One position of an axis, without the axis.
    pub fn at(&mut self, val: Val, position: i64, axis: usize) -> Result {
        let position = self.put(Tensor::scalar(position))?;
        self.call("take", &[val, position], &[("axis", int(axis)), ("mode", AttrValue::str("fast"))])
    }

    /// These positions of an axis.
    pub fn take(&mut self, val: Val, positions: Vec<i64>, axis: usize) -> Result {
        let positions = self.put(Tensor::from_vec(&[positions.len()], positions))?;
        self.call("take", &[val, positions], &[("axis", int(axis)), ("mode", AttrValue::str("fast"))])
    }

    /// The first `n` positions of the first axis, `n` a tensor of one int64.
    pub fn head(&mut self, val: Val, n: Val) -> Result {
        let n = self.reshape(n, &[1])?;
        let (start, step) = (self.int_list(&[0]), self.int_list(&[1]));
        let none =
            [("begin", AttrValue::None), ("end", AttrValue::None), ("strides", AttrValue::None), ("axes", AttrValue::None)];
        self.call("dyn.strided_slice", &[val, start, n, step], &none)
    }

    /// With so many positions more, or less, before and after each axis.
    pub fn padded(&mut self, val: Val, value: Val, widths: &[(i64, i64)], mode: &str) -> Result {
        if widths.iter().all(|&width| width == (0, 0)) {
            return Ok(val);
        }
        let widths: Vec<AttrValue> = widths.iter().map(|&(before, after)| ints(&[before, after])).collect();
        let attrs = [("pad_width", AttrValue::List(widths.into())), ("pad_mode", AttrValue::str(mode))];
        self.call("nn.pad", &[val, value], &attrs)
    }

    /// Rounded to the nearest integer, halves to the even one; Relay's `round` takes them away from zero. A half lies between
    /// integers of which the even one is twice the nearest to half of it.
    pub fn round_even(&mut self, val: Val) -> Result {
        let (half, two) = (self.like(val, 0.5)?, self.like(val, 2.0)?);
        let rounded = self.unary("round", val)?;
        let whole = self.unary("trunc", val)?;
        let rest = self.binary("subtract", val, whole)?;
        let rest = self.unary("abs", rest)?;
        let is_half = self.binary("equal", rest, half)?;
        let halved = self.binary("multiply", val, half)?;
        let nearest = self.unary("round", halved)?;
        let even = self.binary("multiply", nearest, two)?;
        self.select(is_half, even, rounded)
    }
}
