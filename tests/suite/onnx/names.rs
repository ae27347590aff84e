//! Names of a model survive: ONNX to text and back to ONNX.

use super::SMALL;
use prost::Message;
use relayc_driver::import::{Request, onnx_bytes};
use relayc_driver::{Phase, check_text, export, model};
use relayc_exchange::onnx::proto::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A model of a network whose names are none that relayc would choose.
fn strange(network: &str, flags: &[&str]) -> ModelProto {
    let flags: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
    let text = model::build(network, &flags, None).ok().unwrap_or_else(|| panic!("{network} builds")).text;
    let bytes = export::to_onnx(&check_text(network, &text, Phase::Infer), "main", &[]).expect("ONNX can say it").bytes;
    let mut model = ModelProto::decode(&*bytes).expect("a model");
    let graph = model.graph.as_mut().expect("a graph");
    // Parameters of the network but the first are weights of the model.
    let weights: Vec<ValueInfoProto> = graph.input.drain(1..).collect();
    graph.initializer.extend(weights.iter().map(zeros));
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    graph.input.iter().for_each(|input| drop(names.insert(name(&input.name), format!("serving:{}/0", name(&input.name)))));
    for (at, tensor) in graph.initializer.iter().enumerate() {
        names.insert(name(&tensor.name), format!("layers.{at}.weight/read"));
    }
    for (at, output) in graph.output.iter().enumerate() {
        names.insert(name(&output.name), format!("StatefulPartitionedCall:{at}"));
    }
    for (at, node) in graph.node.iter_mut().enumerate() {
        node.name = Some(format!("/model/{}_{at}", node.op_type.as_deref().unwrap_or_default()));
        for (result, output) in node.output.iter().enumerate() {
            names.entry(output.clone()).or_insert_with(|| format!("/model/t{at}:{result}"));
        }
    }
    rename(graph, &names);
    model
}

/// A tensor of a value's type.
fn zeros(of: &ValueInfoProto) -> TensorProto {
    let ty = of.r#type.as_ref().and_then(|ty| ty.tensor_type.as_ref()).expect("a tensor");
    let dims: Vec<i64> = ty.shape.iter().flat_map(|shape| &shape.dim).map(|dim| dim.dim_value.expect("a number")).collect();
    let bytes = vec![0u8; 4 * dims.iter().product::<i64>() as usize];
    assert_eq!(ty.elem_type, Some(1), "a float32");
    TensorProto { dims, data_type: ty.elem_type, name: of.name.clone(), raw_data: Some(bytes.into()), ..TensorProto::default() }
}

fn rename(graph: &mut GraphProto, names: &BTreeMap<String, String>) {
    let to = |name: &mut String| *name = names.get(name).cloned().unwrap_or_else(|| name.clone());
    let values = graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info);
    values.filter_map(|value| value.name.as_mut()).for_each(to);
    graph.initializer.iter_mut().filter_map(|tensor| tensor.name.as_mut()).for_each(to);
    graph.node.iter_mut().flat_map(|node| node.input.iter_mut().chain(&mut node.output)).for_each(to);
}

/// The model as a text, and the text as a model.
fn again(bytes: Vec<u8>) -> (String, ModelProto) {
    let folder = tempfile::tempdir().expect("a folder");
    let params = folder.path().join("net.params");
    let request = Request { params: Some(params.clone()), ..Request::default() };
    let outcome = onnx_bytes(bytes, &request);
    let imported = outcome.imported.unwrap_or_else(|| panic!("{:?}", outcome.diagnostics));
    std::fs::write(&params, imported.weights.expect("weights")).expect("written");
    let program = check_text("again", &imported.text, Phase::Main);
    let model = export::to_onnx(&program, "main", &[params]).expect("ONNX can say it");
    (imported.text, ModelProto::decode(&*model.bytes).expect("a model"))
}

fn graph(model: ModelProto) -> GraphProto {
    model.graph.expect("a graph")
}

/// Names with the dimensions that have names.
fn typed(values: &[ValueInfoProto]) -> Vec<(String, Vec<Option<String>>)> {
    let dims = |value: &ValueInfoProto| {
        let shape = value.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref()?;
        Some(shape.dim.iter().map(|dim| dim.dim_param.as_deref().map(ordered)).collect())
    };
    values.iter().map(|value| (value.name.clone().unwrap_or_default(), dims(value).unwrap_or_default())).collect()
}

