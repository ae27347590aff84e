//! Decides which nodes of a graph become one group: TVM's dominator rule (`src/relay/analysis/graph_partitioner.cc`).
//!
//! The *dominator* of a value is the node where all its uses come together. A value may join its dominator if every node on the
//! way may. Attention is one group beforehand. The phases run in order:
//!
//! 1. Convolutions and similar operators (OutEWiseFusable) take the elementwise operators behind them, one after the other.
//! 2. Elementwise and broadcasting operators join the operators behind them.
//! 3. Injective operators and tuples join injective operators.
//! 4. Injective operators join tuples that have been joined.

use super::graph::{Class, Graph, Node, NodeId};

/// The largest number of operators in a group (TVM's `kMaxFusedOps`).
pub(crate) const MAX_DEPTH: usize = 256;

/// Why a node was not joined to its dominator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    Opaque,
    /// Something other than an operator uses it.
    External,
    /// Its uses never come together.
    NoDominator,
    TooDeep,
    /// The dominator is a tuple, which only injective users admit into a group.
    IntoTuple,
    /// Only elementwise uses join its group.
    NotElemWise(Class),
    /// The class of its use admits no such operand.
    UsedAs(Class),
    /// It cannot join the class of a group on the way.
    OnTheWay(NodeId, Class),
    /// No user joins the group of a reduction.
    Reduction,
}

/// The groups of a graph.
pub(crate) struct Partition {
    groups: Vec<Group>,
    /// The node where all uses of each come together, with the hardest class on the way.
    dominators: Vec<Option<(NodeId, Class)>>,
    /// The last reason why each node was refused.
    pub(crate) refusals: Vec<Option<Refusal>>,
}

struct Group {
    parent: Option<NodeId>,
    class: Class,
    n_nodes: usize,
}

impl Partition {
    /// Groups the nodes; those of each of `joined` are in one group from the start, whose last node comes first.
    pub(crate) fn of(graph: &Graph, joined: &[Vec<NodeId>]) -> Partition {
        let group = |node: &Node| Group { parent: None, class: node.class, n_nodes: 1 };
        let mut partition = Partition {
            groups: graph.nodes.iter().map(group).collect(),
            dominators: dominators(graph),
            refusals: vec![None; graph.nodes.len()],
        };
        for nodes in joined {
            nodes[1..].iter().for_each(|&node| partition.merge(node, nodes[0]));
        }
        // A residual addition joins the convolution at the end of the longer way: what the other one computed is there by then.
        let mut anchors: Vec<NodeId> =
            (0..graph.nodes.len()).filter(|&node| graph.nodes[node].class == Class::OutEWiseFusable).collect();
        anchors.sort_by_key(|&node| std::cmp::Reverse((graph.nodes[node].depth, node)));
        for anchor in anchors {
            let mut at = anchor;
            while partition.join(graph, at, Partition::behind_anchor)
                && let Some((dominator, _)) = partition.dominators[at]
            {
                at = dominator;
            }
        }
        for rule in [Partition::elementwise, Partition::injective, Partition::tuple_fields] {
            for node in 0..graph.nodes.len() {
                partition.join(graph, node, rule);
            }
        }
        partition
    }

    /// The last node in the group of a node.
    pub(crate) fn root(&self, mut node: NodeId) -> NodeId {
        while let Some(parent) = self.groups[node].parent {
            node = parent;
        }
        node
    }

    /// The class of the group of a node.
    pub(crate) fn class(&self, node: NodeId) -> Class {
        self.groups[self.root(node)].class
    }

    pub(crate) fn dominator(&self, node: NodeId) -> Option<NodeId> {
        self.dominators[node].map(|(dominator, _)| dominator)
    }

    /// Joins the group of a node to that of its dominator, with all on the way, if `rule` allows it.
    fn join(&mut self, graph: &Graph, node: NodeId, rule: Rule) -> bool {
        let common = match self.dominators[node] {
            _ if self.groups[node].class == Class::Opaque => Err(Refusal::Opaque),
            _ if graph.nodes[node].external => Err(Refusal::External),
            None => Err(Refusal::NoDominator),
            Some((dominator, _)) if self.root(node) == self.root(dominator) => return false,
            Some(found) => Ok(found),
        };
        let allowed = common.and_then(|(dominator, class)| {
            let way = self.way(graph, node, dominator).ok_or(Refusal::TooDeep)?;
            let asked = Asked { node, dominator, class, way: &way };
            Ok((rule(self, &asked)?, dominator, way))
        });
        match allowed {
            Ok((true, dominator, way)) => {
                self.refusals[node] = None;
                let target = self.root(dominator);
                way.into_iter().filter(|&on| on != dominator).chain([node]).for_each(|on| self.merge(on, target));
                true
            }
            // The rule is about other nodes.
            Ok((false, ..)) => false,
            Err(refusal) => {
                self.refusals[node] = Some(refusal);
                false
            }
        }
    }

    fn merge(&mut self, node: NodeId, target: NodeId) {
        let child = self.root(node);
        if child == target {
            return;
        }
        self.groups[target].n_nodes += self.groups[child].n_nodes;
        if self.groups[child].class == Class::OutEWiseFusable {
            self.groups[target].class = self.groups[target].class.max(Class::OutEWiseFusable);
        }
        // Ways to a root stay short: every node of the way is on the root itself.
        let mut at = node;
        while let Some(parent) = self.groups[at].parent.replace(target) {
            at = parent;
        }
    }

