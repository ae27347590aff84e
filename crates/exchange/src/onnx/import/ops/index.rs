//! Converts gathers and scatters: `Gather…`, `Scatter…`, `OneHot`, `TopK` and related operators.
//!
//! In all of them, negative positions of ONNX count from the end. Relay supports this only in some operators, so possibly
//! negative positions are made positive first. Positions out of range are errors in both.

use super::super::formula::call2;
use super::building_blocks::*;
use super::{Converter, op};
use relayc_ir::types::Dim;

/// Positions along some axes of `data` (one for all, or one for each number of the last axis), counted from the start.
pub(super) fn from_start(cx: &mut Cx, positions: Val, data: Val, axes: std::ops::Range<usize>) -> Result {
    let dtype = cx.dtype(positions)?;
    if dtype.code == DTypeCode::UInt {
        return Ok(positions);
    }
    if cx.known(positions).is_some_and(|known| known.to_ints().iter().all(|&at| at >= 0)) {
        return Ok(positions);
    }
    let bound = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
    let one = axes.len() == 1;
    let shape = cx.shape_of(data)?;
    let mut lengths = cx.slice(shape, 0, bound(axes.start), bound(axes.end))?;
    if one {
        lengths = cx.reshape(lengths, &[])?;
    }
    let lengths = cx.cast(lengths, dtype)?;
    moved_from_end(cx, positions, lengths)
}

/// Adds the length to negative positions, unless the model did so itself.
pub(super) fn moved_from_end(cx: &mut Cx, positions: Val, lengths: Val) -> Result {
    if cx.b.is_moved_from_end(positions, lengths) {
        return Ok(positions);
    }
    let zero = cx.like(positions, 0.0)?;
    let negative = cx.binary("less", positions, zero)?;
    let moved = cx.binary("add", positions, lengths)?;
    cx.select(negative, moved, positions)
}

fn gather_elements(cx: &mut Cx) -> Results {
    let (data, indices) = (cx.input(0)?, cx.input(1)?);
    let rank = cx.rank(data)?;
    let axis = cx.axis_attr("axis", 0, rank)?;
    let indices = from_start(cx, indices, data, axis..axis.saturating_add(1))?;
    let data = cut_beside(cx, data, indices, axis)?;
    one(cx.call("gather", &[data, indices], &[("axis", int(axis))])?)
}

/// The data as far as the indices go on the other axes: fewer indices choose from its first positions, and Relay's operator wants as
/// many.
fn cut_beside(cx: &mut Cx, data: Val, indices: Val, axis: usize) -> Result {
    let (of_data, of_indices) = (cx.shape(data)?, cx.shape(indices)?);
    let both = of_data.iter().zip(&of_indices).enumerate();
    let cut: Vec<usize> = both.filter(|(at, (data, indices))| *at != axis && !data.same(**indices)).map(|(at, _)| at).collect();
    match cut.is_empty() || of_data.len() != of_indices.len() {
        true => Ok(data),
        false => cx.call("slice_like", &[data, indices], &[("axes", positions(&cut))]),
    }
}

/// Moves the indices of an element from the last axis (ONNX) to the first (Relay). `depth` is their number if
/// the axis is not known.
fn columns(cx: &mut Cx, data: Val, indices: Val, batch: usize, depth: Option<usize>) -> Result {
    let rank = cx.rank(indices)?;
    let last = rank.checked_sub(1).ok_or_else(|| refuse("indices without an axis"))?;
    let depth = match (cx.dim(indices, last), depth) {
        (Err(_), Some(depth)) => depth,
        (depth, _) => usize::try_from(depth?).unwrap_or(usize::MAX),
    };
    let end = batch.saturating_add(depth);
    if end > cx.rank(data)? {
        return Err(refuse("more indices for an element than the data has axes"));
    }
    let indices = from_start(cx, indices, data, batch..end)?;
    let axes: Vec<usize> = std::iter::once(last).chain(0..last).collect();
    cx.transpose(indices, &axes)
}

fn gather_nd(cx: &mut Cx) -> Results {
    let (data, indices) = (cx.input(0)?, cx.input(1)?);
    let batch = cx.int("batch_dims", 0)?;
    let indices = columns(cx, data, indices, usize::try_from(batch).unwrap_or(0), None)?;
    one(cx.call("gather_nd", &[data, indices], &[("batch_dims", AttrValue::int(batch))])?)
}

/// Relay's name for the reduction of colliding elements.
fn reduction(cx: &mut Cx) -> Result<&'static str> {
    match &*cx.text("reduction", "none")? {
        "none" => Ok("update"),
        "add" => Ok("add"),
        "mul" => Ok("mul"),
        "min" => Ok("min"),
        "max" => Ok("max"),
        other => Err(refuse(format!("the reduction `{other}`"))),
    }
}

