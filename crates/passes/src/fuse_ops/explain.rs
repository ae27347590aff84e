//! Explains in words why operators were fused or not.

use super::attention;
use super::graph::{Class, Graph, NodeId};
use super::partition::{MAX_DEPTH, Partition, Refusal};
use relayc_ir::{ExprId, Module};
use relayc_ops::Table;
use rustc_hash::FxHashSet;

/// An operator whose result another one uses.
pub struct Edge {
    pub from: ExprId,
    pub to: ExprId,
    pub joined: bool,
    /// A sentence without its full stop. It refers to other operators as `{0}`, by their index in `mentioned`.
    pub why: String,
    pub mentioned: Vec<ExprId>,
}

/// All pairs of an operator and a user of its result, in order. The pass has not yet fused the module.
pub fn explain(module: &Module, ops: &Table) -> Vec<Edge> {
    let graph = Graph::of(module, ops);
    let partition = Partition::of(&graph, &attention::find(module, ops, &graph));
    let words = Words { graph: &graph, partition: &partition };
    let ops = |node: &NodeId| graph.nodes[*node].is_op;
    let mut edges = Vec::new();
    for from in (0..graph.nodes.len()).filter(ops) {
        for to in words.op_users(from) {
            edges.push(words.edge(from, to));
        }
    }
    edges
}

struct Words<'a> {
    graph: &'a Graph,
    partition: &'a Partition,
}

impl Words<'_> {
    /// The operators that use a value, through tuples and projections too.
    fn op_users(&self, node: NodeId) -> Vec<NodeId> {
        let (mut found, mut left, mut seen) = (Vec::new(), vec![node], FxHashSet::default());
        while let Some(at) = left.pop() {
            for &(user, _) in &self.graph.nodes[at].users {
                if seen.insert(user) {
                    let target = if self.graph.nodes[user].is_op { &mut found } else { &mut left };
                    target.push(user);
                }
            }
        }
        found.sort_unstable();
        found
    }

    fn edge(&self, from: NodeId, to: NodeId) -> Edge {
        let joined = self.partition.root(from) == self.partition.root(to);
        let mut mentioned = Vec::new();
        let why = if joined { self.joined(from, to, &mut mentioned) } else { self.refused(from, &mut mentioned) };
        let expr = |node: NodeId| self.graph.nodes[node].expr;
        Edge { from: expr(from), to: expr(to), joined, why, mentioned }
    }

    /// A mention of a node.
    fn mention(&self, node: NodeId, mentioned: &mut Vec<ExprId>) -> String {
        mentioned.push(self.graph.nodes[node].expr);
        format!("{{{}}}", mentioned.len() - 1)
    }

    fn uses(&self, node: NodeId) -> String {
        match self.graph.nodes[node].users.len() {
            1 => "its one use".to_owned(),
            n => format!("its {n} uses"),
        }
    }

    fn joined(&self, from: NodeId, to: NodeId, mentioned: &mut Vec<ExprId>) -> String {
        let classes = format!("{:?} before {:?}", self.graph.nodes[from].class, self.graph.nodes[to].class);
        match self.partition.dominator(from) {
            Some(dominator) if dominator != to => {
                let (uses, dominator) = (self.uses(from), self.mention(dominator, mentioned));
                format!("{classes}; {uses} come together at {dominator}, and all between may join")
            }
            _ => format!("{classes}, {}", self.uses(from)),
        }
    }

    fn refused(&self, from: NodeId, mentioned: &mut Vec<ExprId>) -> String {
        let class = self.partition.class(from);
        let Some(refusal) = self.partition.refusals[from] else {
            return format!("no rule is about {class:?} here");
        };
        match refusal {
            Refusal::Opaque => "an opaque operator is a group of its own".to_owned(),
            Refusal::External => {
                "something else than an operator here uses it too: it is a result, bound, or taken inside a function or branch"
                    .to_owned()
            }
            Refusal::NoDominator => format!("{} never come together", self.uses(from)),
            Refusal::TooDeep => format!("the group would have more than {MAX_DEPTH} operators"),
            Refusal::IntoTuple => {
                "a tuple takes only what is injective, and only once an injective operator has taken the tuple".to_owned()
            }
            Refusal::NotElemWise(used) => {
                format!("a group with an OutEWiseFusable operator takes only elementwise ones behind it, and the use is {used:?}")
            }
            Refusal::UsedAs(Class::OutEWiseFusable) => {
                format!("{class:?} does not join the OutEWiseFusable operator behind it, which reads elements more than once")
            }
            Refusal::UsedAs(used) => format!("{class:?} does not join what uses it as {used:?}"),
            Refusal::Reduction => "nothing follows a reduction into its group".to_owned(),
            Refusal::OnTheWay(at, found) => {
                let own = self.graph.nodes[at].class;
                let at = self.mention(at, mentioned);
                match found == own {
                    true => format!("{class:?} does not join a group with {at}, which is {found:?}"),
                    false => format!("the group of {at} has an operator that is {found:?} already"),
                }
            }
        }
    }
}
