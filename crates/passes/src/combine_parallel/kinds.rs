//! The operators that are combined: which fit each other, how their weights are joined, and how what the operators behind them read is.

use super::{Combine, Combined, Place, total};
use crate::build::{attr, changed_attrs, dtype, shape, str_attr};
use crate::eliminate_common_subexpr::attrs_hash;
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId};
use relayc_ops::OpDef;
use relayc_ops::declarations::{
    BATCH_MATMUL, BatchMatmulAttrs, CONCATENATE, CONV2D, Conv2dAttrs, DENSE, EXPAND_DIMS, REPEAT, STACK,
};
use std::hash::{Hash, Hasher};

/// What calls have in common that can be one: some attributes, some dimensions of the second operand, and its dtype.
#[derive(PartialEq)]
pub(super) struct Alike {
    attrs: Vec<AttrValue>,
    dims: Vec<i64>,
    dtype: DType,
}

impl Hash for Alike {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (attrs_hash(&self.attrs), &self.dims, self.dtype).hash(hasher);
    }
}

/// Attributes of operators that are combined hold no NaN, which alone is unlike itself.
impl Eq for Alike {}

/// An operator to combine.
pub(super) struct Kind {
    pub(super) def: &'static OpDef,
    /// Whether a call may be combined at all.
    pub(super) supports: fn(&Combine, ExprId) -> bool,
    /// What calls with one first operand have in common that can be one. `None`: it is not known.
    pub(super) alike: fn(&Combine, ExprId) -> Option<Alike>,
    /// The one for all of these.
    pub(super) combined: fn(&mut Combine, &[ExprId]) -> Option<Combined>,
    /// The operand that is those of the branches, for an operator behind the combined value.
    pub(super) argument: fn(&mut Combine, &Combined, &[ExprId]) -> Option<ExprId>,
    /// Whether the cut of the result names the axes behind that of the branches too.
    pub(super) cuts_all_axes: bool,
}

pub(super) const CONV2D_KIND: Kind = Kind {
    def: &CONV2D,
    supports: |cx, call| Conv2dAttrs::read(cx.module.call_attrs(call)).groups == 1,
    alike: conv2d_alike,
    combined: conv2d_combined,
    argument: with_all_channels,
    cuts_all_axes: false,
};

pub(super) const DENSE_TO_BATCH_KIND: Kind = Kind {
    def: &DENSE,
    supports: |_, _| true,
    alike: |cx, call| cx.alike(call, &["out_dtype"], |shape| Some(shape.to_vec())),
    combined: dense_to_batch_combined,
    argument: stacked,
    cuts_all_axes: true,
};

pub(super) const DENSE_KIND: Kind = Kind {
    alike: |cx, call| cx.alike(call, &["out_dtype"], |shape| Some(shape.last().copied().into_iter().collect())),
    combined: dense_combined,
    argument: repeated,
    ..DENSE_TO_BATCH_KIND
};

pub(super) const BATCH_MATMUL_KIND: Kind = Kind {
    def: &BATCH_MATMUL,
    supports: |cx, call| {
        let BatchMatmulAttrs { transpose_a, transpose_b, .. } = BatchMatmulAttrs::read(cx.module.call_attrs(call));
        !transpose_a && transpose_b
    },
    alike: |cx, call| cx.alike(call, &["out_dtype"], |shape| Some(shape.first().copied().into_iter().collect())),
    combined: batch_matmul_combined,
    argument: |cx, combined, args| cx.is_last(combined).then(|| cx.call_of_tuple(&CONCATENATE, args, -1))?,
    cuts_all_axes: true,
};

