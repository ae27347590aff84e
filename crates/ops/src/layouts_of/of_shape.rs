//! Operators with axes among their attributes: those follow the layout.

use super::of_conv::with_channels;
use super::{Asked, Layouts, Rule};
use relayc_ir::AttrValue;

/// The most pieces that a result is followed in.
const MAX_PIECES: usize = 65_536;

pub(super) const RULES: &[(&str, Rule)] = &[
    ("concatenate", concatenate),
    ("qnn.concatenate", qnn_concatenate),
    ("qnn.add", |asked| with_channels(asked, super::binary(asked)?, 6)),
    ("qnn.subtract", |asked| with_channels(asked, super::binary(asked)?, 6)),
    ("qnn.mul", |asked| with_channels(asked, super::binary(asked)?, 6)),
    ("qnn.requantize", requantize),
    ("nn.pad", pad),
    ("nn.batch_norm", batch_norm),
    ("nn.instance_norm", normalization),
    ("nn.layer_norm", normalization),
    ("nn.l2_normalize", l2_normalize),
    ("nn.prelu", prelu),
    ("nn.dropout", |_| None),
    ("nn.bias_add", |_| None),
    ("nn.dense", |asked| asked.answer(vec!["NC".to_owned(); 2], vec!["NC".to_owned()])),
    ("transpose", transpose),
    ("squeeze", squeeze),
    ("strided_slice", strided_slice),
    ("split", split),
    ("slice_like", slice_like),
    ("topk", topk),
    ("argmax", position),
    ("argmin", position),
];

fn join(asked: &Asked, n: usize) -> Option<Layouts> {
    let axis = asked.axis("axis")?;
    if let Some(new) = asked.new {
        let new = new.get(..n)?;
        if new.iter().all(|layout| *layout == new[0]) {
            return Some(Layouts { inputs: new.to_vec(), outputs: vec![new[0].clone()], attrs: asked.with_axis()? });
        }
    }
    let layout = asked.old.get(..n)?.iter().flatten().next()?.clone();
    (axis < layout.len()).then(|| asked.answer(vec![layout.clone(); n], vec![layout]))?
}

fn concatenate(asked: &Asked) -> Option<Layouts> {
    join(asked, asked.old.len())
}

/// Of `n` tensors there are `n` scales, `n` zero points, and those of the result.
fn qnn_concatenate(asked: &Asked) -> Option<Layouts> {
    let n = asked.old.len().checked_sub(2)? / 3;
    with_channels(asked, join(asked, n)?, 2 * n + 2)
}

fn requantize(asked: &Asked) -> Option<Layouts> {
    let layout = asked.first()?;
    let attrs = asked.with_axis()?;
    with_channels(asked, Layouts { inputs: vec![layout.clone()], outputs: vec![layout], attrs }, 4)
}

fn pad(asked: &Asked) -> Option<Layouts> {
    let layout = asked.first()?;
    let mut attrs = asked.attrs.to_vec();
    if let Some(new) = asked.new {
        let old = asked.old.first()?.as_ref()?;
        let widths = asked.attr("pad_width")?.as_list()?;
        let moved: Option<Vec<AttrValue>> = new.first()?.chars().map(|letter| widths.get(old.find(letter)?).cloned()).collect();
        attrs = asked.with(&[("pad_width", AttrValue::List(moved?.into()))])?;
    }
    Some(Layouts { inputs: vec![layout.clone(), "P".to_owned()], outputs: vec![layout], attrs })
}

/// The layout of the first operand, with its `axis` there; the other operands, and results after the first, are lists of channels.
fn by_channels(asked: &Asked, n_outputs: usize) -> Option<Layouts> {
    let layout = asked.first()?;
    let attrs = asked.with_axis()?;
    let mut inputs = vec![layout.clone()];
    inputs.resize(asked.old.len(), "C".to_owned());
    let mut outputs = vec![layout];
    outputs.resize(n_outputs, "C".to_owned());
    Some(Layouts { inputs, outputs, attrs })
}

fn batch_norm(asked: &Asked) -> Option<Layouts> {
    by_channels(asked, 3)
}

fn normalization(asked: &Asked) -> Option<Layouts> {
    by_channels(asked, 1)
}