    /// The nodes between a node and its dominator, which is the last of them; `None` where the group would be too large.
    fn way(&self, graph: &Graph, node: NodeId, dominator: NodeId) -> Option<Vec<NodeId>> {
        let mut n_nodes = self.groups[self.root(dominator)].n_nodes + self.groups[node].n_nodes;
        let (mut way, mut left) = (Vec::new(), vec![node]);
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some(at) = left.pop() {
            for &(user, _) in graph.nodes[at].users.iter().filter(|(user, _)| *user != dominator) {
                if seen.insert(user) {
                    n_nodes += self.groups[user].n_nodes;
                    way.push(user);
                    left.push(user);
                }
            }
            if n_nodes > MAX_DEPTH {
                return None;
            }
        }
        way.push(dominator);
        Some(way)
    }

    /// Allows the join unless the way has a node whose group is of a class that `allows` does not take.
    fn unless_blocked(&self, asked: &Asked, allows: impl Fn(Class, bool) -> bool) -> Result<bool, Refusal> {
        for &on in asked.way {
            let class = self.class(on);
            if !allows(class, on == asked.dominator) {
                return Err(Refusal::OnTheWay(on, class));
            }
        }
        Ok(true)
    }

    /// Convolutions and their like: only elementwise uses come behind, and nothing on the way has one of its own.
    fn behind_anchor(&self, asked: &Asked) -> Result<bool, Refusal> {
        if self.class(asked.node) != Class::OutEWiseFusable {
            return Ok(false);
        }
        if asked.class != Class::ElemWise {
            return Err(Refusal::NotElemWise(asked.class));
        }
        self.unless_blocked(asked, |class, _| class <= Class::Broadcast)
    }

    /// Elementwise and broadcasting operators: into injective operators, reductions, and groups that have a convolution.
    fn elementwise(&self, asked: &Asked) -> Result<bool, Refusal> {
        if self.class(asked.node) > Class::Broadcast {
            return Ok(false);
        }
        if self.groups[asked.dominator].class == Class::Tuple {
            return Err(Refusal::IntoTuple);
        }
        if asked.class > Class::CommReduce {
            return Err(Refusal::UsedAs(asked.class));
        }
        self.unless_blocked(asked, |class, last| class <= Class::Injective || (last && class <= Class::OutEWiseFusable))
    }

    /// Injective operators and tuples: into injective operators.
    fn injective(&self, asked: &Asked) -> Result<bool, Refusal> {
        let class = self.class(asked.node);
        if class == Class::CommReduce {
            return Err(Refusal::Reduction);
        }
        if class != Class::Injective && class != Class::Tuple {
            return Ok(false);
        }
        if self.groups[asked.dominator].class == Class::Tuple {
            return Err(Refusal::IntoTuple);
        }
        self.unless_blocked(asked, |class, _| class <= Class::Injective)
    }

    /// Joins nodes that are at most injective to tuples that an injective operator has joined.
    fn tuple_fields(&self, asked: &Asked) -> Result<bool, Refusal> {
        let injective = self.class(asked.node) <= Class::Injective;
        let taken = self.class(asked.dominator) <= Class::Injective;
        if !injective || self.groups[asked.dominator].class != Class::Tuple || !taken {
            return Ok(false);
        }
        self.unless_blocked(asked, |class, _| class <= Class::Injective)
    }
}

/// A question to a rule: may the group of `node` join its dominator?
struct Asked<'a> {
    node: NodeId,
    dominator: NodeId,
    /// The hardest class of use on the way.
    class: Class,
    way: &'a [NodeId],
}

/// `false` where the rule has no say.
type Rule = fn(&Partition, &Asked) -> Result<bool, Refusal>;

/// The closest node through which every way from each node goes, with the hardest class of the edges on the way. On a graph
/// without cycles one walk from the end does: it is the lowest common ancestor of the users in the tree of dominators.
fn dominators(graph: &Graph) -> Vec<Option<(NodeId, Class)>> {
    let mut found: Vec<Option<(NodeId, Class)>> = vec![None; graph.nodes.len()];
    let mut depth = vec![1u32; graph.nodes.len()];
    for node in (0..graph.nodes.len()).rev() {
        if graph.nodes[node].external {
            continue;
        }
        let mut common: Option<(NodeId, Class)> = None;
        for (i, &(user, class)) in graph.nodes[node].users.iter().enumerate() {
            common = match common {
                None if i > 0 => None,
                None => Some((user, class)),
                Some((other, hardest)) => {
                    meet(&found, &depth, other, user).map(|(meeting, on_the_way)| (meeting, hardest.max(class).max(on_the_way)))
                }
            };
            if common.is_none() {
                break;
            }
        }
        depth[node] = common.map_or(1, |(dominator, _)| depth[dominator] + 1);
        found[node] = common;
    }
    found
}

/// Where two nodes come together, with the hardest class on the way.
fn meet(found: &[Option<(NodeId, Class)>], depth: &[u32], mut a: NodeId, mut b: NodeId) -> Option<(NodeId, Class)> {
    let mut hardest = Class::ElemWise;
    while a != b {
        let deeper = if depth[a] >= depth[b] { &mut a } else { &mut b };
        let (dominator, class) = found[*deeper]?;
        hardest = hardest.max(class);
        *deeper = dominator;
    }
    Some((a, hardest))
}
