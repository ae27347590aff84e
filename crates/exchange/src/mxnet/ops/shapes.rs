//! Converters of operators that move elements or convert their type.

use super::super::cx::{Cx, Result};
use super::{Convert, Operator, op};
use crate::nodes::MAX_NODES;
use crate::onnx::import::build::Val;
use crate::onnx::import::errors::Refusal;
use relayc_ir::attrs::AttrValue;
use relayc_ir::types::DType;

pub(crate) const FAMILY: &[Operator] = &[
    op(&["Flatten", "flatten"], |cx| {
        let data = cx.one()?;
        cx.call("nn.batch_flatten", &[data], &[])
    }),
    op(&["Concat", "concat"], concat),
    op(&["stack"], stack),
    op(&["Reshape", "reshape"], reshape),
    op(&["transpose"], transpose),
    op(&["SwapAxis", "SwapAxes", "swapaxes"], swap_axes),
    op(&["expand_dims"], expand_dims),
    op(&["squeeze"], squeeze),
    op(&["Pad", "pad"], pad),
    op(&["slice"], slice),
    op(&["slice_axis"], slice_axis),
    op(&["slice_like"], slice_like),
    Operator { names: &["SliceChannel", "split"], convert: Convert::Many(split) },
    op(&["Cast", "cast", "amp_cast"], cast),
    op(&["zeros_like"], |cx| like(cx, "zeros_like")),
    op(&["ones_like"], |cx| like(cx, "ones_like")),
];

fn like(cx: &mut Cx, op: &str) -> Result {
    let data = cx.one()?;
    cx.call(op, &[data], &[])
}

fn concat(cx: &mut Cx) -> Result {
    let axis = cx.int("dim")?.unwrap_or(1);
    cx.input(0)?;
    let tuple = cx.b.tuple(&cx.inputs);
    cx.call("concatenate", &[tuple], &[("axis", AttrValue::int(axis))])
}

fn stack(cx: &mut Cx) -> Result {
    let axis = cx.int("axis")?.unwrap_or(0);
    cx.input(0)?;
    let tuple = cx.b.tuple(&cx.inputs);
    cx.call("stack", &[tuple], &[("axis", AttrValue::int(axis))])
}

/// The codes 0 and -1 to -4 are those of Relay, which took them from MXNet.
fn reshape(cx: &mut Cx) -> Result {
    let data = cx.one()?;
    if cx.flag("reverse", false)? {
        return Err(Refusal::unsupported("`reverse=True`"));
    }
    // Before version 0.9 it was called so, 0 was what -1 is, and the first dimension could be said to stay as it is.
    let keep_highest = cx.flag("keep_highest", false)?;
    let old = cx.ints("target_shape")?.filter(|shape| !shape.is_empty() && (keep_highest || shape.iter().any(|&dim| dim != 0)));
    let shape = match (cx.ints("shape")?.filter(|shape| !shape.is_empty()), old) {
        (Some(shape), _) => shape,
        (None, Some(old)) => {
            let first = keep_highest.then_some(0);
            let rest = old.into_iter().skip(usize::from(keep_highest)).map(|dim| if dim == 0 { -1 } else { dim });
            first.into_iter().chain(rest).collect()
        }
        (None, None) => return Err(Refusal::wrong("the attribute `shape` is missing")),
    };
    cx.call("reshape", &[data], &[("newshape", AttrValue::ints(&shape))])
}

fn transpose(cx: &mut Cx) -> Result {
    let data = cx.one()?;
    let axes = cx.ints("axes")?.filter(|axes| !axes.is_empty());
    let axes = axes.map_or(AttrValue::None, |axes| AttrValue::ints(&axes));
    cx.call("transpose", &[data], &[("axes", axes)])
}

fn swap_axes(cx: &mut Cx) -> Result {
    let data = cx.one()?;
    let rank = cx.rank(data)?;
    let (a, b) = (cx.int("dim1")?.unwrap_or(0), cx.int("dim2")?.unwrap_or(0));
    let (a, b) = (cx.axis(a, rank)?, cx.axis(b, rank)?);
    let mut axes: Vec<i64> = (0i64..).take(rank).collect();
    axes.swap(a, b);
    cx.call("transpose", &[data], &[("axes", AttrValue::ints(&axes))])
}

fn expand_dims(cx: &mut Cx) -> Result {
    let data = cx.one()?;
    let axis = AttrValue::int(cx.need_int("axis")?);
    cx.call("expand_dims", &[data], &[("axis", axis)])
}

fn squeeze(cx: &mut Cx) -> Result {
    let data = cx.one()?;
    let axes = cx.ints("axis")?.map_or(AttrValue::None, |axes| AttrValue::ints(&axes));
    cx.call("squeeze", &[data], &[("axis", axes)])
}

