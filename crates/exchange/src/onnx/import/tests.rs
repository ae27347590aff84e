//! Tests the rules of a model's structure, each with a model that keeps it and one that breaks it.

use super::super::proto::{
    AttributeProto, DimensionProto, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto,
    TensorTypeProto, TypeProto, ValueInfoProto, attribute_type,
};
use super::*;
use relayc_base::diag::codes;

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

fn request(keep_going: bool) -> Import<'static> {
    Import { name: "m", file: FileId(0), shapes: &[], sizes: &[], constants: &[], keep_going, as_params: true, outside: None }
}

fn run(bytes: Vec<u8>) -> Result<Imported, Vec<Diagnostic>> {
    import(bytes, &request(false)).1
}

#[track_caller]
fn refused(model: &ModelProto, keep_going: bool) -> Vec<Diagnostic> {
    import(model.encode_to_vec(), &request(keep_going)).1.err().expect("it is refused")
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
fn values_are_made_once_and_not_of_themselves() {
    fine(&simple(vec![node("Relu", &["x"], &["y"]), node("Neg", &["y"], &["z"])], &["z"]));
    wrong(&simple(vec![node("Neg", &["y"], &["z"]), node("Relu", &["z"], &["y"])], &["z"]), "in a circle");
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

/// `x` or a value derived from it, selected by a bool.
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
fn nodes_stand_in_any_order() {
    let text = |model: &ModelProto| import(model.encode_to_vec(), &request(false)).0.text;
    let nodes = || vec![node("Relu", &["x"], &["y"]), node("Abs", &["x"], &["v"]), node("Add", &["y", "v"], &["z"])];
    let sorted = text(&simple(nodes(), &["z"]));
    let last_first = || nodes().into_iter().rev().collect::<Vec<_>>();
    assert_eq!(text(&simple(last_first(), &["z"])), sorted);
    let mut turned = choice("y");
    turned.graph.iter_mut().for_each(|graph| graph.node.reverse());
    fine(&turned);
    assert_eq!(text(&turned), text(&choice("y")));
    let in_branches = |nodes: Vec<NodeProto>| {
        let mut model = choice("x");
        let branches = model.graph.iter_mut().flat_map(|graph| &mut graph.node).flat_map(|node| &mut node.attribute);
        for branch in branches.filter_map(|attribute| attribute.g.as_mut()) {
            **branch = GraphProto { input: vec![], ..graph(nodes.clone(), &["z"]) };
        }
        model
    };
    fine(&in_branches(last_first()));
    assert_eq!(text(&in_branches(last_first())), text(&in_branches(nodes())));
    fine(&with_functions(vec![function("f0", vec![node("Neg", &["c"], &["b"]), node("Abs", &["a"], &["c"])])]));
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

fn weight(name: &str, dims: &[i64], bytes: usize) -> TensorProto {
    let raw_data = Some(vec![0; bytes].into());
    TensorProto { name: Some(name.into()), data_type: Some(1), dims: dims.to_vec(), raw_data, ..TensorProto::default() }
}

fn attribute_of(name: &str, kind: i32) -> AttributeProto {
    AttributeProto { name: Some(name.into()), r#type: Some(kind), ..AttributeProto::default() }
}

fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: Some(value), ..attribute_of(name, attribute_type::INT) }
}

/// A float32 of a shape.
fn shaped(name: &str, dims: &[i64]) -> ValueInfoProto {
    let dim = |&dim: &i64| DimensionProto { dim_value: Some(dim), dim_param: None };
    let shape = Some(TensorShapeProto { dim: dims.iter().map(dim).collect() });
    let tensor_type = Some(TensorTypeProto { elem_type: Some(1), shape });
    ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto { tensor_type, ..TypeProto::default() }) }
}

/// A scan of `n` operands over `turns` positions.
fn scan(turns: i64, n: usize, body: GraphProto) -> ModelProto {
    let operands = vec!["x"; n];
    let attribute = vec![
        AttributeProto { g: Some(Box::new(body)), ..attribute_of("body", attribute_type::GRAPH) },
        int("num_scan_inputs", n as i64),
    ];
    let scan = NodeProto { attribute, ..node("Scan", &operands, &["y"]) };
    model(GraphProto { input: vec![shaped("x", &[turns, 2])], ..graph(vec![scan], &["y"]) })
}

#[test]
fn a_tensor_of_a_body_is_one_for_all_turns() {
    let body = GraphProto {
        input: vec![shaped("s", &[2])],
        initializer: vec![weight("w", &[2], 8)],
        ..graph(vec![node("Mul", &["s", "w"], &["o"])], &["o"])
    };
    let imported = run(scan(4, 1, body).encode_to_vec()).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert_eq!(imported.weights.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["w"]);
    // And that of an attribute for all calls.
    let held = AttributeProto { t: Some(Box::new(weight("", &[2], 8))), ..attribute_of("value", attribute_type::TENSOR) };
    let constant = NodeProto { attribute: vec![held], ..node("Constant", &[], &["w"]) };
    let functions = vec![function("f0", vec![constant, node("Add", &["a", "w"], &["b"])])];
    let nodes = vec![call("f0", "x", "y"), call("f0", "y", "z")];
    let imported = run(ModelProto { functions, ..simple(nodes, &["z"]) }.encode_to_vec());
    assert_eq!(imported.unwrap_or_else(|errors| panic!("{errors:?}")).weights.len(), 1);
}

/// Each iteration has twenty operands, and no node.
#[test]
fn turns_without_nodes_are_counted() {
    let names: Vec<String> = (0..20).map(|at| format!("s{at}")).collect();
    let input = names.iter().map(|name| shaped(name, &[2])).collect();
    let body = || GraphProto { node: vec![], input, ..graph(vec![], &["s0"]) };
    assert_eq!(refused(&scan(8000, 20, body()), false)[0].code, codes::E0805);
}

