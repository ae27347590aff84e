//! Builds the graph to draw from a module.
//!
//! * Bindings are not nodes: a name belongs to its value. A projection is part of the edge, and a tuple with a single user
//!   operator is not a node either. Weights and constants stay with the operator that takes them.
//! * A function literal that is called in one place is a group that its arguments flow into. A function literal that is a value
//!   ends in a node of its own.
//! * An `if` or a `match` has one node for the decision and one for the result.
//! * Every expression is drawn where it is evaluated: in the innermost group that contains its uses (`scopes`).
//!
//! Absent: recursion, which deep programs do not allow.

mod scopes;

use super::graph::{Change, Edge, Family, Graph, GroupId, GroupKind, Link, Node, NodeId, NodeKind, Weight};
use super::label::{self, tame};
use relayc_base::Span;
use relayc_ir::types::Ty;
use relayc_ir::{AttrsId, Clauses, ConstId, ExprId, ExprKind, FuncId, GlobalId, Module, OpTable, PatKind, Seen, VarId};
use relayc_ops::{Fuse, Table};
use rustc_hash::FxHashMap;
use scopes::Scopes;

/// The input of a graph.
pub struct Source<'a> {
    pub module: &'a Module,
    pub ops: &'a Table,
    /// The name that the text binds the expression at a place to.
    pub name: &'a dyn Fn(Span) -> Option<String>,
    /// Whether weights are nodes like other inputs.
    pub weights: bool,
}

#[derive(Clone, Debug)]
enum Value {
    /// A node, or its field: `.0`.
    Node(NodeId, String),
    /// A tuple that is not a node.
    Fields(ExprId),
    Const(ConstId),
    Weight(VarId),
    /// A value with only a name: a function, an operator, a function inside itself.
    Named(String),
}

enum Step {
    Enter(ExprId),
    Exit(ExprId),
    /// The condition or the scrutinee is complete.
    Branch(ExprId),
    /// A case of a match begins.
    Clause(ExprId, usize),
}

struct Builder<'a> {
    cx: &'a Source<'a>,
    graph: Graph,
    scopes: Scopes,
    values: FxHashMap<ExprId, Value>,
    inputs: FxHashMap<VarId, NodeId>,
    patterns: FxHashMap<VarId, Value>,
    functions: FxHashMap<GlobalId, GroupId>,
}

/// Builds the graph of a module: all its functions, `@main` first, then in text order.
pub fn build(cx: &Source) -> Graph {
    let module = cx.module;
    let mut order: Vec<GlobalId> = module.globals.ids().collect();
    order.sort_by_key(|&id| &*module.globals[id].name != "main");
    let mut graph = Graph::default();
    let mut functions = FxHashMap::default();
    for &id in &order {
        let title = tame(&format!("@{}", module.globals[id].name));
        functions.insert(id, graph.group(None, GroupKind::Function, title));
    }
    let uses = module.use_counts(&module.roots());
    let scopes = Scopes::new(uses);
    let (values, inputs, patterns) = Default::default();
    let mut builder = Builder { cx, graph, scopes, values, inputs, patterns, functions };
    for id in order {
        builder.function(id);
    }
    builder.graph.show_used_fields();
    builder.graph
}

