//! Joins and splits tensors.

use super::attrs::IntOrInts;
use crate::prelude::*;
use crate::rel::TupleTy;
use relayc_ir::kernel::View;

attrs! {
    "relay.attrs.ConcatenateAttrs" =>
    pub struct ConcatenateAttrs {
        /// The axis along which the tensors are joined; a negative axis counts from the end.
        pub axis: i64 = 0;
    }

    "relay.attrs.StackAttrs" =>
    pub(crate) struct StackAttrs {
        /// The position of the new axis; negative positions count from the end, and -1 is after the last.
        pub(crate) axis: Option<i64> = Some(0);
    }

    "relay.attrs.SplitAttrs" =>
    pub(crate) struct SplitAttrs {
        /// The number of equal pieces, or the positions before which to split.
        pub(crate) indices_or_sections: IntOrInts;
        /// The axis to split; a negative axis counts from the end.
        pub(crate) axis: i64 = 0;
    }
}

/// The most pieces [`SPLIT`] makes.
const MAX_SECTIONS: i64 = 65_536;

pub const CONCATENATE: OpDef = OpDef {
    name: "concatenate",
    work: Work::None,
    doc: "The tensors of the tuple one after the other along `axis`; they agree in all other dimensions \
          (`src/relay/op/tensor/transform.h`).",
    args: &[Arg::tensor("data")],
    attrs: Some(ConcatenateAttrs::SCHEMA),
    rules: &[
        "C1: there is at least one tensor",
        "C2: all tensors have one rank and one dtype",
        "C3: axis is in -rank…rank-1",
        "C4: apart from axis, all tensors have the same dimensions",
        "C5: the sum of their dimensions along axis is an int64",
    ],
    rel: concatenate_rel,
    eval: concatenate_eval,
    lower: Some(Lower::Join(|call| call.axis(ConcatenateAttrs::read(call.attrs).axis, call.arg(0).shape.len()))),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn concatenate_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ConcatenateAttrs::read(cx.attrs);
    let data = cx.tuple(0)?;
    let first = require_alike(cx, ("C1", "C2"), &data)?;
    let axis = cx.axis("C3", "axis", attrs.axis, first.rank())?;
    let whole = total(cx, &data, axis)?;
    let shape: RelResult<Shape> = (0..first.rank())
        .map(|at| if at == axis { Ok(whole) } else { common_dim(cx, "C4", &data, at, whole.dim == Dim::Any) })
        .collect();
    cx.set_out(shape?, first.dtype)
}

/// The rules that there are tensors, and that they have the rank and the dtype of the first, which is returned.
fn require_alike(cx: &RelCx, rules: (&'static str, &'static str), data: &TupleTy) -> RelResult<TensorTy> {
    cx.require(rules.0, !data.is_empty(), || {
        Fault::shape("expected at least one tensor, found the empty tuple").at(super::rel::Place::arg(0), "")
    })?;
    let first = data.tensor(cx, 0);
    for tensor in data.tensors(cx) {
        cx.require(rules.1, tensor.rank() == first.rank(), || Fault::rank(first.rank(), &tensor).at(first.place(), ""))?;
        cx.require(rules.1, tensor.dtype == first.dtype, || {
            Fault::dtype(format!("expected `{}`, found `{}`", first.dtype, tensor.dtype))
                .at(tensor.place(), "")
                .at(first.place(), "")
        })?;
    }
    Ok(first)
}

/// The sum of the dimensions along `axis`.
fn total(cx: &mut RelCx, data: &TupleTy, axis: usize) -> RelResult<SDim> {
    if data.len() == 1 {
        return Ok(data.tensor(cx, 0).dim(axis));
    }
    let mut sum = Dim::known(0);
    for field in 0..data.len() {
        let tensor = data.tensor(cx, field);
        let dim = tensor.shape[axis];
        let fits = sum.value().zip(dim.value()).is_none_or(|(a, b)| a.checked_add(b).is_some());
        cx.require("C5", fits, || {
            Fault::new(codes::E0803, "the dimensions along axis add up to more than an int64").at(tensor.axis(axis), "")
        })?;
        sum = cx.types.symbols.arith(SymbolOp::Add, sum, dim);
    }
    Ok(SDim::new(sum, DimOrigin::Rule("C5")))
}

