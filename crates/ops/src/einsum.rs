//! Einstein summation: products and sums by the names of axes.
//!
//! `ij,jk->ik` multiplies the operands' elements and sums over the names that are absent from the result.

use crate::lower::stored;
use crate::prelude::*;
use relayc_base::text::count;
use relayc_ir::kernel::{self, ReduceDim, Stage};
use relayc_ir::tensor::{Acc, Real, RowReduction, Sum};

attrs! {
    "relay.attrs.EinsumAttrs" =>
    pub(crate) struct EinsumAttrs {
        /// The names of the axes of each operand, and after `->` those of the result.
        pub(crate) equation: String;
    }
}

/// An axis of an equation, or several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Label {
    /// The axes without a name: `...`.
    Rest,
    Name(char),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Equation {
    inputs: Vec<Vec<Label>>,
    output: Vec<Label>,
}

impl Equation {
    /// Parses an equation, or returns the error in words. Without `->` the result has the rest and then the names that occur
    /// once, in alphabetical order, capitals first.
    fn parse(text: &str) -> Result<Equation, String> {
        let (inputs, output) = match text.split_once("->") {
            Some((inputs, output)) => (inputs, Some(output)),
            None => (text, None),
        };
        let inputs: Vec<Vec<Label>> = inputs.split(',').map(labels).collect::<Result<_, String>>()?;
        let all = inputs.concat();
        let output = match output {
            Some(output) => labels(output)?,
            None => {
                let once = |label: &Label| *label == Label::Rest || all.iter().filter(|other| *other == label).count() == 1;
                let mut output: Vec<Label> = all.iter().copied().filter(once).collect();
                output.sort();
                output.dedup();
                output
            }
        };
        for (at, label) in output.iter().enumerate() {
            if let Label::Name(name) = label {
                if output[..at].contains(label) {
                    return Err(format!("the result has `{name}` twice"));
                }
                if !all.contains(label) {
                    return Err(format!("no operand has the `{name}` of the result"));
                }
            }
        }
        Ok(Equation { inputs, output })
    }
}

/// The labels of one tensor. Spaces are nothing.
fn labels(text: &str) -> Result<Vec<Label>, String> {
    let text: String = text.chars().filter(|&c| c != ' ').collect();
    let mut labels = Vec::new();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix("...") {
            if labels.contains(&Label::Rest) {
                return Err("`...` stands twice".into());
            }
            labels.push(Label::Rest);
            rest = behind;
        } else if c.is_ascii_alphabetic() {
            labels.push(Label::Name(c));
            rest = &rest[1..];
        } else {
            return Err(format!("`{}` is neither a letter, `...` nor `->`", c.escape_default()));
        }
    }
    Ok(labels)
}

/// An axis of the sum: a name, or an axis of the rest, counted from its last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Axis {
    Rest(usize),
    Name(char),
}

/// The axes of a tensor with `rank` axes; `None` where it does not have as many as the labels need.
fn axes(labels: &[Label], rank: usize) -> Option<Vec<Axis>> {
    let n_names = labels.iter().filter(|label| **label != Label::Rest).count();
    let n_rest = rank.checked_sub(n_names).filter(|&n| n == 0 || labels.contains(&Label::Rest))?;
    let of = |label: &Label| match *label {
        Label::Rest => (0..n_rest).rev().map(Axis::Rest).collect(),
        Label::Name(name) => vec![Axis::Name(name)],
    };
    Some(labels.iter().flat_map(of).collect())
}

/// The axes of the result, whose rest is the longest of all.
fn output_axes(equation: &Equation, inputs: &[Vec<Axis>]) -> Vec<Axis> {
    let rest = |axes: &Vec<Axis>| axes.iter().filter(|axis| matches!(axis, Axis::Rest(_))).count();
    let n_rest = inputs.iter().map(rest).max().unwrap_or(0);
    let of = |label: &Label| match *label {
        Label::Rest => (0..n_rest).rev().map(Axis::Rest).collect(),
        Label::Name(name) => vec![Axis::Name(name)],
    };
    equation.output.iter().flat_map(of).collect()
}

/// A sum over two operands as a batch of matrix products: the axes of each operand by their part in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BatchedProduct {
    /// For each operand, the axes of the batch, those of its own, and those that are summed; the first and the last in the same order.
    pub operands: [[Vec<usize>; 3]; 2],
    /// For each axis of the result its number among those of the batch, of the left operand and of the right one.
    pub result: Vec<usize>,
}

