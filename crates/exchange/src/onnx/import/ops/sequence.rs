//! Converts sequences of tensors. A sequence whose length the model says is a tuple. One of a length that only a run knows is a
//! tensor, whose first axis runs over the sequence, or which has its tensors one behind another if that is all that is read of them.

use super::building_blocks::*;
use super::index::from_start;
use super::{Converter, op};
use relayc_ir::types::Dim;

/// The tensors of a sequence.
fn tensors(cx: &mut Cx, index: usize) -> Result<Vec<Val>> {
    let sequence = cx.input(index)?;
    let n = cx.b.module.types.as_tuple(cx.b.ty(sequence)).map(<[_]>::len);
    let n = n.ok_or_else(|| refuse("a sequence of a length that only a run knows"))?;
    (0..n).map(|at| cx.field(sequence, at)).collect()
}

/// The sequence as a tensor, if a loop has appended to it.
fn stacked(cx: &Cx, index: usize) -> Result<Option<Val>> {
    let sequence = cx.input(index)?;
    Ok(cx.b.tensor_ty(sequence).is_some().then_some(sequence))
}

fn sequence(cx: &mut Cx, tensors: &[Val]) -> Results {
    one(cx.tuple(tensors))
}

/// A position among `n`, which counts from the end if it is negative.
fn position(cx: &Cx, index: usize, n: usize) -> Result<usize> {
    let at = cx.given_int(index, "a position")?;
    cx.axis(at, n)
}

fn construct(cx: &mut Cx) -> Results {
    let tensors = cx.all_inputs()?;
    sequence(cx, &tensors)
}

fn empty(cx: &mut Cx) -> Results {
    cx.ignore("dtype");
    sequence(cx, &[])
}

fn at(cx: &mut Cx) -> Results {
    if let Some(all) = stacked(cx, 0)? {
        let at = cx.input(1)?;
        let at = cx.scalar_of(at)?;
        let at = from_start(cx, at, all, 0..1)?;
        return one(cx.call("take", &[all, at], &[("axis", int(0)), ("mode", AttrValue::str("fast"))])?);
    }
    let tensors = tensors(cx, 0)?;
    let at = position(cx, 1, tensors.len())?;
    tensors.get(at).copied().map(|tensor| vec![tensor]).ok_or_else(|| Refusal::wrong("a position behind the end"))
}

fn length(cx: &mut Cx) -> Results {
    if let Some(all) = stacked(cx, 0)? {
        let shape = cx.shape_of(all)?;
        return one(cx.at(shape, 0, 0)?);
    }
    let n = tensors(cx, 0)?.len();
    one(cx.put(Tensor::scalar(i64::try_from(n).unwrap_or(i64::MAX)))?)
}

fn insert(cx: &mut Cx) -> Results {
    let (mut tensors, tensor) = (tensors(cx, 0)?, cx.input(1)?);
    let end = tensors.len();
    // A new one may also come last.
    let at = if cx.opt(2).is_some() { position(cx, 2, end.saturating_add(1))? } else { end };
    tensors.insert(at.min(end), tensor);
    sequence(cx, &tensors)
}

fn erase(cx: &mut Cx) -> Results {
    let mut tensors = tensors(cx, 0)?;
    let last = tensors.len().checked_sub(1).ok_or_else(|| Refusal::wrong("an empty sequence"))?;
    let at = if cx.opt(1).is_some() { position(cx, 1, tensors.len())? } else { last };
    tensors.remove(at);
    sequence(cx, &tensors)
}

fn concat(cx: &mut Cx) -> Results {
    if let Some(all) = stacked(cx, 0)? {
        if cx.b.is_joined(all) {
            ["axis", "new_axis"].into_iter().for_each(|name| cx.ignore(name));
            return one(all);
        }
        return concat_stacked(cx, all);
    }
    let tensors = tensors(cx, 0)?;
    let Some(&first) = tensors.first() else { return Err(refuse("an empty sequence, whose type is not known")) };
    let (axis, rank) = (cx.required_int("axis")?, cx.rank(first)?);
    one(match cx.flag("new_axis", false)? {
        true => {
            let axis = cx.axis(axis, rank.saturating_add(1))?;
            cx.stack(&tensors, axis)?
        }
        false => {
            let axis = cx.axis(axis, rank)?;
            cx.concatenate(&tensors, axis)?
        }
    })
}