#[test]
fn a_node_is_listed_once_and_its_name_is_cut() {
    let long = NodeProto { name: Some("n".repeat(100_000)), ..node("Neg", &["a"], &["b"]) };
    let nodes: Vec<NodeProto> = (0..400).map(|at| call("f0", &format!("v{at}"), &format!("v{}", at + 1))).collect();
    let mut model = ModelProto { functions: vec![function("f0", vec![long])], ..simple(nodes, &["v400"]) };
    model.graph.as_mut().expect("a graph").input = vec![value("v0", true)];
    let (text, imported) = import(model.encode_to_vec(), &request(false));
    assert!(imported.is_ok());
    // The input, the calls and the node; names of the program are cut like the line.
    assert_eq!(text.text.lines().count(), 402);
    assert!(text.text.len() < 20_000 && text.starts.iter().all(|(_, name)| name.len() <= 210));
}

/// An input is a sequence: no additional input could help.
#[test]
fn an_input_that_is_not_supported_is_said_with_keep_going_too() {
    let sequence = TypeProto { sequence_type: Some(Default::default()), ..TypeProto::default() };
    let input = vec![ValueInfoProto { name: Some("x".into()), r#type: Some(sequence) }];
    let model = model(GraphProto { input, ..graph(vec![node("Neg", &["x"], &["z"])], &["z"]) });
    for keep_going in [false, true] {
        let errors = refused(&model, keep_going);
        assert_eq!((errors.len(), errors[0].code, errors[0].helps.len()), (1, codes::E0715, 0));
        assert_eq!(errors[0].message, "`m`: 1 input cannot be imported");
        assert!(errors[0].notes[0].contains("a sequence"), "{errors:?}");
    }
}

/// The condition cannot be imported, so no branch is converted.
#[test]
fn what_is_inside_of_what_is_not_imported_is_said_as_well() {
    let branch = |kind: &str| graph(vec![node(kind, &["x"], &["t"]), node("Dead", &["x"], &["d"])], &["t"]);
    let choose = with_graph(node("If", &["c"], &["z"]), "then_branch", branch("Bar"));
    let choose = with_graph(choose, "else_branch", GraphProto { ..graph(vec![call("f0", "x", "t")], &["t"]) });
    let nodes = vec![node("Foo", &["x"], &["c"]), choose];
    let functions = vec![function("f0", vec![node("Neg", &["a"], &["m"]), node("Baz", &["m"], &["b"])])];
    let errors = refused(&ModelProto { functions, ..simple(nodes, &["z"]) }, false);
    assert_eq!((errors.len(), errors[0].notes.len()), (1, 3), "{errors:?}");
    // Foo, If, Bar, the call, Neg and Baz.
    assert_eq!(errors[0].message, "`m`: 3 of 6 nodes cannot be imported");
}

#[test]
fn a_node_of_a_function_counts_once() {
    let nodes: Vec<NodeProto> = (0..50).map(|at| call("f0", &format!("v{at}"), &format!("v{}", at + 1))).collect();
    let of = |inner: NodeProto| {
        let mut model = ModelProto { functions: vec![function("f0", vec![inner])], ..simple(nodes.clone(), &["v50"]) };
        model.graph.as_mut().expect("a graph").input = vec![value("v0", true)];
        refused(&model, false)
    };
    let errors = of(node("Qux", &["a"], &["b"]));
    assert_eq!((errors.len(), errors[0].message.as_str()), (1, "`m`: 1 of 51 nodes cannot be imported"));
    let perm = AttributeProto { ints: vec![5], ..attribute_of("perm", attribute_type::INTS) };
    // What is wrong has no value, and what depends on it is silent.
    assert_eq!(of(NodeProto { attribute: vec![perm], ..node("Transpose", &["a"], &["b"]) }).len(), 1);
}

#[test]
fn functions_take_what_they_say() {
    let functions = || vec![function("f0", vec![node("Neg", &["a"], &["b"])])];
    let of = |inputs: &[&str]| {
        let call = NodeProto { domain: Some("local".into()), ..node("f0", inputs, &["z"]) };
        ModelProto { functions: functions(), ..simple(vec![call], &["z"]) }
    };
    fine(&of(&["x", ""]));
    wrong(&of(&["x", "x", "x"]), "the function takes 1 operand, found 3");
}

/// One has the wrong bytes, one is of strings and one is in another file: nothing uses them.
#[test]
fn tensors_that_nothing_takes_are_not_read() {
    let strings = TensorProto { data_type: Some(8), raw_data: None, ..weight("s", &[1], 0) };
    let outside = TensorProto { data_location: Some(1), raw_data: None, ..weight("o", &[1], 0) };
    let unused = vec![weight("u", &[2], 7), strings, outside];
    let with =
        |inner: &str| model(GraphProto { initializer: unused.clone(), ..graph(vec![node("Neg", &[inner], &["z"])], &["z"]) });
    let imported = run(with("x").encode_to_vec()).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert!(imported.weights.is_empty() && imported.module.consts.is_empty());
    wrong(&with("u"), "7 bytes");
    wrong(&with("s"), "tensors of strings");
}

/// A default of an unused input is not an input.
#[test]
fn an_input_with_a_default_is_none_of_the_program() {
    let input = vec![value("x", true), shaped("w", &[2])];
    let graph = GraphProto { input, initializer: vec![weight("w", &[2], 8)], ..graph(vec![node("Neg", &["x"], &["z"])], &["z"]) };
    let imported = run(model(graph).encode_to_vec()).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert_eq!(imported.inputs, [("x".to_owned(), "x".to_owned())]);
}