impl Combine<'_> {
    /// Shape and dtype of the second operand.
    fn weight(&self, call: ExprId) -> Option<(Vec<i64>, DType)> {
        let weight = self.operand(call, 1);
        Some((shape(self.module, weight)?, dtype(self.module, weight)?))
    }

    fn weights(&self, calls: &[ExprId]) -> Vec<ExprId> {
        calls.iter().map(|&call| self.operand(call, 1)).collect()
    }

    /// The dimensions of the weights along an axis.
    fn sizes(&self, calls: &[ExprId], axis: usize) -> Option<Vec<i64>> {
        calls.iter().map(|&call| self.weight(call)?.0.get(axis).copied()).collect()
    }

    /// These attributes, and what a function takes of the shape of the second operand.
    fn alike(&self, call: ExprId, attrs: &[&str], dims: impl Fn(&[i64]) -> Option<Vec<i64>>) -> Option<Alike> {
        let (shape, dtype) = self.weight(call)?;
        let attrs = attrs.iter().filter_map(|name| attr(self.cx, self.module, call, name).cloned()).collect();
        Some(Alike { attrs, dims: dims(&shape)?, dtype })
    }

    /// Whether the branches lie along the last axis.
    fn is_last(&self, combined: &Combined) -> bool {
        let rank = self.dims(combined.expr).map(|dims| dims.len());
        matches!(&combined.place, Place::Joined { axis, .. } if Some(axis + 1) == rank)
    }
}

/// The axis of a layout that has a name.
fn axis_of(cx: &Combine, call: ExprId, layout: &str, name: char) -> Option<usize> {
    str_attr(cx.cx, cx.module, call, layout)?.find(name)
}

/// As in TVM, the sizes of kernels are compared, and not what `kernel_size` says of them.
fn conv2d_alike(cx: &Combine, call: ExprId) -> Option<Alike> {
    const SAME: [&str; 7] = ["strides", "padding", "dilation", "data_layout", "kernel_layout", "out_layout", "out_dtype"];
    let outputs = axis_of(cx, call, "kernel_layout", 'O')?;
    cx.alike(call, &SAME, |shape| {
        let mut shape = shape.to_vec();
        *shape.get_mut(outputs)? = 0;
        Some(shape)
    })
}

fn conv2d_combined(cx: &mut Combine, calls: &[ExprId]) -> Option<Combined> {
    let first = calls[0];
    let outputs = axis_of(cx, first, "kernel_layout", 'O')?;
    let sizes = cx.sizes(calls, outputs)?;
    let out_layout = str_attr(cx.cx, cx.module, first, "out_layout").is_some_and(|layout| !layout.is_empty());
    let axis = axis_of(cx, first, if out_layout { "out_layout" } else { "data_layout" }, 'C')?;
    let weight = cx.call_of_tuple(&CONCATENATE, &cx.weights(calls), outputs as i64)?;
    let attrs = changed_attrs(cx.cx, cx.module, first, &[("channels", AttrValue::int(total(&sizes)?))]);
    let expr = cx.cx.typed_call(cx.module, cx.span, &CONV2D, &[cx.operand(first, 0), weight], attrs)?;
    Some(Combined { expr, place: Place::Joined { axis, sizes } })
}

/// What has all channels of its branch, joined along them.
fn with_all_channels(cx: &mut Combine, combined: &Combined, args: &[ExprId]) -> Option<ExprId> {
    let Place::Joined { axis, sizes } = &combined.place else { return None };
    let from_end = cx.dims(combined.expr)?.len() - axis;
    let mut joined = None;
    for (&arg, size) in args.iter().zip(sizes) {
        let mut dims = shape(cx.module, arg)?;
        let at = dims.len().checked_sub(from_end)?;
        if std::mem::replace(&mut dims[at], 0) != *size || *joined.get_or_insert_with(|| dims.clone()) != dims {
            return None;
        }
    }
    cx.call_of_tuple(&CONCATENATE, args, (joined?.len() - from_end) as i64)
}

fn dense_to_batch_combined(cx: &mut Combine, calls: &[ExprId]) -> Option<Combined> {
    let data = vec![cx.operand(calls[0], 0); calls.len()];
    let data = cx.call_of_tuple(&STACK, &data, 0)?;
    let weight = cx.call_of_tuple(&STACK, &cx.weights(calls), 0)?;
    let out_dtype = attr(cx.cx, cx.module, calls[0], "out_dtype")?.clone();
    let expr = cx.call(&BATCH_MATMUL, &[data, weight], &product(out_dtype))?;
    Some(Combined { expr, place: Place::Stacked })
}