fn l2_normalize(asked: &Asked) -> Option<Layouts> {
    let layout = asked.first()?;
    let mut attrs = asked.attrs.to_vec();
    if asked.new.is_some() {
        let axes = positive(asked, &asked.ints("axis")?)?;
        let moved: Option<Vec<i64>> = axes.into_iter().map(|axis| asked.moved(axis)).collect();
        attrs = asked.with(&[("axis", AttrValue::ints(&moved?))])?;
    }
    Some(Layouts { inputs: vec![layout.clone()], outputs: vec![layout], attrs })
}

/// TVM keeps the layout of the program, and does not move the axis.
fn prelu(asked: &Asked) -> Option<Layouts> {
    let layout = asked.old.first()?.clone()?;
    asked.answer(vec![layout.clone(), "C".to_owned()], vec![layout])
}

/// Axes counted from the front.
fn positive(asked: &Asked, axes: &[i64]) -> Option<Vec<usize>> {
    let rank = *asked.ranks.first()? as i64;
    axes.iter().map(|&axis| usize::try_from(if axis < 0 { axis + rank } else { axis }).ok()).collect()
}

fn transpose(asked: &Asked) -> Option<Layouts> {
    let old = asked.old.first()?.as_ref()?;
    let given = asked.ints("axes").unwrap_or_default();
    let axes = if given.is_empty() { (0..old.len()).rev().collect() } else { positive(asked, &given)? };
    let moved: Option<Vec<i64>> = axes.iter().map(|&axis| asked.moved(axis)).collect();
    let (layout, axes) = match (asked.new.and_then(<[String]>::first), moved) {
        (Some(new), Some(moved)) if moved.len() == new.len() => (new.clone(), moved),
        _ => (old.clone(), axes.into_iter().map(|axis| axis as i64).collect()),
    };
    let letters: Vec<char> = layout.chars().collect();
    let out: Option<String> = axes.iter().map(|&axis| letters.get(axis as usize)).collect();
    let attrs = asked.with(&[("axes", AttrValue::ints(&axes))])?;
    Some(Layouts { inputs: vec![layout], outputs: vec![out?], attrs })
}

fn squeeze(asked: &Asked) -> Option<Layouts> {
    let layout = asked.first()?;
    let ones = || {
        let shape = asked.shapes.first()?.as_ref()?;
        Some((0..shape.len() as i64).filter(|&axis| shape[axis as usize] == 1).collect())
    };
    let axes = positive(asked, &asked.ints("axis").or_else(ones)?)?;
    let (axes, attrs) = match asked.new {
        Some(_) => {
            let moved: Vec<i64> = axes.into_iter().map(|axis| asked.moved(axis)).collect::<Option<_>>()?;
            let attrs = asked.with(&[("axis", AttrValue::ints(&moved))])?;
            (moved.into_iter().map(|axis| axis as usize).collect(), attrs)
        }
        None => (axes, asked.attrs.to_vec()),
    };
    let out = layout.chars().enumerate().filter(|(axis, _)| !axes.contains(axis)).map(|(_, letter)| letter).collect();
    Some(Layouts { inputs: vec![layout], outputs: vec![out], attrs })
}

fn strided_slice(asked: &Asked) -> Option<Layouts> {
    let old = asked.old.first()?.clone()?;
    let Some(new) = asked.new.and_then(<[String]>::first) else { return asked.answer(vec![old.clone()], vec![old]) };
    if old == *new {
        return asked.answer(vec![old.clone()], vec![old]);
    }
    let (begin, end, strides) = (asked.ints("begin")?, asked.ints("end")?, asked.ints("strides").unwrap_or_default());
    let changes = match asked.ints("axes") {
        Some(axes) => {
            let axes = positive(asked, &axes)?;
            let moved: Vec<i64> = axes.into_iter().map(|axis| asked.moved(axis)).collect::<Option<_>>()?;
            vec![("axes", AttrValue::ints(&moved))]
        }
        None => {
            let shape = asked.shapes.first()?.as_ref()?;
            let at: Vec<usize> = new.chars().map(|letter| old.find(letter)).collect::<Option<_>>()?;
            let list = |given: &[i64], default: fn(usize, &[i64]) -> i64| {
                AttrValue::ints(
                    &at.iter().map(|&axis| given.get(axis).copied().unwrap_or_else(|| default(axis, shape))).collect::<Vec<_>>(),
                )
            };
            let strides = list(&strides, |_, _| 1);
            vec![("begin", list(&begin, |_, _| 0)), ("end", list(&end, |axis, shape| shape[axis])), ("strides", strides)]
        }
    };
    let attrs = asked.with(&changes)?;
    Some(Layouts { inputs: vec![new.clone()], outputs: vec![new.clone()], attrs })
}

