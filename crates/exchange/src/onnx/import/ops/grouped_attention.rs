//! Converts ONNX Runtime's attention of language models: `com.microsoft.GroupQueryAttention`, which keeps keys and values for the next
//! call and turns them by their positions (`onnxruntime/contrib_ops/cpu/bert/gqa_attention_base.h`).
//!
//! Elements of a batch may have kept different numbers of keys. What is kept and what is new are concatenated, and each element
//! gathers its own rows: `present[b, t]` is `past[b, t]` for `t < n[b]`, else `new[b, t - n[b]]`.

use super::super::formula::call;
use super::attention::{Turn, part, positions_before, repeated, rows_at, turned};
use super::building_blocks::*;
use super::microsoft_attention::{by_heads, length};
use super::{Converter, op};
use relayc_ir::types::{Dim, SymbolOp};

/// What may be added to an operator of this domain, and is not understood.
fn no_quantized_caches(cx: &mut Cx) -> Result<()> {
    for name in ["k_quant_type", "v_quant_type"] {
        if cx.text(name, "NONE")? != "NONE" {
            return Err(refuse("quantized keys and values"));
        }
    }
    cx.ignore("kv_cache_bit_width");
    cx.ignore("rotary_interleaved");
    if cx.int("qk_output", 0)? != 0 || cx.wants(3) {
        return Err(refuse("scores as a result"));
    }
    Ok(())
}

/// Queries, keys and values, each `(batch, heads, length, size)`: three operands, or one with all of them side by side.
fn operands(cx: &mut Cx, n: i64, n_kv: i64) -> Result<[Val; 3]> {
    let q = cx.input(0)?;
    if let (Some(k), Some(v)) = (cx.opt(1), cx.opt(2)) {
        return Ok([by_heads(cx, q, n)?, by_heads(cx, k, n_kv)?, by_heads(cx, v, n_kv)?]);
    }
    let size = part(cx.size(q, 2)?, n.saturating_add(n_kv.saturating_mul(2)))?;
    let (of_q, of_kv) = (n.saturating_mul(size), n_kv.saturating_mul(size));
    let (keys, values) = (of_q.saturating_add(of_kv), of_q.saturating_add(of_kv).saturating_add(of_kv));
    let own = |cx: &mut Cx, begin: i64, end: i64, n: i64| {
        let own = cx.slice(q, 2, begin, end)?;
        by_heads(cx, own, n)
    };
    Ok([own(cx, 0, of_q, n)?, own(cx, of_q, keys, n_kv)?, own(cx, keys, values, n_kv)?])
}

/// The number of keys kept before the new ones, `(batch, 1)` in int64: none in a call that gives all keys at once.
fn kept_before(cx: &mut Cx, q: Val) -> Result {
    let (last, total) = (cx.input(5)?, cx.input(6)?);
    let (last, total) = (cx.cast(last, DType::I64)?, cx.cast(total, DType::I64)?);
    let (last, total) = (cx.reshape(last, &[-1, 1])?, cx.reshape(total, &[1, 1])?);
    let of_q = cx.shape_of(q)?;
    let n = cx.at(of_q, 2, 0)?;
    let (one, zero) = (cx.put(Tensor::scalar(1i64))?, cx.put(Tensor::scalar(0i64))?);
    let own = cx.binary("add", last, one)?;
    let before = cx.binary("subtract", own, n)?;
    let is_all = cx.binary("equal", total, n)?;
    cx.select(is_all, zero, before)
}

/// What was kept and then what is new, `n_before` rows of the former for each element of the batch, in a buffer of this length.
fn grown(cx: &mut Cx, past: Val, new: Val, n_before: Val, length: Dim) -> Result {
    let both = cx.concatenate(&[past, new], 2)?;
    let mut dims = cx.shape(both)?;
    let (of_past, of_both) = (cx.shape_of(past)?, cx.shape_of(both)?);
    let (n_past, n_both) = (cx.at(of_past, 2, 0)?, cx.at(of_both, 2, 0)?);
    let (one, zero) = (cx.put(Tensor::scalar(1i64))?, cx.put(Tensor::scalar(0i64))?);
    let at = positions_before(cx, length)?;
    let behind = cx.binary("subtract", at, n_before)?;
    let is_kept = cx.binary("less", at, n_before)?;
    let of_new = cx.binary("add", n_past, behind)?;
    let rows = cx.select(is_kept, at, of_new)?;
    // Rows behind the last one are seen by no query.
    let last = cx.binary("subtract", n_both, one)?;
    let rows = cx.binary("minimum", rows, last)?;
    let rows = cx.binary("maximum", rows, zero)?;
    let rows = cx.expand_dims(rows, 1, 1)?;
    let rows = cx.expand_dims(rows, 3, 1)?;
    dims[2] = length;
    let rows = cx.call("broadcast_to", &[rows], &[("shape", dims_attr(&dims))])?;
    cx.call("gather", &[both, rows], &[("axis", int(2))])
}

