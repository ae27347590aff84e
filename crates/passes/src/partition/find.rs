//! Finds the expressions that form each subgraph.

use super::DataDependent;
use crate::build::ExprKey;
use crate::fuse_ops::{is_closed, is_static, is_tensor};
use crate::regions::{OUTERMOST, RegionId, Regions};
use relayc_base::Idx;
use relayc_ir::types::Ty;
use relayc_ir::{ExprId, ExprKind, Module};
use relayc_ops::Table;
use relayc_ops::declarations::STOP_FUSION;
use rustc_hash::{FxHashMap, FxHashSet};

/// A subgraph: expressions computed together.
pub(crate) struct Subgraph {
    /// The members, in the order of evaluation.
    pub(crate) members: Vec<ExprId>,
    /// The members that other expressions use, in that order.
    pub(crate) outputs: Vec<ExprId>,
    /// The values from outside that members use, in the order of evaluation; a variable occurs once.
    pub(crate) args: Vec<ExprId>,
}

/// The subgraphs of a module.
pub(crate) struct Subgraphs {
    /// The expressions in the order of evaluation, without the inside of groups and of functions for other compilers.
    pub(crate) order: Vec<ExprId>,
    pub(crate) parts: Vec<Subgraph>,
    /// The subgraph of each expression, by the expression's number.
    pub(crate) of: Vec<Option<usize>>,
}

pub(crate) fn find(module: &Module, ops: &Table, by_data: DataDependent) -> Subgraphs {
    let order = order(module);
    let mut finder = Finder {
        module,
        ops,
        by_data,
        regions: Regions::with_lets(module, &order),
        uses: uses(module, &order),
        runs: FxHashMap::default(),
        members: vec![],
        of: vec![None; module.exprs.len()],
        behind: vec![None; module.exprs.len()],
    };
    for &expr in &order {
        finder.visit(expr);
    }
    let Finder { members, mut of, .. } = finder;
    let members = members.into_iter().map(|members| computed(module, members, &mut of)).collect();
    let parts = connect(module, &order, members, &mut of);
    Subgraphs { order, parts, of }
}

/// As [`Module::evaluation_order`], without the inside of closed functions.
fn order(module: &Module) -> Vec<ExprId> {
    let mut order = vec![];
    let mut seen = vec![false; module.exprs.len()];
    let mut stack: Vec<(ExprId, bool)> = module.roots().iter().rev().map(|&root| (root, false)).collect();
    let mut children = vec![];
    while let Some((expr, done)) = stack.pop() {
        if done {
            order.push(expr);
        } else if !std::mem::replace(&mut seen[expr.index()], true) {
            stack.push((expr, true));
            children.clear();
            if !is_closed(module, expr) {
                module.evaluated_children(expr, &mut children);
            }
            stack.extend(children.iter().rev().map(|&child| (child, false)));
        }
    }
    order
}

/// How often each expression is mentioned.
fn uses(module: &Module, order: &[ExprId]) -> Vec<u32> {
    let mut uses = vec![0; module.exprs.len()];
    let mut children = vec![];
    for &expr in order {
        children.clear();
        module.children(expr, &mut children);
        children.iter().for_each(|child| uses[child.index()] += 1);
    }
    uses
}

/// The role of an expression for the subgraphs around it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// It can belong to a subgraph.
    Member,
    /// Its computation cannot fail and has no effect.
    Plain,
    /// Nothing moves across it.
    Barrier,
}

/// The part that grows in a block.
struct Run {
    part: usize,
    region: RegionId,
}

struct Finder<'a> {
    module: &'a Module,
    ops: &'a Table,
    by_data: DataDependent,
    regions: Regions,
    uses: Vec<u32>,
    /// By block.
    runs: FxHashMap<RegionId, Run>,
    /// Of each part.
    members: Vec<Vec<ExprId>>,
    of: Vec<Option<usize>>,
    /// The part that something outside of it depends on, by the number of that.
    behind: Vec<Option<usize>>,
}

