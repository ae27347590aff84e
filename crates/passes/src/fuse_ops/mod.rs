//! Groups operators that one kernel can compute into one function, marked `Primitive=1` and called in place: TVM's `FuseOps`
//! (`src/relay/transforms/fuse_ops.cc`), by its classes and its dominator rule (`partition.rs`).
//!
//! The rewrite is sound because a group computes the same expression. Its inner values are used inside only, and values from
//! outside become parameters. Fusion stays inside a region: it crosses no function, branch, clause, `let` or reference. Every
//! operator is in a group; an opaque one is alone in its group. Scalar constants stay inside the groups that use them, all others
//! become parameters. Operands with effects are passed in the order in which the program computes them.
//!
//! Two rules differ from TVM's and serve our kernels better. Attention becomes one group (`attention.rs`). Where the results of two
//! convolutions are added, the addition joins the convolution at the end of the longer path. The result of the other becomes a
//! parameter. As in TVM, nothing joins the convolution behind it, and a tuple ends a group unless its user is injective.
//!
//! ```text
//! %0 = nn.conv2d(%x, %w);        %2 = fn (%p0: …, %p1: …, %p2: …, Primitive=1) -> … {
//! %1 = add(%0, %b);         →      %0 = nn.conv2d(%p0, %p1);
//! nn.relu(%1)                      %1 = add(%0, %p2);
//!                                  nn.relu(%1)
//!                                };
//!                                %2(%x, %w, %b)
//! ```

mod attention;
mod explain;
mod graph;
mod partition;

pub use explain::{Edge, explain};
pub(super) use graph::{is_closed, is_static, is_tensor};

use super::build::{ExprKey, set_ty, typed, value_of};
use super::effects::pure;
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use graph::{Graph, NodeId};
use partition::Partition;
use relayc_base::{Idx, Span};
use relayc_ir::{AttrValue, ExprId, ExprKind, Func, Module, Operand, PRIMITIVE, VarId};
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "fuse-ops",
    doc: "Makes one function with `Primitive=1` of operators that one kernel can compute. By TVM's classes and its dominator rule; \
          `relayc opt --explain-fusion` says why each pair was or was not fused.",
    level: 1,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let graph = Graph::of(module, cx.ops);
    let partition = Partition::of(&graph, &attention::find(module, cx.ops, &graph));
    let order = module.post_order(&module.roots());
    let pure = pure(module, &order);
    let turns = module.first_met(&module.roots());
    let mut fuse = Fuse { graph, partition, groups: FxHashMap::default(), stands_for: FxHashMap::default(), pure, turns };
    rewrite(module, |module, expr| fuse.visit(module, expr))
}

struct Fuse {
    graph: Graph,
    partition: Partition,
    /// By their last node.
    groups: FxHashMap<NodeId, Group>,
    /// The nodes whose groups calls now stand for.
    stands_for: FxHashMap<ExprId, NodeId>,
    /// Of the expressions that were there before the pass: which have no effect, and which come first.
    pure: Vec<bool>,
    turns: Vec<u32>,
}

/// The function that a group becomes.
#[derive(Default)]
struct Group {
    params: Vec<VarId>,
    /// The argument of each parameter, and its mention inside.
    args: Vec<(ExprId, ExprId)>,
    /// The mention of each argument inside, by the argument.
    inside: FxHashMap<ExprKey, ExprId>,
}

impl Fuse {
    /// The group of an expression that may be a call made for one.
    fn root(&self, expr: ExprId) -> Option<NodeId> {
        let node = self.stands_for.get(&expr).copied().or_else(|| self.graph.node(expr))?;
        Some(self.partition.root(node))
    }

    fn visit(&mut self, module: &mut Module, expr: ExprId) -> Option<ExprId> {
        let node = self.graph.node(expr)?;
        let (root, is_op) = (self.partition.root(node), self.graph.nodes[node].is_op);
        // A tuple or projection alone is not computed.
        let stays = match module.exprs[expr].kind {
            ExprKind::Tuple(_) => root == node,
            ExprKind::Proj { tuple, .. } => root == node && self.root(tuple) != Some(root),
            _ => !is_op,
        };
        if stays {
            return None;
        }
        self.take_operands(module, expr, root);
        (root == node).then(|| self.call(module, expr, root))
    }

