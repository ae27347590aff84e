//! Finds the group in which each expression is evaluated, the values of variables, and the parameters that are weights.
//!
//! A function is walked users first. An expression with uses in one branch belongs to that branch. One with several uses
//! belongs to the innermost group around them, which is inside the binders of its variables. A parameter is a weight if only
//! operators take it. Each must take it as an operand with a weight's name (`weight`, `gamma`), or as the smaller one beside a
//! computed operand.

use super::super::graph::{Graph, GroupId, GroupKind};
use super::super::label::{self, tame};
use super::Source;
use relayc_base::Idx;
use relayc_ir::types::{Ty, dims_of};
use relayc_ir::{ExprId, ExprKind, FuncId, Module, OpTable, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The operands that are trained numbers, by the operators' names for them.
const TRAINED: [&str; 14] = [
    "weight",
    "weights",
    "bias",
    "gamma",
    "beta",
    "moving_mean",
    "moving_var",
    "alpha",
    "scale",
    "zero_point",
    "kernel",
    "mean",
    "var",
    "embedding",
];

/// Maximum nesting depth of drawn groups; deeper ones are drawn in the innermost. Each edge visits every group around its ends,
/// and readers do not follow this many borders.
const MAX_DEPTH: usize = 64;

/// A new group inside another, or that group itself at the maximum depth.
fn inside(graph: &mut Graph, around: GroupId, kind: GroupKind, title: impl Into<String>) -> GroupId {
    if graph.depth(around) >= MAX_DEPTH { around } else { graph.group(Some(around), kind, title) }
}

/// Whether an operand of this name is a weight and not a data flow.
pub(crate) fn is_trained(arg: &str) -> bool {
    TRAINED.contains(&arg) || arg.ends_with("_scale") || arg.ends_with("_zero_point")
}

#[derive(Default)]
pub(crate) struct Scopes {
    /// Number of uses of each expression.
    uses: Vec<u32>,
    of: FxHashMap<ExprId, GroupId>,
    /// The value of a `let`, or the argument of the only call of a function literal; never a variable that is bound itself.
    bound: FxHashMap<VarId, ExprId>,
    names: FxHashMap<ExprId, VarId>,
    /// The groups of closures and choices; a choice is followed by its cases.
    groups: FxHashMap<ExprId, Vec<GroupId>>,
    inline: FxHashSet<ExprId>,
    /// Tuples that one operator, or a function's result, takes.
    taken: FxHashSet<ExprId>,
    weights: FxHashSet<VarId>,
    others: FxHashSet<VarId>,
}

impl Scopes {
    pub(crate) fn new(uses: Vec<u32>) -> Scopes {
        Scopes { uses, ..Scopes::default() }
    }

    pub(crate) fn of(&self, expr: ExprId) -> GroupId {
        self.of[&expr]
    }

    /// The value of a variable, unless it is a parameter or part of a pattern.
    pub(crate) fn bound(&self, var: VarId) -> Option<ExprId> {
        self.bound.get(&var).copied()
    }

    /// The variable that a `let` binds an expression to.
    pub(crate) fn name(&self, expr: ExprId) -> Option<VarId> {
        self.names.get(&expr).copied()
    }

    /// The group of a function literal that is a value.
    pub(crate) fn closure(&self, expr: ExprId) -> Option<GroupId> {
        if self.inline.contains(&expr) { None } else { self.groups.get(&expr).map(|groups| groups[0]) }
    }

    /// The group of an `if` or a `match`.
    pub(crate) fn choice(&self, expr: ExprId) -> GroupId {
        self.groups[&expr][0]
    }

    /// The group of one of its cases.
    pub(crate) fn case(&self, expr: ExprId, at: usize) -> GroupId {
        self.groups[&expr][at + 1]
    }

    pub(crate) fn is_weight(&self, var: VarId) -> bool {
        self.weights.contains(&var) && !self.others.contains(&var)
    }

    pub(crate) fn is_only_for_an_operator(&self, tuple: ExprId) -> bool {
        self.uses[tuple.index()] <= 1 && self.taken.contains(&tuple)
    }

    /// Assigns a group to every expression of a function.
    pub(crate) fn enter(&mut self, cx: &Source, graph: &mut Graph, func: FuncId, group: GroupId) {
        let module = cx.module;
        let body = module.funcs[func].body;
        self.of.insert(body, group);
        self.taken.insert(body);
        self.mention(module, body);
        let order = module.post_order(&[body]);
        for &expr in order.iter().rev() {
            let Some(&here) = self.of.get(&expr) else { continue };
            self.one(cx, graph, expr, here);
        }
    }

    fn one(&mut self, cx: &Source, graph: &mut Graph, expr: ExprId, here: GroupId) {
        let module = cx.module;
        match module.exprs[expr].kind {
            ExprKind::Let { var, value, body } => {
                self.bind(module, var, value);
                self.names.entry(value).or_insert(var);
                self.place(graph, value, here);
                self.place(graph, body, here);
                if !matches!(module.exprs[value].kind, ExprKind::Var(_)) {
                    self.mention(module, value);
                }
                self.mention(module, body);
            }
            ExprKind::Call { callee, args, .. } => {
                let args: Vec<ExprId> = module.items(args).iter().map(|arg| arg.expr).collect();
                self.call(cx, graph, expr, callee, &args, here);
            }
            ExprKind::Fn(func) => {
                let kind = match (self.inline.contains(&expr), module.funcs[func].is_primitive()) {
                    (true, true) => GroupKind::Fused,
                    (true, false) => GroupKind::Inline,
                    (false, _) => GroupKind::Closure,
                };
                let name = (cx.name)(module.exprs[expr].span);
                let name = self.names.get(&expr).map(|&var| format!("%{}", module.vars[var].name)).or(name);
                let word = if kind == GroupKind::Fused { "fused" } else { "fn" };
                let title = name.map_or(word.to_owned(), |name| format!("{word} {name}"));
                let group = inside(graph, here, kind, tame(&title));
                self.groups.insert(expr, vec![group]);
                self.place(graph, module.funcs[func].body, group);
                self.mention(module, module.funcs[func].body);
            }
            ExprKind::If { cond, then_branch, else_branch } => {
                let choice = inside(graph, here, GroupKind::Choice, "if");
                self.place(graph, cond, here);
                self.mention(module, cond);
                let mut groups = vec![choice];
                for (title, branch) in [("then", then_branch), ("else", else_branch)] {
                    let case = inside(graph, choice, GroupKind::Case, title);
                    groups.push(case);
                    self.place(graph, branch, case);
                    self.mention(module, branch);
                }
                self.groups.insert(expr, groups);
            }
            ExprKind::Match { scrutinee, clauses, .. } => {
                let choice = inside(graph, here, GroupKind::Choice, "match");
                self.place(graph, scrutinee, here);
                self.mention(module, scrutinee);
                let mut groups = vec![choice];
                for clause in module.clause_items(clauses) {
                    let case = inside(graph, choice, GroupKind::Case, label::pattern(module, clause.pat));
                    groups.push(case);
                    self.place(graph, clause.body, case);
                    self.mention(module, clause.body);
                }
                self.groups.insert(expr, groups);
            }
            _ => {
                let mut children = vec![];
                module.children(expr, &mut children);
                for child in children {
                    self.place(graph, child, here);
                    self.mention(module, child);
                }
            }
        }
    }

    fn call(&mut self, cx: &Source, graph: &mut Graph, expr: ExprId, callee: ExprId, args: &[ExprId], here: GroupId) {
        let module = cx.module;
        for &child in args.iter().chain([&callee]) {
            self.place(graph, child, here);
        }
        match module.exprs[callee].kind {
            ExprKind::Op(op) => {
                let names = cx.ops.args(op).unwrap_or_default();
                let computed = args.iter().any(|&arg| self.is_computed(module, arg));
                for (at, &arg) in args.iter().enumerate() {
                    let Some(var) = self.parameter(module, arg) else {
                        self.taken.insert(arg);
                        continue;
                    };
                    let trained = names.get(at).is_some_and(|name| is_trained(name.name));
                    let beside = at > 0 && computed && is_smaller(module, module.ty(arg), module.ty(expr));
                    if trained || beside {
                        self.weights.insert(var)
                    } else {
                        self.others.insert(var)
                    };
                }
            }
            ExprKind::Fn(func) if self.uses[callee.index()] <= 1 && module.funcs[func].params.len() == args.len() => {
                self.inline.insert(callee);
                for (&var, &arg) in module.funcs[func].params.iter().zip(args) {
                    self.bind(module, var, arg);
                }
            }
            _ => args.iter().chain([&callee]).for_each(|&child| self.mention(module, child)),
        }
    }

    /// Whether an operand is the result of an operator or a call.
    fn is_computed(&self, module: &Module, expr: ExprId) -> bool {
        self.parameter(module, expr).is_none() && !matches!(module.exprs[expr].kind, ExprKind::Const(_))
    }

    /// Binds a variable to a value. Outer bindings are known by now, so a chain of names has one link.
    fn bind(&mut self, module: &Module, var: VarId, value: ExprId) {
        let value = match module.exprs[value].kind {
            ExprKind::Var(other) if other == var => return,
            ExprKind::Var(other) => self.bound.get(&other).copied().unwrap_or(value),
            _ => value,
        };
        self.bound.insert(var, value);
    }

    /// The parameter that an operand stands for, under any name.
    fn parameter(&self, module: &Module, expr: ExprId) -> Option<VarId> {
        let ExprKind::Var(var) = module.exprs[expr].kind else { return None };
        match self.bound.get(&var) {
            Some(&value) => match module.exprs[value].kind {
                ExprKind::Var(var) => Some(var),
                _ => None,
            },
            None => Some(var),
        }
    }

    /// Records a use that makes a parameter an input.
    fn mention(&mut self, module: &Module, expr: ExprId) {
        if let Some(var) = self.parameter(module, expr) {
            self.others.insert(var);
        }
    }

    /// Records a use of an expression in a group.
    fn place(&mut self, graph: &Graph, expr: ExprId, group: GroupId) {
        let group = match self.of.get(&expr) {
            Some(&before) => graph.common(before, group).unwrap_or(before),
            None => group,
        };
        self.of.insert(expr, group);
    }
}

/// Whether a tensor has fewer elements than another.
fn is_smaller(module: &Module, ty: Ty, than: Ty) -> bool {
    let elements = |ty: Ty| {
        let (shape, _) = module.types.as_tensor(ty)?;
        Some(dims_of(shape)?.iter().map(|&dim| dim as f64).product::<f64>())
    };
    matches!((elements(ty), elements(than)), (Some(part), Some(whole)) if part < whole)
}
