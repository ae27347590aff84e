//! Prints a graph as a list for people, and compares it with weights.

use super::{Graph, Info, Ref};
use relayc_base::text::{count, escape_control, nearest, shortened, thousands};
use relayc_ir::types::checked_bytes;
use relayc_weights::Named;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;

/// Maximum length of untruncated names in a column.
const MAX_NAME: usize = 60;

/// Maximum length of a list of operands.
const MAX_OPERANDS: usize = 24;

/// Prints a line for each node: its operands by number, the type of its results and their storage. `weights` are the tensors
/// that provide values of inputs.
pub fn show(graph: &Graph, weights: &Named) -> String {
    let given: FxHashSet<&str> = weights.iter().map(|(name, _)| name.as_str()).collect();
    let mut out = summary(graph);
    let rows: Vec<[String; 4]> = (0..graph.nodes.len()).map(|number| row(graph, number, &given)).collect();
    let heads = ["node", "what", "operands", "result"].map(str::to_owned);
    let width =
        |column: usize| rows.iter().chain([&heads]).filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths = [0, 1, 2].map(|column| width(column).unwrap_or(0));
    for [number, what, operands, result] in [&heads].into_iter().chain(&rows) {
        let [first, second, third] = widths;
        let line = format!("{number:>first$}  {what:<second$}  {operands:<third$}  {result}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let results: Vec<String> = graph.heads.iter().map(|&head| reference(graph, head)).collect();
    let _ = writeln!(out, "results: {}", results.join(", "));
    out
}

fn summary(graph: &Graph) -> String {
    let calls: Vec<&str> = graph.nodes.iter().filter_map(|node| Some(node.call.as_ref()?.func.as_str())).collect();
    let functions: FxHashSet<&str> = calls.iter().copied().filter(|func| *func != super::NOP).collect();
    // A buffer is as large as the largest that lies in it.
    let mut buffers: FxHashMap<u32, u64> = FxHashMap::default();
    for info in &graph.tensors {
        let bytes = checked_bytes(&info.shape, info.dtype).unwrap_or(0);
        let buffer = buffers.entry(info.storage).or_default();
        *buffer = bytes.max(*buffer);
    }
    let bytes = buffers.values().fold(0u64, |all, &bytes| all.saturating_add(bytes));
    format!(
        "{}, {} of {}, {} bytes in {}\n",
        count(graph.inputs().count(), "input"),
        count(calls.len(), "call"),
        count(functions.len(), "function"),
        thousands(bytes),
        count(buffers.len(), "buffer")
    )
}

fn row(graph: &Graph, number: usize, given: &FxHashSet<&str>) -> [String; 4] {
    let Some(node) = graph.nodes.get(number) else { return Default::default() };
    let infos = graph.tensors.get(graph.results(number)).unwrap_or(&[]);
    let result: Vec<String> = infos.iter().map(|info| format!("{} in buffer {}", info.type_text(), info.storage)).collect();
    let name = |text: &str| escape_control(&shortened(text, MAX_NAME)).into_owned();
    let (what, operands) = match &node.call {
        None if given.contains(node.name.as_str()) => (format!("weight `{}`", name(&node.name)), String::new()),
        None => (format!("input `{}`", name(&node.name)), String::new()),
        Some(call) => {
            let operands: Vec<String> = call.inputs.iter().map(|&input| reference(graph, input)).collect();
            (name(&call.func), shortened(&operands.join(" "), MAX_OPERANDS))
        }
    };
    [number.to_string(), what, operands, result.join(", ")]
}

/// A node's number, with that of the result if there are several.
fn reference(graph: &Graph, at: Ref) -> String {
    let several = usize::try_from(at.node).is_ok_and(|node| graph.results(node).len() > 1);
    if several { format!("{}.{}", at.node, at.index) } else { at.node.to_string() }
}

/// Maximum number of lines.
const MAX_LINES: usize = 20;

/// Differences between a file of weights and a graph, one a line: tensors without an input, and inputs of another type.
pub fn unmatched(graph: &Graph, weights: &Named) -> Vec<String> {
    let inputs: FxHashMap<&str, &Info> =
        graph.inputs().filter_map(|(number, name)| Some((name, graph.tensors.get(graph.results(number).start)?))).collect();
    let mut names: Vec<&str> = inputs.keys().copied().collect();
    names.sort_unstable();
    let (mut lines, mut n_more) = (Vec::new(), 0usize);
    for (name, tensor) in weights {
        let fits = inputs.get(name.as_str()).is_some_and(|info| info.is_type_of(tensor));
        if fits || lines.len() == MAX_LINES {
            n_more = n_more.saturating_add(usize::from(!fits));
            continue;
        }
        let shown = escape_control(name);
        let Some(info) = inputs.get(name.as_str()) else {
            let near = nearest(name, names.iter().copied())
                .map_or(String::new(), |near| format!("; there is `{}`", escape_control(near)));
            lines.push(format!("no input is named `{shown}`{near}"));
            continue;
        };
        lines.push(format!("input `{shown}` is {}, the weight is {}", info.type_text(), tensor.type_text()));
    }
    if n_more > 0 {
        lines.push(format!("and {n_more} more"));
    }
    lines
}