/// The dimension in which all tensors agree. Where some are not known, it is not either, unless the concatenation is along
/// an unknown dimension itself (`src/relay/op/tensor/transform.h`).
fn common_dim(cx: &RelCx, rule: &'static str, data: &TupleTy, at: usize, dynamic: bool) -> RelResult<SDim> {
    let mut known = data.tensors(cx).filter(|tensor| tensor.shape[at] != Dim::Any);
    let Some(first) = known.next() else { return Ok(data.tensor(cx, 0).dim(at)) };
    for tensor in known {
        let (expected, found) = (first.shape[at], tensor.shape[at]);
        cx.require(rule, expected.compatible(found), || {
            let (i, j) = (first.field.unwrap_or(0), tensor.field.unwrap_or(0));
            Fault::shape(format!("tensors {i} and {j} differ in axis {at}: {expected} and {found}"))
                .at(tensor.axis(at), "")
                .at(first.axis(at), "")
                .equation(format!("data.{j}[{at}] == data.{i}[{at}]"), format!("{found} == {expected}"))
        })?;
    }
    let unknown = data.tensors(cx).find(|tensor| tensor.shape[at] == Dim::Any);
    Ok(unknown.filter(|_| !dynamic).unwrap_or(first).dim(at))
}

fn concatenate_eval(cx: &EvalCx) -> EvalResult {
    let data = cx.tuple(0);
    let axis = ConcatenateAttrs::read(cx.attrs).axis.rem_euclid(data[0].rank() as i64) as usize;
    Ok(relayc_ir::tensor::Tensor::concat(data, axis).expect("the relation required tensors that fit").into())
}

