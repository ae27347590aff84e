//! Converts transformer operators since operator set 23: `Attention`, `RotaryEmbedding`, and `TensorScatter`, which writes into
//! their caches.

use super::super::formula::{call, call2, select};
use super::building_blocks::*;
use super::counted::moving::positions_below;
use super::{Converter, op};
use relayc_ir::types::Dim;

/// The number of heads and their location: an axis of four, or in the last of three.
struct Heads {
    n: i64,
    packed: bool,
}

/// Reshapes to `(batch, heads, length, size)`.
fn by_heads(cx: &mut Cx, x: Val, name: &'static str) -> Result<(Val, Heads)> {
    match cx.rank(x)? {
        4 => Ok((x, Heads { n: cx.size(x, 1)?, packed: false })),
        3 => {
            let n = cx.required_int(name)?;
            let size = part(cx.size(x, 2)?, n)?;
            let apart = cx.reshape_behind(x, 2, &[n, size])?;
            Ok((cx.transpose(apart, &[0, 2, 1, 3])?, Heads { n, packed: true }))
        }
        _ => Err(Refusal::wrong("an operand that has neither three axes nor four")),
    }
}

/// One of `n` equal parts of a number.
pub(super) fn part(whole: i64, n: i64) -> Result<i64> {
    let part = whole.checked_div(n).filter(|part| n > 0 && part.saturating_mul(n) == whole);
    part.ok_or_else(|| Refusal::wrong(format!("{whole} in {n} equal parts")))
}

/// `softmax(scale * q k^T + mask) v`, with the softmax along the keys.
fn attention(cx: &mut Cx) -> Results {
    if cx.opt(6).is_some() {
        return Err(refuse("caches of which only a part counts (`nonpad_kv_seqlen`)"));
    }
    if cx.int("left_window_size", -1)? != -1 || cx.int("right_window_size", -1)? != -1 {
        return Err(refuse("windows of keys"));
    }
    let ((q, heads), (k, kv_heads), (v, _)) = {
        let [q, k, v] = [cx.input(0)?, cx.input(1)?, cx.input(2)?];
        (by_heads(cx, q, "q_num_heads")?, by_heads(cx, k, "kv_num_heads")?, by_heads(cx, v, "kv_num_heads")?)
    };
    let grown = |cx: &mut Cx, past: usize, new: Val| match cx.opt(past) {
        Some(past) => cx.concatenate(&[past, new], 2),
        None => Ok(new),
    };
    let (k, v) = (grown(cx, 4, k)?, grown(cx, 5, v)?);
    let scores = scores(cx, q, k, part(heads.n, kv_heads.n)?)?;
    let masked = masked(cx, scores)?;
    let weights = weights(cx, masked)?;
    let v_of_each = repeated(cx, v, part(heads.n, kv_heads.n)?)?;
    let mut y = cx.matmul(weights, v_of_each)?;
    if heads.packed {
        let size = cx.size(y, 3)?;
        let apart = cx.transpose(y, &[0, 2, 1, 3])?;
        y = cx.reshape_behind(apart, 2, &[heads.n.saturating_mul(size)])?;
    }
    // What the fourth result is has changed for the numbers between these.
    let seen = match (cx.int("qk_matmul_output_mode", 0)?, cx.wants(3)) {
        (0, _) | (_, false) => scores,
        (3, true) => weights,
        (mode, true) => return Err(refuse(format!("scores on their way as a result (qk_matmul_output_mode={mode})"))),
    };
    Ok(vec![y, k, v, seen])
}

/// Repeats each head of keys or values for `times` heads of the queries.
pub(super) fn repeated(cx: &mut Cx, x: Val, times: i64) -> Result {
    if times == 1 {
        return Ok(x);
    }
    cx.call("repeat", &[x], &[("repeats", AttrValue::int(times)), ("axis", AttrValue::int(1))])
}

/// `(batch, heads, queries, keys)`: products of queries and keys, each times the square root of the scale, to reduce overflow.
fn scores(cx: &mut Cx, q: Val, k: Val, times: i64) -> Result {
    let size = f64::from(u32::try_from(cx.size(q, 3)?).unwrap_or(u32::MAX));
    let scale = cx.opt_float("scale")?.unwrap_or(1.0 / size.sqrt());
    let (q, k) = (cx.b.formula(q, q * scale.sqrt())?, cx.b.formula(q, k * scale.sqrt())?);
    let turned = cx.transpose(k, &[0, 1, 3, 2])?;
    let turned = repeated(cx, turned, times)?;
    cx.matmul(q, turned)
}

