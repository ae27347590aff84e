//! The profile overlay: annotates the nodes of a program's picture with the time of each group, and with the memory of its
//! values.
//!
//! A node is identified by its place in the text, which passes keep. A group is drawn as the nodes of its operators. Constants
//! that passes computed, and nodes without a place, get no annotation. Absent: measuring and planning.

use super::compile::Compiled;
use super::profile::{self, Row, SubgraphRows};
use super::subgraphs::{Prepared, SubgraphTimes};
use relayc_base::diag::Diagnostic;
use relayc_base::text::thousands;
use relayc_base::{Sources, Span};
use relayc_driver::bind::Bound;
use relayc_driver::emit;
use relayc_exec::plan::{self, Place, Plan};
use relayc_ir::{ExprId, ExprKind, Module};
use relayc_viz::{Amount, Buffer, Graph, Memory, NodeId, NodeKind, Overlay};
use rustc_hash::FxHashMap;
use std::time::Duration;

/// Nodes by their places in the text.
struct Places(FxHashMap<(u32, u32, u32), NodeId>);

impl Places {
    fn of(graph: &Graph) -> Places {
        let drawn = graph.nodes.iter_ids().filter(|(_, node)| !node.span.is_none() && node.kind != NodeKind::Elsewhere);
        Places(drawn.map(|(id, node)| (key(node.span), id)).collect())
    }

    fn at(&self, span: Span) -> Option<NodeId> {
        self.0.get(&key(span)).copied()
    }

    /// The nodes of a call: the operators of a fused group, or the call itself.
    fn of_call(&self, module: &Module, call: ExprId) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = vec![];
        let inside = match module.exprs[call].kind {
            ExprKind::Call { callee, .. } => match module.exprs[callee].kind {
                ExprKind::Fn(func) => module.post_order(&[module.funcs[func].body]),
                _ => vec![],
            },
            _ => vec![],
        };
        for expr in inside.into_iter().chain([call]) {
            let node = self.at(module.exprs[expr].span);
            nodes.extend(node.filter(|node| !nodes.contains(node)));
        }
        nodes
    }
}

fn key(span: Span) -> (u32, u32, u32) {
    (span.file.0, span.start, span.end)
}

/// Rows of one compiled program, or of a subgraph of a program that branches, and its calls in a run.
struct Timed<'a> {
    compiled: &'a Compiled,
    rows: Vec<Row>,
    calls: f64,
}

/// Runs a program for a while, and annotates nodes with the time of each group. Errors: the trap of an operator.
pub fn times(
    graph: &mut Graph,
    prepared: &Prepared,
    bound: &[Bound],
    measure: Duration,
    sources: &Sources,
) -> Result<(), Box<Diagnostic>> {
    match prepared {
        Prepared::Whole(compiled) => {
            let rows = profile::profile(compiled, bound, measure, sources)?;
            say_times(graph, &[Timed { compiled, rows, calls: 1.0 }], sources);
        }
        Prepared::Partial(partial) => {
            let measured = partial.measure(bound, measure)?;
            let calls = |part: &SubgraphTimes| part.calls as f64 / measured.runs.max(1) as f64;
            let mut parts: Vec<Timed> = vec![];
            for SubgraphRows { part, rows } in profile::of_parts(&measured, sources) {
                parts.push(Timed { compiled: part.compiled(), rows, calls: calls(part) });
            }
            say_times(graph, &parts, sources);
        }
    }
    Ok(())
}

fn say_times(graph: &mut Graph, parts: &[Timed], sources: &Sources) {
    let places = Places::of(graph);
    let total: f64 = parts.iter().flat_map(|part| part.rows.iter().map(|row| row.ms * part.calls)).sum();
    // What each node takes of a run, and whether it says so: an operator may have become several groups.
    let mut spent: FxHashMap<NodeId, (f64, bool)> = FxHashMap::default();
    for Timed { compiled, rows, calls } in parts {
        let of_place = nodes_of_places(&places, compiled, sources);
        for row in rows {
            let nodes = of_place.get(&(row.line, row.column)).map_or(&[][..], Vec::as_slice);
            let last = nodes.last().copied();
            for &id in nodes {
                let (ms, tells) = spent.entry(id).or_default();
                (*ms, *tells) = (*ms + row.ms * calls, *tells || Some(id) == last);
                let facts = facts(row, *calls, row.ms * calls / total, nodes.len() > 1);
                graph.nodes[id].facts.extend(facts);
            }
        }
    }
    let most = spent.values().map(|(ms, _)| *ms).fold(f64::MIN_POSITIVE, f64::max);
    for (id, (ms, tells)) in spent {
        // The time of a group is said once, where it ends.
        graph.nodes[id].heat = Some(Overlay { share: ms / most, amount: tells.then_some(Amount::Ms(ms)) });
    }
}

