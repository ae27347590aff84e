//! Reads a graph file and checks that the graph is sound.
//!
//! Every reference is to an earlier node and one of its results, so the graph has no cycle. `node_row_ptr` counts the results
//! of each node, and each list of `attrs` has an item for each. Redundant counts agree, and the names of inputs differ.

use super::{Call, Graph, Info, Node, Ref};
use crate::json::{Json, Object};
use crate::nodes::{self, Inputs};
use relayc_base::diag::Diagnostic;
use relayc_base::usize_of;
use relayc_ir::types::{DType, MAX_RANK, checked_bytes};
use std::borrow::Cow;

/// Maximum number of results of all nodes.
const MAX_RESULTS: usize = 1 << 22;

/// Reads a graph. Errors: E0703 for another kind of file or an unsound one, with the byte; E0804 for limits.
pub fn read(name: &str, bytes: &[u8]) -> Result<Graph, Diagnostic> {
    let top = Json::new(name, bytes)?.object("graph")?;
    top.only(&["nodes", "arg_nodes", "heads", "attrs", "node_row_ptr", "metadata"])?;
    let items = nodes::nodes(&top)?;
    let rows = rows(top.need("node_row_ptr")?, items.len())?;
    let mut graph = Graph { rows, ..Graph::default() };
    let mut inputs = Inputs::default();
    for item in items.iter() {
        let node = node(&graph, item)?;
        if node.call.is_none() {
            inputs.add(graph.nodes.len(), &node.name, item)?;
        }
        graph.nodes.push(node);
    }
    inputs.check(top.need("arg_nodes")?)?;
    let heads = top.need("heads")?;
    for item in heads.list("list of results")?.iter() {
        let head = reference(&graph, item)?;
        graph.heads.push(head);
    }
    if graph.heads.is_empty() {
        return Err(heads.error("a graph without a result"));
    }
    let attrs = top.need("attrs")?;
    graph.tensors = tensors(attrs.object("object of attributes")?, *graph.rows.last().unwrap_or(&0))?;
    Ok(graph)
}

fn shown(text: &str) -> Cow<'_, str> {
    relayc_base::text::escape_control(text)
}

/// Number of results before each node, and in total.
fn rows(json: Json, n_nodes: usize) -> Result<Vec<u32>, Diagnostic> {
    let rows: Vec<u32> = json.read("list of numbers")?;
    if rows.len() != n_nodes.saturating_add(1) {
        return Err(json.error(format_args!("{} numbers for {n_nodes} nodes, there must be one more than nodes", rows.len())));
    }
    let all = rows.iter().copied().chain([u32::MAX]);
    if let Some((row, next)) = rows.iter().zip(all.skip(1)).find(|(row, next)| *row > next) {
        return Err(json.error(format_args!("{next} after {row}, the numbers must not fall")));
    }
    match (rows.first(), rows.last()) {
        (Some(0), Some(&last)) if usize::try_from(last).is_ok_and(|last| last <= MAX_RESULTS) => Ok(rows),
        (Some(0), Some(last)) => Err(json.limit(format_args!("{last} results, the limit is {MAX_RESULTS}"))),
        _ => Err(json.error("the numbers do not begin with 0")),
    }
}

/// Reads the next node of a graph.
fn node(graph: &Graph, json: Json) -> Result<Node, Diagnostic> {
    let fields = json.object("node")?;
    fields.only(&["op", "name", "inputs", "attr", "attrs", "control_deps"])?;
    let op: String = fields.need("op")?.read("name of an operator")?;
    let name = nodes::name(&fields)?;
    let inputs = fields.need("inputs")?;
    let refs = inputs.list("list of operands")?.iter().map(|item| reference(graph, item)).collect::<Result<Vec<Ref>, _>>()?;
    if let Some(deps) = fields.get("control_deps") {
        let deps_read: Vec<u32> = deps.read("list of node numbers")?;
        if deps_read.iter().any(|&dep| !usize::try_from(dep).is_ok_and(|dep| dep < graph.nodes.len())) {
            return Err(deps.error("a node that waits for one that does not come before it"));
        }
    }
    let n_results = graph.results(graph.nodes.len()).len();
    match op.as_str() {
        "null" if !refs.is_empty() => Err(inputs.error("an input with operands")),
        "null" if n_results != 1 => Err(json.error(format_args!("an input with {n_results} results, it has one"))),
        "null" => Ok(Node { name, call: None }),
        "tvm_op" => {
            let attrs = fields.get("attrs").or(fields.get("attr"));
            let attrs = attrs.ok_or_else(|| json.error("a call without `attrs`"))?;
            Ok(Node { name, call: Some(call(attrs, refs, n_results)?) })
        }
        _ => Err(fields
            .need("op")?
            .error(format_args!("an operator `{}`, only `null` and `tvm_op` are there", shown(&op)))
            .help("the graphs of MXNet look alike: `relayc import NET-symbol.json --weights NET-0000.params -o NET.relay`")),
    }
}