/// Adds the mask to the scores, or replaces them by minus infinity where it is false.
fn masked(cx: &mut Cx, scores: Val) -> Result {
    let shape = cx.shape(scores)?;
    let &[_, _, queries, keys] = &shape[..] else { return Err(refuse("scores that have not four axes")) };
    let (mask, causal, softcap) = (cx.opt(3), cx.flag("is_causal", false)?, cx.float("softcap", 0.0)?);
    if softcap != 0.0 && (mask.is_some() || causal) {
        return Err(refuse("`softcap` and a mask, which releases of the standard put in different orders"));
    }
    let mut scores = scores;
    if softcap != 0.0 {
        scores = cx.b.formula(scores, call("tanh", scores / softcap) * softcap)?;
    }
    if causal {
        if cx.opt(4).is_some() {
            return Err(refuse("`is_causal` and a past, which releases of the standard align in different ways"));
        }
        let (own, of_keys) = (positions_before(cx, queries)?, positions_before(cx, keys)?);
        let own = cx.expand_dims(own, 1, 1)?;
        let never = cx.like(scores, f64::NEG_INFINITY)?;
        let is_seen = cx.binary("less_equal", of_keys, own)?;
        scores = cx.select(is_seen, scores, never)?;
    }
    let Some(mask) = mask else { return Ok(scores) };
    let last = cx.rank(mask)?.checked_sub(1).ok_or_else(|| refuse("a mask without an axis"))?;
    let seen = cx.shape(mask)?[last];
    if seen.value() != Some(1) && !seen.same(keys) {
        return Err(refuse("a mask that is shorter than the keys"));
    }
    if cx.dtype(mask)?.is_bool() {
        let never = cx.like(scores, f64::NEG_INFINITY)?;
        return cx.select(mask, scores, never);
    }
    cx.binary("add", scores, mask)
}

/// The positions before a size, in int64.
pub(super) fn positions_before(cx: &mut Cx, size: Dim) -> Result {
    match size.value() {
        Some(n) => cx.put_numbers(&[n], DType::I64, |at| f64::from(u32::try_from(at).unwrap_or(u32::MAX))),
        None if size.is_named() => positions_below(cx, size, DType::I64),
        None => Err(refuse("a length that only data decides")),
    }
}

/// Attention weights of the keys; zeros for a query that sees none.
fn weights(cx: &mut Cx, scores: Val) -> Result {
    let dtype = cx.dtype(scores)?;
    let precise = match cx.int("softmax_precision", 0)? {
        0 => dtype,
        code => cx.dtype_of(code)?,
    };
    let wide = cx.cast(scores, precise)?;
    let shares = cx.call("nn.softmax", &[wide], &[("axis", AttrValue::int(-1))])?;
    let shares = cx.cast(shares, dtype)?;
    if cx.opt(3).is_none() {
        return Ok(shares);
    }
    let most = cx.reduce("max", scores, &[-1], true)?;
    cx.b.formula(most, select(call2("equal", most, f64::NEG_INFINITY), 0.0, shares))
}

/// Which numbers of each head are turned, and where the heads are.
pub(super) struct Turn {
    /// The number of heads in the last of three axes.
    pub(super) n_heads: i64,
    /// How many numbers of each head are turned; 0 for all.
    pub(super) turned: i64,
    /// Whether both numbers of a pair lie side by side, or half of them apart.
    pub(super) together: bool,
}