fn scatter_elements(cx: &mut Cx) -> Results {
    let (data, indices, updates) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let rank = cx.rank(data)?;
    let axis = cx.axis_attr("axis", 0, rank)?;
    let attrs = [("axis", int(axis)), ("reduction", AttrValue::str(reduction(cx)?))];
    one(cx.call("scatter_elements", &[data, indices, updates], &attrs)?)
}

fn scatter_nd(cx: &mut Cx) -> Results {
    let (data, indices, updates) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let mode = AttrValue::str(reduction(cx)?);
    // The updates have the other axes of the indices, then the axes of the data without an index.
    let axes = cx.rank(indices)?.saturating_add(cx.rank(data)?).saturating_sub(1);
    let indices = columns(cx, data, indices, 0, axes.checked_sub(cx.rank(updates)?))?;
    one(cx.call("scatter_nd", &[data, indices, updates], &[("mode", mode)])?)
}

fn one_hot(cx: &mut Cx) -> Results {
    let (indices, depth, values) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let axis = cx.int("axis", -1)?;
    let axis = cx.axis(axis, cx.rank(indices)?.saturating_add(1))?;
    let dtype = cx.dtype(values)?;
    // Positions may be floats.
    let indices = cx.cast(indices, DType::I64)?;
    let (off, on) = (cx.at(values, 0, 0)?, cx.at(values, 1, 0)?);
    let mut attrs = vec![("axis", int(axis)), ("dtype", AttrValue::DType(Some(dtype)))];
    match cx.known_small(depth, "a depth")?.as_deref() {
        Some(&[depth]) => {
            let length = cx.put(Tensor::scalar(depth))?;
            let indices = moved_from_end(cx, indices, length)?;
            attrs.push(("depth", AttrValue::int(depth)));
            one(cx.call("one_hot", &[indices, on, off], &attrs)?)
        }
        _ => {
            let depth = cx.cast(depth, DType::I64)?;
            let indices = moved_from_end(cx, indices, depth)?;
            one(cx.call("dyn.one_hot", &[indices, on, off, depth], &attrs)?)
        }
    }
}

/// The number of elements is an attribute up to operator set 9.
fn top_k(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    // Without it any order is right, also that of the sizes.
    cx.flag("sorted", true)?;
    let attrs = vec![
        ("axis", AttrValue::int(cx.int("axis", -1)?)),
        ("ret_type", AttrValue::str("both")),
        ("is_ascend", AttrValue::Bool(!cx.flag("largest", true)?)),
        ("dtype", AttrValue::DType(Some(DType::I64))),
    ];
    let known = if cx.version < 10 {
        Some(vec![cx.required_int("k")?])
    } else {
        let k = cx.input(1)?;
        cx.known_small(k, "a number of elements")?
    };
    match known.as_deref() {
        Some([k]) if *k >= 1 => {
            let attrs = [attrs, vec![("k", AttrValue::int(*k))]].concat();
            cx.call_many("topk", &[x], &attrs, 2)
        }
        Some([0]) => {
            let rank = cx.rank(x)?;
            let axis = cx.axis_attr("axis", -1, rank)?;
            let none = cx.slice(x, axis, 0, 0)?;
            Ok(vec![none, cx.cast(none, DType::I64)?])
        }
        Some(k) => Err(refuse(format!("the best {k:?}"))),
        None => {
            let k = cx.input(1)?;
            match cx.known_sizes(k).as_deref() {
                Some([size]) if size.is_named() => the_first(cx, x, *size, attrs),
                _ => {
                    let attrs = [attrs, vec![("k", AttrValue::None)]].concat();
                    cx.call_many("dyn.topk", &[x, k], &attrs, 2)
                }
            }
        }
    }
}

