//! The dataflow graph of fusion: the users of each value, and the class of operator by which they use it.
//!
//! A value is *external* if something other than an operator of its region uses it. Examples are results, values that a `let`
//! binds, arguments of functions, and operands inside another region. Fusion stops at external values.

use crate::build::{value_of, widened};
use crate::regions::Regions;
use relayc_base::Idx;
use relayc_ir::types::Ty;
use relayc_ir::{ExprId, ExprKind, Module};
use relayc_ops::{Fuse, Table};

/// The class of a node, of an edge or of a group: TVM's `OpPatternKind`. Later classes are harder to fuse.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Class {
    ElemWise,
    Broadcast,
    Injective,
    CommReduce,
    OutEWiseFusable,
    Tuple,
    Opaque,
}

impl From<Fuse> for Class {
    fn from(fuse: Fuse) -> Class {
        match fuse {
            Fuse::ElemWise => Class::ElemWise,
            Fuse::Broadcast => Class::Broadcast,
            Fuse::Injective => Class::Injective,
            Fuse::CommReduce => Class::CommReduce,
            Fuse::OutEWiseFusable => Class::OutEWiseFusable,
            Fuse::Opaque => Class::Opaque,
        }
    }
}

/// A node's number in the graph; operands have lower numbers than their users.
pub(crate) type NodeId = usize;

pub(crate) struct Node {
    pub(crate) expr: ExprId,
    pub(crate) class: Class,
    pub(crate) external: bool,
    /// The users, with the class of each use.
    pub(crate) users: Vec<(NodeId, Class)>,
    /// Whether it is a call of an operator.
    pub(crate) is_op: bool,
    /// The length of the longest path to the node.
    pub(crate) depth: u32,
}

pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    /// The node of an expression, by its number.
    of: Vec<Option<NodeId>>,
}

impl Graph {
    pub(crate) fn of(module: &Module, ops: &Table) -> Graph {
        let order = open_order(module);
        let regions = Regions::of(module, &order);
        let mut graph = Graph { nodes: vec![], of: vec![None; module.exprs.len()] };
        for expr in order {
            if is_node(module, expr) {
                graph.of[expr.index()] = Some(graph.nodes.len());
                let (class, is_op) = class(module, ops, expr);
                graph.nodes.push(Node { expr, class, external: false, users: vec![], is_op, depth: 0 });
            } else {
                graph.leak_children(module, expr);
            }
        }
        for root in module.roots() {
            graph.leak(root);
        }
        for user in 0..graph.nodes.len() {
            graph.connect(module, ops, &regions, user);
        }
        graph
    }

    pub(crate) fn node(&self, expr: ExprId) -> Option<NodeId> {
        self.of.get(expr.index()).copied().flatten()
    }

    fn leak(&mut self, expr: ExprId) {
        if let Some(node) = self.node(expr) {
            self.nodes[node].external = true;
        }
    }

    fn leak_children(&mut self, module: &Module, expr: ExprId) {
        let mut children = Vec::new();
        open_children(module, expr, &mut children);
        children.into_iter().for_each(|child| self.leak(child));
    }

    /// Registers a node as a user of its operands.
    fn connect(&mut self, module: &Module, ops: &Table, regions: &Regions, user: NodeId) {
        let expr = self.nodes[user].expr;
        let class = self.nodes[user].class;
        let is_op = self.nodes[user].is_op;
        let mut children = Vec::new();
        module.children(expr, &mut children);
        let mut depth = 0;
        for child in children {
            let Some(node) = self.node(child) else { continue };
            depth = depth.max(self.nodes[node].depth + 1);
            let here = regions.region(child) == regions.region(expr);
            let edge = match module.exprs[expr].kind {
                ExprKind::Call { .. } if is_op => Some(call_edge(module, ops, expr, child, class)),
                ExprKind::Tuple(_) => is_tensor(module, module.ty(child)).then_some(Class::Injective),
                ExprKind::Proj { .. } => module.types.is_tuple_of_tensors(module.ty(child)).then_some(Class::Injective),
                _ => None,
            };
            match edge.filter(|_| here) {
                Some(edge) => self.nodes[node].users.push((user, edge)),
                None => self.nodes[node].external = true,
            }
        }
        self.nodes[user].depth = depth;
    }
}

/// Whether an expression may be part of a group, or the operand of one.
fn is_node(module: &Module, expr: ExprId) -> bool {
    matches!(module.exprs[expr].kind, ExprKind::Call { .. } | ExprKind::Tuple(_) | ExprKind::Proj { .. })
}

/// The class of a node, and whether it is a call of an operator.
fn class(module: &Module, ops: &Table, expr: ExprId) -> (Class, bool) {
    match module.exprs[expr].kind {
        ExprKind::Tuple(_) => (Class::Tuple, false),
        ExprKind::Proj { tuple, .. } => {
            let plain = module.types.is_tuple_of_tensors(module.ty(tuple));
            (if plain { Class::Injective } else { Class::Opaque }, false)
        }
        _ => match module.called_op(expr) {
            Some(op) => {
                let def = ops.def(op);
                // What decides its shape by data cannot be told before it runs.
                let by_data = def.fixed.is_some() && !is_static(module, module.ty(expr));
                let class = def.fuse.filter(|_| !by_data).map_or(Class::Opaque, Class::from);
                (class, true)
            }
            None => (Class::Opaque, false),
        },
    }
}

/// A broadcast operand that has the result's shape is used element by element; so is a 16-bit weight that a product converts.
fn call_edge(module: &Module, ops: &Table, call: ExprId, operand: ExprId, class: Class) -> Class {
    let weight = || widened(module, ops, operand).is_some_and(|data| value_of(module, data).is_some());
    if class == Class::OutEWiseFusable && weight() {
        return Class::ElemWise;
    }
    let shape = |expr: ExprId| module.types.as_tensor(module.ty(expr)).map(|(shape, _)| shape);
    match (shape(call), shape(operand)) {
        (Some(out), Some(of)) if class == Class::Broadcast && same_shape(out, of) => Class::ElemWise,
        _ => class,
    }
}

fn same_shape(a: &[relayc_ir::types::Dim], b: &[relayc_ir::types::Dim]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(*b) || (a.value().is_none() && a == b))
}

pub(crate) fn is_tensor(module: &Module, ty: Ty) -> bool {
    module.types.as_tensor(ty).is_some()
}

/// Whether a tensor has a static shape; of a tuple, whether all its tensors have one.
pub(crate) fn is_static(module: &Module, ty: Ty) -> bool {
    let known = |ty: Ty| module.types.as_tensor(ty).is_some_and(|(shape, _)| shape.iter().all(|dim| dim.value().is_some()));
    known(ty) || module.types.as_tuple(ty).is_some_and(|fields| fields.iter().all(|&field| known(field)))
}

/// Whether fusion skips the inside of a function, because it is a fused group or for another compiler.
pub(crate) fn is_closed(module: &Module, expr: ExprId) -> bool {
    let ExprKind::Fn(func) = module.exprs[expr].kind else { return false };
    module.funcs[func].is_primitive() || module.funcs[func].is_for_a_compiler()
}

/// The children that fusion looks at.
fn open_children(module: &Module, expr: ExprId, out: &mut Vec<ExprId>) {
    if !is_closed(module, expr) {
        module.children(expr, out);
    }
}

/// As [`Module::post_order`], without the inside of groups.
fn open_order(module: &Module) -> Vec<ExprId> {
    module.post_order_by(&module.roots(), open_children)
}
