//! The context of a converter: one node, its operands, its attributes, and the program under construction.
//!
//! An attribute that no converter reads is refused, because it would change the node's meaning. So [`Cx`] records which
//! attributes are read.

use super::super::proto::{AttributeProto, NodeProto, attribute_type};
use super::build::{Builder, Element, Val, axis_of};
use super::errors::{Refusal, shown};
use super::names::Names;
use super::tensors::{Gate, Unread};
use relayc_ir::VarId;
use relayc_ir::attrs::AttrValue;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Dim, SymbolOp, dims_of};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) type Result<T = Val> = std::result::Result<T, Refusal>;

/// The results of a node, in order.
pub(crate) type Results = Result<Vec<Val>>;

/// The attributes of a node by name; references to a function's attributes are resolved.
pub(crate) type Attributes<'a> = FxHashMap<&'a str, &'a AttributeProto>;

/// A node under conversion.
pub(crate) struct Cx<'a> {
    pub(crate) b: &'a mut Builder,
    pub(crate) node: &'a NodeProto,
    pub(crate) gate: Gate<'a>,
    /// Tensors of attributes that were read.
    pub(crate) tensors: &'a mut FxHashMap<*const AttributeProto, Val>,
    /// Operands; `None` for an omitted one.
    pub(crate) inputs: Vec<Option<Val>>,
    /// The operator's version: the operator set that introduced its semantics here.
    pub(crate) version: i64,
    /// The declared shapes of results, if complete.
    pub(crate) declared: Vec<Option<Vec<i64>>>,
    pub(crate) attrs: &'a Attributes<'a>,
    pub(crate) read: FxHashSet<&'static str>,
    pub(crate) names: &'a mut Names,
    /// What is bound to variables on the way, in order.
    pub(crate) lets: Vec<(VarId, Val)>,
}

impl<'a> Cx<'a> {
    // ---- Operands ----

    /// A required operand.
    pub(crate) fn input(&self, index: usize) -> Result {
        self.opt(index).ok_or_else(|| Refusal::wrong(format!("input {index} is missing")))
    }

    /// An optional operand.
    pub(crate) fn opt(&self, index: usize) -> Option<Val> {
        self.inputs.get(index).copied().flatten()
    }

    /// All operands of a variadic node.
    pub(crate) fn all_inputs(&self) -> Result<Vec<Val>> {
        (0..self.inputs.len()).map(|index| self.input(index)).collect()
    }

    /// Number of used results: up to the last one with a name.
    pub(crate) fn n_outputs(&self) -> usize {
        self.node.output.iter().rposition(|output| !output.is_empty()).map_or(0, |last| last.saturating_add(1))
    }

    /// Whether a result is used.
    pub(crate) fn wants(&self, index: usize) -> bool {
        self.node.output.get(index).is_some_and(|output| !output.is_empty())
    }

    // ---- Types ----

    /// The dimensions of a tensor.
    pub(crate) fn shape(&self, val: Val) -> Result<Vec<Dim>> {
        self.b.shape(val)
    }

    pub(crate) fn rank(&self, val: Val) -> Result<usize> {
        Ok(self.shape(val)?.len())
    }

    pub(crate) fn dtype(&self, val: Val) -> Result<DType> {
        self.b.dtype(val)
    }

    /// The dimensions of a tensor, which must all be known.
    pub(crate) fn dims(&self, val: Val) -> Result<Vec<i64>> {
        dims_of(&self.shape(val)?).ok_or_else(|| Refusal::unsupported("a shape that is not known before running"))
    }

    /// One dimension, which must be known.
    pub(crate) fn dim(&self, val: Val, axis: usize) -> Result<i64> {
        let dim = self.shape(val)?.get(axis).copied().and_then(Dim::value);
        dim.ok_or_else(|| Refusal::unsupported("a dimension that is not known before running"))
    }

    /// Resolves an axis of a tensor of this rank, which counts from the end if negative.
    pub(crate) fn axis(&self, axis: i64, rank: usize) -> Result<usize> {
        axis_of(axis, rank)
    }

