//! Converts ONNX Runtime's own operators of attention, which its optimizer makes of transformers: domain `com.microsoft`
//! (`onnxruntime/core/graph/contrib_ops/bert_defs.cc`, `onnxruntime/contrib_ops/cpu/bert`).

use super::super::formula::{call2, select};
use super::attention::{Turn, part, positions_before, rows_at, turned};
use super::building_blocks::*;
use super::microsoft::product_as_floats;
use super::quantized::product;
use super::{Converter, op};
use relayc_ir::types::Dim;

/// `(batch, length, n * size)` as `(batch, n, length, size)`; what has four axes stays.
pub(super) fn by_heads(cx: &mut Cx, x: Val, n: i64) -> Result {
    if cx.rank(x)? == 4 {
        return Ok(x);
    }
    let size = part(cx.size(x, 2)?, n)?;
    let apart = cx.reshape_behind(x, 2, &[n, size])?;
    cx.transpose(apart, &[0, 2, 1, 3])
}

/// The length of an axis of four.
pub(super) fn length(cx: &Cx, x: Val, axis: usize) -> Result<Dim> {
    cx.shape(x)?.get(axis).copied().ok_or_else(|| Refusal::wrong("an operand without four axes"))
}

/// Which of the keys are seen, as truth values beside the scores: by the number of the keys of each element of the batch, by the ends
/// of all and then their begins, or by ones for the keys of each, or for the keys of each query.
fn seen(cx: &mut Cx, mask: Val, scores: Val) -> Result {
    let zero = cx.like(mask, 0.0)?;
    match cx.rank(mask)? {
        1 => {
            let (keys, of_batch) = (length(cx, scores, 3)?, length(cx, scores, 0)?);
            let at = positions_before(cx, keys)?;
            let bounds = cx.cast(mask, DType::I64)?;
            let bounds = cx.expand_dims(bounds, 1, 3)?;
            if cx.shape(mask)?[0].same(of_batch) {
                return cx.binary("less", at, bounds);
            }
            let both = cx.split(bounds, 2, 0)?;
            let &[end, begin] = &both[..] else { return Err(Refusal::wrong("a mask of neither ends nor begins")) };
            let (before, behind) = (cx.binary("less", at, end)?, cx.binary("greater_equal", at, begin)?);
            cx.binary("logical_and", before, behind)
        }
        2 => {
            let ones = cx.binary("greater", mask, zero)?;
            cx.expand_dims(ones, 1, 2)
        }
        3 => {
            let ones = cx.binary("greater", mask, zero)?;
            cx.expand_dims(ones, 1, 1)
        }
        rank => Err(refuse(format!("a mask of {rank} axes"))),
    }
}

/// Attention of queries to keys and values, each `(batch, heads, length, size)`; the places are those of the mask and of what is
/// added to the scores. The result is `(batch, length, heads * size)`.
fn attended(cx: &mut Cx, [q, k, v]: [Val; 3], [mask, bias]: [usize; 2]) -> Result {
    let size = f64::from(u32::try_from(cx.size(q, 3)?).unwrap_or(u32::MAX));
    let scale = cx.opt_float("scale")?.filter(|&scale| scale != 0.0).unwrap_or(1.0 / size.sqrt());
    let least = cx.float("mask_filter_value", -10000.0)?;
    let turned = cx.transpose(k, &[0, 1, 3, 2])?;
    let product = cx.matmul(q, turned)?;
    let mut scores = cx.b.formula(product, product * scale)?;
    if let Some(mask) = cx.opt(mask) {
        let seen = seen(cx, mask, scores)?;
        scores = cx.b.formula(scores, scores + select(seen, 0.0, least))?;
    }
    if cx.flag("unidirectional", false)? {
        // The last query sees all keys.
        let (queries, keys) = (length(cx, scores, 2)?, length(cx, scores, 3)?);
        let (own, of_keys) = (positions_before(cx, queries)?, positions_before(cx, keys)?);
        let own = cx.expand_dims(own, 1, 1)?;
        let past = cx.b.size_arith(relayc_ir::types::SymbolOp::Sub, keys, queries);
        let first = match past.value() {
            Some(past) => cx.put(Tensor::scalar(past))?,
            None => {
                let (of_k, of_q) = (cx.shape_of(k)?, cx.shape_of(q)?);
                let (n_keys, n_queries) = (cx.at(of_k, 2, 0)?, cx.at(of_q, 2, 0)?);
                cx.binary("subtract", n_keys, n_queries)?
            }
        };
        let never = cx.like(scores, f64::NEG_INFINITY)?;
        let is_seen = cx.b.formula(own, call2("less_equal", of_keys, call2("add", own, first)))?;
        scores = cx.select(is_seen, scores, never)?;
    }
    if let Some(bias) = cx.opt(bias) {
        scores = cx.binary("add", scores, bias)?;
    }
    let shares = cx.call("nn.softmax", &[scores], &[("axis", AttrValue::int(-1))])?;
    let y = cx.matmul(shares, v)?;
    let apart = cx.transpose(y, &[0, 2, 1, 3])?;
    cx.reshape_behind(apart, 2, &[-1])
}

