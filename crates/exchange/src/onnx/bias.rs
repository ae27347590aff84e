//! Makes the sum of a convolution and a constant for each channel its bias, as the exporters of frameworks write it.
//!
//! Promises the same sums, and that a weight keeps its name unless it gets another shape. Absent: biases that are computed or given as inputs, and
//! sums that an imported model has as nodes of their own.

use relayc_ir::tensor::Tensor;
use relayc_ops::onnx::{Graph, Node, Value, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Gives the graph's convolutions their biases.
pub(super) fn join(graph: &mut Graph, outputs: &[ValueId]) {
    let n_uses = uses(&graph.nodes, outputs);
    let is_open = |node: &&(usize, &Node)| matches!(node.1.kind, "Conv" | "ConvTranspose") && node.1.inputs.len() == 2;
    let convolutions = graph.nodes.iter().enumerate().filter(|node| is_open(&node));
    let of_output: FxHashMap<ValueId, usize> = convolutions.map(|(at, node)| (node.outputs[0], at)).collect();
    let vector = |(id, value): (ValueId, &Value)| (value.tensor.as_ref()?.rank() == 1).then(|| (value.name.clone(), id));
    let vectors: FxHashMap<String, ValueId> = graph.values.iter_ids().filter_map(vector).collect();
    let mut joined: FxHashSet<usize> = FxHashSet::default();
    for at in 0..graph.nodes.len() {
        let sum = &graph.nodes[at];
        let [Some(a), Some(b)] = sum.inputs[..] else { continue };
        if sum.kind != "Add" {
            continue;
        }
        let (result, found) = (
            sum.outputs[0],
            [(a, b), (b, a)].into_iter().find_map(|(sum, constant)| {
                let convolution = *of_output.get(&sum).filter(|_| n_uses.get(&sum) == Some(&1))?;
                Some((convolution, constant, of_channels(graph, sum, constant)?))
            }),
        );
        let Some((convolution, constant, vector)) = found else { continue };
        // A sum with a name of its own was a node of the model that was imported.
        if sum.name.is_some() && sum.name != graph.nodes[convolution].name {
            continue;
        }
        let name = &graph.values[constant].name;
        // What the constant was before it was reshaped for the sum.
        let weight = name.strip_suffix("/along").and_then(|name| vectors.get(name));
        let bias = match weight.filter(|&&weight| graph.values[weight].tensor.as_ref() == Some(&vector)) {
            Some(&weight) => weight,
            None => graph.constant(&format!("{name}/bias"), vector),
        };
        graph.nodes[convolution].inputs.push(Some(bias));
        graph.nodes[convolution].outputs[0] = result;
        joined.insert(at);
    }
    let mut numbers = 0..graph.nodes.len();
    graph.nodes.retain(|_| numbers.next().is_none_or(|at| !joined.contains(&at)));
}

/// How often each value is used, by nodes, by those inside of them, and as a result.
fn uses(nodes: &[Node], outputs: &[ValueId]) -> FxHashMap<ValueId, usize> {
    let mut n_uses: FxHashMap<ValueId, usize> = FxHashMap::default();
    let mut open = vec![(nodes, outputs)];
    while let Some((nodes, outputs)) = open.pop() {
        let inputs = nodes.iter().flat_map(|node| node.inputs.iter().flatten());
        for &id in inputs.chain(outputs) {
            let n = n_uses.entry(id).or_default();
            *n = n.saturating_add(1);
        }
        open.extend(nodes.iter().flat_map(Node::blocks).map(|block| (&block.nodes[..], &block.outputs[..])));
    }
    n_uses
}

/// A constant as a vector, if it has an element for each channel of a convolution's result, and is repeated along all other axes.
fn of_channels(graph: &Graph, sum: ValueId, constant: ValueId) -> Option<Tensor> {
    let ((dims, dtype), tensor) = (graph.values[sum].ty.as_ref()?, graph.values[constant].tensor.as_ref()?);
    let channels = usize::try_from(dims.get(1)?.value()?).ok()?;
    let shape = tensor.shape();
    let axis = shape.len().checked_add(1)?.checked_sub(dims.len()).filter(|&axis| axis <= 1)?;
    let fits = (0..shape.len()).all(|other| shape[other] == if other == axis { channels } else { 1 });
    (fits && tensor.dtype() == *dtype).then(|| tensor.reshape(&[channels]))?
}