/// The axis over the sequence goes to its place, or into the axis behind it.
fn concat_stacked(cx: &mut Cx, all: Val) -> Results {
    let (axis, rank) = (cx.required_int("axis")?, cx.rank(all)?);
    let new = cx.flag("new_axis", false)?;
    let axis = cx.axis(axis, if new { rank } else { rank.saturating_sub(1) })?;
    let mut axes: Vec<usize> = (1..rank).collect();
    axes.insert(axis, 0);
    let placed = cx.transpose(all, &axes)?;
    one(if new { placed } else { cx.reshape_behind(placed, axis, &[-3, -2])? })
}

/// Pieces of given lengths, of one length with a shorter rest, or of length 1 without their axis.
fn split(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let rank = cx.rank(x)?;
    let axis = cx.axis_attr("axis", 0, rank)?;
    let keeps = cx.flag("keepdims", true)?;
    if is_cut_to_ones(cx, x, axis)? {
        let axes: Vec<usize> = std::iter::once(axis).chain((0..rank).filter(|&other| other != axis)).collect();
        let front = cx.transpose(x, &axes)?;
        let has_axis = keeps || cx.opt(1).is_some();
        return one(if has_axis { cx.expand_dims(front, axis.saturating_add(1), 1)? } else { front });
    }
    let lengths = match cx.opt(1) {
        None => vec![1; usize::try_from(cx.size(x, axis)?.min(MAX_PIECES.saturating_add(1))).unwrap_or(0)],
        Some(lengths) => match (cx.rank(lengths)?, &cx.given(1, "lengths")?[..]) {
            (0, &[piece]) if piece > 0 => {
                let whole = cx.size(x, axis)?;
                let starts = (0..whole).step_by(usize::try_from(piece).unwrap_or(usize::MAX));
                let few = starts.take(usize::try_from(MAX_PIECES.saturating_add(1)).unwrap_or(usize::MAX));
                few.map(|start| piece.min(whole.saturating_sub(start))).collect()
            }
            (1, lengths) => lengths.to_vec(),
            _ => return Err(Refusal::wrong("expected a list of lengths, or one that is positive")),
        },
    };
    if i64::try_from(lengths.len()).is_ok_and(|n| n > MAX_PIECES) {
        return Err(refuse(format!("a sequence of more than {MAX_PIECES} tensors")));
    }
    let (mut pieces, mut begin) = (vec![], 0i64);
    for length in lengths {
        let end = begin.saturating_add(length);
        let piece = cx.slice(x, axis, begin, end)?;
        pieces.push(if keeps || cx.opt(1).is_some() { piece } else { cx.squeeze(piece, &[axis])? });
        begin = end;
    }
    sequence(cx, &pieces)
}

/// Whether an axis whose length only a run knows is cut into pieces of length 1, which a tensor can hold.
fn is_cut_to_ones(cx: &Cx, x: Val, axis: usize) -> Result<bool> {
    let length = cx.shape(x)?.get(axis).copied().unwrap_or(Dim::Any);
    let Some(lengths) = cx.opt(1).filter(|_| length.value().is_none()) else { return Ok(length.value().is_none()) };
    // A run refuses lengths of another sum, which is another number of them here.
    let all = cx.shape(lengths)?.first().is_none_or(|&n| n.is_sized() && n.same(length));
    Ok(all && cx.b.uniform(lengths) == Some(1))
}

/// Maximum number of tensors that a node makes, each of which is a call.
const MAX_PIECES: i64 = 4096;

pub(crate) const FAMILY: &[Converter] = &[
    op("ConcatFromSequence", &[11], concat).but("a length that only a run knows"),
    op("SequenceAt", &[11], at).but("a length or position that only a run knows"),
    op("SequenceConstruct", &[11], construct),
    op("SequenceEmpty", &[11], empty),
    op("SequenceErase", &[11], erase).but("a length or position that only a run knows"),
    op("SequenceInsert", &[11], insert).but("a length or position that only a run knows"),
    op("SequenceLength", &[11], length).but("a length that only a run knows"),
    op("SplitToSequence", &[11, 24], split).but("lengths that only a run knows, unless all are 1"),
];