impl Finder<'_> {
    fn visit(&mut self, expr: ExprId) {
        let region = self.regions.region(expr);
        let block = self.regions.home(region);
        match self.class(expr) {
            Class::Member if region != OUTERMOST => {
                let part = self.run(expr, block, region);
                self.members[part].push(expr);
                self.of[expr.index()] = Some(part);
            }
            Class::Member | Class::Barrier => {
                self.runs.remove(&block);
            }
            Class::Plain => {
                if let Some(run) = self.runs.get(&block)
                    && self.operands(expr).iter().any(|&child| self.is_behind(child, run.part))
                {
                    self.behind[expr.index()] = Some(run.part);
                }
            }
        }
    }

    /// The part that a member belongs to: the one that grows, or a new one.
    fn run(&mut self, expr: ExprId, block: RegionId, region: RegionId) -> usize {
        if let Some(run) = self.runs.get(&block)
            && run.region == region
            // What depends on a part cannot be given to it.
            && self.operands(expr).iter().all(|child| self.behind[child.index()] != Some(run.part))
        {
            return run.part;
        }
        let part = self.members.len();
        self.members.push(vec![]);
        self.runs.insert(block, Run { part, region });
        part
    }

    fn is_behind(&self, expr: ExprId, part: usize) -> bool {
        self.of[expr.index()] == Some(part) || self.behind[expr.index()] == Some(part)
    }

    fn operands(&self, expr: ExprId) -> Vec<ExprId> {
        let mut children = vec![];
        // What a function mentions is computed by its calls.
        if !matches!(self.module.exprs[expr].kind, ExprKind::Fn(_)) {
            self.module.children(expr, &mut children);
        }
        children
    }

    fn class(&self, expr: ExprId) -> Class {
        let module = self.module;
        match module.exprs[expr].kind {
            ExprKind::Error
            | ExprKind::Const(_)
            | ExprKind::Var(_)
            | ExprKind::Global(_)
            | ExprKind::Op(_)
            | ExprKind::Fn(_)
            | ExprKind::Let { .. }
            | ExprKind::Ctor(_) => Class::Plain,
            ExprKind::If { .. }
            | ExprKind::Match { .. }
            | ExprKind::RefNew(_)
            | ExprKind::RefRead(_)
            | ExprKind::RefWrite { .. } => Class::Barrier,
            ExprKind::Tuple(fields) => {
                let flat = module.items(fields).iter().all(|field| is_tensor(module, module.ty(field.expr)));
                if flat { Class::Member } else { Class::Plain }
            }
            // A field of what is computed elsewhere is taken there, so that nobody passes the other fields.
            ExprKind::Proj { tuple, .. } => {
                let inside = self.of[tuple.index()].is_some() && is_data(module, module.ty(tuple));
                if inside && self.grows_with(expr, tuple) { Class::Member } else { Class::Plain }
            }
            ExprKind::Call { callee, args, .. } => {
                if module.called_ctor(expr).is_some() {
                    return Class::Plain;
                }
                let data = |expr: ExprId| is_data(module, module.ty(expr));
                let typed = data(expr) && module.items(args).iter().all(|arg| data(arg.expr));
                let computes = match module.exprs[callee].kind {
                    ExprKind::Op(_) => self.is_computed(expr),
                    // A group that several calls share stays where all see it.
                    ExprKind::Fn(func) => {
                        let ours = !module.funcs[func].is_for_a_compiler();
                        is_closed(module, callee) && ours && self.uses[callee.index()] == 1
                    }
                    _ => false,
                };
                if typed && computes { Class::Member } else { Class::Barrier }
            }
        }
    }

    /// Whether a projection would join the part of its tuple.
    fn grows_with(&self, expr: ExprId, tuple: ExprId) -> bool {
        let region = self.regions.region(expr);
        let run = self.runs.get(&self.regions.home(region));
        run.is_some_and(|run| run.region == region && self.of[tuple.index()] == Some(run.part))
    }

    /// Whether a call of an operator has a value that follows from its operands, and may have a shape that does.
    fn is_computed(&self, call: ExprId) -> bool {
        let module = self.module;
        let ExprKind::Call { args, .. } = module.exprs[call].kind else { return false };
        let Some(op) = module.called_op(call) else { return false };
        let def = self.ops.def(op);
        let open = !is_static(module, module.ty(call));
        let known = module.items(args).iter().all(|arg| is_static(module, module.ty(arg.expr)));
        let by_data = open && (known && def.fixed.is_none() || def.fixed.is_some() && self.by_data == DataDependent::Outside);
        let is_mark = def.name == STOP_FUSION.name;
        (!def.internal || is_mark) && !def.random && !by_data
    }
}

