//! Builds ONNX models from bytes that are choices: a few nodes of any operator that relayc knows, with any operands and
//! attributes. Models include subgraphs, functions, and sparse tensors.

use super::choices::Choices;
use super::counted::within;
use relayc_driver::import::{Request, onnx_bytes};
use relayc_driver::{Phase, check_text};
use relayc_exchange::onnx::import::table;
use relayc_exchange::onnx::proto::{
    AttributeProto, DimensionProto, FunctionProto, GraphProto, Message, ModelProto, NodeProto, OperatorSetIdProto,
    SparseTensorProto, TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto, attribute_type,
};

/// A model of any bytes is imported or refused, in memory that its size bounds, and what is imported is a right program.
pub fn import(bytes: &[u8]) {
    for keep_going in [false, true] {
        let request = Request { model: "random.onnx".into(), keep_going, ..Request::default() };
        let outcome = within(bytes.len(), || onnx_bytes(bytes.to_vec(), &request));
        let Some(imported) = outcome.imported else {
            assert!(outcome.diagnostics.iter().any(|diagnostic| diagnostic.is_error()), "nothing is said");
            continue;
        };
        let program = check_text("imported", &imported.text, Phase::Main);
        assert!(!program.has_errors(), "{}\n{:?}", imported.text, program.diagnostics);
    }
}

const INTS: [i64; 12] = [0, 1, 2, 3, -1, -2, 4, 7, -5, 1 << 40, i64::MIN, i64::MAX];

/// Attributes that operators have, and one that none has.
const ATTRIBUTES: [&str; 40] = [
    "axis",
    "axes",
    "perm",
    "kernel_shape",
    "strides",
    "pads",
    "dilations",
    "group",
    "to",
    "keepdims",
    "value",
    "mode",
    "alpha",
    "beta",
    "epsilon",
    "direction",
    "hidden_size",
    "blocksize",
    "num_outputs",
    "auto_pad",
    "ceil_mode",
    "transA",
    "transB",
    "start",
    "end",
    "split",
    "starts",
    "ends",
    "exclusive",
    "reverse",
    "largest",
    "sorted",
    "select_last_index",
    "equation",
    "batch_dims",
    "reduction",
    "output_shape",
    "output_padding",
    "count_include_pad",
    "nothing_like_it",
];

const WORDS: [&str; 12] = [
    "",
    "SAME_UPPER",
    "SAME_LOWER",
    "VALID",
    "constant",
    "reflect",
    "edge",
    "linear",
    "bidirectional",
    "ij,jk->ik",
    "add",
    "ß*/",
];

fn value(name: &str, elem_type: i32, dims: &[Option<i64>]) -> ValueInfoProto {
    let dim = |dim: &Option<i64>| DimensionProto { dim_value: *dim, dim_param: None };
    let shape = Some(TensorShapeProto { dim: dims.iter().map(dim).collect() });
    let tensor_type = Some(TensorTypeProto { elem_type: Some(elem_type), shape });
    ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto { tensor_type, ..TypeProto::default() }) }
}

fn ints(name: &str, values: &[i64]) -> TensorProto {
    TensorProto {
        name: Some(name.into()),
        data_type: Some(7),
        dims: vec![values.len() as i64],
        int64_data: values.to_vec(),
        ..TensorProto::default()
    }
}

fn attribute(choices: &mut Choices) -> AttributeProto {
    let named = AttributeProto { name: Some(choices.of(&ATTRIBUTES).into()), ..AttributeProto::default() };
    let kind = [attribute_type::INT, attribute_type::INTS, attribute_type::FLOAT, attribute_type::STRING, attribute_type::TENSOR];
    let named = AttributeProto { r#type: Some(choices.of(&kind)), ..named };
    let n = choices.one(6);
    match named.r#type.unwrap_or(0) {
        attribute_type::INT => AttributeProto { i: Some(choices.of(&INTS)), ..named },
        attribute_type::INTS => AttributeProto { ints: (0..n).map(|_| choices.of(&INTS)).collect(), ..named },
        attribute_type::FLOAT => AttributeProto { f: Some(choices.of(&[0.0, 1.0, -1.5, f32::NAN, f32::INFINITY])), ..named },
        attribute_type::STRING => AttributeProto { s: Some(choices.of(&WORDS).as_bytes().to_vec()), ..named },
        _ => AttributeProto { t: Some(Box::new(ints("", &INTS[..n]))), ..named },
    }
}