pub const STACK: OpDef = OpDef {
    name: "stack",
    work: Work::None,
    doc: "The tensors of the tuple, all of one shape, side by side along a new axis (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(StackAttrs::SCHEMA),
    rules: &[
        "C1: there is at least one tensor",
        "C2: all tensors have one rank and one dtype",
        "C3: axis is in -rank-1…rank",
        "C4: all tensors have the same dimensions",
    ],
    rel: stack_rel,
    eval: stack_eval,
    lower: Some(Lower::Stack(|call| call.axis(StackAttrs::read(call.attrs).axis.unwrap_or(0), call.out().shape.len()))),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn stack_rel(cx: &mut RelCx) -> RelResult {
    let attrs = StackAttrs::read(cx.attrs);
    let data = cx.tuple(0)?;
    let first = require_alike(cx, ("C1", "C2"), &data)?;
    let axis = cx.axis("C3", "axis", attrs.axis.unwrap_or(0), first.rank() + 1)?;
    let mut shape = first.dims();
    for at in 0..first.rank() {
        common_dim(cx, "C4", &data, at, true)?;
    }
    shape.insert(axis, SDim::known(data.len() as i64, DimOrigin::Rule("C1")));
    cx.set_out(shape, first.dtype)
}

fn stack_eval(cx: &EvalCx) -> EvalResult {
    let data = cx.tuple(0);
    let axis = StackAttrs::read(cx.attrs).axis.unwrap_or(0).rem_euclid(data[0].rank() as i64 + 1) as usize;
    let mut one = data[0].shape().to_vec();
    one.insert(axis, 1);
    let layers: Option<Vec<_>> = data.iter().map(|tensor| tensor.reshape(&one)).collect();
    let stacked = layers.and_then(|layers| relayc_ir::tensor::Tensor::concat(&layers, axis));
    Ok(stacked.expect("the relation required tensors of one shape").into())
}

pub const SPLIT: OpDef = OpDef {
    name: "split",
    work: Work::None,
    doc: "A tuple of the pieces of `data` along `axis`: `indices_or_sections` is the number of equal pieces, or the list of \
          positions before which to cut (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(SplitAttrs::SCHEMA),
    rules: &[
        "C1: axis is in -rank(data)…rank(data)-1",
        "C2: 1 <= sections <= 65536, and data[axis] % sections == 0",
        "C3: indices ascend, the first is at least 1, the last is less than data[axis]",
    ],
    rel: split_rel,
    eval: split_eval,
    lower: Some(Lower::Split(split_views)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn split_rel(cx: &mut RelCx) -> RelResult {
    let attrs = SplitAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let axis = cx.axis("C1", "axis", attrs.axis, data.rank())?;
    let lengths = match &attrs.indices_or_sections {
        IntOrInts::Int(sections) => equal_pieces(cx, &data, axis, *sections)?,
        IntOrInts::Ints(indices) => pieces_between(cx, &data, axis, indices)?,
    };
    let piece = |length: Dim| {
        let mut shape = data.dims();
        shape[axis] = SDim::new(length, DimOrigin::Attr("indices_or_sections"));
        (shape, data.dtype)
    };
    cx.set_out_tuple(lengths.into_iter().map(piece))
}

fn equal_pieces(cx: &mut RelCx, data: &TensorTy, axis: usize, sections: i64) -> RelResult<Vec<Dim>> {
    let dim = data.shape[axis];
    cx.require("C2", (1..=MAX_SECTIONS).contains(&sections), || {
        Fault::attr("indices_or_sections", format!("expected 1 to {MAX_SECTIONS} sections, found {sections}"))
    })?;
    cx.require("C2", dim.value().is_none_or(|dim| dim % sections == 0), || {
        let fault = Fault::attr("indices_or_sections", format!("cannot cut {dim} positions into {sections} equal pieces"))
            .at(data.axis(axis), "")
            .equation(format!("data[{axis}] % sections == 0"), format!("{dim} % {sections} == 0"));
        // The nearest numbers of pieces on both sides.
        let fits = |n: &i64| dim.value().is_some_and(|dim| dim % n == 0);
        let near = (2..sections).rev().find(fits).into_iter().chain((sections + 1..=2 * sections).find(fits));
        near.fold(fault, |fault, n| fault.set_number("indices_or_sections", sections, n))
    })?;
    let symbols = &mut cx.types.symbols;
    Ok((0..sections).map(|_| symbols.arith(SymbolOp::FloorDiv, dim, Dim::known(sections))).collect())
}

fn pieces_between(cx: &mut RelCx, data: &TensorTy, axis: usize, indices: &[i64]) -> RelResult<Vec<Dim>> {
    let mut begin = 0;
    let mut lengths = Vec::new();
    for &index in indices {
        cx.require("C3", index > begin, || {
            Fault::attr("indices_or_sections", format!("expected a position behind {begin}, found {index}"))
        })?;
        lengths.push(Dim::known(index - begin));
        begin = index;
    }
    let dim = data.shape[axis];
    cx.require("C3", dim.value().is_none_or(|dim| begin < dim), || {
        Fault::attr("indices_or_sections", format!("cannot cut {dim} positions before position {begin}"))
            .at(data.axis(axis), "")
            .equation(format!("the last of indices < data[{axis}]"), format!("{begin} < {dim}"))
    })?;
    lengths.push(cx.types.symbols.arith(SymbolOp::Sub, dim, Dim::known(begin)));
    Ok(lengths)
}

fn split_views(call: &Call, view: &View) -> Option<Vec<View>> {
    let axis = call.axis(SplitAttrs::read(call.attrs).axis, view.rank())?;
    let mut begin = 0;
    let pieces = call.outs.iter().map(|out| {
        let n = out.shape[axis];
        begin += n as i64;
        view.slice(axis, begin - n as i64, 1, n)
    });
    Some(pieces.collect())
}

fn split_eval(cx: &EvalCx) -> EvalResult {
    let data = cx.tensor(0);
    let axis = SplitAttrs::read(cx.attrs).axis.rem_euclid(data.rank() as i64) as usize;
    let mut begin = 0;
    let piece = |out: &super::eval::OutTy| {
        let n = out.shape[axis];
        begin += n;
        data.take_range(axis, (begin - n) as i64, 1, n)
    };
    Ok(Outputs::Tuple(cx.out.iter().map(piece).collect()))
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (CONCATENATE.name, Onnx::Nodes(concatenate_onnx)),
    (STACK.name, Onnx::Nodes(stack_onnx)),
    (SPLIT.name, Onnx::Nodes(split_onnx)),
];

fn concatenate_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (axis, data) = (ConcatenateAttrs::read(cx.attrs).axis, cx.tuple(0).to_vec());
    Ok(cx.node("Concat", &data).int("axis", axis).one().into())
}

fn stack_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (axis, data) = (StackAttrs::read(cx.attrs).axis.unwrap_or(0), cx.tuple(0).to_vec());
    let axes = cx.ints("axes", &[axis]);
    let layers: Vec<_> = data.iter().map(|&layer| cx.node("Unsqueeze", &[layer, axes]).one()).collect();
    Ok(cx.node("Concat", &layers).int("axis", axis).one().into())
}

fn split_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let data = cx.tensor(0);
    let axis = SplitAttrs::read(cx.attrs).axis.rem_euclid(cx.rank(data) as i64);
    let lengths: Option<Vec<i64>> = cx.out.iter().map(|(dims, _)| dims[axis as usize].value()).collect();
    let lengths = lengths.ok_or("pieces whose lengths are not known before running")?;
    let sizes = cx.ints("split", &lengths);
    Ok(Results(cx.node("Split", &[data, sizes]).int("axis", axis).many(lengths.len())))
}

pub(crate) const FAMILY: &[OpDef] = &[CONCATENATE, STACK, SPLIT];

#[cfg(test)]
mod tests {
    use super::super::eval::ArgValue;
    use super::super::testing::{ANY, Operand, eval_all, hostile, rel, t};
    use relayc_ir::attrs::AttrValue;
    use relayc_ir::tensor::Tensor;
    use relayc_ir::types::DType;