/// The attributes of a batched product with a transposed second operand.
fn product(out_dtype: AttrValue) -> [(&'static str, AttrValue); 3] {
    [("out_dtype", out_dtype), ("transpose_a", AttrValue::Bool(false)), ("transpose_b", AttrValue::Bool(true))]
}

/// Tensors of one shape along a new first axis. Those of lower rank than the value get axes before, so that the new one stands first in
/// both.
fn stacked(cx: &mut Combine, combined: &Combined, args: &[ExprId]) -> Option<ExprId> {
    let rank = cx.dims(combined.expr)?.len() - 1;
    let dims = shape(cx.module, args[0])?;
    let n_new = rank.checked_sub(dims.len())?;
    if args.iter().any(|&arg| shape(cx.module, arg).is_none_or(|other| other != dims)) {
        return None;
    }
    let mut fields = Vec::with_capacity(args.len());
    for &arg in args {
        let places = [("axis", AttrValue::int(0)), ("num_newaxis", AttrValue::int(n_new as i64))];
        fields.push(if n_new > 0 { cx.call(&EXPAND_DIMS, &[arg], &places)? } else { arg });
    }
    cx.call_of_tuple(&STACK, &fields, 0)
}

fn dense_combined(cx: &mut Combine, calls: &[ExprId]) -> Option<Combined> {
    let sizes = cx.sizes(calls, 0)?;
    let weight = cx.call_of_tuple(&CONCATENATE, &cx.weights(calls), 0)?;
    let out_dtype = attr(cx.cx, cx.module, calls[0], "out_dtype")?.clone();
    let units = AttrValue::int(total(&sizes)?);
    let expr = cx.call(&DENSE, &[cx.operand(calls[0], 0), weight], &[("units", units), ("out_dtype", out_dtype)])?;
    let axis = cx.dims(expr)?.len() - 1;
    Some(Combined { expr, place: Place::Joined { axis, sizes } })
}

/// Tensors joined along the last axis, one number for all outputs of a layer repeated.
fn repeated(cx: &mut Combine, combined: &Combined, args: &[ExprId]) -> Option<ExprId> {
    let Place::Joined { sizes, .. } = &combined.place else { return None };
    if !cx.is_last(combined) {
        return None;
    }
    let axis = shape(cx.module, args[0])?.len().saturating_sub(1) as i64;
    let mut fields = Vec::with_capacity(args.len());
    for (&arg, &size) in args.iter().zip(sizes) {
        let dims = shape(cx.module, arg)?;
        let new = [("axis", AttrValue::int(-1)), ("num_newaxis", AttrValue::int(1))];
        let vector = if dims.is_empty() { cx.call(&EXPAND_DIMS, &[arg], &new)? } else { arg };
        let times = [("repeats", AttrValue::int(size)), ("axis", AttrValue::int(axis))];
        let is_one = dims.last().is_none_or(|&last| last == 1 && size > 1);
        fields.push(if is_one { cx.call(&REPEAT, &[vector], &times)? } else { vector });
    }
    cx.call_of_tuple(&CONCATENATE, &fields, axis)
}

fn batch_matmul_combined(cx: &mut Combine, calls: &[ExprId]) -> Option<Combined> {
    let sizes = cx.sizes(calls, 1)?;
    let weight = cx.call_of_tuple(&CONCATENATE, &cx.weights(calls), 1)?;
    let out_dtype = attr(cx.cx, cx.module, calls[0], "out_dtype")?.clone();
    let expr = cx.call(&BATCH_MATMUL, &[cx.operand(calls[0], 0), weight], &product(out_dtype))?;
    Some(Combined { expr, place: Place::Joined { axis: 2, sizes } })
}