/// A sum with its parts in alphabetical order.
fn ordered(sum: &str) -> String {
    let mut parts: Vec<&str> = sum.split(" + ").collect();
    parts.sort_unstable();
    parts.join(" + ")
}

/// The nodes: operator and name.
fn nodes(graph: &GraphProto) -> Vec<(&str, &str)> {
    let nodes = graph.node.iter();
    nodes.map(|node| (node.op_type.as_deref().unwrap_or_default(), node.name.as_deref().unwrap_or_default())).collect()
}

fn tensors(graph: &GraphProto) -> BTreeSet<&str> {
    graph.initializer.iter().filter(|tensor| !tensor.dims.is_empty()).filter_map(|tensor| tensor.name.as_deref()).collect()
}

#[test]
fn networks_keep_their_names() {
    for &(network, flags) in SMALL {
        let model = strange(network, flags);
        let (text, after) = again(model.encode_to_vec());
        let (before, after) = (graph(model), graph(after));
        assert_eq!((typed(&before.input), typed(&before.output)), (typed(&after.input), typed(&after.output)), "{text}");
        let (known, found) = (tensors(&before), tensors(&after));
        let is_parameter = |name: &&&str| text.contains(&format!("] /* span={name}:0:0 */"));
        let lost: Vec<_> = known.iter().filter(is_parameter).filter(|name| !found.contains(*name)).collect();
        assert!(lost.is_empty(), "{network}: {lost:?}\n{text}");
        let found = nodes(&after);
        // What is computed from constants alone is no node afterwards.
        let is_call = |(_, name): &(&str, &str)| text.contains(&format!(") /* span={name}:0:0 */"));
        let lost: Vec<_> = nodes(&before).into_iter().filter(is_call).filter(|node| !found.contains(node)).collect();
        assert!(found.len() * 2 > before.node.len());
        assert!(lost.is_empty(), "{network}: {lost:?}\n{text}");
    }
}

/// Results that no node makes, weights and inputs, are themselves results of the model.
#[test]
fn results_without_a_node_keep_their_names() {
    let typed_as = |name: &str| {
        let dim = vec![DimensionProto { dim_value: Some(2), dim_param: None }];
        let tensor_type = Some(TensorTypeProto { elem_type: Some(1), shape: Some(TensorShapeProto { dim }) });
        ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto { tensor_type, ..TypeProto::default() }) }
    };
    let graph_of = GraphProto {
        input: vec![typed_as("x")],
        output: vec![typed_as("5"), typed_as("x"), typed_as("y")],
        initializer: vec![zeros(&typed_as("5"))],
        node: vec![NodeProto {
            input: vec!["5".into()],
            output: vec!["y".into()],
            op_type: Some("Identity".into()),
            ..NodeProto::default()
        }],
        ..GraphProto::default()
    };
    let opset_import = vec![OperatorSetIdProto { domain: None, version: Some(17) }];
    let model = ModelProto { ir_version: Some(8), graph: Some(graph_of), opset_import, ..ModelProto::default() };
    let (text, after) = again(model.encode_to_vec());
    let (before, after) = (graph(model), graph(after));
    assert_eq!((typed(&before.input), typed(&before.output)), (typed(&after.input), typed(&after.output)), "{text}");
    assert_eq!(tensors(&before), tensors(&after), "{text}");
}

/// Names of sizes, which the model computes with.
#[test]
fn sizes_keep_their_names() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cli/data/sizes.onnx");
    let bytes = std::fs::read(path).expect("it is there");
    let before = graph(ModelProto::decode(&*bytes).expect("a model"));
    let (text, model) = again(bytes);
    let (text_again, third) = again(model.encode_to_vec());
    let (after, third) = (graph(model), graph(third));
    assert_eq!((typed(&before.input), typed(&before.output)), (typed(&after.input), typed(&after.output)), "{text}");
    assert_eq!((text_again, nodes(&third)), (text, nodes(&after)), "what was written once stays");
}
