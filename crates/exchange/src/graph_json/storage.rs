//! Plans storage for the results of a graph, and reuses it (`src/relay/backend/graph_plan_memory.cc`,
//! `src/relay/backend/token_allocator.cc`).
//!
//! Calls are visited in execution order. A result takes the smallest free block of at most 16 times its size. Otherwise it
//! takes the largest free block of at least a 16th of its size, which then grows, or a new one. Inputs keep their blocks. A
//! call that only changes the shape leaves its result in its operand's block.

#![allow(
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::arithmetic_side_effects,
    reason = "nothing here reads bytes: the graph's own numbers, of 32 bits, lead into it"
)]

use super::{Graph, NOP, Ref};
use relayc_ir::types::checked_bytes;
use std::collections::BTreeMap;

/// Maximum ratio between the sizes of a block and of its new result.
const RANGE: u64 = 16;

/// A block of memory.
struct Block {
    bytes: u64,
    /// Remaining uses of its content.
    uses: u32,
}

#[derive(Default)]
struct Blocks {
    blocks: Vec<Block>,
    /// Free blocks by size, then by the time when they became free.
    free: BTreeMap<(u64, u64), u32>,
    n_freed: u64,
}

impl Blocks {
    fn new_block(&mut self, bytes: u64, uses: u32) -> u32 {
        self.blocks.push(Block { bytes, uses });
        u32::try_from(self.blocks.len()).unwrap_or(u32::MAX).saturating_sub(1)
    }

    fn take(&mut self, bytes: u64, uses: u32) -> u32 {
        let first = (bytes.checked_div(RANGE).unwrap_or(0), 0);
        let last = (bytes.saturating_mul(RANGE), u64::MAX);
        let larger = self.free.range((bytes, 0)..=last).next();
        let found = larger.or_else(|| self.free.range(first..(bytes, 0)).next_back()).map(|(&key, &block)| (key, block));
        let Some((key, block)) = found else { return self.new_block(bytes, uses) };
        self.free.remove(&key);
        let own = &mut self.blocks[block as usize];
        (own.bytes, own.uses) = (own.bytes.max(bytes), uses);
        block
    }

    /// Frees a block without further uses.
    fn look(&mut self, block: u32) {
        let Block { bytes, uses } = self.blocks[block as usize];
        if uses == 0 {
            self.free.insert((bytes, self.n_freed), block);
            self.n_freed = self.n_freed.saturating_add(1);
        }
    }
}

/// Assigns `storage` to every result of a sound graph.
pub(crate) fn plan(graph: &mut Graph) {
    let place = |graph: &Graph, at: Ref| graph.rows[at.node as usize] as usize + at.index as usize;
    let mut uses = vec![0u32; graph.tensors.len()];
    let calls = graph.nodes.iter().filter_map(|node| node.call.as_ref());
    for &at in calls.flat_map(|call| &call.inputs).chain(&graph.heads) {
        let uses = &mut uses[place(graph, at)];
        *uses = uses.saturating_add(1);
    }
    let mut blocks = Blocks::default();
    for node in 0..graph.nodes.len() {
        let results = graph.results(node);
        let inputs: Vec<usize> =
            graph.nodes[node].call.iter().flat_map(|call| &call.inputs).map(|&at| place(graph, at)).collect();
        let is_nop = graph.nodes[node].call.as_ref().is_some_and(|call| call.func == NOP);
        for result in results.clone() {
            let bytes = checked_bytes(&graph.tensors[result].shape, graph.tensors[result].dtype).unwrap_or(0);
            graph.tensors[result].storage = match (graph.nodes[node].call.is_some(), is_nop.then(|| inputs.first()).flatten()) {
                // One more use than there are: an input is never overwritten.
                (false, _) => blocks.new_block(bytes, uses[result].saturating_add(1)),
                (true, Some(&input)) => {
                    let block = graph.tensors[input].storage;
                    let own = &mut blocks.blocks[block as usize];
                    own.uses = own.uses.saturating_add(uses[result]);
                    block
                }
                (true, None) => blocks.take(bytes, uses[result]),
            };
        }
        if graph.nodes[node].call.is_some() {
            results.for_each(|result| blocks.look(graph.tensors[result].storage));
            for input in inputs {
                let block = graph.tensors[input].storage;
                let own = &mut blocks.blocks[block as usize];
                own.uses = own.uses.saturating_sub(1);
                blocks.look(block);
            }
        }
    }
}
