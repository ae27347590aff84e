//! Encodes a graph as the bytes of a model.

use super::Model;
use super::errors;
use super::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto,
    TensorTypeProto, TypeProto, ValueInfoProto, attribute_type,
};
use super::walk::Finished;
use prost::Message;
use relayc_base::diag::Diagnostic;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Dim, Symbols};
use relayc_ops::onnx::{Block, Graph, Node, NodeAttr, OPSET, TakenNames, Value, ValueId, dtype_code};
use rustc_hash::FxHashSet;

/// The version of the format that [`OPSET`] came with.
const IR_VERSION: i64 = 8;

/// Maximum bytes of a message; also the maximum of the signed numbers in which runtimes count them.
const MAX_BYTES: usize = 0x7fff_ffff;

/// The bytes of the file. Errors: E0804 for too many.
pub(crate) fn model(name: &str, finished: Finished, symbols: &Symbols) -> Result<Model, Diagnostic> {
    let Finished { mut graph, inputs, outputs } = finished;
    let mut used = FxHashSet::default();
    add_used(&graph.nodes, &mut used);
    used.extend(&outputs);
    let node = Writer { graph: &graph, symbols }.nodes(&graph.nodes);
    let of = |ids: &[ValueId]| ids.iter().map(|&id| value_info(&graph.values[id], symbols)).collect::<Vec<_>>();
    let (input, output) = (of(&inputs), of(&outputs));
    let ends: FxHashSet<ValueId> = outputs.iter().copied().collect();
    let between = graph.nodes.iter().flat_map(|node| &node.outputs).filter(|id| !ends.contains(id));
    let between: Vec<ValueId> = between.copied().filter(|&id| graph.values[id].ty.is_some()).collect();
    let value_info = of(&between);
    let mut initializer = Vec::new();
    for id in graph.values.ids().filter(|id| used.contains(id)) {
        let value = &mut graph.values[id];
        if let Some(tensor) = value.tensor.take() {
            initializer.push(tensor_proto(&value.name, &tensor));
        }
    }
    let (n_nodes, n_inputs, n_initializers) = (node.len(), input.len(), initializer.len());
    let name = Some(name.to_owned());
    let graph = GraphProto { node, name, initializer, input, output, value_info, ..GraphProto::default() };
    let model = ModelProto {
        ir_version: Some(IR_VERSION),
        producer_name: Some("relayc".into()),
        producer_version: Some(env!("CARGO_PKG_VERSION").into()),
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { domain: Some(String::new()), version: Some(OPSET) }],
        ..ModelProto::default()
    };
    let n_bytes = model.encoded_len();
    if n_bytes > MAX_BYTES {
        return Err(errors::too_large(n_bytes, MAX_BYTES));
    }
    Ok(Model { bytes: model.encode_to_vec(), n_nodes, n_inputs, n_initializers })
}

/// The number of a dtype, which the walk has checked.
fn code(dtype: DType) -> i32 {
    dtype_code(dtype).ok().and_then(|code| i32::try_from(code).ok()).unwrap_or(0)
}

/// Adds the inputs of nodes and of those inside of them. Blocks are nested at most as deep as the walk allows.
fn add_used(nodes: &[Node], used: &mut FxHashSet<ValueId>) {
    for node in nodes {
        used.extend(node.inputs.iter().flatten());
        node.blocks().for_each(|block| add_used(&block.nodes, used));
    }
}

/// The names of nodes, which are distinct. Where a node became several, the first has its name.
fn node_names(graph: &Graph, nodes: &[Node]) -> Vec<String> {
    let mut taken = TakenNames::default();
    let wanted: Vec<Option<String>> = nodes.iter().map(|node| Some(taken.free(node.name.as_deref()?))).collect();
    let first = |node: &Node| node.outputs.first().map_or("", |&output| &graph.values[output].name);
    nodes.iter().zip(wanted).map(|(node, name)| name.unwrap_or_else(|| taken.free(first(node)))).collect()
}

