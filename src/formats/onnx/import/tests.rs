//! The rules of a model's structure, each with a model that keeps it and one that breaks it.

use super::super::proto::{
    AttributeProto, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto, TensorProto, TensorTypeProto, TypeProto,
    ValueInfoProto, attribute_type,
};
use super::*;
use crate::diag::codes;

fn node(kind: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    NodeProto { input: names(inputs), output: names(outputs), op_type: Some(kind.into()), ..NodeProto::default() }
}

/// A float32 without a known shape, or a scalar.
fn value(name: &str, scalar: bool) -> ValueInfoProto {
    let tensor_type = Some(TensorTypeProto { elem_type: Some(1), shape: scalar.then(Default::default) });
    ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto { tensor_type, ..TypeProto::default() }) }
}

fn graph(nodes: Vec<NodeProto>, outputs: &[&str]) -> GraphProto {
    let output = outputs.iter().map(|name| value(name, false)).collect();
    GraphProto { node: nodes, input: vec![value("x", true)], output, ..GraphProto::default() }
}

fn opset(domain: &str, version: i64) -> OperatorSetIdProto {
    OperatorSetIdProto { domain: Some(domain.into()), version: Some(version) }
}

fn model(graph: GraphProto) -> ModelProto {
    let opset_import = vec![opset("", 17), opset("local", 1)];
    ModelProto { graph: Some(graph), opset_import, ..ModelProto::default() }
}

fn simple(nodes: Vec<NodeProto>, outputs: &[&str]) -> ModelProto {
    model(graph(nodes, outputs))
}

fn run(bytes: Vec<u8>) -> Result<Imported, Vec<Diagnostic>> {
    let request =
        Import { name: "m", file: FileId(0), shapes: &[], constants: &[], keep_going: false, as_params: true, outside: None };
    import(bytes, &request).1
}

fn fine(model: &ModelProto) {
    if let Err(errors) = run(model.encode_to_vec()) {
        panic!("{errors:?}");
    }
}

#[track_caller]
fn wrong(model: &ModelProto, words: &str) {
    let Err(errors) = run(model.encode_to_vec()) else { panic!("it was imported, expected `{words}`") };
    assert!(
        errors.iter().any(|error| error.message.contains(words) || error.notes.iter().any(|note| note.contains(words))),
        "{errors:?}"
    );
}

#[test]
fn values_are_made_once_and_before_they_are_used() {
    fine(&simple(vec![node("Relu", &["x"], &["y"]), node("Neg", &["y"], &["z"])], &["z"]));
    wrong(&simple(vec![node("Neg", &["y"], &["z"]), node("Relu", &["x"], &["y"])], &["z"]), "before it is made");
    wrong(&simple(vec![node("Neg", &["w"], &["z"])], &["z"]), "nothing makes `w`");
    wrong(&simple(vec![node("Neg", &["z"], &["z"])], &["z"]), "in a circle");
    wrong(&simple(vec![node("Neg", &["x"], &["z"]), node("Abs", &["x"], &["z"])], &["z"]), "given twice");
    wrong(&simple(vec![node("Neg", &["x"], &["x"])], &["x"]), "given twice");
    wrong(&simple(vec![], &["z"]), "nothing makes the output `z`");
    wrong(&simple(vec![node("", &["x"], &["z"])], &["z"]), "no operator");
    wrong(&ModelProto::default(), "without a graph");
}

fn with_graph(mut node: NodeProto, name: &str, graph: GraphProto) -> NodeProto {
    let graph = GraphProto { input: vec![], ..graph };
    let named = AttributeProto {
        name: Some(name.into()),
        g: Some(Box::new(graph)),
        r#type: Some(attribute_type::GRAPH),
        ..AttributeProto::default()
    };
    node.attribute.push(named);
    node
}

