//! Imports single ONNX nodes and runs them: numbers worked out by hand from the standard's text (`docs/Operators.md` of ONNX).
//!
//! `tests/peers/onnx_nodes.py` runs the standard's own cases, which are many more. This test covers cases that those omit, or
//! that changes of a converter are likely to break.

use prost::Message;
use relayc_driver::example::{Example, Runner};
use relayc_driver::import::{Outcome, Request, onnx_bytes};
use relayc_driver::{Phase, check_text};
use relayc_exchange::onnx::proto::*;

/// An operand.
pub(super) enum In {
    /// An input of the program, of a dtype of ONNX and a shape; a negative dimension is one that only a run knows.
    Data(i32, &'static [i64]),
    Floats(&'static [i64], &'static [f32]),
    Ints(&'static [i64], &'static [i64]),
    /// Of bytes, by their dtype of ONNX.
    Bytes(i32, &'static [i64], &'static [u8]),
    Missing,
}
use In::{Bytes, Data, Floats, Ints, Missing};

pub(super) const F32: i32 = 1;
pub(super) const U8: i32 = 2;
pub(super) const I8: i32 = 3;
pub(super) const I32: i32 = 6;
pub(super) const I64: i32 = 7;
pub(super) const BOOL: i32 = 9;

pub(super) fn attribute(name: &str, kind: i32) -> AttributeProto {
    AttributeProto { name: Some(name.into()), r#type: Some(kind), ..AttributeProto::default() }
}

pub(super) fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: Some(value), ..attribute(name, attribute_type::INT) }
}

pub(super) fn ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto { ints: values.to_vec(), ..attribute(name, attribute_type::INTS) }
}

pub(super) fn float(name: &str, value: f32) -> AttributeProto {
    AttributeProto { f: Some(value), ..attribute(name, attribute_type::FLOAT) }
}

pub(super) fn floats(name: &str, values: &[f32]) -> AttributeProto {
    AttributeProto { floats: values.to_vec(), ..attribute(name, attribute_type::FLOATS) }
}

pub(super) fn texts(name: &str, values: &[&str]) -> AttributeProto {
    let strings = values.iter().map(|value| value.as_bytes().to_vec()).collect();
    AttributeProto { strings, ..attribute(name, attribute_type::STRINGS) }
}

pub(super) fn text(name: &str, value: &str) -> AttributeProto {
    AttributeProto { s: Some(value.as_bytes().to_vec()), ..attribute(name, attribute_type::STRING) }
}

pub(super) fn tensor(name: &str, operand: &In) -> Option<TensorProto> {
    let of = |dims: &[i64], data_type: i32| TensorProto {
        dims: dims.to_vec(),
        data_type: Some(data_type),
        name: Some(name.to_owned()),
        ..TensorProto::default()
    };
    match operand {
        Floats(dims, values) => Some(TensorProto { float_data: values.to_vec(), ..of(dims, F32) }),
        Ints(dims, values) => Some(TensorProto { int64_data: values.to_vec(), ..of(dims, I64) }),
        Bytes(dtype, dims, values) => Some(TensorProto { raw_data: Some(values.to_vec().into()), ..of(dims, *dtype) }),
        Data(..) | Missing => None,
    }
}