/// Writes the nodes of a graph and of the blocks inside.
struct Writer<'a> {
    graph: &'a Graph,
    symbols: &'a Symbols,
}

impl Writer<'_> {
    fn nodes(&self, nodes: &[Node]) -> Vec<NodeProto> {
        nodes.iter().zip(node_names(self.graph, nodes)).map(|(node, name)| self.node(node, name)).collect()
    }

    fn node(&self, node: &Node, own: String) -> NodeProto {
        let name = |id: &ValueId| self.graph.values[*id].name.clone();
        NodeProto {
            input: node.inputs.iter().map(|input| input.as_ref().map_or(String::new(), name)).collect(),
            attribute: node.attrs.iter().map(|(name, value)| self.attribute(name, value)).collect(),
            name: Some(own),
            output: node.outputs.iter().map(name).collect(),
            op_type: Some(node.kind.to_owned()),
            ..NodeProto::default()
        }
    }

    fn attribute(&self, name: &str, value: &NodeAttr) -> AttributeProto {
        let named = AttributeProto { name: Some(name.to_owned()), ..AttributeProto::default() };
        match value {
            NodeAttr::Int(value) => AttributeProto { i: Some(*value), r#type: Some(attribute_type::INT), ..named },
            NodeAttr::Ints(values) => AttributeProto { ints: values.clone(), r#type: Some(attribute_type::INTS), ..named },
            NodeAttr::Float(value) => AttributeProto { f: Some(*value), r#type: Some(attribute_type::FLOAT), ..named },
            NodeAttr::Str(text) => {
                AttributeProto { s: Some(text.clone().into_bytes()), r#type: Some(attribute_type::STRING), ..named }
            }
            NodeAttr::Block(block) => {
                AttributeProto { g: Some(Box::new(self.block(name, block))), r#type: Some(attribute_type::GRAPH), ..named }
            }
        }
    }

    fn block(&self, name: &str, block: &Block) -> GraphProto {
        let of = |ids: &[ValueId]| ids.iter().map(|&id| value_info(&self.graph.values[id], self.symbols)).collect();
        GraphProto {
            node: self.nodes(&block.nodes),
            name: Some(name.to_owned()),
            input: of(&block.inputs),
            output: of(&block.outputs),
            ..GraphProto::default()
        }
    }
}

fn value_info(value: &Value, symbols: &Symbols) -> ValueInfoProto {
    let tensor_type = value.ty.as_ref().map(|(dims, dtype)| {
        let dim = dims.iter().enumerate().map(|(axis, dim)| dimension(&value.name, axis, *dim, symbols)).collect();
        TensorTypeProto { elem_type: Some(code(*dtype)), shape: Some(TensorShapeProto { dim }) }
    });
    let ty = TypeProto { tensor_type, ..TypeProto::default() };
    ValueInfoProto { name: Some(value.name.clone()), r#type: Some(ty) }
}

/// A dimension of named sizes as text writes it, which the import reads; another unknown one named as `--set` names it.
fn dimension(name: &str, axis: usize, dim: Dim, symbols: &Symbols) -> DimensionProto {
    match dim.value() {
        Some(value) => DimensionProto { dim_value: Some(value), dim_param: None },
        None => {
            let name = if dim.is_named() { symbols.text_of(dim) } else { format!("{name}.{axis}") };
            DimensionProto { dim_value: None, dim_param: Some(name) }
        }
    }
}

fn tensor_proto(name: &str, tensor: &Tensor) -> TensorProto {
    TensorProto {
        dims: tensor.shape().iter().map(|&dim| i64::try_from(dim).unwrap_or(i64::MAX)).collect(),
        data_type: Some(code(tensor.dtype())),
        name: Some(name.to_owned()),
        raw_data: Some(tensor.to_le_bytes().into()),
        ..TensorProto::default()
    }
}