/// The nodes of the groups whose steps are at each line and column.
fn nodes_of_places(places: &Places, compiled: &Compiled, sources: &Sources) -> FxHashMap<(usize, usize), Vec<NodeId>> {
    let (module, plan) = (compiled.module(), &compiled.program.plan);
    let mut of_place: FxHashMap<(usize, usize), Vec<NodeId>> = FxHashMap::default();
    for group in &plan.groups {
        let nodes = places.of_call(module, group.call);
        for step in plan.steps.get(group.steps.clone()).unwrap_or_default() {
            let Some(place) = sources.line_col(module.exprs[step.origin].span) else { continue };
            let known = of_place.entry(place).or_default();
            nodes.iter().for_each(|node| known.extend(Some(*node).filter(|node| !known.contains(node))));
        }
    }
    of_place
}

/// The annotations of a group's nodes.
fn facts(row: &Row, calls: f64, share: f64, several: bool) -> Vec<(String, String)> {
    let per_ms = |n: u64| format!("{:.1}", n as f64 / row.ms.max(1e-6) / 1e6);
    let mut facts = vec![("time", format!("{:.4} ms, {:.1} % of all", row.ms * calls, share * 100.0))];
    if calls != 1.0 {
        facts.push(("calls", format!("{calls:.1} in a run")));
    }
    facts.push(("kernel", row.kernel.clone()));
    facts.extend(Some(("why", row.why.clone())).filter(|(_, why)| !why.is_empty()));
    facts.extend((row.counts.ops > 0).then(|| ("GFLOP/s", per_ms(row.counts.ops))));
    facts.push(("GB/s", per_ms(row.counts.bytes)));
    facts.extend(several.then(|| ("group", row.ops.replace('+', " + "))));
    facts.into_iter().map(|(what, value)| (what.to_owned(), value)).collect()
}

/// Annotates each node with the location of its value, and describes the arena. With `heat`, sizes colour the nodes.
pub fn memory(graph: &mut Graph, module: &Module, plan: &Plan, sources: &Sources, heat: bool) -> Memory {
    let places = Places::of(graph);
    let mut memory =
        Memory { arena_bytes: plan.arena_bytes, live_bytes: plan.needed_bytes, n_steps: plan.steps.len(), buffers: vec![] };
    let lives = plan::lives(plan);
    let mut writer: FxHashMap<plan::BufferId, usize> = FxHashMap::default();
    for (at, step) in plan.steps.iter().enumerate() {
        // What sets margins to zero comes before what the buffer is for.
        for (&buffer, _) in step.args.iter().zip(step.writes.iter()).filter(|(_, write)| **write) {
            if !step.ops.is_empty() || !writer.contains_key(&buffer) {
                writer.insert(buffer, at);
            }
        }
    }
    let mut largest: FxHashMap<NodeId, u64> = FxHashMap::default();
    for ((id, buffer), life) in plan.buffers.iter_ids().zip(lives) {
        let (Place::Arena(offset), Some(life), Some(&step)) = (&buffer.place, life, writer.get(&id)) else { continue };
        let step = &plan.steps[step];
        let span = module.exprs[step.origin].span;
        let nodes = places.of_call(module, step.origin);
        let node = places.at(span).or(nodes.last().copied());
        let name = emit::bound_name(sources, span).map(|name| format!("{name} ")).unwrap_or_default();
        let what = format!("{name}{}", plan::ops_text(step));
        if let Some(node) = node {
            let words = format!(
                "{} bytes at {} of the arena, steps {}–{}",
                thousands(buffer.bytes()),
                thousands(*offset),
                life.first,
                life.last
            );
            graph.nodes[node].facts.push(("memory".to_owned(), words));
            let size = largest.entry(node).or_default();
            *size = (*size).max(buffer.bytes());
        }
        let (offset, bytes) = (*offset, buffer.bytes());
        memory.buffers.push(Buffer { node, what, offset, bytes, first: life.first, last: life.last });
    }
    // What steps need for themselves.
    for (at, (step, scratch)) in plan.steps.iter().zip(&plan.scratch).enumerate() {
        if scratch.bytes() > 0 && !step.once {
            let node = places.of_call(module, step.origin).last().copied();
            let what = format!("scratch of {}", plan::ops_text(step));
            memory.buffers.push(Buffer { node, what, offset: scratch.at, bytes: scratch.bytes(), first: at, last: at });
        }
    }
    if heat {
        let most = largest.values().copied().max().unwrap_or(1).max(1);
        for (node, bytes) in largest {
            graph.nodes[node].heat = Some(Overlay { share: bytes as f64 / most as f64, amount: Some(Amount::Bytes(bytes)) });
        }
    }
    memory
}