/// The members of a part without tuples that only others use; none, if it computes nothing.
fn computed(module: &Module, members: Vec<ExprId>, of: &mut [Option<usize>]) -> Vec<ExprId> {
    let is_call = |expr: ExprId| matches!(module.exprs[expr].kind, ExprKind::Call { .. });
    let empty = !members.iter().any(|&expr| is_call(expr));
    let mut needed: FxHashSet<ExprId> = FxHashSet::default();
    let mut children = vec![];
    let mut kept = vec![];
    for expr in members.into_iter().rev() {
        if empty || (matches!(module.exprs[expr].kind, ExprKind::Tuple(_)) && !needed.contains(&expr)) {
            of[expr.index()] = None;
            continue;
        }
        children.clear();
        module.children(expr, &mut children);
        needed.extend(&children);
        kept.push(expr);
    }
    kept.reverse();
    kept
}

/// Determines the inputs and outputs of subgraphs; drops those without members and renumbers the others.
fn connect(module: &Module, order: &[ExprId], members: Vec<Vec<ExprId>>, of: &mut [Option<usize>]) -> Vec<Subgraph> {
    let mut position = vec![0u32; module.exprs.len()];
    let mut given: FxHashSet<ExprId> = module.roots().into_iter().filter(|root| of[root.index()].is_some()).collect();
    let mut children = vec![];
    for (at, &expr) in order.iter().enumerate() {
        position[expr.index()] = at as u32;
        children.clear();
        module.children(expr, &mut children);
        let outside = |child: &&ExprId| of[child.index()].is_some() && of[child.index()] != of[expr.index()];
        given.extend(children.iter().filter(outside));
    }
    let mut parts = vec![];
    for (at, members) in members.into_iter().enumerate().filter(|(_, members)| !members.is_empty()) {
        let (mut seen, mut args) = (FxHashSet::default(), vec![]);
        for &member in &members {
            children.clear();
            module.children(member, &mut children);
            for &child in children.iter().filter(|child| of[child.index()] != Some(at) && is_value(module, **child)) {
                if seen.insert(ExprKey::of(module, child)) {
                    args.push(child);
                }
            }
        }
        args.sort_by_key(|arg| position[arg.index()]);
        let outputs = members.iter().copied().filter(|expr| given.contains(expr)).collect();
        parts.push((at, Subgraph { members, outputs, args }));
    }
    let mut numbered = vec![];
    for (_, part) in parts {
        part.members.iter().for_each(|expr| of[expr.index()] = Some(numbered.len()));
        numbered.push(part);
    }
    numbered
}

/// Whether an operand is a value that has to be passed.
fn is_value(module: &Module, expr: ExprId) -> bool {
    !matches!(module.exprs[expr].kind, ExprKind::Const(_) | ExprKind::Op(_) | ExprKind::Fn(_))
}

/// Whether it is a tensor or a tuple of tensors.
fn is_data(module: &Module, ty: Ty) -> bool {
    is_tensor(module, ty) || module.types.is_tuple_of_tensors(ty)
}