/// As many as a named size: the first of all in order.
fn the_first(cx: &mut Cx, x: Val, size: Dim, mut attrs: Vec<(&'static str, AttrValue)>) -> Results {
    let rank = cx.rank(x)?;
    let axis = cx.axis_attr("axis", -1, rank)?;
    attrs.push(("k", AttrValue::int(0)));
    let all = cx.call_many("topk", &[x], &attrs, 2)?;
    if size.same(cx.shape(x)?[axis]) {
        return Ok(all);
    }
    let slice = [("begin", ints(&[0])), ("end", dims_attr(&[size])), ("strides", ints(&[1])), ("axes", positions(&[axis]))];
    all.into_iter().map(|all| cx.call("strided_slice", &[all], &slice)).collect()
}

fn non_zero(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let rows = cx.call("argwhere", &[x], &[])?;
    let columns = cx.transpose(rows, &[1, 0])?;
    one(cx.cast(columns, DType::I64)?)
}

fn compress(cx: &mut Cx) -> Results {
    let (x, condition) = (cx.input(0)?, cx.input(1)?);
    let rows = cx.call("argwhere", &[condition], &[])?;
    let positions = cx.call("squeeze", &[rows], &[("axis", ints(&[1]))])?;
    let axis = cx.opt_int("axis")?;
    let axis = axis.map_or(AttrValue::None, AttrValue::int);
    one(cx.call("take", &[x, positions], &[("axis", axis), ("mode", AttrValue::str("fast"))])?)
}

/// Relay pads its results to the length of the data, and returns their number. Parts along an axis are compared by numbers that have
/// their order.
fn unique(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let rank = cx.rank(x)?;
    let along = match cx.opt_int("axis")? {
        Some(axis) if rank != 1 => Some(cx.axis(axis, rank)?),
        _ => None,
    };
    let flat = match along {
        Some(axis) => numbered(cx, x, axis)?,
        None => cx.reshape(x, &[-1])?,
    };
    let sorted = AttrValue::Bool(cx.flag("sorted", true)?);
    let attrs = [("sorted", sorted), ("return_counts", AttrValue::Bool(true))];
    let results = cx.call_many("unique", &[flat], &attrs, 5)?;
    let &[elements, first, inverse, n, counts] = &results[..] else { return Err(refuse("no five results")) };
    let n = cx.cast(n, DType::I64)?;
    let (first, counts) = (cx.head(first, n)?, cx.head(counts, n)?);
    let first = cx.cast(first, DType::I64)?;
    let elements = match along {
        Some(axis) => cx.call("take", &[x, first], &[("axis", int(axis))])?,
        None => cx.head(elements, n)?,
    };
    Ok(vec![elements, first, cx.cast(inverse, DType::I64)?, cx.cast(counts, DType::I64)?])
}

/// Most elements of the parts that `Unique` compares along an axis.
const MAX_COMPARED: i64 = 256;

/// Numbers of the parts along an axis, in the lexicographic order of the parts; equal parts have one number.
///
/// Column by column: the place of the number so far and of the next element, among the pairs that occur.
fn numbered(cx: &mut Cx, x: Val, axis: usize) -> Result {
    let axes: Vec<usize> = std::iter::once(axis).chain((0..cx.rank(x)?).filter(|&other| other != axis)).collect();
    let parts = cx.transpose(x, &axes)?;
    let sizes: Option<Vec<i64>> = cx.shape(parts)?[1..].iter().map(|dim| dim.value()).collect();
    let size = product(&sizes.ok_or_else(|| refuse("parts along an axis, with a number of elements that only a run knows"))?);
    if !(1..=MAX_COMPARED).contains(&size) {
        return Err(refuse(format!("parts of {size} elements along an axis, not of 1 to {MAX_COMPARED}")));
    }
    let rows = cx.reshape(parts, &[-1, size])?;
    let shape = cx.shape_of(rows)?;
    let n = cx.at(shape, 0, 0)?;
    let place = |cx: &mut Cx, x: Val| -> Result {
        let results = cx.call_many("unique", &[x], &[("sorted", AttrValue::Bool(true))], 4)?;
        let &[_, _, inverse, _] = &results[..] else { return Err(refuse("no four results")) };
        cx.cast(inverse, DType::I64)
    };
    let first = cx.at(rows, 0, 1)?;
    let mut number = place(cx, first)?;
    for column in 1..size {
        let next = cx.at(rows, column, 1)?;
        let next = place(cx, next)?;
        // There are at most as many different elements as parts.
        let pair = cx.b.formula(number, call2("multiply", number, n) + next)?;
        number = place(cx, pair)?;
    }
    Ok(number)
}

fn select(cx: &mut Cx) -> Results {
    let (condition, then, other) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    one(cx.select(condition, then, other)?)
}

fn reverse_sequence(cx: &mut Cx) -> Results {
    let (x, lengths) = (cx.input(0)?, cx.input(1)?);
    let attrs = [("seq_axis", AttrValue::int(cx.int("time_axis", 0)?)), ("batch_axis", AttrValue::int(cx.int("batch_axis", 1)?))];
    one(cx.call("reverse_sequence", &[x, lengths], &attrs)?)
}

pub(crate) const FAMILY: &[Converter] = &[
    op("GatherElements", &[11, 13], gather_elements),
    op("GatherND", &[11, 12, 13], gather_nd),
    op("Scatter", &[9], scatter_elements),
    op("ScatterElements", &[11, 13, 16, 18], scatter_elements),
    op("ScatterND", &[11, 13, 16, 18], scatter_nd),
    op("OneHot", &[9, 11], one_hot),
    op("TopK", &[1, 10, 11, 24], top_k),
    op("NonZero", &[9, 13], non_zero),
    op("Compress", &[9, 11], compress),
    op("Where", &[9, 16], select),
    op("Unique", &[11], unique).but("an `axis` along which parts have more than 256 elements, or a number that only a run knows"),
    op("ReverseSequence", &[10], reverse_sequence),
];