impl Builder<'_> {
    fn function(&mut self, id: GlobalId) {
        let (module, group) = (self.cx.module, self.functions[&id]);
        let func = module.globals[id].func;
        let body = module.funcs[func].body;
        self.scopes.enter(self.cx, &mut self.graph, func, group);
        self.params(func, group);
        let mut seen = Seen::none(module);
        self.walk(body, &mut seen);
        let output = self.node(group, NodeKind::Output, "result".to_owned(), Span::NONE);
        self.graph.nodes[output].ty = label::ty(module, module.ty(body));
        let value = self.value(body);
        self.take(output, "", &value, module.ty(body));
    }

    /// Adds the parameters of a function that are nodes.
    fn params(&mut self, func: FuncId, group: GroupId) {
        let module = self.cx.module;
        for &var in &module.funcs[func].params {
            if !self.cx.weights && self.scopes.is_weight(var) {
                continue;
            }
            let ir = &module.vars[var];
            let name = tame(&format!("%{}", ir.name));
            let node = self.node(group, NodeKind::Input, name.clone(), ir.span);
            self.graph.nodes[node].name = Some(name);
            self.graph.nodes[node].ty = label::ty(module, ir.checked_ty.or(ir.ty).unwrap_or(Ty::ERROR));
            self.inputs.insert(var, node);
        }
    }

    fn walk(&mut self, root: ExprId, seen: &mut Seen) {
        let mut steps = vec![Step::Enter(root)];
        let mut children = vec![];
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(expr) => {
                    if seen.insert(expr) {
                        self.begin(expr, &mut steps, &mut children);
                    }
                }
                Step::Exit(expr) => {
                    let value = self.finish(expr);
                    self.values.insert(expr, value);
                }
                Step::Branch(expr) => self.branch(expr),
                Step::Clause(expr, at) => self.clause(expr, at),
            }
        }
    }

    fn begin(&mut self, expr: ExprId, steps: &mut Vec<Step>, children: &mut Vec<ExprId>) {
        let module = self.cx.module;
        match module.exprs[expr].kind {
            ExprKind::Const(_) | ExprKind::Var(_) | ExprKind::Global(_) | ExprKind::Op(_) | ExprKind::Ctor(_) => {}
            ExprKind::If { cond, then_branch, else_branch } => {
                let (enter_then, enter_else) = (Step::Enter(then_branch), Step::Enter(else_branch));
                steps.extend([Step::Exit(expr), enter_else, enter_then, Step::Branch(expr), Step::Enter(cond)]);
            }
            ExprKind::Match { scrutinee, clauses, .. } => {
                steps.push(Step::Exit(expr));
                for (at, clause) in module.clause_items(clauses).iter().enumerate().rev() {
                    steps.extend([Step::Enter(clause.body), Step::Clause(expr, at)]);
                }
                steps.extend([Step::Branch(expr), Step::Enter(scrutinee)]);
            }
            ExprKind::Fn(func) => {
                if let Some(group) = self.scopes.closure(expr) {
                    self.params(func, group);
                }
                steps.extend([Step::Exit(expr), Step::Enter(module.funcs[func].body)]);
            }
            _ => {
                steps.push(Step::Exit(expr));
                children.clear();
                module.evaluated_children(expr, children);
                steps.extend(children.iter().rev().map(|&child| Step::Enter(child)));
            }
        }
    }

    /// The value of an expression, given its parts.
    fn finish(&mut self, expr: ExprId) -> Value {
        let module = self.cx.module;
        let group = self.scopes.of(expr);
        let value = match module.exprs[expr].kind {
            ExprKind::Let { body, .. } => return self.value(body),
            ExprKind::Proj { tuple, index } => return self.field(tuple, index),
            ExprKind::Fn(func) => match self.scopes.closure(expr) {
                Some(group) => self.closure(expr, func, group),
                None => return self.value(module.funcs[func].body),
            },
            ExprKind::Call { callee, args, attrs } => {
                if let ExprKind::Fn(func) = module.exprs[callee].kind
                    && self.scopes.closure(callee).is_none()
                {
                    return self.value(module.funcs[func].body);
                }
                let args: Vec<ExprId> = module.items(args).iter().map(|arg| arg.expr).collect();
                self.call(expr, callee, &args, attrs, group)
            }
            ExprKind::Tuple(fields) if fields.is_empty() => return Value::Named("()".to_owned()),
            ExprKind::Tuple(_) if self.scopes.is_only_for_an_operator(expr) => return Value::Fields(expr),
            ExprKind::Tuple(fields) => {
                let node = self.expr_node(expr, group, NodeKind::Tuple, "tuple".to_owned());
                for field in module.items(fields) {
                    self.operand(node, "", field.expr);
                }
                node
            }
            ExprKind::If { then_branch, else_branch, .. } => {
                let node = self.expr_node(expr, self.scopes.choice(expr), NodeKind::Join, "end if".to_owned());
                self.part(node, "then", then_branch);
                self.part(node, "else", else_branch);
                node
            }
            ExprKind::Match { clauses, .. } => {
                let node = self.expr_node(expr, self.scopes.choice(expr), NodeKind::Join, "end match".to_owned());
                for clause in module.clause_items(clauses) {
                    self.part(node, "", clause.body);
                }
                node
            }
            ExprKind::RefNew(value) => self.reference(expr, group, "ref", &[value]),
            ExprKind::RefRead(cell) => self.reference(expr, group, "ref_read", &[cell]),
            ExprKind::RefWrite { cell, value } => self.reference(expr, group, "ref_write", &[cell, value]),
            _ => self.expr_node(expr, group, NodeKind::Error, "not understood".to_owned()),
        };
        Value::Node(value, String::new())
    }

    fn reference(&mut self, expr: ExprId, group: GroupId, label: &str, parts: &[ExprId]) -> NodeId {
        let node = self.expr_node(expr, group, NodeKind::Reference, label.to_owned());
        for &part in parts {
            self.operand(node, "", part);
        }
        node
    }

    fn closure(&mut self, expr: ExprId, func: FuncId, group: GroupId) -> NodeId {
        let module = self.cx.module;
        let node = self.expr_node(expr, group, NodeKind::Closure, "fn".to_owned());
        let params: Vec<String> = module.funcs[func].params.iter().map(|&var| format!("%{}", module.vars[var].name)).collect();
        self.graph.nodes[node].brief = tame(&format!("({})", params.join(", ")));
        self.operand(node, "", module.funcs[func].body);
        node
    }

    fn call(&mut self, expr: ExprId, callee: ExprId, args: &[ExprId], attrs: Option<AttrsId>, group: GroupId) -> NodeId {
        let (module, ops) = (self.cx.module, self.cx.ops);
        let values = attrs.map(|attrs| &module.attrs[attrs].values);
        match module.exprs[callee].kind {
            ExprKind::Op(op) => {
                let node = self.expr_node(expr, group, NodeKind::Operator, ops.name(op).to_owned());
                if let (Some(schema), Some(values)) = (ops.schema(op).or(ops.meta_schema(op)), values) {
                    self.graph.nodes[node].brief = tame(&label::brief(schema, values));
                    self.graph.nodes[node].attrs = label::attrs(schema, values);
                }
                self.graph.nodes[node].family = family(ops.def(op).fuse);
                let names = ops.args(op).unwrap_or_default();
                for (at, &arg) in args.iter().enumerate() {
                    self.operand(node, names.get(at).map_or("", |arg| arg.name), arg);
                }
                node
            }
            ExprKind::Ctor(ctor) => {
                let name = tame(&module.ctors[ctor].name);
                let node = self.expr_node(expr, group, NodeKind::Constructor, name);
                args.iter().for_each(|&arg| self.operand(node, "", arg));
                node
            }
            ExprKind::Global(global) => {
                let name = tame(&format!("@{}", module.globals[global].name));
                let node = self.expr_node(expr, group, NodeKind::Call, name);
                let to = self.functions[&global];
                self.graph.links.push(Link { from: node, to, label: "call".to_owned() });
                args.iter().for_each(|&arg| self.operand(node, "", arg));
                node
            }
            kind => {
                let called = match kind {
                    ExprKind::Var(var) => tame(&format!("%{}", module.vars[var].name)),
                    _ => "call".to_owned(),
                };
                let node = self.expr_node(expr, group, NodeKind::Call, called);
                if let Value::Node(from, path) = self.value(callee) {
                    let name = self.graph.nodes[from].name.clone();
                    if self.graph.nodes[node].label == "call" {
                        self.graph.nodes[node].label = name.map_or("call".to_owned(), |name| name + &path);
                    }
                    let label = if path.is_empty() { "fn".to_owned() } else { format!("fn {path}") };
                    self.graph.edges.push(Edge { from, to: node, label, ty: String::new() });
                }
                args.iter().for_each(|&arg| self.operand(node, "", arg));
                node
            }
        }
    }

    /// Adds the node of a decision.
    fn branch(&mut self, expr: ExprId) {
        let (module, group) = (self.cx.module, self.scopes.choice(expr));
        let (label, from, cases): (_, _, Vec<String>) = match module.exprs[expr].kind {
            ExprKind::If { cond, .. } => ("if", cond, vec!["then".to_owned(), "else".to_owned()]),
            ExprKind::Match { scrutinee, clauses, total } => {
                (if total { "match" } else { "match?" }, scrutinee, self.case_titles(clauses))
            }
            _ => return,
        };
        let node = self.node(group, NodeKind::Branch, label.to_owned(), module.exprs[expr].span);
        self.operand(node, "", from);
        for (at, label) in cases.into_iter().enumerate() {
            let to = self.scopes.case(expr, at);
            // A case that is nested too deep has no group of its own.
            if to != group {
                self.graph.links.push(Link { from: node, to, label });
            }
        }
    }

    fn case_titles(&self, clauses: Clauses) -> Vec<String> {
        self.cx.module.clause_items(clauses).iter().map(|clause| label::pattern(self.cx.module, clause.pat)).collect()
    }

    /// Adds a node for a pattern, if it binds names.
    fn clause(&mut self, expr: ExprId, at: usize) {
        let module = self.cx.module;
        let ExprKind::Match { scrutinee, clauses, .. } = module.exprs[expr].kind else { return };
        let clause = module.clause_items(clauses)[at];
        let vars = module.pat_vars(clause.pat);
        if vars.is_empty() {
            return;
        }
        if let PatKind::Var(var) = module.pats[clause.pat].kind {
            let value = self.value(scrutinee);
            self.patterns.insert(var, value);
            return;
        }
        let title = label::pattern(module, clause.pat);
        let node = self.node(self.scopes.case(expr, at), NodeKind::Pattern, title, module.pats[clause.pat].span);
        for var in vars {
            self.patterns.insert(var, Value::Node(node, tame(&format!("%{}", module.vars[var].name))));
        }
        self.operand(node, "", scrutinee);
    }

    fn field(&mut self, tuple: ExprId, index: i32) -> Value {
        match self.value(tuple) {
            Value::Node(node, path) => Value::Node(node, format!("{path}.{index}")),
            Value::Fields(expr) => match self.cx.module.exprs[expr].kind {
                ExprKind::Tuple(fields) => match self.cx.module.items(fields).get(index as usize) {
                    Some(field) => self.value(field.expr),
                    None => Value::Named("?".to_owned()),
                },
                _ => Value::Named("?".to_owned()),
            },
            Value::Weight(var) => Value::Named(tame(&format!("%{}.{index}", self.cx.module.vars[var].name))),
            Value::Const(_) | Value::Named(_) => Value::Named("?".to_owned()),
        }
    }

    /// The source of an expression's value.
    fn value(&self, expr: ExprId) -> Value {
        let module = self.cx.module;
        match module.exprs[expr].kind {
            ExprKind::Const(id) => Value::Const(id),
            ExprKind::Global(id) => Value::Named(tame(&format!("@{}", module.globals[id].name))),
            ExprKind::Op(op) => Value::Named(self.cx.ops.name(op).to_owned()),
            ExprKind::Ctor(ctor) => Value::Named(tame(&module.ctors[ctor].name)),
            ExprKind::Var(var) => match self.scopes.bound(var) {
                Some(bound) => match module.exprs[bound].kind {
                    ExprKind::Var(var) => self.variable(var),
                    // A function that calls itself is not there yet.
                    _ if !self.is_there(bound) => Value::Named(tame(&format!("%{}", module.vars[var].name))),
                    _ => self.value(bound),
                },
                None => self.variable(var),
            },
            _ => self.values.get(&expr).cloned().unwrap_or_else(|| Value::Named("?".to_owned())),
        }
    }

    fn is_there(&self, expr: ExprId) -> bool {
        let kind = self.cx.module.exprs[expr].kind;
        let is_leaf = matches!(kind, ExprKind::Const(_) | ExprKind::Global(_) | ExprKind::Op(_) | ExprKind::Ctor(_));
        is_leaf || self.values.contains_key(&expr)
    }

    /// The value of a variable that is not an alias.
    fn variable(&self, var: VarId) -> Value {
        if let Some(value) = self.patterns.get(&var) {
            return value.clone();
        }
        match self.inputs.get(&var) {
            Some(&node) => Value::Node(node, String::new()),
            None if self.scopes.is_weight(var) => Value::Weight(var),
            None => Value::Named(tame(&format!("%{}", self.cx.module.vars[var].name))),
        }
    }

    /// Adds an operand to a node. `arg` is the operator's name for it.
    fn operand(&mut self, node: NodeId, arg: &str, expr: ExprId) {
        let value = self.value(expr);
        self.take(node, arg, &value, self.cx.module.ty(expr));
    }

    /// Like [`Builder::operand`], for the result of a case.
    fn part(&mut self, node: NodeId, part: &str, expr: ExprId) {
        let n_edges = self.graph.edges.len();
        self.operand(node, part, expr);
        if let Some(edge) = self.graph.edges.get_mut(n_edges) {
            edge.label = format!("{part} {}", edge.label).trim().to_owned();
        }
    }

    fn take(&mut self, node: NodeId, arg: &str, value: &Value, ty: Ty) {
        let module = self.cx.module;
        let weight = |text: String, telling: bool| Weight { arg: arg.to_owned(), text, ty: label::ty(module, ty), telling };
        let weight = match value {
            Value::Node(from, path) => {
                let edge = Edge { from: *from, to: node, label: path.clone(), ty: label::ty(module, ty) };
                return self.graph.edges.push(edge);
            }
            Value::Fields(tuple) => {
                let ExprKind::Tuple(fields) = module.exprs[*tuple].kind else { return };
                for field in module.items(fields) {
                    // A field that is such a tuple itself would have a node: it is no operator's.
                    let value = self.value(field.expr);
                    if !matches!(value, Value::Fields(_)) {
                        self.take(node, arg, &value, module.ty(field.expr));
                    }
                }
                return;
            }
            Value::Const(id) => weight(label::constant(module, *id), !scopes::is_trained(arg)),
            Value::Weight(var) => weight(tame(&format!("%{}", module.vars[*var].name)), !scopes::is_trained(arg)),
            Value::Named(name) => weight(name.clone(), true),
        };
        self.graph.nodes[node].weights.push(weight);
    }

    fn expr_node(&mut self, expr: ExprId, group: GroupId, kind: NodeKind, label: String) -> NodeId {
        let module = self.cx.module;
        let span = module.exprs[expr].span;
        let node = self.node(group, kind, label, span);
        let bound = self.scopes.name(expr).map(|var| tame(&format!("%{}", module.vars[var].name)));
        let new = &mut self.graph.nodes[node];
        new.name = bound.or_else(|| (self.cx.name)(span).map(|name| tame(&name)));
        new.ty = label::ty(module, module.ty(expr));
        node
    }

    fn node(&mut self, group: GroupId, kind: NodeKind, label: String, span: Span) -> NodeId {
        self.graph.nodes.push(Node {
            group,
            kind,
            family: Family::Other,
            label,
            brief: String::new(),
            attrs: vec![],
            weights: vec![],
            name: None,
            ty: String::new(),
            span,
            change: Change::Kept,
            n_cut: 0,
            facts: vec![],
            heat: None,
        })
    }
}

fn family(fuse: Option<Fuse>) -> Family {
    match fuse {
        Some(Fuse::OutEWiseFusable) => Family::Products,
        Some(Fuse::ElemWise | Fuse::Broadcast) => Family::Elements,
        Some(Fuse::Injective) => Family::Moves,
        Some(Fuse::CommReduce) => Family::Reduction,
        Some(Fuse::Opaque) | None => Family::Other,
    }
}