fn call(json: Json, inputs: Vec<Ref>, n_results: usize) -> Result<Call, Diagnostic> {
    let fields = json.object("object of attributes")?;
    let text = |key: &str| fields.need(key)?.read::<String>("string");
    let number = |key: &str, found: usize, what: &str| match text(key)?.parse::<usize>() {
        Ok(n) if n == found => Ok(()),
        _ => Err(json.error(format_args!("`{key}` is not the number of {what}, which is {found}"))),
    };
    number("num_inputs", inputs.len(), "operands")?;
    number("num_outputs", n_results, "results")?;
    let (func, flatten) = (text("func_name")?, text("flatten_data")? != "0");
    let own = ["func_name", "flatten_data", "num_inputs", "num_outputs"];
    let more = fields.iter().filter(|(key, _)| !own.contains(key));
    let attrs = more.map(|(key, value)| Ok((key.to_owned(), value.read("string")?))).collect::<Result<_, Diagnostic>>()?;
    Ok(Call { func, inputs, flatten, attrs })
}

/// Reads a reference to a result of an earlier node.
fn reference(graph: &Graph, json: Json) -> Result<Ref, Diagnostic> {
    let [node, index, version] = nodes::reference(graph.nodes.len(), json)?;
    let at = Ref { node, index, version };
    let number = usize_of(node.into());
    let n_results = graph.results(number).len();
    if usize::try_from(at.index).is_ok_and(|index| index >= n_results) {
        return Err(json.error(format_args!("a reference to result {} of node {number}, which has {n_results}", at.index)));
    }
    Ok(at)
}

/// The results, from the graph's attributes.
fn tensors(attrs: Object, n_tensors: u32) -> Result<Vec<Info>, Diagnostic> {
    let n_tensors = usize::try_from(n_tensors).unwrap_or(usize::MAX);
    let counted = |at: &Json, found: usize| match found == n_tensors {
        true => Ok(()),
        false => Err(at.error(format_args!("{found} items, there are {n_tensors} results"))),
    };
    let dtypes = values(attrs.need("dltype")?, "list_str")?;
    let texts: Vec<Cow<str>> = dtypes.read("list of dtypes")?;
    counted(&dtypes, texts.len())?;
    let mut each_dtype = Vec::with_capacity(n_tensors);
    for text in texts {
        let dtype = DType::parse(&text).filter(|dtype| DType::RUNTIME.contains(dtype));
        each_dtype.push(dtype.ok_or_else(|| dtypes.error(format_args!("a dtype `{}`, which no tensor has", shown(&text))))?);
    }
    let storages = values(attrs.need("storage_id")?, "list_int")?;
    let storage: Vec<u32> = storages.read("list of numbers")?;
    counted(&storages, storage.len())?;
    let shapes = values(attrs.need("shape")?, "list_shape")?;
    let shape_items = shapes.list("list of shapes")?;
    counted(&shapes, shape_items.len())?;
    let devices = match attrs.get("device_index") {
        Some(at) => {
            let at = values(at, "list_int")?;
            let devices: Vec<u32> = at.read("list of numbers")?;
            counted(&at, devices.len())?;
            devices.into_iter().map(Some).collect()
        }
        None => vec![None; n_tensors],
    };
    let mut tensors = Vec::with_capacity(n_tensors);
    for (((dtype, storage), item), device) in each_dtype.into_iter().zip(storage).zip(shape_items.iter()).zip(devices) {
        let shape: Vec<i64> = item.read("list of dimensions")?;
        if shape.len() > MAX_RANK {
            return Err(item.limit(format_args!("a tensor of {} dimensions, the limit is {MAX_RANK}", shape.len())));
        }
        if checked_bytes(&shape, dtype).is_none() {
            return Err(item.error("a shape that no tensor has"));
        }
        tensors.push(Info { shape, dtype, storage, device });
    }
    Ok(tensors)
}

/// The values of `[kind, values]`.
fn values<'a>(json: Json<'a>, kind: &str) -> Result<Json<'a>, Diagnostic> {
    let items = json.list("pair of a kind and a list")?;
    let mut all = items.iter();
    match (all.next(), all.next(), all.next()) {
        (Some(found), Some(values), None) if found.read::<String>("kind")? == kind => Ok(values),
        _ => Err(json.error(format_args!("it is not a pair of \"{kind}\" and a list"))),
    }
}