/// What was kept, and what is new behind it.
fn grown(cx: &mut Cx, past: Option<Val>, new: Val) -> Result {
    match past {
        Some(past) => cx.concatenate(&[past, new], 2),
        None => Ok(new),
    }
}

/// Attention with the product that makes queries, keys and values of one operand.
fn attention(cx: &mut Cx) -> Results {
    if cx.opt(6).is_some() {
        return Err(refuse("a past that shares its memory with the result"));
    }
    cx.ignore("rotary_embedding_dim");
    let (x, weights) = (cx.input(0)?, cx.input(1)?);
    let mut all = cx.matmul(x, weights)?;
    if let Some(bias) = cx.opt(2) {
        all = cx.binary("add", all, bias)?;
    }
    self_attention(cx, all, [3, 4, 5])
}

/// The same of quantized operands.
fn quantized_attention(cx: &mut Cx) -> Results {
    let (x, weights, x_scale, w_scale) = (cx.input(0)?, cx.input(1)?, cx.input(3)?, cx.input(4)?);
    let sums = product(cx, (x, cx.opt(6)), (weights, cx.opt(7)))?;
    let all = product_as_floats(cx, sums, x_scale, w_scale, cx.opt(2))?;
    // There is nothing that is added to the scores.
    let none = cx.inputs.len();
    self_attention(cx, all, [5, 8, none])
}

/// Attention of queries, keys and values side by side; the places are those of the mask, of the past and of what is added to the
/// scores.
fn self_attention(cx: &mut Cx, all: Val, [mask, past, bias]: [usize; 3]) -> Results {
    if cx.flag("past_present_share_buffer", false)? {
        return Err(refuse("a past that shares its memory with the result"));
    }
    if cx.flag("do_rotary", false)? {
        return Err(refuse("turned queries and keys (`do_rotary`)"));
    }
    let n = cx.required_int("num_heads")?;
    let width = cx.size(all, 2)?;
    let widths = match cx.small_ints("qkv_hidden_sizes")? {
        Some(widths) => widths,
        None => vec![part(width, 3)?; 3],
    };
    let &[of_q, of_k, of_v] = &widths[..] else { return Err(Refusal::wrong("`qkv_hidden_sizes` are not three")) };
    let behind = of_q.saturating_add(of_k);
    if behind.saturating_add(of_v) != width {
        return Err(Refusal::wrong(format!("{widths:?} numbers of {width}")));
    }
    let parts: Vec<Val> = [(0, of_q), (of_q, behind), (behind, width)]
        .into_iter()
        .map(|(begin, end)| {
            let own = cx.slice(all, 2, begin, end)?;
            by_heads(cx, own, n)
        })
        .collect::<Result<_>>()?;
    let &[q, mut k, mut v] = &parts[..] else { return Err(Refusal::wrong("an operand that is not three")) };
    if let Some(past) = cx.opt(past) {
        let (of_k, of_v) = (cx.at(past, 0, 0)?, cx.at(past, 1, 0)?);
        (k, v) = (grown(cx, Some(of_k), k)?, grown(cx, Some(of_v), v)?);
    }
    let mut results = vec![attended(cx, [q, k, v], [mask, bias])?];
    if cx.wants(1) {
        results.push(cx.stack(&[k, v], 0)?);
    }
    Ok(results)
}