/// A model of one node; its operator has its domain and a dot in front, if that is not ONNX's own.
fn model(kind: &str, opset: i64, attributes: &[AttributeProto], operands: &[In], n_results: usize) -> Vec<u8> {
    let name = |i: usize| format!("x{i}");
    let (mut input, mut initializer, mut names) = (vec![], vec![], vec![]);
    for (i, operand) in operands.iter().enumerate() {
        names.push(if matches!(operand, Missing) { String::new() } else { name(i) });
        initializer.extend(tensor(&name(i), operand));
        if let Data(dtype, dims) = operand {
            let dim = |&dim: &i64| match dim < 0 {
                true => DimensionProto { dim_value: None, dim_param: Some(format!("n{}", -dim)) },
                false => DimensionProto { dim_value: Some(dim), dim_param: None },
            };
            let shape = Some(TensorShapeProto { dim: dims.iter().map(dim).collect() });
            let tensor_type = Some(TensorTypeProto { elem_type: Some(*dtype), shape });
            let ty = TypeProto { tensor_type, ..TypeProto::default() };
            input.push(ValueInfoProto { name: Some(name(i)), r#type: Some(ty) });
        }
    }
    let results: Vec<String> = (0..n_results).map(|i| format!("y{i}")).collect();
    let (domain, kind) = match kind.rsplit_once('.') {
        Some((domain, kind)) => (Some(domain.to_owned()), kind),
        None => (None, kind),
    };
    let node = NodeProto {
        input: names,
        output: results.clone(),
        domain: domain.clone(),
        op_type: Some(kind.to_owned()),
        attribute: attributes.to_vec(),
        ..NodeProto::default()
    };
    let output = results.into_iter().map(|name| ValueInfoProto { name: Some(name), r#type: None }).collect();
    let graph = GraphProto { node: vec![node], input, output, initializer, ..GraphProto::default() };
    let opset = OperatorSetIdProto { domain, version: Some(opset) };
    let model = ModelProto { ir_version: Some(8), graph: Some(graph), opset_import: vec![opset], ..ModelProto::default() };
    model.encode_to_vec()
}

pub(super) fn imported(bytes: Vec<u8>) -> Outcome {
    onnx_bytes(bytes, &Request { model: "m.onnx".into(), ..Request::default() })
}

/// A model with a shape of the first result.
fn declaring(bytes: &[u8], dtype: i32, dims: &[i64]) -> Vec<u8> {
    let mut model = ModelProto::decode(bytes).expect("a model");
    let dim = dims.iter().map(|&dim| DimensionProto { dim_value: Some(dim), dim_param: None }).collect();
    let tensor_type = Some(TensorTypeProto { elem_type: Some(dtype), shape: Some(TensorShapeProto { dim }) });
    if let Some(output) = model.graph.iter_mut().flat_map(|graph| &mut graph.output).next() {
        output.r#type = Some(TypeProto { tensor_type, ..TypeProto::default() });
    }
    model.encode_to_vec()
}

/// Requires `@main` of the imported node to give what the line says.
pub(super) fn gives(kind: &str, opset: i64, attributes: &[AttributeProto], operands: &[In], n_results: usize, line: &str) {
    gives_of(kind, model(kind, opset, attributes, operands, n_results), line);
}

fn gives_of(kind: &str, model: Vec<u8>, line: &str) {
    let outcome = imported(model);
    let Some(imported) = outcome.imported else { panic!("{kind}: {:#?}", outcome.diagnostics) };
    let program = check_text(kind, &imported.text, Phase::Main);
    assert!(!program.has_errors(), "{kind}: {:?}\n{}", program.diagnostics, imported.text);
    let example = Example::parse(line).expect("a line that says what it gives");
    Runner::new(&program, "").check(&example).unwrap_or_else(|why| panic!("{kind}: {why}\n{}", imported.text));
}

/// Requires the node to be refused, with a word of the reason.
pub(super) fn refused(kind: &str, opset: i64, attributes: &[AttributeProto], operands: &[In], reason: &str) {
    refused_of(kind, opset, attributes, operands, 1, reason);
}

fn refused_of(kind: &str, opset: i64, attributes: &[AttributeProto], operands: &[In], n_results: usize, reason: &str) {
    let outcome = imported(model(kind, opset, attributes, operands, n_results));
    assert!(outcome.imported.is_none(), "{kind} is imported");
    let said = format!("{:?}", outcome.diagnostics);
    assert!(said.contains(reason), "{kind}: {said}");
    assert!(outcome.diagnostics.iter().all(|found| ["E0715", "E0716"].contains(&found.code.id())), "{said}");
}

#[test]
fn determinants() {
    let line = "@main([1, 2, 3, 4, 2, 0, 0, 3]) == [-2, 6]";
    gives("Det", 11, &[], &[Data(F32, &[2, 2, 2])], 1, line);
    gives("Det", 11, &[], &[Data(F32, &[3, 3])], 1, "@main([2, 0, 1, 1, 3, 2, 0, 1, 4]) == 21");
    gives("Det", 11, &[], &[Data(F32, &[4, 4])], 1, "@main([0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 3]) == -6");
    gives("Det", 11, &[], &[Data(F32, &[1, 1])], 1, "@main([5]) == 5");
    refused("Det", 11, &[], &[Data(F32, &[5, 5])], "5 rows");
    refused("Det", 11, &[], &[Data(F32, &[2, 3])], "2 rows and 3 columns");
}

#[test]
fn reductions() {
    let rows = || Data(F32, &[2, 2]);
    let attributes = [ints("axes", &[1]), int("keepdims", 0)];
    let line = "@main([[0, 0], [1000, 1000]]) ~1e-4 [0.6931472, 1000.6931]";
    gives("ReduceLogSumExp", 13, &attributes, &[rows()], 1, line);
    gives("ReduceLogSumExp", 18, &[], &[rows(), Ints(&[1], &[-1])], 1, "@main([[-inf, -inf], [inf, 0]]) == [[-inf], [inf]]");
    gives("ReduceSum", 13, &[int("noop_with_empty_axes", 1)], &[rows()], 1, "@main([1, 2, 3, 4]) == [[1, 2], [3, 4]]");
    gives("ReduceSum", 13, &[int("keepdims", 0)], &[rows(), Missing], 1, "@main([1, 2, 3, 4]) == 10");
    gives("ReduceL2", 13, &[ints("axes", &[-1])], &[rows()], 1, "@main([3, 4, 5, 12]) == [[5], [13]]");
    gives("ArgMax", 13, &[int("axis", 1), int("select_last_index", 1)], &[rows()], 1, "@main([7, 7, 8, 1]) == [[1], [0]]");
    let flags = [int("reverse", 1), int("exclusive", 1)];
    gives("CumSum", 14, &flags, &[Data(F32, &[3]), Ints(&[], &[0])], 1, "@main([1, 2, 3]) == [5, 3, 0]");
    // Without axes nothing is added up, but what is done to each number.
    let noop = || [int("noop_with_empty_axes", 1)];
    gives("ReduceSumSquare", 18, &noop(), &[rows()], 1, "@main([1, -2, 3, 4]) == [[1, 4], [9, 16]]");
    gives("ReduceL1", 18, &noop(), &[rows(), Ints(&[0], &[])], 1, "@main([1, -2, 3, 4]) == [[1, 2], [3, 4]]");
    gives("ReduceLogSum", 18, &noop(), &[rows()], 1, "@main([1, 1, 0, inf]) == [[0, 0], [-inf, inf]]");
    gives("CumProd", 26, &[int("reverse", 1)], &[Data(F32, &[3]), Ints(&[], &[0])], 1, "@main([2, 3, 5]) == [30, 15, 5]");
    refused("ReduceSum", 13, &[], &[rows(), Data(I64, &[1])], "axes that only a run knows");
    refused("ReduceSum", 13, &[], &[rows(), Ints(&[1], &[i64::MIN])], "the number");
}

/// Up to operator set 12 all axes from `axis` on are one.
#[test]
fn softmax_by_operator_set() {
    let x = || Data(F32, &[1, 2, 2]);
    gives("Softmax", 11, &[], &[x()], 1, "@main([0, 0, 0, 0]) == [[[0.25, 0.25], [0.25, 0.25]]]");
    gives("Softmax", 13, &[], &[x()], 1, "@main([0, 0, 0, 0]) == [[[0.5, 0.5], [0.5, 0.5]]]");
    gives("Hardmax", 13, &[], &[Data(F32, &[1, 3])], 1, "@main([1, 3, 3]) == [[0, 1, 0]]");
    gives("Hardmax", 11, &[int("axis", -2)], &[Data(F32, &[2, 2])], 1, "@main([1, 3, 3, 9]) == [[0, 0], [0, 1]]");
}

#[test]
fn normalisations() {
    let ones = || Floats(&[2], &[1.0, 1.0]);
    let line = "@main([1, 3]) ~1e-6 ([[-0.999995, 0.999995]], [[2]], [[0.999995]])";
    gives("LayerNormalization", 17, &[], &[Data(F32, &[1, 2]), ones()], 3, line);
    let zeros = Floats(&[2], &[0.0, 0.5]);
    gives("LayerNormalization", 17, &[], &[Data(F32, &[1, 2]), ones(), zeros], 1, "@main([1, 3]) ~1e-6 [[-0.999995, 1.499995]]");
    // A scale for each group up to operator set 20, for each channel from 21 on.
    let groups = [int("num_groups", 1), float("epsilon", 0.0)];
    let x = || Data(F32, &[1, 2, 1]);
    let one = |value: &'static [f32]| Floats(&[1], value);
    gives("GroupNormalization", 18, &groups, &[x(), one(&[2.0]), one(&[1.0])], 1, "@main([1, 3]) ~1e-6 [[[-1], [3]]]");
    let per_channel = [x(), Floats(&[2], &[2.0, 3.0]), Floats(&[2], &[1.0, 0.0])];
    gives("GroupNormalization", 21, &groups, &per_channel, 1, "@main([1, 3]) ~1e-6 [[[-1], [3]]]");
    let said = int("stash_type", 1);
    gives(
        "LayerNormalization",
        17,
        std::slice::from_ref(&said),
        &[Data(F32, &[1, 2]), ones()],
        1,
        "@main([1, 3]) ~1e-6 [[-0.999995, 0.999995]]",
    );
    let per_channel = || [x(), Floats(&[2], &[2.0, 3.0]), Floats(&[2], &[1.0, 0.0])];
    let stashed = [&groups[..], &[said]].concat();
    gives("GroupNormalization", 21, &stashed, &per_channel(), 1, "@main([1, 3]) ~1e-6 [[[-1], [3]]]");
    refused("GroupNormalization", 21, &[&groups[..], &[int("stash_type", 11)]].concat(), &per_channel(), "stash_type=11");
    let line = "@main([3, 4]) ~1e-6 [[0.8485281, 1.1313708]]";
    gives("RMSNormalization", 23, &[float("epsilon", 0.0)], &[Data(F32, &[1, 2]), ones()], 1, line);
    gives("LpNormalization", 1, &[int("p", 1)], &[Data(F32, &[2])], 1, "@main([-1, 3]) == [-0.25, 0.75]");
    gives("LpNormalization", 1, &[], &[Data(F32, &[2])], 1, "@main([0, 0]) == [0, 0]");
    let even = [int("size", 2), float("alpha", 2.0), float("beta", 1.0)];
    let line = "@main([1, 2, 3, 4]) ~1e-6 [[[[0.16666667]], [[0.14285714]], [[0.11538462]], [[0.23529412]]]]";
    gives("LRN", 13, &even, &[Data(F32, &[1, 4, 1, 1])], 1, line);
}

#[test]
fn positions() {
    let x = || Data(F32, &[2, 2]);
    let negative = || Ints(&[2, 2], &[-1, 0, 0, -1]);
    gives("GatherElements", 13, &[int("axis", 1)], &[x(), negative()], 1, "@main([1, 2, 3, 4]) == [[2, 1], [3, 4]]");
    let fewer = Ints(&[1, 2], &[-1, 0]);
    gives("GatherElements", 13, &[int("axis", 1)], &[Data(F32, &[2, 3]), fewer], 1, "@main([1, 2, 3, 4, 5, 6]) == [[3, 1]]");
    gives("GatherND", 13, &[], &[x(), negative()], 1, "@main([1, 2, 3, 4]) == [3, 2]");
    let updates = Floats(&[2], &[10.0, 20.0]);
    gives(
        "ScatterND",
        16,
        &[text("reduction", "add")],
        &[x(), negative(), updates],
        1,
        "@main([1, 2, 3, 4]) == [[1, 22], [13, 4]]",
    );
    let values = Floats(&[2], &[2.0, 5.0]);
    let depth = Ints(&[], &[3]);
    gives("OneHot", 11, &[], &[Data(I64, &[2]), depth, values], 1, "@main([0, -1]) == [[5, 2, 2], [2, 2, 5]]");
    gives("TopK", 11, &[int("largest", 0)], &[Data(F32, &[3]), Ints(&[1], &[2])], 2, "@main([3, 1, 2]) == ([1, 2], [1, 2])");
    gives("TopK", 11, &[], &[Data(F32, &[3]), Ints(&[1], &[0])], 2, "@main([3, 1, 2]) == ([], [])");
    let open = || Data(F32, &[-1, -2]);
    gives("GatherElements", 13, &[int("axis", 1)], &[open(), negative()], 1, "@main([[1, 2], [3, 4]]) == [[2, 1], [3, 4]]");
    let few = || [open(), Data(I64, &[-3, -4])];
    gives("GatherElements", 13, &[int("axis", 1)], &few(), 1, "@main([[1, 2], [3, 4]], [[1, 0, 1]]) == [[2, 1, 2]]");
    gives("GatherElements", 13, &[int("axis", -2)], &few(), 1, "@main([[1, 2], [3, 4]], [[-1], [0], [1]]) == [[3], [1], [3]]");
    refused("GatherElements", 13, &[], &[x(), Ints(&[1, 3], &[0, 0, 0])], "cannot cut 2 positions to 3");
    gives("GatherND", 13, &[], &[open(), negative()], 1, "@main([[1, 2], [3, 4]]) == [3, 2]");
    gives("NonZero", 13, &[], &[x()], 1, "@main([0, 1, 1, 0]) == [[0, 1], [1, 0]]");
    gives("Compress", 11, &[int("axis", 0)], &[x(), Data(BOOL, &[2])], 1, "@main([1, 2, 3, 4], [0, 1]) == [[3, 4]]");
    let line = "@main([2, 1, 1]) == ([1, 2], [1, 0], [1, 0, 0], [2, 1])";
    gives("Unique", 11, &[], &[Data(F32, &[3])], 4, line);
    let kernel = || [ints("kernel_shape", &[2, 2]), ints("strides", &[2, 2])];
    let picture = || Data(F32, &[1, 1, 2, 2]);
    gives("MaxPool", 12, &kernel(), &[picture()], 2, "@main([1, 2, 4, 3]) == ([[[[4]]]], [[[[2]]]])");
    let by_columns = [&kernel()[..], &[int("storage_order", 1)]].concat();
    gives("MaxPool", 12, &by_columns, &[picture()], 2, "@main([1, 2, 4, 3]) == ([[[[4]]]], [[[[1]]]])");
    gives(
        "MaxUnpool",
        11,
        &kernel(),
        &[Data(F32, &[1, 1, 1, 1]), Ints(&[1, 1, 1, 1], &[3])],
        1,
        "@main([5]) == [[[[0, 0], [0, 5]]]]",
    );
    refused("GatherND", 13, &[], &[x(), Ints(&[1, 3], &[0, 0, 0])], "more indices");
    let many = [Data(F32, &[1 << 31, 1, 1])];
    refused_of("MaxPool", 12, &[ints("kernel_shape", &[1])], &many, 2, "[2147483648] numbers");
    let bounds = || [Data(F32, &[3]), Data(I64, &[1 << 40]), Data(I64, &[1 << 40])];
    refused("Slice", 13, &[], &bounds(), "bounds of 1099511627776 axes of 1");
    let back = [Data(F32, &[3]), Ints(&[1], &[-1]), Ints(&[1], &[i64::MIN]), Missing, Ints(&[1], &[i64::MIN])];
    gives("Slice", 13, &[], &back, 1, "@main([1, 2, 3]) == [3]");
    let before = [Data(F32, &[3]), Ints(&[1], &[-5]), Ints(&[1], &[-9]), Missing, Ints(&[1], &[-1])];
    gives("Slice", 13, &[], &before, 1, "@main([1, 2, 3]) == [1]");
    // A begin behind its end, which only some lengths have.
    let inner = || [Data(F32, &[-1]), Ints(&[1], &[1]), Ints(&[1], &[-1])];
    for line in ["@main([1, 2, 3]) == [2]", "@main([1, 2]) == []", "@main([1]) == []"] {
        gives("Slice", 13, &[], &inner(), 1, line);
    }
    let none = [Data(F32, &[-1]), Ints(&[1], &[3]), Ints(&[1], &[1])];
    gives("Slice", 13, &[], &none, 1, "@main([1, 2, 3, 4]) == []");
    let axes = [Data(F32, &[3]), Ints(&[1], &[0]), Ints(&[1], &[1]), Ints(&[0], &[])];
    refused("Slice", 13, &[], &axes, "bounds of 1 axes, and 0 axes");
}

/// Negative positions count from the end, and others outside are none, in `Gather` too.
#[test]
fn gathering() {
    let gather = |operands: &[In], line: &str| gives("Gather", 13, &[], operands, 1, line);
    let of = |dims: &'static [i64]| [Data(F32, dims), Data(I64, &[2])];
    for dims in [&[3], &[-1]] {
        gather(&of(dims), "@main([1, 2, 3], [-1, 1]) == [3, 2]");
        gather(&of(dims), "@main([1, 2, 3], [-3, 2]) == [1, 3]");
        for outside in ["3", "-4", "11"] {
            gather(&of(dims), &format!("@main([1, 2, 3], [0, {outside}]) error E0501"));
        }
    }
    // Of an axis whose length only a run knows.
    let open = |at: &'static [i64]| [Data(F32, &[-1]), Ints(&[1], at)];
    gather(&open(&[-1]), "@main([1, 2, 3]) == [3]");
    gather(&open(&[-3]), "@main([1, 2, 3]) == [1]");
    gather(&open(&[2]), "@main([1, 2, 3]) == [3]");
    gather(&open(&[-3]), "@main([1, 2]) error E0501");
    gather(&open(&[2]), "@main([1, 2]) error E0501");
    refused("Gather", 13, &[], &[Data(F32, &[3]), Ints(&[1], &[3])], "an index outside of an axis of 3");
}

/// Where an operand says a shape that the model declares otherwise, a run fails.
#[test]
fn declared_shapes_hold() {
    let declared = |kind: &str, operands: &[In], dims: &[i64], line: &str| {
        gives_of(kind, declaring(&model(kind, 14, &[], operands, 1), F32, dims), line);
    };
    let reshape = || [Data(F32, &[2, 3]), Data(I64, &[2])];
    declared("Reshape", &reshape(), &[1, 6], "@main([1, 2, 3, 4, 5, 6], [1, 6]) == [[1, 2, 3, 4, 5, 6]]");
    declared("Reshape", &reshape(), &[1, 6], "@main([1, 2, 3, 4, 5, 6], [-1, 6]) == [[1, 2, 3, 4, 5, 6]]");
    declared("Reshape", &reshape(), &[2, 3], "@main([1, 2, 3, 4, 5, 6], [0, -1]) == [[1, 2, 3], [4, 5, 6]]");
    declared("Reshape", &reshape(), &[1, 6], "@main([1, 2, 3, 4, 5, 6], [3, 2]) error E0308");
    let one = || [Data(F32, &[2, 3]), Data(I64, &[1])];
    declared("Unsqueeze", &one(), &[1, 2, 3], "@main([1, 2, 3, 4, 5, 6], [-3]) == [[[1, 2, 3], [4, 5, 6]]]");
    declared("Unsqueeze", &one(), &[1, 2, 3], "@main([1, 2, 3, 4, 5, 6], [2]) error E0308");
    let two = || [Data(F32, &[2]), Data(I64, &[2])];
    for (dims, axes, result) in [([1, 2, 1], "[2, 0]", "[[[1], [2]]]"), ([2, 1, 1], "[-1, 1]", "[[[1]], [[2]]]")] {
        declared("Unsqueeze", &two(), &dims, &format!("@main([1, 2], {axes}) == {result}"));
        gives("Unsqueeze", 14, &[], &two(), 1, &format!("@main([1, 2], {axes}) == {result}"));
    }
    declared("Unsqueeze", &two(), &[1, 1, 2], "@main([1, 2], [0, 2]) error E0308");
    gives("Unsqueeze", 14, &[], &two(), 1, "@main([1, 2], [0, 0]) error E0501");
    gives("Unsqueeze", 14, &[], &two(), 1, "@main([1, 2], [0, 3]) error E0501");
    let shape = || [Data(I64, &[1])];
    declared("ConstantOfShape", &shape(), &[2], "@main([2]) == [0, 0]");
    for other in ["[5]", "[0]"] {
        declared("ConstantOfShape", &shape(), &[2], &format!("@main({other}) error E0308"));
    }
    let row = || [Data(F32, &[2]), Data(I64, &[1])];
    gives("Expand", 13, &[], &row(), 1, "@main([1, 2], [1]) == [1, 2]");
    gives("Expand", 13, &[], &row(), 1, "@main([1, 2], [2]) == [1, 2]");
    for (other, code) in [("[3]", "E0304"), ("[0]", "E0304"), ("[-1]", "E0404")] {
        gives("Expand", 13, &[], &row(), 1, &format!("@main([1, 2], {other}) error {code}"));
    }
}

/// Runtimes read another number in place of 0 or 1 differently.
#[test]
fn flags_are_0_or_1() {
    refused("ReduceSum", 13, &[int("keepdims", 4)], &[Data(F32, &[2])], "`keepdims` is 4, expected 0 or 1");
    refused("TopK", 11, &[int("sorted", 5)], &[Data(F32, &[3]), Ints(&[1], &[2])], "`sorted` is 5, expected 0 or 1");
    refused("TopK", 11, &[int("largest", -2)], &[Data(F32, &[3]), Ints(&[1], &[2])], "`largest` is -2, expected 0 or 1");
}

#[test]
fn resizing() {
    let sizes = |sizes: &'static [i64]| [Data(F32, &[1, 1, 2]), Missing, Missing, Ints(&[3], sizes)];
    gives("Resize", 13, &[], &sizes(&[1, 1, 4]), 1, "@main([1, 2]) == [[[1, 1, 2, 2]]]");
    // A scale that is no quotient of sizes: positions at 1/3 and 2.
    let scaled = || [Data(F32, &[1, 1, 4]), Missing, Floats(&[3], &[1.0, 1.0, 0.6])];
    gives("Resize", 13, &[text("mode", "linear")], &scaled(), 1, "@main([1, 2, 3, 4]) ~1e-5 [[[1.3333333, 3]]]");
    let smooth = [text("mode", "linear"), int("antialias", 1)];
    let half = [Data(F32, &[1, 1, 4]), Missing, Floats(&[3], &[1.0, 1.0, 0.5])];
    // Weights 1/8, 3/8, 3/8, 1/8 around each middle; the border goes on.
    gives("Resize", 18, &smooth, &half, 1, "@main([8, 16, 24, 32]) ~1e-5 [[[13, 27]]]");
    let crop =
        [text("mode", "linear"), text("coordinate_transformation_mode", "tf_crop_and_resize"), float("extrapolation_value", 7.0)];
    let roi = Floats(&[6], &[0.0, 0.0, 0.5, 1.0, 1.0, 1.5]);
    let operands = [Data(F32, &[1, 1, 3]), roi, Missing, Ints(&[3], &[1, 1, 3])];
    gives("Resize", 13, &crop, &operands, 1, "@main([1, 2, 3]) ~1e-5 [[[2, 3, 7]]]");
    // 0.7 is less as float32, and its product with 10 is 7 again.
    let floor = [text("coordinate_transformation_mode", "asymmetric"), text("nearest_mode", "floor")];
    let stretched = [&floor[..], &[text("keep_aspect_ratio_policy", "stretch")]].concat();
    let tenths = [Data(F32, &[1, 1, 10]), Missing, Floats(&[3], &[1.0, 1.0, 0.7])];
    gives("Resize", 18, &stretched, &tenths, 1, "@main([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) == [[[0, 1, 2, 4, 5, 7, 8]]]");
    // Eleven by 1.1 is ten, though both are a little more as float32.
    let tenth = [Data(F32, &[1, 1, 11]), Missing, Floats(&[3], &[1.0, 1.0, 1.1])];
    gives(
        "Resize",
        13,
        &floor,
        &tenth,
        1,
        "@main([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) == [[[0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]]]",
    );
    refused("Resize", 13, &[text("nearest_mode", "sideways")], &sizes(&[1, 1, 4]), "the rounding `sideways`");
    let short = [Data(F32, &[1, 1, 3]), Floats(&[2], &[0.5, 1.0]), Missing, Ints(&[3], &[1, 1, 3])];
    refused("Resize", 13, &crop, &short, "`roi` has 2 numbers, expected 6");
    refused("Resize", 13, &[], &[Data(F32, &[1, 1, 4]), Missing, Floats(&[3], &[1.0, 1.0, f32::NAN])], "elements made of");
    refused("Resize", 13, &[], &[Data(F32, &[1, 1, 4]), Missing, Floats(&[3], &[1.0, 1.0, 1e9])], "positions");
    refused("Resize", 13, &[], &[Data(F32, &[1, 1, 4]), Missing, Data(F32, &[3])], "only a run knows");
}

#[test]
fn moving() {
    let row = || Data(F32, &[3]);
    let pads = || Ints(&[2], &[1, 1]);
    gives("Pad", 13, &[text("mode", "reflect")], &[row(), pads()], 1, "@main([1, 2, 3]) == [2, 1, 2, 3, 2]");
    gives("Pad", 19, &[text("mode", "wrap")], &[row(), pads()], 1, "@main([1, 2, 3]) == [3, 1, 2, 3, 1]");
    gives("Pad", 13, &[], &[row(), Ints(&[2], &[-1, 1]), Floats(&[], &[9.0])], 1, "@main([1, 2, 3]) == [2, 3, 9]");
    gives("Pad", 13, &[], &[row(), Data(I64, &[2])], 1, "@main([1, 2, 3], [0, 2]) == [1, 2, 3, 0, 0]");
    gives("Pad", 13, &[text("mode", "edge")], &[row(), Data(I64, &[2])], 1, "@main([1, 2, 3], [0, 2]) == [1, 2, 3, 3, 3]");
    gives("CenterCropPad", 18, &[], &[row(), Ints(&[1], &[1])], 1, "@main([1, 2, 3]) == [2]");
    gives("CenterCropPad", 18, &[], &[row(), Ints(&[1], &[5])], 1, "@main([1, 2, 3]) == [0, 1, 2, 3, 0]");
    let block = int("blocksize", 2);
    let deep = || Data(F32, &[1, 8, 1, 1]);
    let line = "@main([1, 2, 3, 4, 5, 6, 7, 8]) == [[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]]";
    gives("DepthToSpace", 13, &[block.clone(), text("mode", "CRD")], &[deep()], 1, line);
    let line = "@main([1, 2, 3, 4, 5, 6, 7, 8]) == [[[[1, 3], [5, 7]], [[2, 4], [6, 8]]]]";
    gives("DepthToSpace", 13, &[block], &[deep()], 1, line);
    let columns = [Data(F32, &[1, 2, 2]), Ints(&[1], &[3]), Ints(&[1], &[2])];
    gives("Col2Im", 18, &[], &columns, 1, "@main([1, 2, 10, 20]) == [[[1, 12, 20]]]");
    gives("Expand", 13, &[], &[Data(F32, &[2, 1]), Ints(&[1], &[3])], 1, "@main([1, 2]) == [[1, 1, 1], [2, 2, 2]]");
    gives("Expand", 13, &[], &[Data(F32, &[2, 1]), Data(I64, &[1])], 1, "@main([1, 2], [3]) == [[1, 1, 1], [2, 2, 2]]");
    gives("Range", 11, &[], &[Ints(&[], &[5]), Ints(&[], &[-1]), Ints(&[], &[-2])], 1, "@main() == [5, 3, 1]");
    let exact = [Ints(&[], &[9_007_199_254_740_993]), Ints(&[], &[9_007_199_254_740_995]), Ints(&[], &[1])];
    gives("Range", 11, &[], &exact, 1, "@main() == [9007199254740993, 9007199254740994]");
    gives("Range", 11, &[], &[Ints(&[], &[1]), Ints(&[], &[5]), Ints(&[], &[-2])], 1, "@main() == []");
    gives("Range", 11, &[], &[Floats(&[], &[0.5]), Floats(&[], &[2.0]), Floats(&[], &[0.5])], 1, "@main() == [0.5, 1, 1.5]");
    refused("Range", 11, &[], &[Ints(&[], &[1]), Ints(&[], &[5]), Ints(&[], &[0])], "steps of 0");
    let open = [Data(I64, &[]), Ints(&[], &[-1]), Ints(&[], &[-2])];
    gives("Range", 11, &[], &open, 1, "@main(5) == [5, 3, 1]");
    gives("Expand", 13, &[], &[Data(F32, &[-1]), Ints(&[2], &[2, 3])], 1, "@main([7]) == [[7, 7, 7], [7, 7, 7]]");
    gives("Unsqueeze", 13, &[], &[row(), Data(I64, &[1])], 1, "@main([1, 2, 3], [-1]) == [[1], [2], [3]]");
    let line = "@main([[[1], [2]]]) == [[1, 2]]";
    gives("Squeeze", 13, &[], &[Data(F32, &[-1, -2, 1])], 1, line);
    gives("Squeeze", 13, &[], &[Data(F32, &[1, -1, 1])], 1, "@main([[[1], [2]]]) == [1, 2]");
    gives("EyeLike", 9, &[int("k", 1), int("dtype", 7)], &[Data(F32, &[2, 2])], 1, "@main([1, 2, 3, 4]) == [[0, 1], [0, 0]]");
    gives("Split", 18, &[], &[row(), Ints(&[2], &[0, 3])], 2, "@main([1, 2, 3]) == ([], [1, 2, 3])");
    refused_of("Split", 18, &[int("num_outputs", 3)], &[row()], 2, "`num_outputs` is 3, and there are 2 results");
    let no_rows = [Data(F32, &[1, 0, 1]), Ints(&[1], &[1 << 25]), Ints(&[1], &[1 << 25])];
    refused("Col2Im", 18, &[], &no_rows, "columns of blocks of 33554432");
    let huge = Ints(&[2], &[1 << 31, 1 << 31]);
    refused("Pad", 19, &[text("mode", "wrap")], &[row(), huge], "goes round");
    refused("Pad", 13, &[], &[row(), Ints(&[2], &[i64::MAX, i64::MAX])], "the number");
    let columns = [Data(F32, &[1, 2, 2]), Ints(&[2], &[1 << 31, 1 << 31]), Ints(&[2], &[1 << 31, 1 << 31])];
    refused("Col2Im", 18, &[], &columns, "a picture of");
    refused("Range", 11, &[], &[Ints(&[], &[0]), Ints(&[], &[1 << 40]), Ints(&[], &[1])], "a range");
}

/// A few bytes of a model may ask for any number of elements: what is made of them is limited for the whole of it.
#[test]
fn constants_that_no_file_holds() {
    let many = [Ints(&[], &[0]), Ints(&[], &[1 << 23]), Ints(&[], &[1])];
    let wide = [Ints(&[], &[1 << 23])];
    for (kind, opset, operands) in [("Range", 11, &many[..]), ("HannWindow", 17, &wide[..])] {
        let outcome = imported(model(kind, opset, &[int("output_datatype", 11)][usize::from(kind == "Range")..], operands, 1));
        assert!(outcome.imported.is_none(), "{kind} is imported");
        assert!(outcome.diagnostics.iter().any(|found| found.code.id() == "E0805"), "{kind}: {:?}", outcome.diagnostics);
    }
}

/// Halves are rounded to even numbers.
#[test]
fn quantized_numbers() {
    let scale = |values: &'static [f32]| if values.len() == 1 { Floats(&[], values) } else { Floats(&[2], values) };
    let zero = || Bytes(I8, &[], &[0]);
    let line = "@main([0.5, 1.5, 2.5, -300]) == [0, 2, 2, -128]";
    gives("QuantizeLinear", 13, &[], &[Data(F32, &[4]), scale(&[1.0]), zero()], 1, line);
    // Since operator set 21 what is left out may be written out.
    let said = || [int("saturate", 1), int("block_size", 0), int("axis", 7)];
    let plain = || [Data(F32, &[1]), scale(&[1.0])];
    gives("QuantizeLinear", 21, &[&said()[..], &[int("output_dtype", 0)]].concat(), &plain(), 1, "@main([-300]) == [0]");
    gives("QuantizeLinear", 21, &[&said()[..], &[int("output_dtype", 3)]].concat(), &plain(), 1, "@main([-300]) == [-128]");
    gives("DequantizeLinear", 21, &[int("block_size", 0)], &[Data(U8, &[1]), scale(&[2.0])], 1, "@main([3]) == [6]");
    refused("QuantizeLinear", 21, &[int("output_dtype", 16)], &plain(), "quantized to `bfloat16`");
    refused("QuantizeLinear", 13, &[int("axis", 5)], &[Data(F32, &[2]), scale(&[1.0, 2.0])], "axis 5 is out of range");
    let by_rows = [Data(U8, &[2, 1]), scale(&[2.0, 3.0]), Bytes(U8, &[2], &[1, 0])];
    gives("DequantizeLinear", 13, &[int("axis", 0)], &by_rows, 1, "@main([1, 2]) == [[0], [6]]");
    gives("DynamicQuantizeLinear", 11, &[], &[Data(F32, &[2])], 3, "@main([0, 255]) == ([0, 255], 1, 0)");
    let operands = [Data(U8, &[1, 2]), Data(U8, &[2, 1]), Bytes(U8, &[], &[1]), Bytes(U8, &[], &[2])];
    gives("MatMulInteger", 10, &[], &operands, 1, "@main([3, 1], [5, 7]) == [[6]]");
    let x = || Data(U8, &[1, 1, 2, 2]);
    let w = || Bytes(U8, &[1, 1, 1, 1], &[3]);
    gives("ConvInteger", 10, &[], &[x(), w(), Bytes(U8, &[], &[1])], 1, "@main([1, 2, 3, 0]) == [[[[0, 3], [6, -3]]]]");
    let one = || Floats(&[], &[1.0]);
    let half = Floats(&[], &[0.5]);
    let operands = [x(), one(), Bytes(U8, &[], &[0]), w(), half, Bytes(U8, &[], &[0]), one(), Bytes(U8, &[], &[10])];
    // 1.5 and 4.5 lie between two numbers.
    gives("QLinearConv", 10, &[], &operands, 1, "@main([1, 2, 3, 0]) == [[[[12, 13], [14, 10]]]]");
}

/// What ONNX Runtime 1.32 gives for these numbers on x86-64.
#[test]
fn quantized_by_onnx_runtime() {
    let number = |value: &'static [f32]| Floats(&[], value);
    let zero = |value: &'static [u8]| Bytes(U8, &[], value);
    let half = || [number(&[0.5]), zero(&[1])];
    let [x, y] = [|| Data(U8, &[4]), || Data(U8, &[4])];
    let pair = || {
        let ([a_scale, a_zero], [b_scale, b_zero]) = (half(), [number(&[0.25]), zero(&[2])]);
        [x(), a_scale, a_zero, y(), b_scale, b_zero, number(&[1.0]), zero(&[3])]
    };
    // The zero point is added before the sum is rounded: 3.5 and 4.5 become 4.
    let line = "@main([2, 4, 255, 0], [2, 2, 255, 0]) == [4, 4, 193, 2]";
    gives("com.microsoft.QLinearAdd", 1, &[], &pair(), 1, line);
    gives("com.microsoft.QLinearMul", 1, &[], &pair(), 1, "@main([2, 4, 255, 0], [6, 6, 255, 0]) == [4, 4, 255, 3]");
    let line = "@main([True, False, True, False], [2, 4, 255, 0], [2, 6, 255, 9]) == [3, 4, 130, 5]";
    let [a, a_scale, a_zero, b, b_scale, b_zero, to, to_zero] = pair();
    let chosen = [Data(BOOL, &[4]), a, a_scale, a_zero, b, b_scale, b_zero, to, to_zero];
    gives("com.microsoft.QLinearWhere", 1, &[], &chosen, 1, line);
    let [scale, zero_point] = half();
    let joined = [scale, zero_point, x(), number(&[0.5]), zero(&[1]), y(), number(&[1.0]), zero(&[0])];
    let line = "@main([2, 4, 255, 0], [0, 1, 2, 200]) == [2, 4, 255, 0, 1, 3, 5, 255]";
    gives("com.microsoft.QLinearConcat", 1, &[int("axis", 0)], &joined, 1, line);
    refused("com.microsoft.QLinearConcat", 1, &[], &joined, "`axis` is missing");
    let one = |x: In, to: In, to_zero: In| {
        let [scale, zero_point] = half();
        [x, scale, zero_point, to, to_zero]
    };
    let share = || one(x(), number(&[0.00390625]), zero(&[0]));
    gives("com.microsoft.QLinearSigmoid", 1, &[], &share(), 1, "@main([1, 3, 255, 0]) == [128, 187, 255, 97]");
    let leaky = one(x(), number(&[0.25]), zero(&[10]));
    gives("com.microsoft.QLinearLeakyRelu", 1, &[float("alpha", 0.5)], &leaky, 1, "@main([1, 3, 100, 0]) == [10, 14, 208, 9]");
    let softmax = || [int("axis", -1), int("opset", 13)];
    gives("com.microsoft.QLinearSoftmax", 1, &softmax(), &share(), 1, "@main([1, 1, 3, 0]) == [48, 48, 131, 29]");
    let image = || Data(U8, &[1, 1, 2, 2]);
    let pooled = || one(image(), number(&[1.0]), zero(&[4]));
    gives("com.microsoft.QLinearGlobalAveragePool", 1, &[], &pooled(), 1, "@main([1, 2, 3, 6]) == [[[[5]]]]");
    let window = [ints("kernel_shape", &[2, 1])];
    gives("com.microsoft.QLinearAveragePool", 1, &window, &pooled(), 1, "@main([1, 2, 3, 6]) == [[[[4, 6]]]]");
    refused("com.microsoft.QLinearAveragePool", 1, &[int("channels_last", 1)], &pooled(), "channels_last");
    let rows = || [Data(U8, &[1, 2]), number(&[0.5]), zero(&[1])];
    let weights = || [Bytes(I8, &[2, 2], &[1, 2, 255, 3]), Floats(&[2], &[0.5, 0.25]), Bytes(I8, &[2], &[0, 0])];
    let ([a, a_scale, a_zero], [b, b_scale, b_zero]) = (rows(), weights());
    let bias = Bytes(I32, &[2], &[1, 0, 0, 0, 2, 0, 0, 0]);
    let gemm = [a, a_scale, a_zero, b, b_scale, b_zero, bias, number(&[0.5]), zero(&[7])];
    gives("com.microsoft.QGemm", 1, &[], &gemm, 1, "@main([3, 9]) == [[5, 15]]");
    let ([a, a_scale, a_zero], [b, b_scale, b_zero]) = (rows(), weights());
    let floats = [a, b, a_scale, b_scale, a_zero, b_zero, Floats(&[2], &[1.0, 2.0])];
    gives("com.microsoft.MatMulIntegerToFloat", 1, &[], &floats, 1, "@main([3, 9]) == [[-0.5, 5.5]]");
    let [b, b_scale, b_zero] = weights();
    let dynamic = [Data(F32, &[1, 2]), b, b_scale, b_zero, Floats(&[2], &[1.0, 2.0])];
    gives("com.microsoft.DynamicQuantizeMatMul", 1, &[], &dynamic, 1, "@main([0, 255]) == [[-126.5, 193.25]]");
}

/// One number of state; weights 1, and a half for the state before.
#[test]
fn recurrence() {
    let hidden = || int("hidden_size", 1);
    let steps = || Data(F32, &[2, 1, 1]);
    let (ones, halves) = (Floats(&[1, 4, 1], &[1.0; 4]), Floats(&[1, 4, 1], &[0.5; 4]));
    let line = "@main([1, 2]) ~1e-6 ([[[[0.3696064]]], [[[0.7912358]]]], [[[0.7912358]]], [[[1.3768755]]])";
    gives("LSTM", 14, &[hidden()], &[steps(), ones, halves], 3, line);
    let simple = || [steps(), Floats(&[1, 1, 1], &[1.0]), Floats(&[1, 1, 1], &[0.5])];
    let line = "@main([1, 2]) ~1e-6 ([[[[0.9018446]]], [[[0.9640276]]]], [[[0.9018446]]])";
    gives("RNN", 14, &[hidden(), text("direction", "reverse")], &simple(), 2, line);
    // A sequence that has ended keeps its state and gives 0.
    let [x, weights, recurrence] = simple();
    let ends = [x, weights, recurrence, Missing, Bytes(6, &[1], &[1, 0, 0, 0])];
    gives("RNN", 14, &[hidden()], &ends, 2, "@main([1, 2]) ~1e-6 ([[[[0.7615942]]], [[[0]]]], [[[0.7615942]]])");
    let gru = || {
        let bias = Floats(&[1, 6], &[0.0, 0.0, 0.0, 0.0, 0.0, 0.25]);
        let (ones, halves) = (Floats(&[1, 3, 1], &[1.0; 3]), Floats(&[1, 3, 1], &[0.5; 3]));
        [Data(F32, &[1, 1, 1]), ones, halves, bias, Missing, Floats(&[1, 1, 1], &[0.5])]
    };
    gives("GRU", 14, &[hidden()], &gru(), 1, "@main([1]) ~1e-6 [[[[0.5878697]]]]");
    gives("GRU", 14, &[hidden(), int("linear_before_reset", 1)], &gru(), 1, "@main([1]) ~1e-6 [[[[0.585266]]]]");
    refused("RNN", 14, &[hidden(), text("direction", "sideways")], &simple(), "sideways");
    refused("RNN", 14, &[hidden(), text("direction", "bidirectional")], &simple(), "input 1 has not a part for each of 2");
}

#[test]
fn signals_losses_and_boxes() {
    gives("HannWindow", 17, &[], &[Ints(&[], &[4])], 1, "@main() ~1e-6 [0, 0.5, 1, 0.5]");
    let line = "@main([1, 2, 4]) ~1e-5 [[[7, 0], [-2, 1.7320508]]]";
    gives("DFT", 17, &[int("onesided", 1)], &[Data(F32, &[1, 3, 1])], 1, line);
    let both = [int("onesided", 1), int("inverse", 1)];
    refused("DFT", 17, &both, &[Data(F32, &[1, 3, 1])], "an inverse transform of one side");
    let frames = [Data(F32, &[1, 4, 1]), Ints(&[], &[2]), Missing, Ints(&[], &[2])];
    gives("STFT", 17, &[], &frames, 1, "@main([1, 2, 3, 5]) ~1e-5 [[[[3, 0], [-1, 0]], [[8, 0], [-2, 0]]]]");
    let scores = [Data(F32, &[1, 3]), Data(I64, &[1])];
    let line = "@main([0, 1, 2], [1]) ~1e-6 (1.407606, [[-2.407606, -1.407606, -0.407606]])";
    gives("SoftmaxCrossEntropyLoss", 13, &[], &scores, 2, line);
    let weighted = [Data(F32, &[2, 2]), Data(I64, &[2]), Floats(&[2], &[1.0, 3.0])];
    let flags = [int("ignore_index", -5), text("reduction", "sum")];
    gives("NegativeLogLikelihoodLoss", 13, &flags, &weighted, 1, "@main([-1, -2, -3, -4], [1, -5]) == 6");
}

#[test]
fn curves() {
    let pair = || [Data(F32, &[2])];
    gives("Elu", 6, &[], &pair(), 1, "@main([-1, 2]) ~1e-6 [-0.6321206, 2]");
    gives("Celu", 12, &[float("alpha", 2.0)], &pair(), 1, "@main([-1, 2]) ~1e-6 [-0.7869387, 2]");
    gives("Selu", 6, &[], &pair(), 1, "@main([-1, 1]) ~1e-6 [-1.1113307, 1.050701]");
    gives("Softplus", 1, &[], &pair(), 1, "@main([1, 1000]) ~1e-6 [1.3132617, 1000]");
    gives("Mish", 18, &[], &pair(), 1, "@main([1, 0]) ~1e-6 [0.8650984, 0]");
    gives("Gelu", 20, &[], &pair(), 1, "@main([1, 0]) ~1e-6 [0.8413447, 0]");
    gives("Swish", 24, &[float("alpha", 2.0)], &pair(), 1, "@main([1, 0]) ~1e-6 [0.8807971, 0]");
    gives("BitCast", 26, &[int("to", 6)], &pair(), 1, "@main([1, 0]) == [1065353216, 0]");
    refused("BitCast", 26, &[int("to", 7)], &pair(), "the bits of `float32` as `int64`");
    gives("Shrink", 9, &[float("bias", 1.0)], &pair(), 1, "@main([-2, 0.25]) == [-1, 0]");
    gives("IsInf", 10, &[int("detect_negative", 0)], &pair(), 1, "@main([-inf, inf]) == [0, 1]");
    gives("Round", 11, &[], &pair(), 1, "@main([2.5, -1.5]) == [2, -2]");
    let two = || [Data(F32, &[2]), Floats(&[], &[3.0])];
    gives("Mod", 13, &[int("fmod", 1)], &two(), 1, "@main([-4, 4]) == [-1, 1]");
    gives("Mod", 13, &[], &[Data(I64, &[2]), Ints(&[], &[3])], 1, "@main([-4, 4]) == [2, 1]");
    gives("Pow", 13, &[], &[Data(I64, &[2]), Ints(&[], &[3])], 1, "@main([-4, 4]) == [-64, 64]");
    // Integers are multiplied where the exponent is known; else float64 holds those up to 2^53.
    let square = [Data(I64, &[1]), Ints(&[], &[2])];
    gives("Pow", 13, &[], &square, 1, "@main([3037000499]) == [9223372030926249001]");
    gives("Pow", 13, &[], &[Data(I64, &[2]), Floats(&[1], &[11.0])], 1, "@main([-3, 2]) == [-177147, 2048]");
    gives("Pow", 13, &[], &[Data(I64, &[2]), Ints(&[], &[0])], 1, "@main([0, 5]) == [1, 1]");
    gives("Pow", 13, &[], &[Data(I32, &[1]), Data(F32, &[1])], 1, "@main([16777217], [1]) == [16777217]");
    // The upper bound wins where it is the smaller one.
    let bounds = [Data(F32, &[2]), Floats(&[], &[2.0]), Floats(&[], &[1.0])];
    gives("Clip", 13, &[], &bounds, 1, "@main([0, 5]) == [1, 1]");
    gives("Clip", 13, &[], &[Data(F32, &[2]), Missing, Data(F32, &[])], 1, "@main([0, 5], 3) == [0, 3]");
    gives("Clip", 6, &[float("max", 3.0)], &pair(), 1, "@main([0, 5]) == [0, 3]");
    gives(
        "BitShift",
        11,
        &[text("direction", "RIGHT")],
        &[Data(U8, &[2]), Bytes(U8, &[], &[1])],
        1,
        "@main([4, 255]) == [2, 127]",
    );
}

/// What `output_shape` adds is put behind, what it takes away is cut at both ends.
#[test]
fn transposed_convolutions() {
    let x = || [Data(F32, &[1, 1, 2]), Floats(&[1, 1, 2], &[1.0, 10.0])];
    gives("ConvTranspose", 11, &[ints("strides", &[2])], &x(), 1, "@main([1, 2]) == [[[1, 10, 2, 20]]]");
    let longer = [ints("strides", &[2]), ints("output_shape", &[5])];
    gives("ConvTranspose", 11, &longer, &x(), 1, "@main([1, 2]) == [[[1, 10, 2, 20, 0]]]");
    let shorter = [ints("strides", &[2]), ints("output_shape", &[3])];
    gives("ConvTranspose", 11, &shorter, &x(), 1, "@main([1, 2]) == [[[10, 2, 20]]]");
    let upper = [&shorter[..], &[text("auto_pad", "SAME_UPPER")]].concat();
    gives("ConvTranspose", 11, &upper, &x(), 1, "@main([1, 2]) == [[[1, 10, 2]]]");
    refused("ConvTranspose", 11, &[ints("strides", &[1 << 40])], &x(), "the number");
    let open = || [Data(F32, &[-1, 1, -2]), Floats(&[1, 1, 2], &[1.0, 10.0])];
    gives("ConvTranspose", 11, &[ints("strides", &[2])], &open(), 1, "@main([[[1, 2]]]) == [[[1, 10, 2, 20]]]");
    refused("ConvTranspose", 11, &longer, &open(), "`relayc import --shape x0=n1,1,n2`");
    refused("ConvTranspose", 11, &[ints("output_shape", &[-1])], &x(), "`output_shape` has the number -1");
}

/// The factor of an axis that only a run knows is that of the node, not the quotient of the sizes.
#[test]
fn images_of_unknown_size() {
    let by = |scales: &'static [f32]| [Data(F32, &[1, 1, -1]), Missing, Floats(&[3], scales)];
    gives("Resize", 13, &[text("mode", "linear")], &by(&[1.0, 1.0, 0.5]), 1, "@main([[[1, 2, 3, 4, 5]]]) ~1e-6 [[[1.5, 3.5]]]");
    gives(
        "Resize",
        13,
        &[text("mode", "cubic")],
        &by(&[1.0, 1.0, 0.5]),
        1,
        "@main([[[1, 2, 3, 4]]]) ~1e-6 [[[1.40625, 3.59375]]]",
    );
    let inside = [text("mode", "cubic"), int("exclude_outside", 1)];
    gives("Resize", 13, &inside, &by(&[1.0, 1.0, 0.5]), 1, "@main([[[1, 2, 3, 4]]]) ~1e-6 [[[1.3714286, 3.6285714]]]");
    let floor = [text("coordinate_transformation_mode", "asymmetric"), text("nearest_mode", "floor")];
    gives("Resize", 13, &floor, &by(&[1.0, 1.0, 1.7]), 1, "@main([[[1, 2, 3, 4, 5]]]) == [[[1, 1, 2, 2, 3, 3, 4, 5]]]");
    let aligned = [text("mode", "linear"), text("coordinate_transformation_mode", "align_corners")];
    gives("Resize", 13, &aligned, &by(&[1.0, 1.0, 1.5]), 1, "@main([[[1, 2]]]) ~1e-6 [[[1, 1.5, 2]]]");
    let sizes = [Data(F32, &[1, 1, -1]), Missing, Missing, Ints(&[3], &[1, 1, 4])];
    gives("Resize", 13, &[], &sizes, 1, "@main([[[1, 2]]]) == [[[1, 1, 2, 2]]]");
    gives("Resize", 13, &[], &sizes, 1, "@main([[[1, 2, 3]]]) == [[[1, 2, 2, 3]]]");
    refused("Resize", 18, &[text("mode", "linear"), int("antialias", 1)], &by(&[1.0, 1.0, 0.5]), "antialiasing");
    let found = || [Data(F32, &[1, 1, -1]), Missing, Missing, Data(I64, &[1])];
    let last = |more: AttributeProto| [ints("axes", &[2]), more];
    gives("Resize", 18, &last(text("mode", "nearest")), &found(), 1, "@main([[[1, 2]]], [4]) == [[[1, 1, 2, 2]]]");
    gives("Resize", 18, &last(text("mode", "linear")), &found(), 1, "@main([[[1, 3]]], [4]) ~1e-6 [[[1, 1.5, 2.5, 3]]]");
    refused("Resize", 18, &last(text("keep_aspect_ratio_policy", "not_larger")), &found(), "keeps its proportions");
}

/// Rounding up leaves out what would begin behind the data, in the padding at the end.
#[test]
fn pools_that_round_up() {
    let row = || [Data(F32, &[1, 1, 5])];
    let window = [ints("kernel_shape", &[2]), ints("strides", &[3]), ints("pads", &[1, 1]), int("ceil_mode", 1)];
    gives("MaxPool", 12, &window, &row(), 1, "@main([1, 2, 3, 4, 5]) == [[[1, 4]]]");
    gives("MaxPool", 12, &window, &row(), 2, "@main([1, 2, 3, 4, 5]) == ([[[1, 4]]], [[[0, 3]]])");
    gives("AveragePool", 19, &window, &row(), 1, "@main([1, 2, 3, 4, 5]) == [[[1, 3.5]]]");
    let counted = [&window[..], &[int("count_include_pad", 1)]].concat();
    gives("AveragePool", 19, &counted, &row(), 1, "@main([1, 2, 3, 4, 5]) == [[[0.5, 3.5]]]");
    // The last window begins in the data and reaches over the end.
    let over = [ints("kernel_shape", &[2]), ints("strides", &[2]), int("ceil_mode", 1)];
    gives("MaxPool", 12, &over, &row(), 1, "@main([1, 2, 3, 4, 5]) == [[[2, 4, 5]]]");
    gives("LpPool", 18, &over, &[Data(F32, &[1, 1, 3])], 1, "@main([3, 4, 5]) == [[[5, 5]]]");
    let open = || [Data(F32, &[1, 1, -1])];
    gives("MaxPool", 12, &over, &open(), 1, "@main([[[1, 2, 3]]]) == [[[2, 3]]]");
    refused("MaxPool", 12, &window, &open(), "`ceil_mode`");
    refused("GlobalLpPool", 2, &[], &[Data(F32, &[1, 2])], "no spatial axes");
}

/// Points lie between elements of the picture `10 y + x`, whose middles are at halves.
#[test]
fn boxes_of_half_pixels() {
    let picture = "[0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33]";
    let operands = |boxes: In, n: i64| {
        let pictures = if n == 1 { Ints(&[1], &[0]) } else { Ints(&[2], &[0, 0]) };
        [Data(F32, &[1, 1, 4, 4]), boxes, pictures]
    };
    let one_point = || [int("sampling_ratio", 1)];
    // Half an element wide; and outside, where nothing is.
    let line = format!("@main({picture}, [[1, 1, 1.5, 1.5], [-3, -3, -2, -2]]) == [[[[8.25]]], [[[0]]]]");
    gives("RoiAlign", 16, &one_point(), &operands(Data(F32, &[2, 4]), 2), 1, &line);
    // Of pictures of any size.
    let picture_2d = "[[[[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23], [30, 31, 32, 33]]]]";
    let line = format!("@main({picture_2d}, [[1, 1, 1.5, 1.5], [-3, -3, -2, -2]]) == [[[[8.25]]], [[[0]]]]");
    let open = [Data(F32, &[1, 1, -1, -2]), Data(F32, &[2, 4]), Ints(&[2], &[0, 0])];
    gives("RoiAlign", 16, &one_point(), &open, 1, &line);
    let whole = || operands(Floats(&[1, 4], &[0.5, 0.5, 2.5, 2.5]), 1);
    gives("RoiAlign", 16, &[], &whole(), 1, &format!("@main({picture}) == [[[[11]]]]"));
    let bins = [int("output_height", 1), int("output_width", 2), int("sampling_ratio", 2)];
    let line = format!("@main({picture}, [[0.5, 0.5, 2.5, 2.5]]) == [[[[10.5, 11.5]]]]");
    gives("RoiAlign", 16, &bins, &operands(Data(F32, &[1, 4]), 1), 1, &line);
    refused("RoiAlign", 16, &[], &operands(Data(F32, &[1, 4]), 1), "that only a run knows");
    refused("RoiAlign", 16, &[], &operands(Floats(&[1, 4], &[1.0, 1.0, 1.5, 1.5]), 1), "boxes that are small");
    let sideways = [text("coordinate_transformation_mode", "sideways")];
    refused("RoiAlign", 16, &sideways, &whole(), "the coordinates `sideways`");
}

/// Of batches one dimension may be open: of two only the product would be compared.
#[test]
fn open_batches() {
    let line = "@main([[[[1]]], [[[2]]]], [[[[3]]], [[[5]]]]) == [[[[3]]], [[[10]]]]";
    gives("MatMul", 13, &[], &[Data(F32, &[-1, 1, 1, 1]), Data(F32, &[-1, 1, 1, 1])], 1, line);
    gives("MatMul", 13, &[], &[Data(F32, &[-1, -2, 1, 1]), Data(F32, &[-1, -2, 1, 1])], 1, line);
    // Two names that have to be one size, in batches and inside of a product.
    gives("MatMul", 13, &[], &[Data(F32, &[-1, 1, 1, 1]), Data(F32, &[-2, 1, 1, 1])], 1, line);
    let line = "@main([[1, 10]], [[1, 2], [3, 4]]) == [[31, 42]]";
    gives("MatMul", 13, &[], &[Data(F32, &[1, -1]), Data(F32, &[-2, 2])], 1, line);
}

/// Queries of 0 look at all keys alike.
#[test]
fn attention() {
    let one = |dims: &'static [i64]| Data(F32, dims);
    let (q, kv) = (|| one(&[1, 1, 1, 1]), || one(&[1, 1, 2, 1]));
    let shares = "@main([[[[1]]]], [[[[0], [0.6931472]]]], [[[[0], [3]]]]) ~1e-5 [[[[2]]]]";
    gives("Attention", 23, &[], &[q(), kv(), kv()], 1, shares);
    let scaled = "@main([[[[1]]]], [[[[0], [0.3465736]]]], [[[[0], [3]]]]) ~1e-5 [[[[2]]]]";
    gives("Attention", 23, &[float("scale", 2.0)], &[q(), kv(), kv()], 1, scaled);
    // The first query sees the first key only.
    let causal = "@main([0, 0], [1, 2], [2, 4]) ~1e-6 [[[[2], [3]]]]";
    gives("Attention", 23, &[int("is_causal", 1)], &[kv(), kv(), kv()], 1, causal);
    // Of a query that sees no key there is 0.
    let mask = Bytes(BOOL, &[2, 2], &[0, 0, 0, 1]);
    gives("Attention", 23, &[], &[kv(), kv(), kv(), mask], 1, "@main([0, 0], [1, 2], [2, 4]) == [[[[0], [4]]]]");
    let added = Floats(&[1, 2], &[0.0, f32::NEG_INFINITY]);
    gives("Attention", 23, &[], &[q(), kv(), kv(), added], 1, "@main([0], [1, 2], [2, 4]) == [[[[2]]]]");
    // Two heads side by side; then two heads of queries for one of keys.
    let packed = || [Data(F32, &[1, 1, 2]), Data(F32, &[1, 2, 2]), Data(F32, &[1, 2, 2])];
    let heads = [int("q_num_heads", 2), int("kv_num_heads", 2)];
    gives("Attention", 23, &heads, &packed(), 1, "@main([0, 0], [1, 2, 3, 4], [1, 10, 3, 30]) ~1e-6 [[[2, 20]]]");
    let grouped = [Data(F32, &[1, 2, 1, 1]), kv(), kv()];
    gives("Attention", 23, &[], &grouped, 1, "@main([0, 0], [1, 2], [2, 4]) ~1e-6 [[[[3]], [[3]]]]");
    let past = [q(), q(), q(), Missing, q(), q()];
    let line = "@main([0], [5], [4], [1], [2]) ~1e-6 ([[[[3]]]], [[[[1], [5]]]], [[[[2], [4]]]], [[[[0, 0]]]])";
    gives("Attention", 23, &[], &past, 4, line);
    refused("Attention", 23, &[int("is_causal", 1)], &past, "`is_causal` and a past");
    refused("Attention", 23, &[int("q_num_heads", 3), int("kv_num_heads", 1)], &packed(), "2 in 3 equal parts");
}

#[test]
fn positions_of_transformers() {
    let half = |value: f32| if value == 0.0 { Floats(&[1, 1, 2], &[0.0, 0.0]) } else { Floats(&[1, 1, 2], &[1.0, 1.0]) };
    let x = || Data(F32, &[1, 1, 1, 4]);
    // A quarter turn of each pair.
    gives("RotaryEmbedding", 23, &[], &[x(), half(0.0), half(1.0)], 1, "@main([1, 2, 3, 4]) == [[[[-3, -4, 1, 2]]]]");
    let side_by_side = [int("interleaved", 1)];
    gives("RotaryEmbedding", 23, &side_by_side, &[x(), half(0.0), half(1.0)], 1, "@main([1, 2, 3, 4]) == [[[[-2, 1, -4, 3]]]]");
    // By the angles of position 1, of the first two numbers only, of a head of three axes.
    let table = [Data(F32, &[1, 1, 4]), Floats(&[2, 1], &[1.0, 0.0]), Floats(&[2, 1], &[0.0, 1.0]), Ints(&[1, 1], &[1])];
    let partly = [int("num_heads", 1), int("rotary_embedding_dim", 2)];
    gives("RotaryEmbedding", 23, &partly, &table, 1, "@main([1, 2, 3, 4]) == [[[-2, 1, 3, 4]]]");
    let cache = || [Data(F32, &[1, 4, 1]), Data(F32, &[1, 2, 1]), Ints(&[1], &[3])];
    gives("TensorScatter", 24, &[text("mode", "circular")], &cache(), 1, "@main([1, 2, 3, 4], [8, 9]) == [[[9], [2], [3], [8]]]");
    let [whole, update, _] = cache();
    gives("TensorScatter", 24, &[], &[whole, update], 1, "@main([1, 2, 3, 4], [8, 9]) == [[[8], [9], [3], [4]]]");
    let theta = || Data(F32, &[1, 2, 3]);
    let size = || Ints(&[4], &[1, 1, 1, 2]);
    let line = "@main([1, 0, 0, 0, 1, 0.25]) == [[[[-0.5, 0.25], [0.5, 0.25]]]]";
    gives("AffineGrid", 20, &[], &[theta(), size()], 1, line);
    let line = "@main([1, 0, 0, 0, 1, 0.25]) == [[[[-1, 0.25], [1, 0.25]]]]";
    gives("AffineGrid", 20, &[int("align_corners", 1)], &[theta(), size()], 1, line);
    refused("AffineGrid", 20, &[], &[theta(), Data(I64, &[4])], "only a run knows");
}
