//! Tests graph JSON for the networks of the zoo, at every level: written graphs read back, and the memory plan is valid. When a
//! call runs, its operands are still in place; at the end, so are the results.

use crate::networks_list::{WHOLE, unbound};
use relayc_driver::export::to_graph_json;
use relayc_exchange::graph_json::{Graph, NOP, Ref, read, write};
use std::collections::HashMap;

/// The graph of a network, as its file says it.
fn graph(name: &str, flags: &str, level: u8) -> Graph {
    let mut program = unbound(name, flags);
    let made = to_graph_json(&mut program, "main", &[], level).unwrap_or_else(|wrong| panic!("{name}: {wrong:?}"));
    let graph = read(name, made.json.as_bytes()).unwrap_or_else(|wrong| panic!("{name}: {wrong:?}"));
    assert_eq!(write(&graph), made.json, "{name}");
    assert_eq!(!made.constants.is_empty(), graph.inputs().any(|(_, name)| name == "p0"), "{name}");
    graph
}

/// Goes through the calls as the executor does, and looks at what lies in each buffer.
fn holds(graph: &Graph) -> Result<(), String> {
    let entry = |at: Ref| graph.results(at.node as usize).start + at.index as usize;
    // What a result is: itself, or what it is another shape of.
    let mut is: Vec<usize> = (0..graph.tensors.len()).collect();
    let mut lies: HashMap<u32, usize> = HashMap::new();
    let there = |lies: &HashMap<u32, usize>, is: &[usize], at: usize| lies.get(&graph.tensors[at].storage) == Some(&is[at]);
    for (number, node) in graph.nodes.iter().enumerate() {
        let inputs: Vec<usize> = node.call.iter().flat_map(|call| &call.inputs).map(|&at| entry(at)).collect();
        if let Some(gone) = inputs.iter().find(|&&at| !there(&lies, &is, at)) {
            return Err(format!("node {number} takes result {gone}, which is no longer there"));
        }
        let results = graph.results(number);
        if node.call.as_ref().is_some_and(|call| call.func == NOP) {
            is[results.start] = is[inputs[0]];
            continue;
        }
        for result in results {
            let storage = graph.tensors[result].storage;
            if inputs.iter().any(|&at| graph.tensors[at].storage == storage) {
                return Err(format!("node {number} writes into what it reads"));
            }
            if let Some(input) = lies.get(&storage).filter(|&&at| graph.inputs().any(|(node, _)| graph.results(node).start == at))
            {
                return Err(format!("node {number} writes over input {input}"));
            }
            lies.insert(storage, result);
        }
    }
    let gone = graph.heads.iter().find(|&&head| !there(&lies, &is, entry(head)));
    gone.map_or(Ok(()), |head| Err(format!("the result {head:?} is no longer there")))
}

#[test]
fn networks_become_graphs_whose_memory_holds() {
    for &(name, flags) in WHOLE {
        // The cells of this one are functions, which passes write out.
        let levels: &[u8] = if name == "lstm" { &[1, 3] } else { &[0, 1, 3] };
        for &level in levels {
            let graph = graph(name, flags, level);
            holds(&graph).unwrap_or_else(|why| panic!("{name} {flags}, -O{level}: {why}"));
            let n_buffers = graph.tensors.iter().map(|info| info.storage).max().map_or(0, |last| last + 1) as usize;
            assert!(n_buffers <= graph.tensors.len() && n_buffers >= graph.inputs().count(), "{name}");
        }
    }
}

/// A function has one name, and every name is one function's: calls of it take and give the same types.
#[test]
fn functions_of_one_name_are_one() {
    for &(name, flags) in WHOLE {
        let graph = graph(name, flags, 2);
        let mut types: HashMap<&str, Vec<String>> = HashMap::new();
        for (number, node) in graph.nodes.iter().enumerate() {
            let Some(call) = node.call.as_ref().filter(|call| call.func != NOP) else { continue };
            let inputs = call.inputs.iter().map(|&at| graph.tensor(at).expect("sound"));
            let results = graph.tensors[graph.results(number)].iter();
            let own: Vec<String> = inputs.chain(results).map(|info| format!("{:?} {}", info.shape, info.dtype)).collect();
            assert_eq!(*types.entry(&call.func).or_insert_with(|| own.clone()), own, "{name}: {}", call.func);
        }
    }
}