/// Rotates pairs of numbers by the angles of their positions: `(cos x - sin y, sin x + cos y)`. Both tables have a row for each
/// position of each element of the batch.
pub(super) fn turned(cx: &mut Cx, x: Val, turn: &Turn, tables: [Val; 2]) -> Result {
    let packed = cx.rank(x)? == 3;
    let (apart, heads_axis) = match cx.rank(x)? {
        4 => (x, 1),
        3 => {
            let size = part(cx.size(x, 2)?, turn.n_heads)?;
            (cx.reshape_behind(x, 2, &[turn.n_heads, size])?, 2)
        }
        _ => return Err(Refusal::wrong("an operand that has neither three axes nor four")),
    };
    let size = cx.size(apart, 3)?;
    let turned = Some(turn.turned).filter(|&n| n != 0).unwrap_or(size);
    let half = part(turned, 2)?;
    if turned > size {
        return Err(Refusal::wrong(format!("{turned} numbers of {size} are turned")));
    }
    let [cos, sin] = tables.map(|table| cx.expand_dims(table, heads_axis, 1));
    let (cos, sin) = (cos?, sin?);
    let moved = cx.slice(apart, 3, 0, turned)?;
    let (pairs, axis) = if turn.together { ([half, 2], 4) } else { ([2, half], 3) };
    let pairs = cx.reshape_behind(moved, 3, &pairs)?;
    let (first, second) = (cx.at(pairs, 0, axis)?, cx.at(pairs, 1, axis)?);
    let cross = |cx: &mut Cx, op: &str, f: Val, g: Val| -> Result {
        let (left, right) = (cx.binary("multiply", f, first)?, cx.binary("multiply", g, second)?);
        cx.binary(op, left, right)
    };
    let (real, imaginary) = (cross(cx, "subtract", cos, sin)?, cross(cx, "add", sin, cos)?);
    let both = cx.stack(&[real, imaginary], axis)?;
    let moved = cx.reshape_behind(both, 3, &[turned])?;
    let rest = cx.slice(apart, 3, turned, size)?;
    let all = if turned == size { moved } else { cx.concatenate(&[moved, rest], 3)? };
    if packed { cx.reshape_behind(all, 2, &[-1]) } else { Ok(all) }
}

/// The rows of a table at positions.
pub(super) fn rows_at(cx: &mut Cx, table: Val, at: Val) -> Result {
    cx.call("take", &[table, at], &[("axis", int(0)), ("mode", AttrValue::str("fast"))])
}

fn rotary(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let n_heads = if cx.rank(x)? == 3 { cx.required_int("num_heads")? } else { cx.int("num_heads", 0)? };
    let turn = Turn { n_heads, turned: cx.int("rotary_embedding_dim", 0)?, together: cx.flag("interleaved", false)? };
    let mut tables = [cx.input(1)?, cx.input(2)?];
    if let Some(at) = cx.opt(3) {
        tables = [rows_at(cx, tables[0], at)?, rows_at(cx, tables[1], at)?];
    }
    one(turned(cx, x, &turn, tables)?)
}

/// Writes numbers into a cache along an axis, starting at a separate position for each element of the batch.
fn tensor_scatter(cx: &mut Cx) -> Results {
    let (cache, update) = (cx.input(0)?, cx.input(1)?);
    let (shape, rank) = (cx.sizes(update)?, cx.rank(cache)?);
    let axis = cx.axis_attr("axis", -2, rank)?;
    if axis == 0 || shape.len() != rank {
        return Err(Refusal::wrong("a cache along the axis of the batch, or of another rank"));
    }
    let length = shape[axis];
    let along = |at: usize, n: i64| -> Vec<i64> { (0..rank).map(|i| if i == at { n } else { 1 }).collect() };
    if length > MAX_CONSTANT {
        return Err(refuse(format!("an update of {length} positions, each of which would be written out")));
    }
    cx.charge(length)?;
    let steps: Vec<i64> = (0..length).collect();
    let steps = cx.int_list(&steps);
    let mut at = cx.reshape(steps, &along(axis, length))?;
    if let Some(starts) = cx.opt(2) {
        let starts = cx.cast(starts, DType::I64)?;
        let starts = cx.reshape(starts, &along(0, -1))?;
        at = cx.binary("add", starts, at)?;
    }
    match &*cx.text("mode", "linear")? {
        "linear" => {}
        "circular" => {
            let around = cx.size(cache, axis)?;
            let around = cx.put(Tensor::scalar(around))?;
            at = cx.binary("floor_mod", at, around)?;
        }
        other => return Err(refuse(format!("the mode `{other}`"))),
    }
    let at = cx.call("broadcast_to", &[at], &[("shape", ints(&shape))])?;
    let attrs = [("axis", int(axis)), ("reduction", AttrValue::str("update"))];
    one(cx.call("scatter_elements", &[cache, at, update], &attrs)?)
}

const ATTENTION: &str = "an unknown number of heads or of numbers in one; a mask shorter than the keys; windows of keys; \
                         `nonpad_kv_seqlen`; `softcap` with a mask; `is_causal` with a past";

pub(crate) const FAMILY: &[Converter] = &[
    op("Attention", &[23, 24, 25], attention).but(ATTENTION),
    op("RotaryEmbedding", &[23], rotary).but("an unknown number of heads or of numbers in one"),
    op("TensorScatter", &[24], tensor_scatter).but("an update of unknown shape"),
];