    /// Turns values from outside the group into its parameters.
    fn take_operands(&mut self, module: &mut Module, expr: ExprId, root: NodeId) {
        module.exprs[expr].kind = match module.exprs[expr].kind {
            ExprKind::Tuple(fields) => {
                let fields = self.operands(module, module.items(fields).to_vec(), root);
                ExprKind::Tuple(module.operands(&fields))
            }
            ExprKind::Call { callee, args, attrs } => {
                let args = self.operands(module, module.items(args).to_vec(), root);
                ExprKind::Call { callee, args: module.operands(&args), attrs }
            }
            ExprKind::Proj { tuple, index } => ExprKind::Proj { tuple: self.operand(module, tuple, root), index },
            other => other,
        };
    }

    fn operands(&mut self, module: &mut Module, operands: Vec<Operand>, root: NodeId) -> Vec<Operand> {
        operands.into_iter().map(|operand| Operand { expr: self.operand(module, operand.expr, root), ..operand }).collect()
    }

    /// The expression that replaces an operand inside a group.
    fn operand(&mut self, module: &mut Module, expr: ExprId, root: NodeId) -> ExprId {
        if self.root(expr) == Some(root) && !self.stands_for.contains_key(&expr) {
            return expr;
        }
        let (span, ty) = (module.exprs[expr].span, module.ty(expr));
        let scalar = value_of(module, expr).filter(|value| value.shape().is_empty()).cloned();
        if let Some(value) = scalar {
            let inside = module.constant(value, span);
            set_ty(module, inside, ty);
            return inside;
        }
        let group = self.groups.entry(root).or_default();
        if let Some(&inside) = group.inside.get(&ExprKey::of(module, expr)) {
            return inside;
        }
        let var = module.var(&format!("p{}", group.params.len()), Some(ty), span);
        let inside = typed(module, span, ExprKind::Var(var), ty);
        group.params.push(var);
        group.args.push((expr, inside));
        group.inside.insert(ExprKey::of(module, expr), inside);
        inside
    }

    /// The group with its parameters in the order in which the program computes the arguments, if that is known.
    fn in_turn(&self, module: &mut Module, group: Group) -> Group {
        let was = |expr: ExprId| self.stands_for.get(&expr).map_or(expr, |&node| self.graph.nodes[node].expr);
        let turn = |(expr, _): &(ExprId, ExprId)| self.turns.get(was(*expr).index()).copied().unwrap_or(0);
        let with_effects = group.args.iter().filter(|(expr, _)| !self.pure.get(was(*expr).index()).is_some_and(|&pure| pure));
        if with_effects.map(turn).is_sorted() {
            return group;
        }
        let mut pairs: Vec<_> = group.params.iter().copied().zip(group.args.iter().copied()).collect();
        pairs.sort_by_key(|(_, arg)| turn(arg));
        for (at, &(param, _)) in pairs.iter().enumerate() {
            module.vars[param].name = format!("p{at}").into();
        }
        let (params, args) = pairs.into_iter().unzip();
        Group { params, args, ..group }
    }

    /// The call of a group that is complete.
    fn call(&mut self, module: &mut Module, body: ExprId, root: NodeId) -> ExprId {
        let group = self.groups.remove(&root).unwrap_or_default();
        let Group { params, args, .. } = self.in_turn(module, group);
        let (span, ty) = (module.exprs[body].span, module.ty(body));
        let attrs = vec![(PRIMITIVE.into(), AttrValue::int(1))];
        let func = Func { span, type_params: vec![], params, ret: Some(ty), ret_span: Span::NONE, body, attrs };
        let func = module.funcs.push(func);
        let callee = module.expr(span, ExprKind::Fn(func));
        let args: Vec<Operand> = args.into_iter().map(|(expr, _)| Operand { expr, span: module.exprs[expr].span }).collect();
        let args = module.operands(&args);
        let call = module.expr(span, ExprKind::Call { callee, args, attrs: None });
        self.stands_for.insert(call, root);
        call
    }
}