fn split(asked: &Asked) -> Option<Layouts> {
    let layout = asked.first()?;
    let pieces = asked.attr("indices_or_sections")?;
    let n = pieces.as_list().map(|list| list.len() as i64 + 1).or_else(|| pieces.as_int())?;
    let attrs = asked.with_axis()?;
    let n = usize::try_from(n).ok().filter(|&n| n <= MAX_PIECES)?;
    Some(Layouts { inputs: vec![layout.clone()], outputs: vec![layout; n], attrs })
}

fn slice_like(asked: &Asked) -> Option<Layouts> {
    let (old, like) = (asked.old.first()?.clone()?, asked.old.get(1)?.clone()?);
    let axes = positive(asked, &asked.ints("axes").unwrap_or_default())?;
    let moved: Option<Vec<i64>> = axes.iter().map(|&axis| asked.moved(axis)).collect();
    match (asked.new, moved) {
        (Some([new, other]), Some(moved)) if new == other && old == like && !moved.is_empty() => {
            let attrs = asked.with(&[("axes", AttrValue::ints(&moved))])?;
            Some(Layouts { inputs: vec![new.clone(), new.clone()], outputs: vec![new.clone()], attrs })
        }
        _ => asked.answer(vec![old, like.clone()], vec![like]),
    }
}

fn topk(asked: &Asked) -> Option<Layouts> {
    let layout = asked.first()?;
    let attrs = asked.with_axis()?;
    let n = if asked.text("ret_type").as_deref() == Some("both") { 2 } else { 1 };
    Some(Layouts { inputs: vec![layout.clone()], outputs: vec![layout; n], attrs })
}

/// The position of an extreme among several axes, and the first of equal ones, hang on the order of these.
fn position(asked: &Asked) -> Option<Layouts> {
    let axes = match asked.attr("axis")? {
        AttrValue::None => vec![],
        axis => axis.as_int().map_or_else(|| asked.ints("axis"), |axis| Some(vec![axis]))?,
    };
    let is_one = axes.len() == 1 && asked.attr("exclude") != Some(&AttrValue::Bool(true));
    if is_one { reduce(asked) } else { None }
}

/// The axes that a reduction names, or all but those, go; the others keep their order.
pub(super) fn reduce(asked: &Asked) -> Option<Layouts> {
    let flag = |name: &str| asked.attr(name) == Some(&AttrValue::Bool(true));
    let (exclude, keepdims) = (flag("exclude"), flag("keepdims"));
    let rank = *asked.ranks.first()?;
    let named = match asked.attr("axis")? {
        AttrValue::None => (0..rank).collect(),
        axis => positive(asked, &axis.as_int().map_or_else(|| asked.ints("axis"), |axis| Some(vec![axis]))?)?,
    };
    let old = asked.old.first()?.as_ref()?;
    let letters: Option<Vec<char>> = named.iter().map(|&axis| old.chars().nth(axis)).collect();
    let letters = letters?;
    let layout = asked.first()?;
    let goes = |letter: char| letters.contains(&letter) != exclude;
    let attrs = match asked.new {
        Some(_) if !letters.is_empty() => {
            let moved = layout.chars().enumerate().filter(|(_, letter)| letters.contains(letter)).map(|(axis, _)| axis as i64);
            asked.with(&[("axis", AttrValue::ints(&moved.collect::<Vec<_>>()))])?
        }
        _ => asked.attrs.to_vec(),
    };
    let out = layout.chars().filter(|&letter| keepdims || !goes(letter)).collect();
    Some(Layouts { inputs: vec![layout; asked.old.len()], outputs: vec![out], attrs })
}
