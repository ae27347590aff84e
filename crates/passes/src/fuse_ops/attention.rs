//! Finds attention: a product of rows, an operator on each row of the result, and a product of that with another matrix.
//!
//! Between the three may be elementwise operators, and reshapes that keep the rows. Each value has one use, so nothing else needs
//! it. One kernel can then compute some rows from the first product to the last, and the tensors between need no memory.

use super::graph::{Class, Graph, NodeId};
use relayc_ir::types::Dim;
use relayc_ir::{AttrValue, ExprId, ExprKind, Module};
use relayc_ops::lower::Lower;
use relayc_ops::{OpDef, Table};

/// The nodes of each attention; the last product comes first.
pub(crate) fn find(module: &Module, ops: &Table, graph: &Graph) -> Vec<Vec<NodeId>> {
    let finder = Finder { module, ops, graph };
    (0..graph.nodes.len()).filter_map(|node| finder.ending_in(node)).collect()
}

/// The longest way from the last product to the first.
const MAX_NODES: usize = 24;
/// How many ways are looked at.
const MAX_WAYS: usize = 64;

struct Finder<'a> {
    module: &'a Module,
    ops: &'a Table,
    graph: &'a Graph,
}

impl Finder<'_> {
    /// The attention whose last product is this node.
    fn ending_in(&self, last: NodeId) -> Option<Vec<NodeId>> {
        self.is_product(last).then_some(())?;
        // Ways that are looked at: their nodes, and whether the operator on rows is among them.
        let mut ways = vec![(vec![last], false)];
        for _ in 0..MAX_WAYS {
            let (way, has_rows) = ways.pop()?;
            let end = *way.last()?;
            for operand in self.operands(end, way.len() == 1) {
                let next: Vec<NodeId> = way.iter().copied().chain([operand]).collect();
                let rows = self.is_on_rows(operand);
                match () {
                    () if self.is_product(operand) && has_rows => return Some(next),
                    () if next.len() == MAX_NODES => {}
                    () if rows && !has_rows => ways.push((next, true)),
                    () if !rows && self.keeps_rows(operand) => ways.push((next, has_rows)),
                    () => {}
                }
            }
        }
        None
    }

    fn call(&self, node: NodeId) -> Option<(&'static OpDef, &[AttrValue])> {
        let expr = self.graph.nodes[node].expr;
        let op = self.module.called_op(expr)?;
        Some((self.ops.def(op), self.module.call_attrs(expr)))
    }

    /// The shape of a tensor whose dimensions are numbers or computed from named sizes.
    fn shape(&self, expr: ExprId) -> Option<&[Dim]> {
        let (shape, _) = self.module.types.as_tensor(self.module.ty(expr))?;
        shape.iter().all(|dim| dim.is_sized()).then_some(shape)
    }

    /// Operands of a node with one use that hold a matrix of rows: the data of a product, all others with as many elements.
    fn operands(&self, node: NodeId, product: bool) -> Vec<NodeId> {
        let expr = self.graph.nodes[node].expr;
        let ExprKind::Call { args, .. } = self.module.exprs[expr].kind else { return vec![] };
        let args = self.module.items(args);
        let args = if product { &args[..args.len().min(1)] } else { args };
        let wanted = self.shape(expr);
        let as_many = |expr: ExprId| self.shape(expr).zip(wanted).is_some_and(|(a, b)| self.module.types.symbols.as_many(a, b));
        let fits = |expr: ExprId| product || as_many(expr);
        let alone = |&node: &NodeId| self.graph.nodes[node].users.len() == 1 && !self.graph.nodes[node].external;
        args.iter().filter(|arg| fits(arg.expr)).filter_map(|arg| self.graph.node(arg.expr)).filter(alone).collect()
    }

    /// Whether a node multiplies two matrices in each of several parts.
    fn is_product(&self, node: NodeId) -> bool {
        let expr = self.graph.nodes[node].expr;
        let product = self.call(node).is_some_and(|(def, _)| matches!(def.lower, Some(Lower::Product(_))));
        let ExprKind::Call { args, .. } = self.module.exprs[expr].kind else { return false };
        // Weights that are constants are packed for separate steps.
        let computed = |expr: ExprId| !matches!(self.module.exprs[expr].kind, ExprKind::Const(_));
        product
            && self.shape(expr).is_some_and(|shape| shape.len() == 3)
            && self
                .module
                .items(args)
                .iter()
                .all(|arg| computed(arg.expr) && self.shape(arg.expr).is_some_and(|shape| shape.len() == 3))
    }

    /// Whether a node combines the elements of each row, and of nothing else.
    fn is_on_rows(&self, node: NodeId) -> bool {
        let Some((def, attrs)) = self.call(node) else { return false };
        let Some(shape) = self.shape(self.graph.nodes[node].expr) else { return false };
        let last = shape.len() as i64 - 1;
        def.lines.map(|axis| axis(attrs)).is_some_and(|axis| axis == -1 || axis == last)
    }

    /// Whether each row of a node's result is computed from one row of its operands.
    fn keeps_rows(&self, node: NodeId) -> bool {
        let expr = self.graph.nodes[node].expr;
        let ExprKind::Call { args, .. } = self.module.exprs[expr].kind else { return false };
        let Some((def, _)) = self.call(node) else { return false };
        let row = |expr: ExprId| self.shape(expr).and_then(|shape| shape.last().copied());
        let first = self.module.items(args).first().map(|arg| arg.expr);
        match def.reshapes {
            true => first.and_then(row).zip(row(expr)).is_some_and(|(first, row)| first.same(row)),
            false => self.graph.nodes[node].class <= Class::Broadcast,
        }
    }
}