/// Attention of queries, keys and values. Keys and values that have an axis of heads already get no bias.
fn multi_head_attention(cx: &mut Cx) -> Results {
    if (8..cx.inputs.len()).any(|place| cx.opt(place).is_some()) {
        return Err(refuse("a past that shares its memory with the result"));
    }
    let n = cx.required_int("num_heads")?;
    let (Some(key), Some(value)) = (cx.opt(1), cx.opt(2)) else {
        return Err(refuse("queries, keys and values in one operand"));
    };
    let mut all = [cx.input(0)?, key, value];
    if let Some(bias) = cx.opt(3) {
        let mut begin = 0i64;
        for x in &mut all {
            if cx.rank(*x)? != 3 {
                continue;
            }
            let end = begin.saturating_add(cx.size(*x, 2)?);
            let own = cx.slice(bias, 0, begin, end)?;
            *x = cx.binary("add", *x, own)?;
            begin = end;
        }
    }
    let [q, k, v] = all;
    let (q, k, v) = (by_heads(cx, q, n)?, by_heads(cx, k, n)?, by_heads(cx, v, n)?);
    let (k, v) = (grown(cx, cx.opt(6), k)?, grown(cx, cx.opt(7), v)?);
    if cx.wants(3) {
        return Err(refuse("scores as a result"));
    }
    Ok(vec![attended(cx, [q, k, v], [4, 5])?, k, v])
}

/// As the standard's, with the positions second: those of all, or the first one.
fn rotary(cx: &mut Cx) -> Results {
    if cx.flag("is_packed_batching", false)? || cx.float("scale", 1.0)? != 1.0 {
        return Err(refuse("`is_packed_batching` and `scale`"));
    }
    let (x, mut at, tables) = (cx.input(0)?, cx.input(1)?, [cx.input(2)?, cx.input(3)?]);
    let rank = cx.rank(x)?;
    let mut n_heads = cx.int("num_heads", 0)?;
    let n_turned = cx.int("rotary_embedding_dim", 0)?;
    if n_heads == 0 && rank == 3 {
        let size = cx.size(tables[0], 1)?.saturating_mul(2);
        n_heads = cx.size(x, 2)?.checked_div(size).unwrap_or(0);
    }
    if cx.rank(at)? == 1 {
        let first = cx.scalar_of(at)?;
        let own = positions_before(cx, length(cx, x, rank.saturating_sub(2))?)?;
        let own = cx.binary("add", own, first)?;
        at = cx.expand_dims(own, 0, 1)?;
    }
    let turn = Turn { n_heads, turned: n_turned, together: cx.flag("interleaved", false)? };
    let tables = [rows_at(cx, tables[0], at)?, rows_at(cx, tables[1], at)?];
    one(turned(cx, x, &turn, tables)?)
}

const SHARED: &str = "a past that shares its memory with the result; a mask of four axes";
const PACKED: &str =
    "a past that shares its memory with the result; a mask of four axes; queries, keys and values in one operand";

pub(crate) const FAMILY: &[Converter] = &[
    op("com.microsoft.Attention", &[1], attention).but(SHARED),
    op("com.microsoft.QAttention", &[1], quantized_attention).but(SHARED),
    op("com.microsoft.MultiHeadAttention", &[1], multi_head_attention).but(PACKED),
    op("com.microsoft.RotaryEmbedding", &[1], rotary).but("`is_packed_batching`; `scale`"),
];
