//! Converts slices and `Gather`: parts of tensors, by steps along axes and by positions.

use super::super::build::Val;
use super::super::cx::{Cx, Result, Results, dims_attr, positions};
use super::super::errors::Refusal;
use super::index::from_start;
use super::{Converter, op};
use relayc_ir::AttrValue;
use relayc_ir::types::{DType, Dim};

/// Bounds are attributes in operator set 1, operands since 10.
fn slice(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let rank = cx.rank(x)?;
    let [starts, ends, axes, steps] = match cx.version >= 10 {
        true => [Some(cx.input(1)?), Some(cx.input(2)?), cx.opt(3), cx.opt(4)],
        false => {
            let lists = [cx.ints("starts")?, cx.ints("ends")?, cx.ints("axes")?];
            let [starts, ends, axes] = lists.map(|list| list.map(|list| cx.int_list(&list)));
            [starts, ends, axes, None]
        }
    };
    let (Some(starts), Some(ends)) = (starts, ends) else { return Err(Refusal::wrong("`starts` or `ends` are missing")) };
    let length = |cx: &Cx, list: Val| cx.shape(list).ok()?.first()?.value();
    let lengths = [Some(starts), Some(ends), axes, steps].into_iter().flatten().find_map(|list| length(cx, list));
    let n = lengths.and_then(|n| usize::try_from(n).ok());
    let n = n.ok_or_else(|| Refusal::unsupported("bounds of an unknown number of axes"))?;
    if n > rank {
        return Err(Refusal::wrong(format!("bounds of {n} axes of {rank}")));
    }
    let axes: Vec<usize> = match axes {
        Some(axes) => {
            let axes = cx.ints_of(axes, "axes")?;
            cx.axes(&axes, rank)?
        }
        None => (0..n).collect(),
    };
    if axes.len() != n {
        return Err(Refusal::wrong(format!("bounds of {n} axes, and {} axes", axes.len())));
    }
    let known = [Some(starts), Some(ends), steps].map(|list| list.map_or(Some(vec![1; n]), |list| cx.known_ints(list)));
    if let [Some(starts), Some(ends), Some(steps)] = known {
        return Ok(vec![known_slice(cx, x, (&starts, &ends, &steps), &axes)?]);
    }
    if let (Some(begin), Some(end)) = (cx.known_sizes(starts), cx.known_sizes(ends))
        && let Some(steps) = steps.map_or(Some(vec![1; n]), |steps| cx.known_ints(steps))
        && steps.iter().all(|&step| step > 0)
        && [begin.len(), end.len(), steps.len()] == [n; 3]
    {
        let limited = |dims: &[Dim]| {
            let limited = |&dim: &Dim| dim.value().map_or(dim, |value| Dim::known(value.max(-i64::MAX)));
            dims_attr(&dims.iter().map(limited).collect::<Vec<Dim>>())
        };
        let (begin, end) = (("begin", limited(&begin)), ("end", limited(&end)));
        let attrs = [begin, end, ("strides", AttrValue::ints(&steps)), ("axes", positions(&axes))];
        return Ok(vec![cx.call("strided_slice", &[x], &attrs)?]);
    }
    let steps = steps.unwrap_or_else(|| cx.int_list(&vec![1; n]));
    // Some list says how many axes there are, if not each.
    let all = [i64::try_from(n).unwrap_or(i64::MAX)];
    let bounds = [cx.reshape(starts, &all)?, cx.reshape(ends, &all)?, cx.reshape(steps, &all)?];
    Ok(vec![open_slice(cx, x, bounds, &axes)?])
}

