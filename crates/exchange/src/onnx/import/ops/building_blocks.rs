//! Building blocks of converters on top of [`Cx`]: sequences of Relay calls that are one operation in ONNX.
//!
//! Numbers for arithmetic are small: magnitudes above [`MAX_NUMBER`] are refused when they are read, so sums and products of
//! two of them fit an `i64`.

pub(crate) use super::super::build::Val;
pub(crate) use super::super::cx::Cx;
pub(crate) use super::super::cx::Result;
pub(crate) use super::super::cx::Results;
pub(crate) use super::super::cx::dims_attr;
pub(crate) use super::super::cx::positions;
pub(crate) use super::super::errors::Refusal;
use super::super::tensors;
pub(super) use relayc_ir::attrs::AttrValue;
pub(super) use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::{Element, with_dtype};
pub(super) use relayc_ir::types::{DType, DTypeCode};

/// Maximum magnitude of sizes, positions and the like.
pub(crate) const MAX_NUMBER: i64 = 1 << 31;

/// Maximum number of elements of a generated constant.
pub(crate) const MAX_CONSTANT: i64 = 1 << 24;

/// Maximum rank of a tensor.
pub(crate) const MAX_RANK: i64 = 32;

/// The refusal of an unsupported form; the reason is in lower case, without a full stop.
pub(crate) fn refuse(reason: impl Into<String>) -> Refusal {
    Refusal::unsupported(reason)
}

/// The results of a node with one result.
pub(crate) fn one(val: Val) -> Results {
    Ok(vec![val])
}

/// Converts a node to a call of a Relay operator on its operand.
pub(crate) fn unary(cx: &mut Cx, relay: &str) -> Results {
    let x = cx.input(0)?;
    one(cx.unary(relay, x)?)
}

/// Converts a node to a call of a Relay operator on its two operands.
pub(crate) fn binary(cx: &mut Cx, relay: &str) -> Results {
    let (a, b) = (cx.input(0)?, cx.input(1)?);
    one(cx.binary(relay, a, b)?)
}

pub(crate) fn ints(values: &[i64]) -> AttrValue {
    AttrValue::ints(values)
}

pub(crate) fn int(value: usize) -> AttrValue {
    AttrValue::int(i64::try_from(value).unwrap_or(i64::MAX))
}

/// The product of dimensions.
pub(crate) fn product(dims: &[i64]) -> i64 {
    dims.iter().fold(1, |n, &dim| n.saturating_mul(dim))
}

/// The axes from `first` on, for this rank.
pub(crate) fn axes_from(first: usize, rank: usize) -> Vec<i64> {
    (first..rank).map(|axis| i64::try_from(axis).unwrap_or(i64::MAX)).collect()
}