/// Which keys a query sees: those up to its own position, of which a window may leave out the first ones.
fn seen(cx: &mut Cx, positions: Val, keys: Dim) -> Result {
    let keys = positions_before(cx, keys)?;
    let own = cx.expand_dims(positions, 1, 1)?;
    let own = cx.expand_dims(own, 3, 1)?;
    let is_before = cx.binary("less_equal", keys, own)?;
    let window = cx.int("local_window_size", -1)?;
    if window <= 0 {
        return Ok(is_before);
    }
    let window = cx.put(Tensor::scalar(window))?;
    let behind = cx.binary("subtract", own, window)?;
    let is_near = cx.binary("greater", keys, behind)?;
    cx.binary("logical_and", is_before, is_near)
}

/// The shares of the keys. A sink takes its share as another key, which has no value.
fn shares(cx: &mut Cx, scores: Val, n: i64) -> Result {
    let smooth = cx.int("smooth_softmax", 0)? > 0;
    let sink = match cx.opt(11) {
        Some(sink) => Some(cx.reshape(sink, &[n, 1, 1])?),
        None if smooth => Some(cx.like(scores, 0.0)?),
        None => None,
    };
    let softmax = |cx: &mut Cx, scores: Val| cx.call("nn.softmax", &[scores], &[("axis", AttrValue::int(-1))]);
    let Some(sink) = sink else { return softmax(cx, scores) };
    // Every query sees a key, so that the greatest score is a number.
    let most = cx.reduce("max", scores, &[3], true)?;
    let column = cx.b.formula(most, most * 0.0)?;
    let column = cx.binary("add", column, sink)?;
    let with_sink = cx.concatenate(&[column, scores], 3)?;
    let all = softmax(cx, with_sink)?;
    let ends = [("begin", ints(&[1])), ("end", ints(&[i64::MAX])), ("strides", ints(&[1])), ("axes", ints(&[3]))];
    cx.call("strided_slice", &[all], &ends)
}

fn group_query_attention(cx: &mut Cx) -> Results {
    no_quantized_caches(cx)?;
    let (n, n_kv) = (cx.required_int("num_heads")?, cx.required_int("kv_num_heads")?);
    let n_shared = part(n, n_kv)?;
    let [mut q, mut k, mut v] = operands(cx, n, n_kv)?;
    let queries = length(cx, q, 2)?;
    let own = positions_before(cx, queries)?;
    let past = cx.opt(3).zip(cx.opt(4));
    let n_before = match past {
        Some(_) => kept_before(cx, q)?,
        None => cx.put(Tensor::from_vec(&[1, 1], vec![0i64]))?,
    };
    let positions = cx.binary("add", n_before, own)?;
    if cx.flag("do_rotary", false)? {
        let at = cx.opt(9).unwrap_or(positions);
        let tables = [cx.input(7)?, cx.input(8)?];
        let n_turned = cx.size(tables[0], 1)?.saturating_mul(2);
        let turn = Turn { n_heads: n, turned: n_turned, together: cx.flag("rotary_interleaved", false)? };
        let tables = [rows_at(cx, tables[0], at)?, rows_at(cx, tables[1], at)?];
        (q, k) = (turned(cx, q, &turn, tables)?, turned(cx, k, &turn, tables)?);
    }
    if let Some((of_k, of_v)) = past {
        let total = cx.input(6)?;
        let total = cx.known_sizes(total).and_then(|sizes| sizes.first().copied());
        let total = total.ok_or_else(|| refuse("a number of keys that only data decides"))?;
        let kept = length(cx, of_k, 2)?;
        let whole = cx.b.size_arith(SymbolOp::Max, kept, total);
        (k, v) = (grown(cx, of_k, k, n_before, whole)?, grown(cx, of_v, v, n_before, whole)?);
    }
    let size = f64::from(u32::try_from(cx.size(q, 3)?).unwrap_or(u32::MAX));
    let scale = cx.opt_float("scale")?.filter(|&scale| scale != 0.0).unwrap_or(1.0 / size.sqrt());
    let (of_each_k, of_each_v) = (repeated(cx, k, n_shared)?, repeated(cx, v, n_shared)?);
    let flipped = cx.transpose(of_each_k, &[0, 1, 3, 2])?;
    let product = cx.matmul(q, flipped)?;
    let mut scores = cx.b.formula(product, product * scale)?;
    let softcap = cx.float("softcap", 0.0)?;
    if softcap > 0.0 {
        scores = cx.b.formula(scores, call("tanh", scores / softcap) * softcap)?;
    }
    if let Some(bias) = cx.opt(10) {
        scores = cx.binary("add", scores, bias)?;
    }
    let is_seen = seen(cx, positions, length(cx, k, 2)?)?;
    let never = cx.like(scores, f64::NEG_INFINITY)?;
    let scores = cx.select(is_seen, scores, never)?;
    let shares = shares(cx, scores, n)?;
    let y = cx.matmul(shares, of_each_v)?;
    let apart = cx.transpose(y, &[0, 2, 1, 3])?;
    Ok(vec![cx.reshape_behind(apart, 2, &[-1])?, k, v])
}

pub(crate) const FAMILY: &[Converter] = &[op("com.microsoft.GroupQueryAttention", &[1], group_query_attention)
    .but("quantized keys and values; scores as a result; a number of keys that only data decides")];
