//! Padding: more positions around the elements.

use super::attrs::attrs;
use super::eval::{EvalCx, EvalResult, Trap};
use super::rel::{Fault, From, RelCx, RelResult, SDim, Shape, TensorTy};
use super::{Fuse, OpDef};
use crate::diag::codes;
use crate::ir::attrs::Arg;
use crate::tensor::Tensor;

attrs! {
    "relay.attrs.PadAttrs" =>
    pub struct PadAttrs {
        /// For each axis, how many positions to add before and after; negative ones take away.
        pub pad_width: Vec<Vec<i64>>;
        /// What the new positions hold: `constant`, `edge` or `reflect`.
        pub pad_mode: String = "constant";
    }
}

/// Adds positions around.
pub const PAD: OpDef = OpDef {
    name: "nn.pad",
    doc: "`data` with `pad_width[i][0]` positions before and `pad_width[i][1]` after axis `i`; negative widths take positions \
          away. New ones hold `pad_val` converted to the dtype of `data` (`constant`), the nearest element (`edge`), or what \
          a mirror at the outermost element shows (`reflect`) (`src/relay/op/nn/pad.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("pad_val")],
    attrs: Some(PadAttrs::SCHEMA),
    rules: &[
        "C1: pad_width has a pair for each axis of data",
        "C2: pad_mode is \"constant\", \"edge\" or \"reflect\"",
        "C3: 0 <= before + data[i] + after for each axis, an int64",
        "C4: edge needs an element on each padded axis; reflect one more than it pads on either side",
    ],
    rel: pad_rel,
    eval: pad_eval,
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn pad_rel(cx: &mut RelCx) -> RelResult {
    let attrs = PadAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let (n, rank) = (attrs.pad_width.len(), data.rank());
    cx.require("C1", n == rank, || {
        Fault::attr("pad_width", format!("expected {rank} pairs, found {n}"))
            .at(data.place(), "")
            .equation("length(pad_width) == rank(data)", format!("{n} == {rank}"))
    })?;
    cx.require("C2", ["constant", "edge", "reflect"].contains(&attrs.pad_mode.as_str()), || {
        Fault::attr("pad_mode", format!("expected \"constant\", \"edge\" or \"reflect\", found {:?}", attrs.pad_mode))
            .set_attr("pad_mode", "\"constant\"")
    })?;
    let mut shape = Shape::new();
    for (axis, widths) in attrs.pad_width.iter().enumerate() {
        cx.require("C1", widths.len() == 2, || {
            Fault::attr("pad_width", format!("expected a pair for axis {axis}, found {} numbers", widths.len()))
        })?;
        require_source(cx, &data, axis, widths, &attrs.pad_mode)?;
        shape.push(padded(cx, &data, axis, widths)?);
    }
    cx.set_out(shape, data.dtype)
}

/// The dimension after padding.
fn padded(cx: &RelCx, data: &TensorTy, axis: usize, widths: &[i64]) -> RelResult<SDim> {
    let dim = data.dim(axis);
    if widths == [0, 0] {
        return Ok(dim);
    }
    let total = |dim: i64| widths[0].checked_add(widths[1])?.checked_add(dim).filter(|&total| total >= 0);
    cx.require("C3", dim.value().is_none_or(|dim| total(dim).is_some()), || {
        Fault::attr("pad_width", format!("cannot pad {} positions by {} and {}", dim.dim, widths[0], widths[1]))
            .at(data.axis(axis), "")
            .equation("0 <= before + data[i] + after", format!("0 <= {} + {} + {}", widths[0], dim.dim, widths[1]))
    })?;
    Ok(SDim::new(dim.dim.map(total), From::Attr("pad_width")))
}

/// The rule that `edge` and `reflect` find what to repeat.
fn require_source(cx: &RelCx, data: &TensorTy, axis: usize, widths: &[i64], mode: &str) -> RelResult {
    let width = widths.iter().copied().max().unwrap_or(0);
    let least = match mode {
        "edge" if width > 0 => 1,
        "reflect" if width > 0 => width.saturating_add(1),
        _ => 0,
    };
    let dim = data.shape[axis];
    cx.require("C4", dim.value().is_none_or(|dim| dim >= least), || {
        Fault::attr("pad_width", format!("{mode} needs at least {least} positions on axis {axis}, found {dim}"))
            .at(data.axis(axis), "")
    })
}

fn pad_eval(cx: &EvalCx) -> EvalResult {
    let (data, attrs) = (cx.tensor(0), PadAttrs::read(cx.attrs));
    let value = cx.tensor_as(1, data.dtype())?;
    if value.is_empty() {
        return Err(Trap::new(codes::E0501, "pad_val has no element"));
    }
    // The first element of pad_val stands behind those of data.
    let n = data.len();
    let value = value.reshape(&[value.len()]).map(|value| value.take_range(0, 0, 1, 1));
    let flat = [data.reshape(&[n]), value].map(|tensor| tensor.expect("as many elements"));
    let elements = Tensor::concat(&flat, 0).expect("two vectors of one dtype");
    // For each axis and position of the result, the position in data.
    let sources: Vec<Vec<Option<usize>>> = cx
        .out_shape()
        .iter()
        .enumerate()
        .map(|(axis, &length)| {
            let (before, own) = (attrs.pad_width[axis][0], data.shape()[axis]);
            (0..length as i64).map(|at| source(at - before, own as i64, &attrs.pad_mode)).collect()
        })
        .collect();
    let pick = |mut i: usize| {
        let (mut at, mut stride) = (0, 1);
        for (axis, sources) in sources.iter().enumerate().rev() {
            let Some(position) = sources[i % sources.len()] else { return Some(n) };
            at += position * stride;
            i /= sources.len();
            stride *= data.shape()[axis];
        }
        Some(at)
    };
    Ok(elements.pick(cx.out_shape(), 0.0, pick).into())
}

/// The position of an axis that a position of the padded axis shows, or nothing.
fn source(at: i64, length: i64, mode: &str) -> Option<usize> {
    let inside = match mode {
        "edge" => at.clamp(0, length - 1),
        "reflect" if at < 0 => -at,
        "reflect" if at >= length => 2 * length - at - 2,
        _ => at,
    };
    (0..length).contains(&inside).then_some(inside as usize)
}

pub const FAMILY: &[OpDef] = &[PAD];

#[cfg(test)]
mod tests {
    use super::super::testing::{ANY, Attrs, eval, hostile, rel, t};
    use super::*;
    use crate::ir::attrs::AttrValue;
    use crate::types::DType;

    fn width(pairs: &[&[i64]]) -> (&'static str, AttrValue) {
        ("pad_width", AttrValue::List(pairs.iter().map(|pair| AttrValue::ints(pair)).collect()))
    }

    fn mode(mode: &str) -> (&'static str, AttrValue) {
        ("pad_mode", AttrValue::str(mode))
    }

    fn padded(shape: &[i64], attrs: Attrs) -> String {
        rel("nn.pad", &[t(shape, DType::F32), t(&[], DType::I32)], attrs)
    }

    #[test]
    fn shapes_and_rules() {
        let all = width(&[&[-1, -1], &[2, -2], &[0, -2], &[4, 4]]);
        assert_eq!(padded(&[4, 6, 3, 5], &[all]), "Tensor[(2, 6, 1, 13), float32]");
        assert_eq!(padded(&[ANY, 2], &[width(&[&[1, 1], &[0, 1]])]), "Tensor[(?, 3), float32]");
        assert_eq!(padded(&[2], &[width(&[])]), "E0404 C1");
        assert_eq!(padded(&[2], &[width(&[&[1]])]), "E0404 C1");
        assert_eq!(padded(&[2], &[width(&[&[0, 0]]), mode("wrap")]), "E0404 C2");
        assert_eq!(padded(&[2], &[width(&[&[-2, -1]])]), "E0404 C3");
        assert_eq!(padded(&[2], &[width(&[&[i64::MAX, 1]])]), "E0404 C3");
        assert_eq!(padded(&[2], &[width(&[&[2, 0]]), mode("reflect")]), "E0404 C4");
        assert_eq!(padded(&[0], &[width(&[&[1, 0]]), mode("edge")]), "E0404 C4");
        hostile("nn.pad", &[t(&[2], DType::F32), t(&[], DType::F32)], &[], &[], &["pad_width"]);
        for a in [i64::MIN, -1, i64::MAX] {
            for b in [i64::MIN, -1, i64::MAX] {
                padded(&[2], &[width(&[&[a, b]]), mode("reflect")]);
                padded(&[ANY], &[width(&[&[a, b]]), mode("edge")]);
            }
        }
    }

    #[test]
    fn what_new_positions_hold() {
        let x = Tensor::from_vec(&[3], vec![1i64, 2, 3]);
        let of = |value: i64, attrs: Attrs| {
            eval("nn.pad", &[x.clone(), Tensor::scalar(value)], attrs).expect("no trap").to_vec::<i64>().expect("i64")
        };
        assert_eq!(of(i64::MAX, &[width(&[&[1, 2]])]), [i64::MAX, 1, 2, 3, i64::MAX, i64::MAX]);
        assert_eq!(of(0, &[width(&[&[1, 2]]), mode("edge")]), [1, 1, 2, 3, 3, 3]);
        assert_eq!(of(0, &[width(&[&[1, 2]]), mode("reflect")]), [2, 1, 2, 3, 2, 1]);
        assert_eq!(of(9, &[width(&[&[-1, 1]])]), [2, 3, 9]);
        let y = Tensor::from_vec(&[1, 2], vec![1i8, 2]);
        let both = eval("nn.pad", &[y, Tensor::scalar(0i8)], &[width(&[&[1, 0], &[0, 1]])]).expect("no trap");
        assert_eq!(both.to_vec::<i8>(), Some(vec![0, 0, 0, 1, 2, 0]));
    }
}