/// The indices of a flat position.
pub(crate) fn unravel(mut at: i64, shape: &[i64]) -> Vec<i64> {
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

    /// An attribute that names an axis of a tensor of this rank.
    pub(crate) fn axis_attr(&mut self, name: &'static str, default: i64, rank: usize) -> Result<usize> {
        let axis = self.int(name, default)?;
        self.axis(axis, rank)
    }

    /// A required attribute with a small number.
    pub(crate) fn required_int(&mut self, name: &'static str) -> Result<i64> {
        let value = self.opt_int(name)?.ok_or_else(|| Refusal::wrong(format!("the attribute `{name}` is missing")))?;
        Ok(small(vec![value], name)?[0])
    }

    /// A list of small numbers.
    pub(crate) fn small_ints(&mut self, name: &'static str) -> Result<Option<Vec<i64>>> {
        self.ints(name)?.map(|values| small(values, name)).transpose()
    }

    /// The dimensions of a tensor, all known and small.
    pub(crate) fn sizes(&self, val: Val) -> Result<Vec<i64>> {
        small(self.dims(val)?, "an operand")
    }

    /// One known and small dimension.
    pub(crate) fn size(&self, val: Val, axis: usize) -> Result<i64> {
        Ok(small(vec![self.dim(val, axis)?], "an operand")?[0])
    }

    /// The small integers of an operand that must be known.
    pub(crate) fn given(&self, index: usize, what: &str) -> Result<Vec<i64>> {
        small(self.ints_of(self.input(index)?, what)?, what)
    }

    /// The single integer of an operand that must be known.
    pub(crate) fn given_int(&self, index: usize, what: &str) -> Result<i64> {
        match self.given(index, what)?[..] {
            [value] => Ok(value),
            _ => Err(Refusal::wrong(format!("expected one number as {what}"))),
        }
    }

    /// The numbers of an operand that must be known.
    pub(crate) fn given_floats(&self, index: usize, what: &str) -> Result<Vec<f64>> {
        let known = self.known(self.input(index)?).map(Tensor::to_f64s);
        known.ok_or_else(|| refuse(format!("{what} that only a run knows")))
    }

    /// The integers of an operand, if it is known; they must be small.
    pub(crate) fn known_small(&self, val: Val, what: &str) -> Result<Option<Vec<i64>>> {
        self.known_ints(val).map(|values| small(values, what)).transpose()
    }

    /// The named axes, or all of them if none are named.
    pub(crate) fn axes_or_all(&self, axes: Option<Vec<i64>>, rank: usize) -> Result<Vec<usize>> {
        match axes {
            Some(axes) => self.axes(&axes, rank),
            None => Ok((0..rank).collect()),
        }
    }

    /// The dtype of a `TensorProto.DataType` number.
    pub(crate) fn dtype_of(&self, code: i64) -> Result<DType> {
        tensors::dtype_of(i32::try_from(code).unwrap_or(-1)).map_err(Refusal::unsupported)
    }

    // ---- Constants ----

    pub(crate) fn put(&mut self, value: Tensor) -> Result {
        Ok(self.constant(value))
    }

    /// A constant with one number for each row-major position, converted like `cast`.
    ///
    /// Errors: a shape that is too large for a constant.
    pub(crate) fn put_numbers(&mut self, shape: &[i64], dtype: DType, at: impl Fn(usize) -> f64) -> Result {
        let sizes: Option<Vec<usize>> = shape.iter().map(|&dim| usize::try_from(dim).ok()).collect();
        let sizes = sizes.filter(|_| product(shape) <= MAX_CONSTANT);
        let sizes = sizes.ok_or_else(|| refuse(format!("{shape:?} numbers, each of which would be written out")))?;
        self.b.charge_elements(sizes.iter().product(), dtype)?;
        let value = with_dtype!(dtype, |T| Tensor::from_fn(&sizes, |i| <T as Element>::from_f64(at(i))));
        let value = value.ok_or_else(|| refuse(format!("a constant of {dtype}")))?;
        self.put(value)
    }

    /// Charges `n` 64-bit numbers of constants; call it before making them.
    ///
    /// Errors: a model that requests too many.
    pub(crate) fn charge(&mut self, n: i64) -> Result<()> {
        self.b.charge_elements(usize::try_from(n).unwrap_or(usize::MAX), DType::I64)
    }

    /// A constant, converted like `cast`.
    pub(crate) fn put_as(&mut self, value: Tensor, dtype: DType) -> Result {
        let value = value.cast(dtype).ok_or_else(|| refuse(format!("a constant of {dtype}")))?;
        Ok(self.constant(value))
    }

    /// A scalar of a tensor's dtype.
    pub(crate) fn like(&mut self, val: Val, value: f64) -> Result {
        let dtype = self.dtype(val)?;
        self.scalar(dtype, value)
    }

    pub(crate) fn zeros(&mut self, shape: &[i64], dtype: DType) -> Result {
        self.call("zeros", &[], &[("shape", ints(shape)), ("dtype", AttrValue::DType(Some(dtype)))])
    }

    pub(crate) fn ones(&mut self, shape: &[i64], dtype: DType) -> Result {
        self.call("ones", &[], &[("shape", ints(shape)), ("dtype", AttrValue::DType(Some(dtype)))])
    }

    // ---- Calls ----

    /// The `n` fields of a call's tuple.
    pub(crate) fn call_many(&mut self, op: &str, args: &[Val], attrs: &[(&str, AttrValue)], n: usize) -> Results {
        let tuple = self.call(op, args, attrs)?;
        (0..n).map(|i| self.field(tuple, i)).collect()
    }

    /// Reduces along some axes by `op`.
    pub(crate) fn reduce(&mut self, op: &str, val: Val, axes: &[i64], keepdims: bool) -> Result {
        self.call(op, &[val], &[("axis", ints(axes)), ("keepdims", AttrValue::Bool(keepdims))])
    }

    pub(crate) fn select(&mut self, condition: Val, then: Val, other: Val) -> Result {
        self.call("where", &[condition, then, other], &[])
    }

    /// Splits into `n` equal parts.
    pub(crate) fn split(&mut self, val: Val, n: i64, axis: i64) -> Results {
        let attrs = [("indices_or_sections", AttrValue::int(n)), ("axis", AttrValue::int(axis))];
        self.call_many("split", &[val], &attrs, usize::try_from(n).unwrap_or(0))
    }

    pub(crate) fn stack(&mut self, vals: &[Val], axis: usize) -> Result {
        let tuple = self.tuple(vals);
        self.call("stack", &[tuple], &[("axis", int(axis))])
    }

    /// One position of an axis, with the axis removed.
    pub(crate) fn at(&mut self, val: Val, position: i64, axis: usize) -> Result {
        let position = self.put(Tensor::scalar(position))?;
        self.call("take", &[val, position], &[("axis", int(axis)), ("mode", AttrValue::str("fast"))])
    }

    /// These positions of an axis.
    pub(crate) fn take(&mut self, val: Val, positions: Vec<i64>, axis: usize) -> Result {
        let positions = self.put(Tensor::from_vec(&[positions.len()], positions))?;
        self.call("take", &[val, positions], &[("axis", int(axis)), ("mode", AttrValue::str("fast"))])
    }

    /// The first `n` positions of the first axis; `n` is a tensor of one int64.
    pub(crate) fn head(&mut self, val: Val, n: Val) -> Result {
        let n = self.reshape(n, &[1])?;
        let (start, step) = (self.int_list(&[0]), self.int_list(&[1]));
        let none =
            [("begin", AttrValue::None), ("end", AttrValue::None), ("strides", AttrValue::None), ("axes", AttrValue::None)];
        self.call("dyn.strided_slice", &[val, start, n, step], &none)
    }

    /// Pads each axis before and after; negative widths crop.
    pub(crate) fn padded(&mut self, val: Val, value: Val, widths: &[(i64, i64)], mode: &str) -> Result {
        if widths.iter().all(|&width| width == (0, 0)) {
            return Ok(val);
        }
        let widths: Vec<AttrValue> = widths.iter().map(|&(before, after)| ints(&[before, after])).collect();
        let attrs = [("pad_width", AttrValue::List(widths.into())), ("pad_mode", AttrValue::str(mode))];
        self.call("nn.pad", &[val, value], &attrs)
    }

    /// Rounds to the nearest integer, halves to even; Relay's `round` takes them away from zero. Of the integers around a half,
    /// the even one is twice the nearest integer to half of it.
    pub(crate) fn round_even(&mut self, val: Val) -> Result {
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