    /// Like [`Cx::axis`], for several axes without repetition.
    pub(crate) fn axes(&self, axes: &[i64], rank: usize) -> Result<Vec<usize>> {
        let axes: Vec<usize> = axes.iter().map(|&axis| self.axis(axis, rank)).collect::<Result<_>>()?;
        let mut sorted = axes.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() == axes.len() { Ok(axes) } else { Err(Refusal::wrong(format!("an axis twice in {axes:?}"))) }
    }

    // ---- Constants ----

    /// The tensor of a constant value.
    pub(crate) fn known(&self, val: Val) -> Option<&Tensor> {
        self.b.known(val)
    }

    /// The integers of an operand, if all are known.
    pub(crate) fn known_ints(&self, val: Val) -> Option<Vec<i64>> {
        self.b.known_elements(val)?.into_iter().collect()
    }

    /// The elements of an operand, if all are numbers or sizes.
    pub(crate) fn known_sizes(&self, val: Val) -> Option<Vec<Dim>> {
        self.b.known_sizes(val)
    }

    /// The dimensions of a tensor, if all are numbers or sizes.
    pub(crate) fn sized(&self, val: Val) -> Result<Option<Vec<Dim>>> {
        Ok(Some(self.shape(val)?).filter(|shape| shape.iter().all(|dim| dim.is_sized())))
    }

    /// Like [`Cx::known_ints`], for an operand that must be known.
    pub(crate) fn ints_of(&self, val: Val, what: &str) -> Result<Vec<i64>> {
        self.known_ints(val).ok_or_else(|| Refusal::unsupported(format!("{what} that only a run knows")))
    }

    /// The single number of an operand that must be known.
    pub(crate) fn number_of(&self, val: Val, what: &str) -> Result<f64> {
        let value = self.known(val).ok_or_else(|| Refusal::unsupported(format!("{what} that only a run knows")))?;
        match value.to_f64s().as_slice() {
            [number] => Ok(*number),
            other => Err(Refusal::wrong(format!("expected one number as {what}, found {}", other.len()))),
        }
    }

    // ---- Attributes ----