/// Graphs are nested so deep.
const MAX_DEPTH: usize = 3;

/// A few nodes, of which each may take what is made before it.
fn nodes(choices: &mut Choices, names: &mut Vec<String>, prefix: &str, depth: usize) -> Vec<NodeProto> {
    let kinds = table();
    let mut made = vec![];
    for at in 0..1 + choices.one(4) {
        let output: Vec<String> = (0..1 + choices.one(3)).map(|result| format!("{prefix}{at}_{result}")).collect();
        let n = choices.one(5);
        let mut input: Vec<String> = (0..n).map(|_| names[names.len() - 1 - choices.one(names.len())].clone()).collect();
        let node = NodeProto { output: output.clone(), ..NodeProto::default() };
        made.push(match choices.one(8) {
            0 if depth < MAX_DEPTH => {
                let kind = choices.of(&["If", "Loop", "Scan"]);
                let mut attribute = vec![];
                let n_inputs = match kind {
                    "If" => 0,
                    "Loop" => {
                        input.insert(0, choices.of(&["n", "one", "zero", ""]).into());
                        input.insert(1, choices.of(&["yes", "c", ""]).into());
                        input.len()
                    }
                    _ => {
                        let number = AttributeProto { r#type: Some(attribute_type::INT), ..AttributeProto::default() };
                        attribute.push(AttributeProto { name: Some("num_scan_inputs".into()), i: Some(1), ..number });
                        input.len()
                    }
                };
                if kind == "If" {
                    input = vec![choices.of(&["c", "yes", "b"]).into()];
                }
                let bodies = if kind == "If" { &["then_branch", "else_branch"][..] } else { &["body"] };
                for (index, name) in bodies.iter().enumerate() {
                    let inner = graph(choices, names, &format!("{prefix}{at}_{index}_"), n_inputs, depth + 1);
                    let graph = AttributeProto { r#type: Some(attribute_type::GRAPH), ..AttributeProto::default() };
                    attribute.push(AttributeProto { name: Some((*name).into()), g: Some(Box::new(inner)), ..graph });
                }
                NodeProto { input, op_type: Some(kind.into()), attribute, ..node }
            }
            1 => NodeProto { input, op_type: Some("f".into()), domain: Some("local".into()), ..node },
            _ => {
                let kind = kinds[(choices.one(256) << 8 | choices.one(256)) % kinds.len()].kind;
                let (domain, kind) = kind.rsplit_once('.').map_or(("", kind), |(domain, kind)| (domain, kind));
                let attribute = (0..choices.one(4)).map(|_| attribute(choices)).collect();
                NodeProto { input, op_type: Some(kind.into()), domain: Some(domain.into()), attribute, ..node }
            }
        });
        names.extend(output);
    }
    made
}

/// A graph inside a node, of any of the names around it.
fn graph(choices: &mut Choices, around: &[String], prefix: &str, n_inputs: usize, depth: usize) -> GraphProto {
    let input: Vec<ValueInfoProto> =
        (0..n_inputs).map(|at| ValueInfoProto { name: Some(format!("{prefix}in{at}")), r#type: None }).collect();
    let mut names: Vec<String> = around.to_vec();
    names.extend(input.iter().flat_map(|input| input.name.clone()));
    let initializer = vec![ints(&format!("{prefix}list"), &[1, 2])];
    names.push(format!("{prefix}list"));
    let node = nodes(choices, &mut names, prefix, depth);
    let n = choices.one(4).max(usize::from(n_inputs == 0));
    let mut output: Vec<String> = (0..n).map(|_| names[names.len() - 1 - choices.one(names.len())].clone()).collect();
    if n_inputs > 0 && choices.one(4) > 0 {
        // What a loop carries, as often as it takes it.
        output = std::iter::once("yes".to_owned()).chain(output.into_iter().cycle().take(n_inputs)).collect();
    }
    let output = output.into_iter().filter(|name| !name.is_empty());
    let output = output.map(|name| ValueInfoProto { name: Some(name), r#type: None }).collect();
    GraphProto { node, input, output, initializer, ..GraphProto::default() }
}

/// A tensor of one element that is not 0.
fn sparse(choices: &mut Choices) -> SparseTensorProto {
    let dims = vec![choices.of(&[4, 1 << 30, 0]), choices.of(&[1, 3, 1 << 30])];
    let indices = Some(Box::new(ints("", &[choices.of(&INTS)])));
    SparseTensorProto { values: Some(Box::new(ints("sparse", &[7]))), indices, dims }
}

/// A model of a few nodes.
fn model(choices: &[u8]) -> ModelProto {
    let mut choices = Choices::new(choices);
    let open = choices.of(&[Some(2), None]);
    let input = vec![
        value("x", 1, &[open, Some(3), Some(4), Some(4)]),
        value("m", 1, &[Some(3), Some(4)]),
        value("v", 1, &[open]),
        value("s", 1, &[]),
        value("i", 7, &[Some(2)]),
        value("b", 9, &[Some(3), Some(4)]),
        value("q", 2, &[Some(3), Some(4)]),
        value("c", 9, &[]),
        value("n", 7, &[]),
    ];
    let list: Vec<i64> = (0..choices.one(5)).map(|_| choices.of(&INTS)).collect();
    let yes = TensorProto { name: Some("yes".into()), data_type: Some(9), int32_data: vec![1], ..TensorProto::default() };
    let initializer = vec![ints("list", &list), ints("one", &[1]), TensorProto { dims: vec![], ..ints("zero", &[0]) }, yes];
    let known = ["x", "m", "v", "s", "i", "b", "q", "c", "n", "yes", "sparse", "list", "one", "zero", ""];
    let mut names: Vec<String> = known.map(str::to_owned).into();
    let node = nodes(&mut choices, &mut names, "r", 0);
    let output = names.iter().rev().take(1 + choices.one(3)).filter(|name| !name.is_empty());
    let output = output.map(|name| ValueInfoProto { name: Some(name.clone()), r#type: None }).collect();
    let sparse_initializer = vec![sparse(&mut choices)];
    let graph = GraphProto { node, input, output, initializer, sparse_initializer, ..GraphProto::default() };
    let opset_import = vec![
        OperatorSetIdProto { domain: None, version: Some(choices.of(&[17, 13, 7, 11, 18, 9, 21, 1])) },
        OperatorSetIdProto { domain: Some("local".into()), version: Some(1) },
    ];
    ModelProto {
        graph: Some(graph),
        functions: vec![function(&mut choices, &opset_import)],
        opset_import,
        ..ModelProto::default()
    }
}

/// What the nodes of a model may call.
fn function(choices: &mut Choices, sets: &[OperatorSetIdProto]) -> FunctionProto {
    let mut names: Vec<String> = ["", "u", "w"].map(str::to_owned).into();
    let mut node = nodes(choices, &mut names, "t", MAX_DEPTH);
    // It does not call itself.
    node.retain(|node| node.op_type.as_deref() != Some("f"));
    let made: Vec<String> = node.iter().flat_map(|node| node.output.clone()).chain(["u".to_owned()]).collect();
    let from = |name: &String| name.is_empty() || name == "w" || made.contains(name);
    for node in &mut node {
        node.input.retain(from);
    }
    FunctionProto {
        name: Some("f".into()),
        domain: Some("local".into()),
        input: vec!["u".into(), "w".into()],
        output: made.iter().take(1 + choices.one(3)).cloned().collect(),
        node,
        opset_import: sets.to_vec(),
        ..FunctionProto::default()
    }
}

/// The promise of [`import`], for models that are sound on the outside.
pub fn import_made(choices: &[u8]) {
    import(&model(choices).encode_to_vec());
}

/// A model to damage.
pub fn small() -> Vec<u8> {
    model(&[1, 2, 3, 0, 1, 4, 5, 6, 2, 1, 0, 3, 2, 9, 1, 4, 4, 4, 2, 2]).encode_to_vec()
}