impl BatchedProduct {
    /// The product of a call of `einsum`, given the dimensions of its operands. `None` if it is none: other than two operands, an axis
    /// that an operand has twice, alone in a sum, or repeats.
    pub fn of(attrs: &[AttrValue], shapes: &[Vec<Dim>]) -> Option<BatchedProduct> {
        let equation = Equation::parse(&EinsumAttrs::read(attrs).equation).ok()?;
        let ([left, right], [a, b]) = (&equation.inputs[..], shapes) else { return None };
        let inputs = [axes(left, a.len())?, axes(right, b.len())?];
        let output = output_axes(&equation, &inputs);
        let place = |of: usize, axis: &Axis| inputs[of].iter().position(|own| own == axis);
        let once = |of: usize| inputs[of].iter().enumerate().all(|(at, axis)| place(of, axis) == Some(at));
        let same = |axis: &Axis| match (place(0, axis), place(1, axis)) {
            (Some(left), Some(right)) => a[left].same(b[right]),
            _ => output.contains(axis),
        };
        (once(0) && once(1) && inputs.iter().flatten().all(same)).then_some(())?;
        let is_in = |of: usize, axis: &Axis| place(of, axis).is_some();
        let of_both = |axis: &&Axis| is_in(0, axis) && is_in(1, axis);
        let batch: Vec<Axis> = output.iter().filter(of_both).copied().collect();
        let summed: Vec<Axis> = inputs[0].iter().filter(of_both).filter(|axis| !output.contains(axis)).copied().collect();
        let own =
            [0, 1].map(|of| output.iter().filter(|axis| is_in(of, axis) && !is_in(1 - of, axis)).copied().collect::<Vec<_>>());
        let places = |of: usize, list: &[Axis]| list.iter().map(|axis| place(of, axis)).collect::<Option<Vec<_>>>();
        let operand = |of: usize| Some([places(of, &batch)?, places(of, &own[of])?, places(of, &summed)?]);
        let all = [&batch[..], &own[0], &own[1]].concat();
        let result = output.iter().map(|axis| all.iter().position(|other| other == axis)).collect::<Option<_>>()?;
        Some(BatchedProduct { operands: [operand(0)?, operand(1)?], result })
    }
}