/// `x` or what is made of it, by a bool.
fn choice(inner: &str) -> ModelProto {
    let branch = |name: &str| graph(vec![node("Neg", &[inner], &[name])], &[name]);
    let choose = with_graph(node("If", &["c"], &["z"]), "then_branch", branch("t"));
    let choose = with_graph(choose, "else_branch", branch("e"));
    let c = node("Cast", &["x"], &["c"]);
    let to =
        AttributeProto { name: Some("to".into()), i: Some(9), r#type: Some(attribute_type::INT), ..AttributeProto::default() };
    let c = NodeProto { attribute: vec![to], ..c };
    simple(vec![c, node("Abs", &["x"], &["y"]), choose], &["z"])
}

#[test]
fn subgraphs_see_what_is_made_before_their_node() {
    fine(&choice("x"));
    fine(&choice("y"));
    wrong(&choice("z"), "`z`");
    wrong(&choice("t"), "`t`");
    wrong(&choice("nothing"), "nothing makes `nothing`");
}

fn function(name: &str, nodes: Vec<NodeProto>) -> FunctionProto {
    FunctionProto {
        name: Some(name.into()),
        domain: Some("local".into()),
        input: vec!["a".into()],
        output: vec!["b".into()],
        node: nodes,
        opset_import: vec![opset("", 17), opset("local", 1)],
        ..FunctionProto::default()
    }
}

fn call(name: &str, input: &str, output: &str) -> NodeProto {
    NodeProto { domain: Some("local".into()), ..node(name, &[input], &[output]) }
}

fn with_functions(functions: Vec<FunctionProto>) -> ModelProto {
    ModelProto { functions, ..simple(vec![call("f0", "x", "z")], &["z"]) }
}

#[test]
fn functions_do_not_call_themselves() {
    fine(&with_functions(vec![function("f0", vec![call("f1", "a", "b")]), function("f1", vec![node("Neg", &["a"], &["b"])])]));
    wrong(&with_functions(vec![function("f0", vec![call("f0", "a", "b")])]), "calls itself");
    let both = [("f0", "f1"), ("f1", "f0")].map(|(name, other)| function(name, vec![call(other, "a", "b")]));
    wrong(&with_functions(both.into()), "calls itself");
    let twice = || function("f0", vec![node("Neg", &["a"], &["b"])]);
    wrong(&with_functions(vec![twice(), twice()]), "two functions `f0`");
    wrong(&with_functions(vec![function("f0", vec![node("Neg", &["x"], &["b"])])]), "nothing makes `x`");
}

/// Each function calls the next one twice.
#[test]
fn functions_that_would_never_end_are_refused() {
    let twice = |at: usize| {
        let next = format!("f{}", at + 1);
        function(&format!("f{at}"), vec![call(&next, "a", "m"), call(&next, "m", "b")])
    };
    let mut functions: Vec<FunctionProto> = (0..40).map(twice).collect();
    functions.push(function("f40", vec![node("Neg", &["a"], &["b"])]));
    let Err(errors) = run(with_functions(functions).encode_to_vec()) else { panic!("2^40 nodes were made") };
    assert_eq!(errors[0].code, codes::E0805);
    let deep = |n: usize| {
        let mut functions: Vec<FunctionProto> =
            (0..n).map(|at| function(&format!("f{at}"), vec![call(&format!("f{}", at + 1), "a", "b")])).collect();
        functions.push(function(&format!("f{n}"), vec![node("Neg", &["a"], &["b"])]));
        with_functions(functions)
    };
    fine(&deep(90));
    wrong(&deep(120), "more than 100 deep");
}

#[test]
fn operator_sets_have_one_version() {
    let with =
        |sets: Vec<OperatorSetIdProto>| ModelProto { opset_import: sets, ..simple(vec![node("Neg", &["x"], &["z"])], &["z"]) };
    fine(&with(vec![opset("ai.onnx", 17)]));
    wrong(&with(vec![opset("", 17), opset("ai.onnx", 18)]), "two versions");
    wrong(&with(vec![opset("", 0)]), "version 0");
    wrong(&with(vec![]), "does not say which version");
    wrong(&with(vec![opset("", 5)]), "operator set 5");
}

#[test]
fn attributes_are_known_and_differ() {
    let alpha = |name: &str| AttributeProto {
        name: Some(name.into()),
        f: Some(0.5),
        r#type: Some(attribute_type::FLOAT),
        ..AttributeProto::default()
    };
    let leaky = |attribute| simple(vec![NodeProto { attribute, ..node("LeakyRelu", &["x"], &["z"]) }], &["z"]);
    fine(&leaky(vec![alpha("alpha")]));
    wrong(&leaky(vec![alpha("alpha"), alpha("alpha")]), "two attributes");
    wrong(&leaky(vec![alpha("beta")]), "not understood: `beta`");
    wrong(&leaky(vec![AttributeProto { r#type: Some(attribute_type::INT), ..alpha("alpha") }]), "of type 2, expected 1");
}

#[test]
fn all_that_is_not_supported_is_said_at_once() {
    let nodes =
        vec![node("Foo", &["x"], &["a"]), node("Foo", &["a"], &["b"]), node("Bar", &["b"], &["z"]), node("Dead", &["x"], &["d"])];
    let Err(errors) = run(simple(nodes, &["z"]).encode_to_vec()) else { panic!("it was imported") };
    assert_eq!((errors.len(), errors[0].code, errors[0].notes.len()), (1, codes::E0715, 2));
    assert!(errors[0].notes[0].starts_with("Foo, 2 times: ") && errors[0].notes[0].contains("`a` and `b`"), "{:?}", errors[0]);
}

#[test]
fn initializers_pass_the_gate() {
    let with = |raw: Vec<u8>| {
        let w = TensorProto {
            name: Some("w".into()),
            data_type: Some(1),
            dims: vec![2],
            raw_data: Some(raw.into()),
            ..TensorProto::default()
        };
        model(GraphProto { initializer: vec![w], ..graph(vec![node("Add", &["x", "w"], &["z"])], &["z"]) })
    };
    let imported = run(with(vec![0; 8]).encode_to_vec()).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert_eq!(imported.weights, vec![("w".to_owned(), Tensor::from_vec(&[2], vec![0f32; 2]))]);
    wrong(&with(vec![0; 7]), "7 bytes");
}

#[test]
fn hostile_bytes_are_refused() {
    let code = |bytes: Vec<u8>| run(bytes).err().map(|errors| errors[0].code);
    assert_eq!(code(b"hello, this is no model".to_vec()), Some(codes::E0703));
    assert_eq!(code(vec![]), Some(codes::E0703));
    // One operator set, without which it is no model: a cut between two would leave a smaller model.
    let whole = ModelProto { opset_import: vec![opset("", 17)], ..simple(vec![node("Neg", &["x"], &["z"])], &["z"]) };
    let bytes = whole.encode_to_vec();
    for end in 1..bytes.len() {
        assert!(code(bytes[..end].to_vec()).is_some(), "cut at {end}");
    }
    // Graphs in attributes in nodes in graphs, deeper than any decoder goes.
    let mut deep = graph(vec![], &[]);
    for _ in 0..60 {
        deep = graph(vec![with_graph(node("If", &["x"], &["z"]), "then_branch", deep)], &[]);
    }
    assert_eq!(code(model(deep).encode_to_vec()), Some(codes::E0703));
}
