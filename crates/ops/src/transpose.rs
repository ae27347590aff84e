//! Permutes axes, or reverses positions.

use crate::prelude::*;
use relayc_ir::kernel::View;

attrs! {
    "relay.attrs.TransposeAttrs" =>
    pub struct TransposeAttrs {
        /// For each axis of the result, the axis of `data`; negative axes count from the end. `None` reverses all axes.
        pub axes: Option<Vec<i64>>;
    }

    "relay.attrs.ReverseAttrs" =>
    pub(crate) struct ReverseAttrs {
        /// The axis to reverse; a negative axis counts from the end.
        pub(crate) axis: Option<i64> = None;
    }
}

pub const TRANSPOSE: OpDef = OpDef {
    name: "transpose",
    work: Work::None,
    doc: "Axis `i` of the result is axis `axes[i]` of `data`; the axes are reversed where `axes` is `None` \
          (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(TransposeAttrs::SCHEMA),
    rules: &[
        "C1: axes has as many numbers as data has axes",
        "C2: each of axes is in -rank(data)…rank(data)-1",
        "C3: axes names no axis twice",
    ],
    rel: transpose_rel,
    eval: transpose_eval,
    lower: Some(Lower::View(|call, view| Some(view.transpose(&TransposeAttrs::read(call.attrs).permutation(view.rank()))))),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn transpose_rel(cx: &mut RelCx) -> RelResult {
    let attrs = TransposeAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let rank = data.rank();
    if let Some(axes) = &attrs.axes {
        let n = axes.len();
        cx.require("C1", n == rank, || {
            let fault = Fault::attr("axes", format!("expected {rank} axes, found {n}"))
                .at(data.place(), "")
                .equation("length(axes) == rank(data)", format!("{n} == {rank}"));
            match completed(axes, rank) {
                Some(all) => fault.set_attr("axes", all),
                None => fault,
            }
        })?;
        let mut named = vec![false; rank];
        for &axis in axes {
            let at = cx.axis("C2", "axes", axis, rank)?;
            cx.require("C3", !named[at], || {
                let fault = Fault::attr("axes", format!("axis {axis} is named twice"));
                let missing = (0..rank as i64).filter(|at| !axes.contains(at)).collect::<Vec<_>>();
                let last = axes.iter().rposition(|&other| other == axis);
                let (Some(last), [missing]) = (last, &missing[..]) else { return fault };
                let mut all = axes.clone();
                all[last] = *missing;
                fault.set_attr("axes", format!("{all:?}"))
            })?;
            named[at] = true;
        }
    }
    let shape: Shape = attrs.permutation(rank).into_iter().map(|axis| data.dim(axis)).collect();
    cx.set_out(shape, data.dtype)
}

/// The axes written, then those that are missing.
fn completed(axes: &[i64], rank: usize) -> Option<String> {
    let fine = axes.iter().enumerate().all(|(i, axis)| (0..rank as i64).contains(axis) && !axes[..i].contains(axis));
    let missing = (0..rank as i64).filter(|axis| !axes.contains(axis));
    (fine && axes.len() < rank).then(|| format!("{:?}", axes.iter().copied().chain(missing).collect::<Vec<_>>()))
}

impl TransposeAttrs {
    /// For each axis of the result, the axis of an operand of this rank. The axes must fulfil the rules.
    pub fn permutation(&self, rank: usize) -> Vec<usize> {
        match &self.axes {
            Some(axes) => axes.iter().map(|&axis| if axis < 0 { axis + rank as i64 } else { axis } as usize).collect(),
            None => (0..rank).rev().collect(),
        }
    }
}

fn transpose_eval(cx: &EvalCx) -> EvalResult {
    let (data, attrs) = (cx.tensor(0), TransposeAttrs::read(cx.attrs));
    Ok(data.permute(&attrs.permutation(data.rank())).into())
}

pub(crate) const REVERSE: OpDef = OpDef {
    name: "reverse",
    work: Work::None,
    doc: "`data` with the positions along `axis` in reverse (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(ReverseAttrs::SCHEMA),
    rules: &["C1: axis is in -rank(data)…rank(data)-1"],
    rel: reverse_rel,
    eval: reverse_eval,
    lower: Some(Lower::View(reverse_view)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn reverse_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ReverseAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    cx.require("C1", attrs.axis.is_some(), || Fault::attr("axis", "expected an axis, found none"))?;
    cx.axis("C1", "axis", attrs.axis.unwrap_or(0), data.rank())?;
    cx.set_out(data.dims(), data.dtype)
}

fn reverse_view(call: &Call, view: &View) -> Option<View> {
    let axis = call.axis(ReverseAttrs::read(call.attrs).axis.unwrap_or(0), view.rank())?;
    let n = view.dims[axis];
    Some(view.slice(axis, n as i64 - 1, -1, n))
}

fn reverse_eval(cx: &EvalCx) -> EvalResult {
    let data = cx.tensor(0);
    let axis = ReverseAttrs::read(cx.attrs).axis.unwrap_or(0).rem_euclid(data.rank() as i64) as usize;
    let n = data.shape()[axis];
    Ok(data.take_range(axis, n as i64 - 1, -1, n).into())
}

pub(crate) const ONNX: &[(&str, Onnx)] =
    &[(TRANSPOSE.name, Onnx::Nodes(transpose_onnx)), (REVERSE.name, Onnx::Nodes(reverse_onnx))];

fn transpose_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let data = cx.tensor(0);
    let axes = TransposeAttrs::read(cx.attrs).permutation(cx.rank(data));
    Ok(cx.transposed(data, &axes).into())
}

/// A slice from the last position to before the first.
fn reverse_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (axis, data) = (ReverseAttrs::read(cx.attrs).axis.ok_or("no axis")?, cx.tensor(0));
    let starts = cx.ints("starts", &[-1]);
    let ends = cx.ints("ends", &[i64::MIN]);
    let axes = cx.ints("axes", &[axis]);
    Ok(cx.node("Slice", &[data, starts, ends, axes, starts]).one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[TRANSPOSE, REVERSE];

#[cfg(test)]
mod tests {
    use super::super::testing::{ANY, eval, hostile, rel, t};
    use relayc_ir::attrs::AttrValue;
    use relayc_ir::tensor::Tensor;
    use relayc_ir::types::DType;

    #[test]
    fn axes_are_a_permutation() {
        let of = |axes| rel("transpose", &[t(&[2, ANY, 4], DType::F32)], &[("axes", axes)]);
        assert_eq!(of(AttrValue::None), "Tensor[(4, ?, 2), float32]");
        assert_eq!(of(AttrValue::ints(&[1, -1, 0])), "Tensor[(?, 4, 2), float32]");
        assert_eq!(of(AttrValue::ints(&[])), "E0404 C1");
        assert_eq!(of(AttrValue::ints(&[0, 1, 3])), "E0404 C2");
        assert_eq!(of(AttrValue::ints(&[0, 1, -2])), "E0404 C3");
        hostile("transpose", &[t(&[2, 3], DType::F32)], &[], &[], &["axes"]);
        hostile("reverse", &[t(&[2, 3], DType::F32)], &[], &["axis"], &[]);
    }

    #[test]
    fn elements_move() {
        let x = Tensor::from_fn(&[2, 3], |i| i as i32);
        let y = eval("transpose", std::slice::from_ref(&x), &[("axes", AttrValue::None)]).expect("no trap");
        assert_eq!(y.to_vec::<i32>(), Some(vec![0, 3, 1, 4, 2, 5]));
        let z = eval("reverse", &[x], &[("axis", AttrValue::int(-1))]).expect("no trap");
        assert_eq!(z.to_vec::<i32>(), Some(vec![2, 1, 0, 5, 4, 3]));
    }
}