/// Widths are a flat list of pairs.
fn pad(cx: &mut Cx) -> Result {
    let data = cx.one()?;
    let mode = cx.text("mode").ok_or_else(|| Refusal::wrong("the attribute `mode` is missing"))?.to_owned();
    if !["constant", "edge", "reflect"].contains(&mode.as_str()) {
        return Err(Refusal::wrong("`mode` is `constant`, `edge` or `reflect`"));
    }
    let flat = cx.ints("pad_width")?.ok_or_else(|| Refusal::wrong("the attribute `pad_width` is missing"))?;
    let widths: AttrValue = AttrValue::List(flat.chunks(2).map(AttrValue::ints).collect());
    let value = cx.float("constant_value", 0.0)?;
    let value = cx.scalar_like(data, value)?;
    cx.call("nn.pad", &[data, value], &[("pad_width", widths), ("pad_mode", AttrValue::str(&mode))])
}

/// `None` means the end of the axis.
fn slice(cx: &mut Cx) -> Result {
    let data = cx.one()?;
    let (begin, end) = (cx.some_ints("begin")?, cx.some_ints("end")?);
    let (Some(begin), Some(end)) = (begin, end) else { return Err(Refusal::wrong("`begin` or `end` is missing")) };
    let steps = cx.some_ints("step")?.unwrap_or_default();
    if begin.len() != end.len() || steps.iter().flatten().any(|&step| step <= 0) || steps.len() > begin.len() {
        return Err(Refusal::unsupported("`begin` and `end` of different lengths, or steps backwards"));
    }
    let begin: Vec<i64> = begin.into_iter().map(|at| at.unwrap_or(0)).collect();
    // More than any dimension, which the slice ends at.
    let end: Vec<i64> = end.into_iter().map(|at| at.unwrap_or(i64::from(i32::MAX))).collect();
    let n_missing = begin.len().saturating_sub(steps.len());
    let steps: Vec<i64> = steps.into_iter().map(|step| step.unwrap_or(1)).chain(std::iter::repeat_n(1, n_missing)).collect();
    strided_slice(cx, data, &begin, &end, &steps, None)
}

fn slice_axis(cx: &mut Cx) -> Result {
    let data = cx.one()?;
    let axis = cx.need_int("axis")?;
    let rank = cx.rank(data)?;
    let axis = i64::try_from(cx.axis(axis, rank)?).unwrap_or(i64::MAX);
    let begin = cx.int("begin")?.unwrap_or(0);
    let end = cx.int("end")?.unwrap_or(i64::from(i32::MAX));
    strided_slice(cx, data, &[begin], &[end], &[1], Some(axis))
}

fn strided_slice(cx: &mut Cx, data: Val, begin: &[i64], end: &[i64], steps: &[i64], axis: Option<i64>) -> Result {
    let mut attrs = vec![("begin", AttrValue::ints(begin)), ("end", AttrValue::ints(end)), ("strides", AttrValue::ints(steps))];
    attrs.extend(axis.map(|axis| ("axes", AttrValue::ints(&[axis]))));
    cx.call("strided_slice", &[data], &attrs)
}

fn slice_like(cx: &mut Cx) -> Result {
    let args = [cx.input(0)?, cx.input(1)?];
    let axes = cx.ints("axes")?.filter(|axes| !axes.is_empty()).map_or(AttrValue::None, |axes| AttrValue::ints(&axes));
    cx.call("slice_like", &args, &[("axes", axes)])
}

/// Makes only results that are used: a short node may declare thousands.
fn split(cx: &mut Cx) -> Result<Vec<Option<Val>>> {
    let data = cx.one()?;
    let n = cx.need_int("num_outputs")?;
    let axis = cx.int("axis")?.unwrap_or(1);
    let squeeze = cx.flag("squeeze_axis", false)?;
    let n_fields = usize::try_from(n).ok().filter(|&n| (1..=MAX_FIELDS).contains(&n));
    let n_fields = n_fields.ok_or_else(|| Refusal::wrong(format!("`num_outputs` is {n}, not between 1 and {MAX_FIELDS}")))?;
    *cx.n_results = cx.n_results.saturating_add(n_fields);
    if *cx.n_results > MAX_NODES {
        return Err(Refusal::unsupported(format!("more results of splits than {MAX_NODES}")));
    }
    let parts = cx.call("split", &[data], &[("indices_or_sections", AttrValue::int(n)), ("axis", AttrValue::int(axis))])?;
    let mut results = vec![None; n_fields];
    for (field, result) in results.iter_mut().enumerate().filter(|(field, _)| (cx.wanted)(*field)) {
        let part = cx.b.field(parts, field)?;
        let squeezed = if squeeze { cx.call("squeeze", &[part], &[("axis", AttrValue::ints(&[axis]))])? } else { part };
        *result = Some(squeezed);
    }
    Ok(results)
}

/// Maximum number of results of one node.
const MAX_FIELDS: usize = 4096;

fn cast(cx: &mut Cx) -> Result {
    let data = cx.one()?;
    let dtype = cx.text("dtype").and_then(DType::parse).filter(|dtype| DType::RUNTIME.contains(dtype));
    let dtype = dtype.ok_or_else(|| Refusal::wrong("the attribute `dtype` names no dtype"))?;
    cx.call("cast", &[data], &[("dtype", AttrValue::DType(Some(dtype)))])
}