    fn tuple(shapes: &[&[i64]]) -> Operand {
        Operand::Tuple(shapes.iter().map(|shape| (shape.to_vec(), DType::F32)).collect())
    }

    fn joined(name: &str, shapes: &[&[i64]], axis: i64) -> String {
        rel(name, &[tuple(shapes)], &[("axis", AttrValue::int(axis))])
    }

    #[test]
    fn concatenation_adds_along_an_axis() {
        assert_eq!(joined("concatenate", &[&[5, 3, 3], &[5, 3, 1]], -1), "Tensor[(5, 3, 4), float32]");
        assert_eq!(joined("concatenate", &[&[1, 3], &[1, ANY]], 0), "Tensor[(2, ?), float32]");
        assert_eq!(joined("concatenate", &[&[ANY, 3], &[ANY, ANY]], 0), "Tensor[(?, 3), float32]");
        assert_eq!(joined("concatenate", &[], 0), "E0308 C1");
        assert_eq!(joined("concatenate", &[&[1, 3, 2], &[3, 3]], -2), "E0303 C2");
        assert_eq!(joined("concatenate", &[&[1], &[2]], 1), "E0404 C3");
        assert_eq!(joined("concatenate", &[&[1, 3], &[1, 4]], 0), "E0308 C4");
        assert_eq!(joined("concatenate", &[&[i64::MAX, 0], &[1, 0]], 0), "E0803 C5");
        assert_eq!(joined("stack", &[&[2, 3], &[2, 3]], -1), "Tensor[(2, 3, 2), float32]");
        assert_eq!(joined("stack", &[&[2, 3], &[2, 4]], 0), "E0308 C4");
        hostile("concatenate", &[tuple(&[&[2, 3], &[2, 3]])], &[], &["axis"], &[]);
        hostile("stack", &[tuple(&[&[2, 3], &[2, 3]])], &[], &["axis"], &[]);
    }

    #[test]
    fn joining_moves_elements() {
        let (x, y) = (Tensor::from_vec(&[2, 1], vec![1, 2]), Tensor::from_vec(&[2, 2], vec![3, 4, 5, 6]));
        let both = [ArgValue::Tuple(vec![x.clone(), y])];
        let z = eval_all("concatenate", &both, &[("axis", AttrValue::int(1))]).expect("no trap").remove(0);
        assert_eq!(z.to_vec::<i32>(), Some(vec![1, 3, 4, 2, 5, 6]));
        let twice = [ArgValue::Tuple(vec![x.clone(), x])];
        let z = eval_all("stack", &twice, &[("axis", AttrValue::int(1))]).expect("no trap").remove(0);
        assert_eq!((z.shape(), z.to_vec::<i32>()), (&[2usize, 2, 1][..], Some(vec![1, 1, 2, 2])));
    }

    fn split(shape: &[i64], parts: AttrValue) -> String {
        rel("split", &[t(shape, DType::F32)], &[("indices_or_sections", parts), ("axis", AttrValue::int(-1))])
    }

    #[test]
    fn pieces_of_a_split() {
        assert_eq!(split(&[ANY, 4], AttrValue::int(2)), "(Tensor[(?, 2), float32], Tensor[(?, 2), float32])");
        assert_eq!(split(&[12], AttrValue::ints(&[8])), "(Tensor[(8), float32], Tensor[(4), float32])");
        assert_eq!(split(&[ANY], AttrValue::ints(&[8])), "(Tensor[(8), float32], Tensor[(?), float32])");
        assert_eq!(split(&[], AttrValue::int(1)), "E0404 C1");
        assert_eq!(split(&[5], AttrValue::int(2)), "E0404 C2");
        assert_eq!(split(&[0], AttrValue::int(1 << 40)), "E0404 C2");
        assert_eq!(split(&[5], AttrValue::ints(&[2, 2])), "E0404 C3");
        assert_eq!(split(&[5], AttrValue::ints(&[5])), "E0404 C3");
        let sections = ["indices_or_sections", "axis"];
        hostile("split", &[t(&[4, 6], DType::F32)], &[("indices_or_sections", AttrValue::int(2))], &sections, &sections[..1]);
        let x = Tensor::from_fn(&[2, 3], |i| i as i32);
        let attrs = [("indices_or_sections", AttrValue::ints(&[1])), ("axis", AttrValue::int(1))];
        let pieces = eval_all("split", &[ArgValue::Tensor(x)], &attrs).expect("no trap");
        let elements: Vec<_> = pieces.iter().map(|piece| piece.to_vec::<i32>().expect("i32")).collect();
        assert_eq!(elements, [vec![0, 3], vec![1, 2, 4, 5]]);
    }
}