pub const EINSUM: OpDef = OpDef {
    name: "einsum",
    work: Work::Elements { float: 32, other: 32 },
    doc: "For each index of the axes behind `->` in `equation`, the sum over all other axes of the product of the operands' \
          elements. An axis of dimension 1 is repeated where another operand has more; `...` are axes without a name, which \
          broadcast. Without `->` the result has the names that stand once, in alphabetical order \
          (`src/relay/op/tensor/math.cc`, `src/topi/einsum.cc`).",
    args: &[Arg::of("data", "Tuple of Tensors")],
    attrs: Some(EinsumAttrs::SCHEMA),
    rules: &[
        "C1: equation is letters, `...` and commas, with at most one `->` before names that operands have, each once",
        "C2: equation says the axes of as many operands as there are, at least one",
        "C3: all operands have one dtype",
        "C4: each operand has the axes that equation says",
        "C5: the dimensions of one name are equal, or 1",
    ],
    rel: einsum_rel,
    eval: einsum_eval,
    lower: Some(Lower::Nest(einsum_nest)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn einsum_rel(cx: &mut RelCx) -> RelResult {
    let text = EinsumAttrs::read(cx.attrs).equation;
    let data = cx.tuple(0)?;
    let equation = read_equation(cx, &text)?;
    let (wanted, found) = (equation.inputs.len(), data.len());
    cx.require("C2", wanted == found, || {
        Fault::shape(format!("expected {}, as equation has, found {found}", count(wanted, "tensor")))
            .at(Place::arg(0), "")
            .at(Place::attr("equation"), "")
    })?;
    let first = data.tensor(cx, 0);
    let dtype = first.dtype;
    let mut inputs = Vec::new();
    let mut dims: Vec<(Axis, SDim)> = Vec::new();
    for (field, labels) in equation.inputs.iter().enumerate() {
        let tensor = data.tensor(cx, field);
        cx.require("C3", tensor.dtype == dtype, || {
            let message = format!("expected `{dtype}`, found `{}`", tensor.dtype);
            Fault::dtype(message).at(tensor.place(), "").at(first.place(), "")
        })?;
        let axes = operand_axes(cx, &tensor, labels)?;
        for (at, &axis) in axes.iter().enumerate() {
            match dims.iter_mut().find(|(other, _)| *other == axis) {
                Some((_, dim)) => *dim = common(cx, axis, *dim, tensor.dim(at))?,
                None => dims.push((axis, tensor.dim(at))),
            }
        }
        inputs.push(axes);
    }
    let dim = |axis: &Axis| dims.iter().find(|(other, _)| other == axis).map(|(_, dim)| *dim);
    let shape: Shape = output_axes(&equation, &inputs).iter().filter_map(dim).collect();
    cx.set_out(shape, dtype)
}

fn read_equation(cx: &RelCx, text: &str) -> RelResult<Equation> {
    let read = Equation::parse(text);
    let reason = read.as_ref().err().cloned().unwrap_or_default();
    cx.require("C1", read.is_ok(), || Fault::attr("equation", format!("cannot read {text:?}: {reason}")))?;
    Ok(read.unwrap_or(Equation { inputs: vec![], output: vec![] }))
}

fn operand_axes(cx: &RelCx, tensor: &TensorTy, labels: &[Label]) -> RelResult<Vec<Axis>> {
    let found = axes(labels, tensor.rank());
    cx.require("C4", found.is_some(), || {
        let n = labels.iter().filter(|label| **label != Label::Rest).count();
        let least = if labels.contains(&Label::Rest) { "at least " } else { "" };
        Fault::rank(format!("{least}{n}"), tensor).at(Place::attr("equation"), "")
    })?;
    Ok(found.unwrap_or_default())
}

/// The dimension of an axis that two operands have. As in TVM, for a name `?` is not replaced by what another says, and two
/// unknown dimensions are their maximum (`GetBroadcastedExtent` in `src/topi/einsum.cc`).
fn common(cx: &mut RelCx, axis: Axis, a: SDim, b: SDim) -> RelResult<SDim> {
    let both = match (a.value(), b.value(), axis) {
        (Some(x), Some(y), _) => {
            let fits = x == y || x == 1 || y == 1;
            cx.require("C5", fits, || {
                let axis = if let Axis::Name(name) = axis { format!("`{name}`") } else { "`...`".into() };
                Fault::new(codes::E0304, format!("the dimensions of {axis} are {x} and {y}"))
                    .at(b.place(), "")
                    .at(a.place(), "")
                    .equation("equal, or one of them 1", format!("{x} == {y}"))
            })?;
            if x == 1 { b } else { a }
        }
        // A named size is the number, or 1, which only shows at run time.
        (Some(x), None, _) if x != 1 && b.dim.is_named() => a,
        (None, Some(y), _) if y != 1 && a.dim.is_named() => b,
        (None, None, _) if a.dim.is_named() && a.dim.same(b.dim) => a,
        (Some(1), None, _) | (Some(_), None, Axis::Name(_)) | (None, Some(_), Axis::Rest(_)) => b,
        (None, Some(1), _) | (None, Some(_), Axis::Name(_)) | (Some(_), None, Axis::Rest(_)) => a,
        (None, None, Axis::Rest(_)) if a.dim == b.dim => a,
        (None, None, _) => SDim::new(cx.types.symbols.built(SymbolOp::Max, a.dim, b.dim), a.from),
    };
    Ok(match (both.value(), axis) {
        // TVM makes a new integer of the two.
        (Some(value), Axis::Name(_)) if a.value() != b.value() => SDim { dim: Dim::known(value), ..both },
        _ => both,
    })
}

fn einsum_eval(cx: &EvalCx) -> EvalResult {
    let equation = Equation::parse(&EinsumAttrs::read(cx.attrs).equation).expect("the relation read it");
    let data = cx.tuple(0);
    let out = match cx.out_dtype() {
        DType::F64 => einsum::<f64>(&equation, data, cx.out_shape()),
        dtype if dtype.is_float() => einsum::<f32>(&equation, data, cx.out_shape()),
        _ => einsum::<i64>(&equation, data, cx.out_shape()),
    };
    Ok(out.into_tensor(cx.out_dtype()).into())
}

fn einsum<T: Real>(equation: &Equation, data: &[Tensor], out_shape: &[usize]) -> Acc {
    let operands = equation.inputs.iter().zip(data);
    let inputs: Vec<Vec<Axis>> =
        operands.map(|(labels, tensor)| axes(labels, tensor.rank()).expect("the relation required it")).collect();
    let kept = output_axes(equation, &inputs);
    let mut summed: Vec<Axis> = inputs.concat().into_iter().filter(|axis| !kept.contains(axis)).collect();
    summed.sort();
    summed.dedup();
    let extent = |axis: &Axis| {
        let dims = inputs.iter().zip(data).flat_map(|(axes, tensor)| axes.iter().zip(tensor.shape()));
        let own: Vec<usize> = dims.filter(|(other, _)| *other == axis).map(|(_, &dim)| dim).collect();
        own.iter().copied().find(|&dim| dim != 1).unwrap_or(1)
    };
    let sum_shape: Vec<usize> = summed.iter().map(extent).collect();
    let elements: Vec<Vec<T>> = data.iter().map(|tensor| T::elements(&tensor.to_acc())).collect();
    // Where in each operand an element of the result, and a term of its sum, begins.
    let starts: Vec<Vec<usize>> =
        inputs.iter().zip(data).map(|(axes, tensor)| offsets(out_shape, &steps(axes, tensor, &kept))).collect();
    let terms: Vec<Vec<usize>> =
        inputs.iter().zip(data).map(|(axes, tensor)| offsets(&sum_shape, &steps(axes, tensor, &summed))).collect();
    let n_terms: usize = sum_shape.iter().product();
    let mut row = Vec::with_capacity(n_terms);
    let element = |out: usize| {
        row.clear();
        row.extend((0..n_terms).map(|term| {
            let factors = (0..data.len()).map(|i| elements[i][starts[i][out] + terms[i][term]]);
            factors.reduce(T::mul).unwrap_or(T::ONE)
        }));
        Sum::fold(&row)
    };
    T::from_elements(out_shape, (0..out_shape.iter().product()).map(element).collect())
}

/// Loops over the axes of the result, and inside them over those that are summed.
fn einsum_nest(call: &Call) -> Option<Template> {
    let equation = Equation::parse(&EinsumAttrs::read(call.attrs).equation).ok()?;
    let (data, out) = (&call.args[0], call.out());
    [DType::F32, DType::I32].contains(&out.dtype).then_some(())?;
    let operands = equation.inputs.iter().zip(data);
    let inputs = operands.map(|(labels, tensor)| axes(labels, tensor.shape.len())).collect::<Option<Vec<_>>>()?;
    let mut all = output_axes(&equation, &inputs);
    let n_kept = all.len();
    all.extend(inputs.concat());
    let mut along: Vec<Axis> = vec![];
    all.into_iter().for_each(|axis| {
        if !along.contains(&axis) {
            along.push(axis)
        }
    });
    let extent = |axis: &Axis| {
        let dims = inputs.iter().zip(data).flat_map(|(axes, tensor)| axes.iter().zip(&tensor.shape));
        dims.filter(|(other, _)| *other == axis).map(|(_, &dim)| dim).find(|&dim| dim != 1).unwrap_or(1)
    };
    let mut body = Body::new();
    let mut reads = vec![];
    for (at, (axes, tensor)) in inputs.iter().zip(data).enumerate() {
        // The one element of an axis of 1 is repeated.
        let of = |(axis, &dim): (&Axis, &u64)| match along.iter().position(|own| own == axis) {
            Some(at) if dim != 1 => AxisMap::of(at),
            _ => AxisMap::zero(),
        };
        reads.push(Read::of(Source::Arg(at), axes.iter().zip(&tensor.shape).map(of).collect()));
    }
    let factors: Vec<Val> = (0..reads.len()).map(|read| body.read(read)).collect();
    let product = factors.into_iter().reduce(|a, b| body.bin(BinaryOp::Mul, a, b))?;
    let reduce = along[n_kept..].iter().map(|axis| ReduceDim { extent: extent(axis), clip: None }).collect();
    let folds = Stage { each: true, body, reductions: vec![(product, kernel::Reduction::Sum)], stores: vec![] };
    let mut body = Body::new();
    let val = body.folded(0);
    let last = stored(body, val);
    let outs = vec![(0..n_kept).map(AxisMap::of).collect()];
    Some(Template { dims: out.shape.clone(), reduce, reads, stages: vec![folds, last], outs, ..Template::default() })
}

/// The distance in a tensor between neighbours along each of these axes: 0 along an axis that it does not have or that it
/// repeats.
fn steps(own: &[Axis], tensor: &Tensor, along: &[Axis]) -> Vec<usize> {
    let shape = tensor.shape();
    let stride = |at: usize| if shape[at] == 1 { 0 } else { shape[at + 1..].iter().product() };
    along.iter().map(|axis| (0..own.len()).filter(|&at| own[at] == *axis).map(stride).sum()).collect()
}

/// The offset of every index of a shape, in row-major order.
fn offsets(shape: &[usize], steps: &[usize]) -> Vec<usize> {
    let mut offsets = vec![0];
    for (&dim, &step) in shape.iter().zip(steps) {
        offsets = offsets.iter().flat_map(|&offset| (0..dim).map(move |i| offset + i * step)).collect();
    }
    offsets
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[(EINSUM.name, Onnx::Nodes(einsum_onnx))];

fn einsum_onnx(cx: &mut OnnxCx) -> OnnxResult {
    DTypeClass::Numbers.require(cx.out_dtype())?;
    DTypeClass::Older.require(cx.out_dtype())?;
    let (equation, data) = (EinsumAttrs::read(cx.attrs).equation, cx.tuple(0).to_vec());
    Ok(cx.node("Einsum", &data).str("equation", &equation).one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[EINSUM];

#[cfg(test)]
mod tests {
    use super::super::eval::ArgValue;
    use super::super::testing::{ANY, Operand, eval_all, rel};
    use super::*;
    use relayc_ir::attrs::AttrValue;

    fn shape(equation: &str, shapes: &[&[i64]]) -> String {
        let data = Operand::Tuple(shapes.iter().map(|shape| (shape.to_vec(), DType::F32)).collect());
        rel("einsum", &[data], &[("equation", AttrValue::str(equation))])
    }

    #[test]
    fn shapes_by_equation() {
        assert_eq!(shape("ij,jk->ik", &[&[2, 3], &[3, 4]]), "Tensor[(2, 4), float32]");
        assert_eq!(shape("ij,jk", &[&[2, 3], &[3, 4]]), "Tensor[(2, 4), float32]");
        assert_eq!(shape("ba", &[&[2, 3]]), "Tensor[(3, 2), float32]");
        assert_eq!(shape("aB", &[&[2, 3]]), "Tensor[(3, 2), float32]");
        assert_eq!(shape("ii", &[&[2, 2]]), "float32");
        assert_eq!(shape("ii->i", &[&[2, 2]]), "Tensor[(2), float32]");
        assert_eq!(shape("...ab,...bc->...ac", &[&[5, 1, 2, 3], &[7, 3, 4]]), "Tensor[(5, 7, 2, 4), float32]");
        assert_eq!(shape("a...->...", &[&[2, 3, 4]]), "Tensor[(3, 4), float32]");
        assert_eq!(shape("ab , b -> a", &[&[2, 3], &[1]]), "Tensor[(2), float32]");
        assert_eq!(shape("ab,bc->ac", &[&[ANY, 3], &[3, ANY]]), "Tensor[(?, ?), float32]");
        assert_eq!(shape("a,a->a", &[&[ANY], &[3]]), "Tensor[(?), float32]");
        assert_eq!(shape(",->", &[&[], &[]]), "float32");
    }

    #[test]
    fn rules_of_equations() {
        for wrong in ["i.j", "i->i->i", "i-j", "....", "i->ii", "i->j", "é", "i>", "......"] {
            assert_eq!(shape(wrong, &[&[2, 2]]), "E0404 C1", "{wrong}");
        }
        assert_eq!(shape("i,j", &[&[2]]), "E0308 C2");
        assert_eq!(shape("i", &[]), "E0308 C2");
        assert_eq!(shape("ij", &[&[2]]), "E0303 C4");
        assert_eq!(shape("i", &[&[2, 2]]), "E0303 C4");
        assert_eq!(shape("ij...", &[&[2]]), "E0303 C4");
        assert_eq!(shape("i,i", &[&[2], &[3]]), "E0304 C5");
        assert_eq!(shape("...,...", &[&[2], &[3]]), "E0304 C5");
    }

    #[test]
    fn sums_of_products() {
        let value = |equation: &str, data: &[Tensor]| {
            let attrs = [("equation", AttrValue::str(equation))];
            eval_all("einsum", &[ArgValue::Tuple(data.to_vec())], &attrs).expect("no trap").remove(0).to_f64s()
        };
        let x = Tensor::from_fn(&[2, 2], |i| i as i32 + 1);
        let v = Tensor::from_vec(&[2], vec![10i32, 1]);
        assert_eq!(value("ij,j->i", &[x.clone(), v.clone()]), [12.0, 34.0]);
        assert_eq!(value("ii", std::slice::from_ref(&x)), [5.0]);
        assert_eq!(value("ii->i", std::slice::from_ref(&x)), [1.0, 4.0]);
        assert_eq!(value("i,j->ij", &[v.clone(), v.clone()]), [100.0, 10.0, 10.0, 1.0]);
        assert_eq!(value("...->", std::slice::from_ref(&x)), [10.0]);
        assert_eq!(value("ij,jk,k->i", &[x.clone(), x, v]), [12.0 + 2.0 * 34.0, 3.0 * 12.0 + 4.0 * 34.0]);
        let none = Tensor::from_vec::<f32>(&[0, 2], vec![]);
        assert_eq!(value("ij->j", &[none]), [0.0, 0.0]);
    }
}