    /// An attribute, recorded as read.
    fn attr(&mut self, name: &'static str, kind: i32) -> Result<Option<&'a AttributeProto>> {
        self.read.insert(name);
        let Some(&attr) = self.attrs.get(name) else { return Ok(None) };
        let found = attr.r#type.filter(|&kind| kind != 0).unwrap_or_else(|| guess(attr));
        match found == kind {
            true => Ok(Some(attr)),
            false => {
                Err(Refusal::wrong(format!("the attribute `{name}` is of type {found}, expected {kind} (AttributeProto.type)")))
            }
        }
    }

    pub(crate) fn int(&mut self, name: &'static str, default: i64) -> Result<i64> {
        Ok(self.opt_int(name)?.unwrap_or(default))
    }

    pub(crate) fn opt_int(&mut self, name: &'static str) -> Result<Option<i64>> {
        Ok(self.attr(name, attribute_type::INT)?.map(|attr| attr.i.unwrap_or_default()))
    }

    /// An integer attribute that is 0 or 1. Errors: another number, which runtimes read differently.
    pub(crate) fn flag(&mut self, name: &'static str, default: bool) -> Result<bool> {
        match self.int(name, default.into())? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Refusal::wrong(format!("`{name}` is {other}, expected 0 or 1"))),
        }
    }

    pub(crate) fn ints(&mut self, name: &'static str) -> Result<Option<Vec<i64>>> {
        Ok(self.attr(name, attribute_type::INTS)?.map(|attr| attr.ints.clone()))
    }

    pub(crate) fn float(&mut self, name: &'static str, default: f32) -> Result<f64> {
        Ok(self.opt_float(name)?.unwrap_or(default.into()))
    }

    pub(crate) fn opt_float(&mut self, name: &'static str) -> Result<Option<f64>> {
        Ok(self.attr(name, attribute_type::FLOAT)?.map(|attr| attr.f.unwrap_or_default().into()))
    }

    pub(crate) fn floats(&mut self, name: &'static str) -> Result<Option<Vec<f64>>> {
        let attr = self.attr(name, attribute_type::FLOATS)?;
        Ok(attr.map(|attr| attr.floats.iter().map(|&value| value.into()).collect()))
    }

    pub(crate) fn text(&mut self, name: &'static str, default: &str) -> Result<String> {
        let Some(attr) = self.attr(name, attribute_type::STRING)? else { return Ok(default.to_owned()) };
        let text = String::from_utf8(attr.s.clone().unwrap_or_default());
        text.map_err(|_| Refusal::wrong(format!("the attribute `{name}` is not UTF-8")))
    }

    pub(crate) fn texts(&mut self, name: &'static str) -> Result<Option<Vec<String>>> {
        let Some(attr) = self.attr(name, attribute_type::STRINGS)? else { return Ok(None) };
        let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone());
        let texts: std::result::Result<Vec<String>, _> = attr.strings.iter().map(text).collect();
        texts.map(Some).map_err(|_| Refusal::wrong(format!("the attribute `{name}` is not UTF-8")))
    }

    pub(crate) fn tensor(&mut self, name: &'static str) -> Result<Option<Tensor>> {
        let Some(attr) = self.attr(name, attribute_type::TENSOR)? else { return Ok(None) };
        let proto = attr.t.as_ref().ok_or_else(|| Refusal::wrong(format!("the attribute `{name}` has no tensor")))?;
        self.gate.tensor(proto).map(Some).map_err(unread)
    }

    pub(crate) fn sparse_tensor(&mut self, name: &'static str) -> Result<Option<Tensor>> {
        let Some(attr) = self.attr(name, attribute_type::SPARSE_TENSOR)? else { return Ok(None) };
        let proto = attr.sparse_tensor.as_ref().ok_or_else(|| Refusal::wrong(format!("the attribute `{name}` has no tensor")))?;
        self.gate.sparse(proto, self.b).map(Some).map_err(unread)
    }

    /// The content of an attribute as a constant, which is made when its node is first converted.
    pub(crate) fn held(
        &mut self,
        name: &'static str,
        make: impl FnOnce(&mut Self, &'static str) -> Result<Option<Tensor>>,
    ) -> Result<Option<Val>> {
        let key = self.attrs.get(name).map(|&attr| std::ptr::from_ref(attr));
        if let Some(&known) = key.and_then(|key| self.tensors.get(&key)) {
            self.read.insert(name);
            return Ok(Some(known));
        }
        let made = make(self, name)?.map(|tensor| self.constant(tensor));
        self.tensors.extend(key.zip(made));
        Ok(made)
    }

    /// Whether an attribute exists; records it as read.
    pub(crate) fn has(&mut self, name: &'static str) -> bool {
        self.read.insert(name);
        self.attrs.contains_key(name)
    }

    /// Ignores an attribute that does not affect the result.
    pub(crate) fn ignore(&mut self, name: &'static str) {
        self.read.insert(name);
    }

    /// Refuses attributes that were not read.
    pub(crate) fn all_read(&self) -> Result<()> {
        // Of operator sets before 6: which operands might be overwritten.
        understood(self.attrs, |name| self.read.contains(name) || name == "consumed_inputs")
    }

    // ---- The program ----

    /// Adds a call of a Relay operator; attributes that are not given have their defaults.
    pub(crate) fn call(&mut self, op: &str, args: &[Val], attrs: &[(&str, AttrValue)]) -> Result {
        self.b.call(op, args, attrs)
    }

    pub(crate) fn unary(&mut self, op: &str, arg: Val) -> Result {
        self.b.call(op, &[arg], &[])
    }

    pub(crate) fn binary(&mut self, op: &str, lhs: Val, rhs: Val) -> Result {
        self.b.call(op, &[lhs, rhs], &[])
    }

    pub(crate) fn constant(&mut self, value: Tensor) -> Val {
        self.b.constant(value)
    }

    /// A constant of rank 0, converted like `cast`.
    pub(crate) fn scalar(&mut self, dtype: DType, value: f64) -> Result {
        self.b.scalar(dtype, value)
    }

    /// A constant vector of int64.
    pub(crate) fn int_list(&mut self, values: &[i64]) -> Val {
        self.b.constant(Tensor::from_vec(&[values.len()], values.to_vec()))
    }

    pub(crate) fn tuple(&mut self, fields: &[Val]) -> Val {
        self.b.tuple(fields)
    }

    pub(crate) fn field(&mut self, tuple: Val, index: usize) -> Result {
        self.b.field(tuple, index)
    }

    /// Casts a value; a value of that dtype stays itself.
    pub(crate) fn cast(&mut self, val: Val, dtype: DType) -> Result {
        match self.dtype(val)? == dtype {
            true => Ok(val),
            false => self.call("cast", &[val], &[("dtype", AttrValue::DType(Some(dtype)))]),
        }
    }

    /// Reshapes a value to these dimensions, numbers and sizes.
    pub(crate) fn reshape_to_dims(&mut self, val: Val, dims: &[Dim]) -> Result {
        if self.shape(val)?.iter().zip(dims).filter(|(a, b)| a.same(**b)).count() == dims.len().max(self.rank(val)?) {
            return Ok(val);
        }
        let from = self.shape(val)?;
        let codes = self.codes(&from, dims);
        let newshape = codes.as_deref().map_or_else(|| dims_attr(dims), AttrValue::ints);
        self.call("reshape", &[val], &[("newshape", newshape), ("allowzero", AttrValue::Bool(codes.is_none()))])
    }

    /// The codes of a reshape, with which a shape has no sizes in it: it keeps, merges and splits dimensions one after another.
    fn codes(&mut self, from: &[Dim], to: &[Dim]) -> Option<Vec<i64>> {
        let (mut from, mut to) = (from, to);
        let mut codes = vec![];
        loop {
            let mut merges = |a: Dim, b: Dim, whole: Dim| self.b.size_arith(SymbolOp::Mul, a, b).same(whole);
            match (from, to) {
                ([], []) => return Some(codes),
                ([own, behind @ ..], [dim, rest @ ..]) if own.same(*dim) => {
                    codes.push(dim.value().filter(|&dim| dim > 0).unwrap_or(0));
                    (from, to) = (behind, rest);
                }
                ([a, b, behind @ ..], [dim, rest @ ..]) if merges(*a, *b, *dim) => {
                    codes.push(-3);
                    (from, to) = (behind, rest);
                }
                ([own, behind @ ..], [a, b, rest @ ..]) if merges(*a, *b, *own) => {
                    let factor = |dim: &Dim| dim.value().filter(|&dim| dim > 0);
                    codes.extend(match (factor(a), factor(b)) {
                        (Some(a), Some(b)) => [-4, a, b],
                        (Some(a), None) => [-4, a, -1],
                        (None, Some(b)) => [-4, -1, b],
                        (None, None) => return None,
                    });
                    (from, to) = (behind, rest);
                }
                _ => return None,
            }
        }
    }

    /// Reshapes a value whose first `kept` dimensions stay; -1 is the remaining dimension.
    pub(crate) fn reshape_behind(&mut self, val: Val, kept: usize, behind: &[i64]) -> Result {
        let codes = [vec![0; kept].as_slice(), behind].concat();
        self.call("reshape", &[val], &[("newshape", AttrValue::ints(&codes))])
    }

    /// Reshapes a value; -1 is the remaining dimension, and 0 a dimension of 0.
    pub(crate) fn reshape(&mut self, val: Val, shape: &[i64]) -> Result {
        if dims_of(&self.shape(val)?).as_deref() == Some(shape) {
            return Ok(val);
        }
        let zero = AttrValue::Bool(shape.contains(&0));
        self.call("reshape", &[val], &[("newshape", AttrValue::ints(shape)), ("allowzero", zero)])
    }

    /// Permutes the axes of a value; returns the value itself if they stay.
    pub(crate) fn transpose(&mut self, val: Val, axes: &[usize]) -> Result {
        if axes.iter().enumerate().all(|(at, &axis)| at == axis) {
            return Ok(val);
        }
        self.call("transpose", &[val], &[("axes", positions(axes))])
    }

    /// Inserts `n` axes of dimension 1 before axis `at`.
    pub(crate) fn expand_dims(&mut self, val: Val, at: usize, n: usize) -> Result {
        if n == 0 {
            return Ok(val);
        }
        let attr = |n: usize| AttrValue::int(i64::try_from(n).unwrap_or(i64::MAX));
        self.call("expand_dims", &[val], &[("axis", attr(at)), ("num_newaxis", attr(n))])
    }

    /// Removes axes of dimension 1.
    pub(crate) fn squeeze(&mut self, val: Val, axes: &[usize]) -> Result {
        if axes.is_empty() {
            return Ok(val);
        }
        self.call("squeeze", &[val], &[("axis", positions(axes))])
    }

    /// Concatenates several tensors.
    pub(crate) fn concatenate(&mut self, vals: &[Val], axis: usize) -> Result {
        if let [one] = vals {
            return Ok(*one);
        }
        let tuple = self.tuple(vals);
        self.call("concatenate", &[tuple], &[("axis", AttrValue::int(i64::try_from(axis).unwrap_or(i64::MAX)))])
    }

    /// The positions from `begin` to `end` of one axis.
    pub(crate) fn slice(&mut self, val: Val, axis: usize, begin: i64, end: i64) -> Result {
        let one = |value: i64| AttrValue::ints(&[value]);
        let attrs = [("begin", one(begin)), ("end", one(end)), ("strides", one(1)), ("axes", positions(&[axis]))];
        self.call("strided_slice", &[val], &attrs)
    }

    /// The scalar of a tensor with one element.
    pub(crate) fn scalar_of(&mut self, val: Val) -> Result {
        let rank = self.rank(val)?;
        let axes: Vec<usize> = (0..rank).collect();
        self.squeeze(val, &axes)
    }

    /// The dimensions of a tensor, as a vector of int64.
    pub(crate) fn shape_of(&mut self, val: Val) -> Result {
        let dims = self.shape(val)?;
        if dims.is_empty() {
            // Relay's operator gives a scalar here.
            return Ok(self.int_list(&[]));
        }
        let shape = self.call("shape_of", &[val], &[("dtype", AttrValue::DType(Some(DType::I64)))])?;
        if self.known(shape).is_none() {
            let element = |(axis, dim): (usize, Dim)| match dim {
                Dim::Known { .. } => Element::Size(dim),
                _ if dim.is_named() => Element::Size(dim),
                _ => Element::Axis(val, axis),
            };
            self.b.set_elements(shape, dims.into_iter().enumerate().map(element).collect());
        }
        Ok(shape)
    }
}

