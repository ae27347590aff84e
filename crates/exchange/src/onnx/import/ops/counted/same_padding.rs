//! `auto_pad` to the same size along axes whose lengths only a run knows: padding is a step of its own, whose widths are computed from
//! the lengths.
//!
//! An axis of `n` elements has `ceil(n / stride)` results. The last window ends `(n - 1) mod stride` elements before one of stride
//! 1 would, so the padding is smaller by as many (`Conv` of `docs/Operators.md` in the repository of ONNX).

use super::building_blocks::*;
use super::window::{Same, Window};
use relayc_ir::types::{Dim, SymbolOp};

/// The operand, padded with `fill` if padding depends on its sizes.
pub(crate) fn padded(cx: &mut Cx, x: Val, window: &Window, fill: f64) -> Result {
    let Some(same) = window.same else { return Ok(x) };
    let (rank, shape) = (cx.rank(x)?, cx.shape(x)?);
    let n = window.kernel.len();
    let lengths = cx.shape_of(x)?;
    let none = cx.put(Tensor::scalar(0i64))?;
    let mut widths = vec![none; 2 * (rank - n)];
    let mut dims = shape.clone();
    for axis in 0..n {
        let (at, length) = (axis + rank - n, shape[axis + rank - n]);
        let (before, behind) = match window.same_padding(axis, length.value()) {
            Some(padding) => {
                dims[at] = cx.b.size_arith(SymbolOp::Add, length, Dim::known(padding));
                let (before, behind) = same.split(padding);
                (cx.put(Tensor::scalar(before))?, cx.put(Tensor::scalar(behind))?)
            }
            None => {
                dims[at] = padded_length(cx, length, window, axis);
                let length = cx.at(lengths, i64::try_from(at).unwrap_or(i64::MAX), 0)?;
                let (padding, two) = (padding_of(cx, length, window, axis)?, cx.put(Tensor::scalar(2i64))?);
                let less = cx.binary("floor_divide", padding, two)?;
                let more = cx.binary("subtract", padding, less)?;
                if same == Same::Upper { (less, more) } else { (more, less) }
            }
        };
        widths.extend([before, behind]);
    }
    let widths = cx.stack(&widths, 0)?;
    let widths = cx.reshape(widths, &[-1, 2])?;
    let fill = cx.like(x, fill)?;
    let attrs = [("pad_width", AttrValue::List([].into())), ("pad_mode", AttrValue::str("constant"))];
    let wider = cx.call("dyn.nn.pad", &[x, widths, fill], &attrs)?;
    sized(cx, wider, &dims)
}

/// The padding of an axis, from its length.
fn padding_of(cx: &mut Cx, length: Val, window: &Window, axis: usize) -> Result {
    let (span, stride, ..) = window.along(axis);
    let [one, by, most, none] = [1, stride, span - 1, 0].map(|number| cx.put(Tensor::scalar(number)));
    let last = cx.binary("subtract", length, one?)?;
    let behind = cx.binary("floor_mod", last, by?)?;
    let padding = cx.binary("subtract", most?, behind)?;
    if span < stride { cx.binary("maximum", padding, none?) } else { Ok(padding) }
}

/// The length of a padded axis.
fn padded_length(cx: &mut Cx, length: Dim, window: &Window, axis: usize) -> Dim {
    let (span, stride, ..) = window.along(axis);
    let last = cx.b.size_arith(SymbolOp::Sub, length, Dim::known(1));
    let behind = cx.b.size_arith(SymbolOp::FloorMod, last, Dim::known(stride));
    let padding = cx.b.size_arith(SymbolOp::Sub, Dim::known(span - 1), behind);
    let padding = if span < stride { cx.b.size_arith(SymbolOp::Max, padding, Dim::known(0)) } else { padding };
    cx.b.size_arith(SymbolOp::Add, length, padding)
}

/// The results over a [`padded`] operand, with their lengths in terms of those of `x`.
pub(crate) fn results(cx: &mut Cx, out: Val, x: Val, window: &Window) -> Result {
    if window.same.is_none() {
        return Ok(out);
    }
    let (mut dims, lengths) = (cx.shape(out)?, cx.shape(x)?);
    let first = dims.len() - window.kernel.len();
    for (at, (dim, &length)) in dims.iter_mut().zip(&lengths).enumerate().skip(first) {
        let stride = window.strides[at - first];
        let up = cx.b.size_arith(SymbolOp::Add, length, Dim::known(stride - 1));
        *dim = cx.b.size_arith(SymbolOp::FloorDiv, up, Dim::known(stride));
    }
    sized(cx, out, &dims)
}

/// The same tensor, whose type says its dimensions if they are known.
fn sized(cx: &mut Cx, val: Val, dims: &[Dim]) -> Result {
    if dims.iter().all(|dim| dim.is_sized()) { cx.reshape_to_dims(val, dims) } else { Ok(val) }
}
