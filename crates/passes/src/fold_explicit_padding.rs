//! Folds `nn.pad` into the padding of the convolution or pooling behind it: TVM's `FoldExplicitPadding`
//! (`src/relay/transforms/fold_explicit_padding.cc`).
//!
//! The rewrite is sound because such an operator pads with a value of its own, and the folded pad has the same one: zero for
//! convolutions, the zero point of the data for `qnn.conv2d`, the least value for `nn.max_pool`. An average that leaves its padding out
//! of the count has none of its own, and counts the folded one. Only spatial axes may be padded, and none cut.
//!
//! ```text
//! nn.conv2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [2, 2]]), %w)    →    nn.conv2d(%x, %w, padding=[1, 2, 1, 2])
//! ```

use super::build::{args, attr, changed_attrs, dtype, ints_attr, number, str_attr};
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::OpDef;
use relayc_ops::declarations::{
    AVG_POOL1D, AVG_POOL2D, AVG_POOL3D, CONV1D, CONV2D, CONV3D, Layout, MAX_POOL1D, MAX_POOL2D, MAX_POOL3D, PAD, PadAttrs,
    QNN_CONV2D,
};

pub(crate) const PASS: Pass = Pass {
    name: "fold-explicit-padding",
    doc: "Makes `nn.pad` the padding of the convolution or pooling behind it, where both pad with the same value.",
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

const CONVS: [&OpDef; 3] = [&CONV1D, &CONV2D, &CONV3D];
const MEANS: [&OpDef; 3] = [&AVG_POOL1D, &AVG_POOL2D, &AVG_POOL3D];
pub(crate) const MAXIMA: [&OpDef; 3] = [&MAX_POOL1D, &MAX_POOL2D, &MAX_POOL3D];

fn run(module: &mut Module, cx: &PassCx) -> bool {
    rewrite(module, |module, expr| {
        let mut now = None;
        // What is padded may be padded itself.
        while let Some(next) = folded(cx, module, now.unwrap_or(expr)) {
            now = Some(next);
        }
        now
    })
}

/// `conv(pad(x, 0, p), W, padding=q) == conv(x, W, padding=p+q)`, and so for what else pads with the value of `pad`. For a mean,
/// `avg_pool(pad(x, 0, p)) == avg_pool(x, padding=p, count_include_pad=True)`: the added positions count as elements.
pub(crate) fn folded(cx: &PassCx, module: &mut Module, call: ExprId) -> Option<ExprId> {
    let mut operands = args(module, call);
    let pad = *operands.first()?;
    if !cx.calls(module, pad, &PAD) {
        return None;
    }
    let [data, value] = args(module, pad).try_into().ok()?;
    let PadAttrs { pad_width, pad_mode } = PadAttrs::read(module.call_attrs(pad));
    let own = ints_attr(cx, module, call, "padding")?;
    if pad_mode != "constant" || !pads_alike(cx, module, call, value, &own) {
        return None;
    }
    let is_pool = cx.calls_any(module, call, &MEANS) || cx.calls_any(module, call, &MAXIMA);
    let layout = str_attr(cx, module, call, if is_pool { "layout" } else { "data_layout" })?;
    let mut changes = vec![("padding", AttrValue::ints(&added(layout, &own, &pad_width)?))];
    if cx.calls_any(module, call, &MEANS) {
        changes.push(("count_include_pad", AttrValue::Bool(true)));
    }
    let attrs = changed_attrs(cx, module, call, &changes);
    operands[0] = data;
    cx.typed_call(module, module.exprs[call].span, cx.called(module, call)?, &operands, attrs)
}

/// Whether an operator with the padding `own` pads with a value, or counts it.
fn pads_alike(cx: &PassCx, module: &Module, call: ExprId, value: ExprId, own: &[i64]) -> bool {
    let Some(with) = number(module, value) else { return false };
    if cx.calls(module, call, &QNN_CONV2D) {
        return args(module, call).get(2).is_some_and(|&zero_point| number(module, zero_point) == Some(with));
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

/// The padding of a window with more before and after each axis; `None` where that is not along its axes, or takes away.
fn added(layout: &str, own: &[i64], more: &[Vec<i64>]) -> Option<Vec<i64>> {
    let layout = Layout::parse(layout).ok()?;
    let spatial: Vec<char> = ['D', 'H', 'W'].into_iter().filter(|&letter| layout.axis(letter).is_some()).collect();
    if spatial.iter().any(|&letter| layout.block(letter) != 1) {
        return None;
    }
    let axes: Vec<usize> = spatial.iter().filter_map(|&letter| layout.axis(letter)).collect();
    let elsewhere = more.iter().enumerate().any(|(axis, widths)| !axes.contains(&axis) && widths.iter().any(|&n| n != 0));
    if elsewhere || more.iter().flatten().any(|&width| width < 0) {
        return None;
    }
    let n = axes.len();
    // One value for all sides, one for each axis, or all before and then all after.
    let own = |side: usize, at: usize| match own.len() {
        1 => own.first(),
        len if len == n => own.get(at),
        len if len == 2 * n => own.get(side * n + at),
        _ => None,
    };
    let side = |side: usize| axes.iter().enumerate().map(move |(at, &axis)| (side, at, axis));
    side(0).chain(side(1)).map(|(side, at, axis)| more.get(axis)?.get(side)?.checked_add(*own(side, at)?)).collect()
}