/// Refuses attributes for which `is` is false.
pub(crate) fn understood(attrs: &Attributes, is: impl Fn(&str) -> bool) -> Result<()> {
    let unread = attrs.keys().filter(|name| !is(name));
    let mut unread: Vec<String> = unread.map(|name| format!("`{}`", shown(name))).collect();
    unread.sort_unstable();
    match unread.is_empty() {
        true => Ok(()),
        false => Err(Refusal::unsupported(format!("attributes that are not understood: {}", unread.join(", ")))),
    }
}

/// Dimensions as the value of an attribute. Those that only a run knows are `?`.
pub(crate) fn dims_attr(dims: &[Dim]) -> AttrValue {
    let value = |dim: &Dim| match *dim {
        Dim::Known { value, .. } => AttrValue::int(value),
        Dim::Symbol(symbol) => AttrValue::Symbol(symbol),
        Dim::Any => AttrValue::Any,
    };
    AttrValue::List(dims.iter().map(value).collect())
}

/// Positions as the value of an attribute.
pub(crate) fn positions(axes: &[usize]) -> AttrValue {
    let axes: Vec<i64> = axes.iter().map(|&axis| i64::try_from(axis).unwrap_or(i64::MAX)).collect();
    AttrValue::ints(&axes)
}

/// Infers the kind of an attribute's value, which files before IR version 2 do not state.
fn guess(attr: &AttributeProto) -> i32 {
    match attr {
        _ if attr.f.is_some() => attribute_type::FLOAT,
        _ if attr.i.is_some() => attribute_type::INT,
        _ if attr.s.is_some() => attribute_type::STRING,
        _ if attr.t.is_some() => attribute_type::TENSOR,
        _ if attr.g.is_some() => attribute_type::GRAPH,
        _ if !attr.floats.is_empty() => attribute_type::FLOATS,
        _ if !attr.ints.is_empty() => attribute_type::INTS,
        _ if !attr.strings.is_empty() => attribute_type::STRINGS,
        _ => 0,
    }
}

/// The refusal of a tensor that the program cannot contain.
pub(crate) fn unread(unread: Unread) -> Refusal {
    match unread {
        Unread::Unsupported(what) => Refusal::unsupported(what),
        Unread::Wrong(diagnostic) => Refusal::Wrong(diagnostic),
    }
}