/// Slices by known bounds. They equal Relay's, except where a backward slice begins before the first position: ONNX takes that one.
fn known_slice(cx: &mut Cx, x: Val, (starts, ends, steps): (&[i64], &[i64], &[i64]), axes: &[usize]) -> Result {
    if [starts.len(), ends.len(), steps.len()] != [axes.len(); 3] {
        return Err(Refusal::wrong("`starts`, `ends`, `axes` and `steps` have different lengths"));
    }
    // The least integer, by which exporters say the very beginning, has no literal in a text.
    let literal = |bounds: &[i64]| -> Vec<i64> { bounds.iter().map(|&bound| bound.max(-i64::MAX)).collect() };
    let (mut starts, ends, steps) = (literal(starts), literal(ends), literal(steps));
    for ((start, &step), &axis) in starts.iter_mut().zip(&steps).zip(axes) {
        if let Ok(size) = cx.size(x, axis)
            && step < 0
        {
            *start = (*start).max(size.saturating_neg());
        }
    }
    let attrs = [
        ("begin", AttrValue::ints(&starts)),
        ("end", AttrValue::ints(&ends)),
        ("strides", AttrValue::ints(&steps)),
        ("axes", positions(axes)),
    ];
    cx.call("strided_slice", &[x], &attrs)
}

/// Slices by bounds that are known only at run time, inserted among those of all axes.
fn open_slice(cx: &mut Cx, x: Val, bounds: [Val; 3], axes: &[usize]) -> Result {
    let rank = axes.iter().max().map_or(0, |&axis| axis.saturating_add(1));
    // Bounds of the axes that are taken whole.
    let whole = [0, i64::from(i32::MAX), 1];
    let mut lists = vec![];
    for (bound, whole) in bounds.into_iter().zip(whole) {
        let bound = cx.cast(bound, DType::I64)?;
        if axes.iter().copied().eq(0..rank) {
            lists.push(bound);
            continue;
        }
        let mut parts = vec![];
        for axis in 0..rank {
            parts.push(match axes.iter().position(|&at| at == axis) {
                Some(at) => {
                    let at = i64::try_from(at).unwrap_or(i64::MAX);
                    cx.slice(bound, 0, at, at.saturating_add(1))?
                }
                None => cx.int_list(&[whole]),
            });
        }
        lists.push(cx.concatenate(&parts, 0)?);
    }
    let none = AttrValue::None;
    let attrs = [("begin", none.clone()), ("end", none.clone()), ("strides", none)];
    cx.call("dyn.strided_slice", &[&[x], lists.as_slice()].concat(), &attrs)
}

/// Gathers positions of one axis; negative ones count from its end.
fn gather(cx: &mut Cx) -> Results {
    let (x, indices) = (cx.input(0)?, cx.input(1)?);
    let axis = cx.int("axis", 0)?;
    let axis = cx.axis(axis, cx.rank(x)?)?;
    let attr = ("axis", AttrValue::int(i64::try_from(axis).unwrap_or(i64::MAX)));
    let length = cx.shape(x)?.get(axis).and_then(|dim| dim.value());
    let known = cx.known(indices).cloned();
    if let (Some(known), Some(length)) = (&known, length) {
        let negative = known.any(|_| false, |at| at < 0);
        let at = |at: i128| if at < 0 { at.saturating_add(length.into()) } else { at };
        if known.to_ints().into_iter().any(|index| !(0..i128::from(length)).contains(&at(index))) {
            return Err(Refusal::wrong(format!("an index outside of an axis of {length}")));
        }
        let indices = match negative {
            true => {
                let wrapped = known.map(|x| x, at);
                cx.constant(wrapped)
            }
            false => indices,
        };
        return Ok(vec![cx.call("take", &[x, indices], &[attr])?]);
    }
    // The first and the last position are those of any axis, counted modulo its length.
    let ends = known.is_some_and(|known| known.to_ints().into_iter().all(|at| (-1..=0).contains(&at)));
    let (indices, mode) = match ends {
        true => (indices, "wrap"),
        false => (from_start(cx, indices, x, axis..axis.saturating_add(1))?, "fast"),
    };
    Ok(vec![cx.call("take", &[x, indices], &[attr, ("mode", AttrValue::str(mode))])?])
}

pub(crate) const FAMILY: &[Converter] =
    &[op("Gather", &[1, 11, 13], gather), op("Slice", &[1, 10, 11, 13], slice).but("axes that only a run knows")];
