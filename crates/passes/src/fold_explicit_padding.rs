//! Folds `nn.pad` into the padding of the convolution or pooling behind it: TVM's `FoldExplicitPadding`
//! (`src/relay/transforms/fold_explicit_padding.cc`).
//!
//! The rewrite is sound because such an operator pads with a value of its own, and the folded pad has the same one: zero for
//! convolutions, the zero point of the data for `qnn.conv2d`, the least value for `nn.max_pool`. An average that leaves its padding out
//! of the count has none of its own, and counts the folded one. Only spatial axes may be padded.
//!
//! ```text
//! nn.conv2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [2, 2]]), %w)    →    nn.conv2d(%x, %w, padding=[1, 2, 1, 2])
//! ```

use super::build::{args, attr, changed_attrs, dtype, ints_attr, str_attr, value_of};
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::OpDef;
use relayc_ops::declarations::{
    AVG_POOL1D, AVG_POOL2D, AVG_POOL3D, CONV1D, CONV2D, CONV3D, MAX_POOL1D, MAX_POOL2D, MAX_POOL3D, PAD, QNN_CONV2D,
};

pub(crate) const PASS: Pass = Pass {
    name: "fold-explicit-padding",
    doc: "Makes `nn.pad` the padding of the convolution or pooling behind it, where both pad with the same value.",
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

const CONVS: [&OpDef; 3] = [&CONV1D, &CONV2D, &CONV3D];
const MEANS: [&OpDef; 3] = [&AVG_POOL1D, &AVG_POOL2D, &AVG_POOL3D];
const MAXIMA: [&OpDef; 3] = [&MAX_POOL1D, &MAX_POOL2D, &MAX_POOL3D];

fn run(module: &mut Module, cx: &PassCx) -> bool {
    rewrite(module, |module, expr| {
        let mut folded = None;
        // What is padded may be padded itself.
        while let Some(next) = fold(module, cx, folded.unwrap_or(expr)) {
            folded = Some(next);
        }
        folded
    })
}

fn fold(module: &mut Module, cx: &PassCx, call: ExprId) -> Option<ExprId> {
    let mut operands = args(module, call);
    let pad = *operands.first()?;
    if !cx.calls(module, pad, &PAD) {
        return None;
    }
    let [data, value] = args(module, pad).try_into().ok()?;
    let is_pool = cx.calls_any(module, call, &MEANS) || cx.calls_any(module, call, &MAXIMA);
    let layout = str_attr(cx, module, call, if is_pool { "layout" } else { "data_layout" })?;
    let folded = spatial(cx, module, pad, layout)?;
    let own = sides(&ints_attr(cx, module, call, "padding")?, folded.len())?;
    if !pads_alike(cx, module, call, pad, value, &own) {
        return None;
    }
    let sum: Vec<i64> = own.iter().zip(&folded).map(|(own, more)| own.checked_add(*more)).collect::<Option<_>>()?;
    let mut changes = vec![("padding", AttrValue::ints(&sum))];
    if cx.calls_any(module, call, &MEANS) {
        changes.push(("count_include_pad", AttrValue::Bool(true)));
    }
    let attrs = changed_attrs(cx, module, call, &changes);
    operands[0] = data;
    cx.typed_call(module, module.exprs[call].span, cx.called(module, call)?, &operands, attrs)
}

/// Whether an operator with the padding `own` pads with the value that `pad` does.
fn pads_alike(cx: &PassCx, module: &Module, call: ExprId, pad: ExprId, value: ExprId, own: &[i64]) -> bool {
    let number = |expr: ExprId| value_of(module, expr).filter(|value| value.len() == 1).map(|value| value.to_f64s()[0]);
    let Some(with) = number(value).filter(|_| str_attr(cx, module, pad, "pad_mode") == Some("constant")) else { return false };
    if cx.calls(module, call, &QNN_CONV2D) {
        return args(module, call).get(2).is_some_and(|&zero_point| number(zero_point) == Some(with));
    }
    if cx.calls_any(module, call, &MAXIMA) {
        return dtype(module, value).and_then(least) == Some(with);
    }
    let counts = attr(cx, module, call, "count_include_pad").is_none_or(|counts| *counts == AttrValue::Bool(true));
    let is_sum = cx.calls_any(module, call, &CONVS) || cx.calls_any(module, call, &MEANS);
    is_sum && with == 0.0 && (counts || own.iter().all(|&side| side == 0))
}

/// The least number of a dtype, as `nn.max_pool2d` pads with.
fn least(dtype: DType) -> Option<f64> {
    match dtype {
        DType::F32 => Some(f64::from(f32::MIN)),
        DType::F64 => Some(f64::MIN),
        DType::F16 => Some(-65504.0),
        DType::I8 => Some(f64::from(i8::MIN)),
        DType::I16 => Some(f64::from(i16::MIN)),
        DType::I32 => Some(f64::from(i32::MIN)),
        DType::U8 | DType::U16 | DType::U32 => Some(0.0),
        _ => None,
    }
}

/// The padding of the spatial axes, before them and behind them, if no other axis is padded.
fn spatial(cx: &PassCx, module: &Module, pad: ExprId, layout: &str) -> Option<Vec<i64>> {
    let widths: Option<Vec<Vec<i64>>> = attr(cx, module, pad, "pad_width")?
        .as_list()?
        .iter()
        .map(|width| width.as_list()?.iter().map(AttrValue::as_int).collect())
        .collect();
    let widths = widths?;
    if widths.len() != layout.len() || widths.iter().any(|width| width.len() != 2) {
        return None;
    }
    let is_spatial = |axis: char| "DHW".contains(axis);
    let nothing = |(axis, width): (char, &Vec<i64>)| is_spatial(axis) || width.iter().all(|&side| side == 0);
    if !layout.chars().zip(&widths).all(nothing) {
        return None;
    }
    let side = |at: usize| layout.chars().zip(&widths).filter(|(axis, _)| is_spatial(*axis)).map(move |(_, width)| width[at]);
    Some(side(0).chain(side(1)).collect())
}

/// A padding attribute with a number for each side.
fn sides(padding: &[i64], n: usize) -> Option<Vec<i64>> {
    match padding.len() {
        len if len == n => Some(padding.to_vec()),
        len if len * 2 == n => Some(padding.repeat(2)),
        1 => Some(vec![padding[0]; n]),
        _ => None,
    }
}
