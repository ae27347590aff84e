//! Name resolution, syntax tree to IR: names, scopes, written types, and attributes completed with their schemas' defaults.
//!
//! Never stops at an error: unreadable text becomes an error node that silences errors that follow from it. Works with an
//! explicit stack. Absent: the types of expressions.

mod arguments;
mod attrs;
mod data;
mod errors;
mod forward;
mod mention;
mod meta;
mod missing;
mod names;
mod renamed;
mod scope;
mod section;
mod sizes;
mod type_errors;
mod types;

pub use attrs::attr_value;
pub(crate) use attrs::is_plain;
pub use mention::{Meaning, Mention};
use relayc_base::Span;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::SpellingSearch;
use relayc_ir::attrs::{Arg, Field, OpTable};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::Ty;
use relayc_ir::{self as ir, AdtId, ExprKind, FuncId, Global, Module, Operand, Root, VarId};
use relayc_syntax::ast::{self, Ast};
use relayc_syntax::literal;
use relayc_syntax::old_calls::{OldCall, OldCalls};
use rustc_hash::{FxHashMap, FxHashSet};
use scope::{GraphTable, Scopes};
use std::collections::hash_map::Entry;

/// Resolves a syntax tree: the module, and the errors in its names.
pub fn resolve(ast: &Ast, ops: &dyn OpTable) -> (Module, Vec<Diagnostic>) {
    let (module, diagnostics, _) = run(ast, ops, None);
    (module, diagnostics)
}

/// As [`resolve`], with what each name of the text means, in text order.
pub fn resolve_with_mentions(ast: &Ast, ops: &dyn OpTable) -> (Module, Vec<Diagnostic>, Vec<Mention>) {
    let (module, diagnostics, mentions) = run(ast, ops, Some(Vec::with_capacity(ast.exprs.len())));
    let mut mentions = mentions.unwrap_or_default();
    mentions.sort_by_key(|mention| (mention.span.start, mention.span.end));
    (module, diagnostics, mentions)
}

fn run(ast: &Ast, ops: &dyn OpTable, mentions: Option<Vec<Mention>>) -> (Module, Vec<Diagnostic>, Option<Vec<Mention>>) {
    let mut resolver = Resolver {
        ast,
        ops,
        module: Module::new(),
        diagnostics: vec![],
        globals: FxHashMap::default(),
        adts: FxHashMap::default(),
        n_adt_params: FxHashMap::default(),
        ctors: FxHashMap::default(),
        scopes: Scopes::default(),
        graph: GraphTable::default(),
        forward: forward::Forward::default(),
        type_params: FxHashMap::default(),
        n_type_params: 0,
        generic: None,
        undefined_types: FxHashSet::default(),
        lacking_params: FxHashSet::default(),
        first_var: VarId(0),
        results: vec![],
        pats: vec![],
        lets: vec![],
        steps: vec![],
        meta: meta::Meta::default(),
        incomplete: FxHashMap::default(),
        lost_ctors: FxHashSet::default(),
        n_hidden: 0,
        near: SpellingSearch::default(),
        size_names: std::cell::OnceCell::new(),
        known_attrs: FxHashMap::default(),
        old_calls: OldCalls::new(ast),
        has_old_calls: false,
        mentions,
    };
    resolver.read_metadata();
    resolver.run();
    resolver.report_hidden_old_calls();
    resolver.count_dangling();
    resolver.join_renamed();
    let Resolver { module, mut diagnostics, mentions, .. } = resolver;
    diagnostics.extend(errors::ill_formed(&module));
    relayc_base::diag::sort(&mut diagnostics);
    (module, diagnostics, mentions)
}

/// A pending step; the next one is on top. Results are on a stack of their own.
enum Step {
    Expr(ast::ExprId),
    /// The callee of a call, where a constructor without inputs is not applied yet.
    Callee(ast::ExprId),
    Tuple(ast::ExprId),
    Proj(ast::ExprId),
    Call(ast::ExprId),
    Binary(ast::ExprId),
    If(ast::ExprId),
    Fn(ast::FuncId, FuncId),
    Match(ast::ExprId),
    Pattern(ast::PatId),
    Reference(ast::ExprId),
    OpenScope,
    CloseScope,
    /// The next statement of a sequence, by its index; `n_lets` counts those before the sequence.
    Stmt {
        seq: ast::ExprId,
        index: usize,
        n_lets: usize,
    },
    Graph(ast::StmtId, Span),
    /// The value is resolved; `var` is declared already where the value is a function.
    Let(ast::StmtId, Option<VarId>),
    SeqEnd {
        seq: ast::ExprId,
        n_lets: usize,
    },
}

struct Resolver<'a> {
    ast: &'a Ast,
    ops: &'a dyn OpTable,
    module: Module,
    diagnostics: Vec<Diagnostic>,
    globals: FxHashMap<&'a str, ir::GlobalId>,
    adts: FxHashMap<&'a str, ir::AdtId>,
    /// How many arguments each type takes, known before its parameters are read.
    n_adt_params: FxHashMap<ir::AdtId, usize>,
    ctors: FxHashMap<&'a str, ir::CtorId>,
    scopes: Scopes<'a>,
    graph: GraphTable<'a>,
    forward: forward::Forward<'a>,
    /// Type parameters in scope, the innermost of a name last.
    type_params: FxHashMap<&'a str, Vec<Ty>>,
    n_type_params: u32,
    /// The definition that is resolved.
    generic: Option<type_errors::Generic<'a>>,
    /// Names of types that are not defined and were reported in this definition.
    undefined_types: FxHashSet<&'a str>,
    /// Data types in whose definitions a type is not known.
    lacking_params: FxHashSet<AdtId>,
    /// The first variable of the definition that is being resolved.
    first_var: VarId,
    results: Vec<Operand>,
    /// Patterns of clauses whose match is not finished.
    pats: Vec<ir::PatId>,
    /// Lets whose body is not finished: variable, value, where the let begins.
    lets: Vec<(VarId, ir::ExprId, Span)>,
    steps: Vec<Step>,
    meta: meta::Meta<'a>,
    /// `meta[IncompleteType][k]` as written, and its hole.
    incomplete: FxHashMap<&'a str, Ty>,
    /// Constructors of types that were not taken, because their names were.
    lost_ctors: FxHashSet<&'a str>,
    /// The number of recorded bindings that hide another.
    n_hidden: usize,
    /// Finds spelling suggestions for unknown names, within one limit for all.
    near: SpellingSearch,
    /// The names of the sizes in types, once an attribute or the metadata section asks for them.
    size_names: std::cell::OnceCell<Vec<&'a str>>,
    known_attrs: attrs::KnownAttrs<'a>,
    old_calls: OldCalls<'a>,
    has_old_calls: bool,
    /// What each name means, where somebody asks for it.
    mentions: Option<Vec<Mention>>,
}

impl<'a> Resolver<'a> {
    fn run(&mut self) {
        match self.ast.root {
            ast::Root::Error => {}
            ast::Root::Expr(expr) => {
                self.begin_forward(self.ast.exprs[expr].span);
                let value = self.expr(expr);
                self.end_forward();
                self.module.root = Root::Expr(value.expr);
            }
            ast::Root::Module => self.defs(),
        }
    }

    fn defs(&mut self) {
        let ast = self.ast;
        self.data_types(ast);
        // All names first: functions may be used above their definition.
        let mut bodies = Vec::new();
        for def in &ast.defs {
            match def {
                ast::Def::Type { .. } => {}
                ast::Def::Func { name, func, .. } => {
                    let text = ast.text(*name).trim_start_matches('@');
                    if let Some(&first) = self.globals.get(text) {
                        let first = self.module.globals[first].span;
                        self.diagnostics.push(errors::duplicate("function", ast.text(*name), *name, first));
                        continue;
                    }
                    let target = self.new_func(ast.funcs[*func].span);
                    let id = self.module.globals.push(Global { name: text.into(), func: target, span: *name });
                    self.globals.insert(text, id);
                    bodies.push((*func, target, (*name, id)));
                }
            }
        }
        for (func, target, (name, global)) in bodies {
            self.mention(name, Meaning::Global(global));
            self.graph.next_function();
            self.scopes.next_function();
            self.first_var = self.module.vars.next_id();
            self.begin_forward(ast.funcs[func].span);
            self.begin_generic(name, ast.items(ast.funcs[func].type_params));
            self.begin_func(func, target);
            let body = self.expr(ast.funcs[func].body);
            self.end_forward();
            self.module.funcs[target].body = body.expr;
            self.end_func(func);
        }
    }

    /// A function whose parts are filled in later.
    fn new_func(&mut self, span: Span) -> FuncId {
        let body = self.module.expr(span, ExprKind::Error);
        self.module.funcs.push(ir::Func {
            span,
            type_params: vec![],
            params: vec![],
            ret: None,
            ret_span: Span::NONE,
            body,
            attrs: vec![],
        })
    }

    /// Opens a function's scope and declares its parameters.
    fn begin_func(&mut self, func: ast::FuncId, target: FuncId) {
        let ast = self.ast;
        let syntax = &ast.funcs[func];
        self.scopes.open();
        self.module.funcs[target].type_params = self.new_type_params(ast.items(syntax.type_params));
        for param in ast.items(syntax.params) {
            let name = ast.text(param.name);
            let (var, first) = self.declare(name, param.ty, param.span);
            self.mention(param.name, Meaning::Local(var));
            if let Some(first) = first {
                self.diagnostics.push(errors::duplicate("parameter", name, param.name, first));
            }
            self.param_attrs(var, param.attrs);
            self.module.funcs[target].params.push(var);
        }
        self.module.funcs[target].attrs = self.func_attrs(syntax.attrs);
        if let Some(ret) = syntax.ret {
            self.module.funcs[target].ret = self.ty(ret);
            self.module.funcs[target].ret_span = ast.types[ret].span;
        }
    }

    /// Begins a definition whose type parameters have these names.
    fn begin_generic(&mut self, name: Span, params: &[Span]) {
        let named = |&at: &Span| (self.ast.text(at), at);
        self.generic = Some(type_errors::Generic { name: named(&name), params: params.iter().map(named).collect() });
        self.undefined_types.clear();
    }

    fn end_func(&mut self, func: ast::FuncId) {
        self.scopes.close();
        for &name in self.ast.items(self.ast.funcs[func].type_params) {
            self.end_type_param(self.ast.text(name));
        }
    }

    /// Begins the scopes of type parameters.
    fn new_type_params(&mut self, names: &[Span]) -> Vec<Ty> {
        let mut first: FxHashMap<&str, Span> = FxHashMap::default();
        let mut param = |&at: &Span| {
            let name = self.ast.text(at);
            match first.entry(name) {
                Entry::Vacant(entry) => drop(entry.insert(at)),
                Entry::Occupied(first) => self.diagnostics.push(errors::duplicate("type parameter", name, at, *first.get())),
            }
            self.new_type_param(at)
        };
        names.iter().map(&mut param).collect()
    }

    fn new_type_param(&mut self, at: Span) -> Ty {
        let name = self.ast.text(at);
        let id = self.n_type_params;
        self.n_type_params += 1;
        let ty = self.module.types.intern(relayc_ir::types::TyData::Param { id, name: name.into() });
        self.type_params.entry(name).or_default().push(ty);
        self.mention(at, Meaning::TypeParam(ty));
        ty
    }

    /// Ends the scope of a type parameter, and restores the outer meaning of its name.
    fn end_type_param(&mut self, name: &str) -> Option<Ty> {
        self.type_params.get_mut(name)?.pop()
    }

    fn expr(&mut self, expr: ast::ExprId) -> Operand {
        let base = self.steps.len();
        self.steps.push(Step::Expr(expr));
        while self.steps.len() > base {
            let step = self.steps.pop().expect("the stack is above its base");
            self.step(step);
        }
        self.pop()
    }

    fn pop(&mut self) -> Operand {
        self.results.pop().expect("every step leaves one result")
    }

    /// Takes the last results as operands.
    fn pop_n(&mut self, n: usize) -> ir::Operands {
        let start = self.results.len() - n;
        let operands = self.module.operands(&self.results[start..]);
        self.results.truncate(start);
        operands
    }

    fn push(&mut self, expr: ir::ExprId, span: Span) {
        self.results.push(Operand { expr, span });
    }

    fn push_new(&mut self, span: Span, kind: ExprKind) {
        let expr = self.module.expr(span, kind);
        self.push(expr, span);
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Expr(expr) => self.begin(expr),
            Step::Callee(expr) => match self.ast.exprs[expr].kind {
                ast::ExprKind::Name => self.name(self.ast.exprs[expr].span, true),
                _ => self.begin(expr),
            },
            Step::Tuple(expr) => {
                let ast::ExprKind::Tuple(fields) = self.ast.exprs[expr].kind else { return };
                let fields = self.pop_n(fields.len());
                self.push_new(self.ast.exprs[expr].span, ExprKind::Tuple(fields));
            }
            Step::Proj(expr) => self.proj(expr),
            Step::Call(expr) => self.call(expr),
            Step::Binary(expr) => self.binary(expr),
            Step::If(expr) => {
                let (else_branch, then_branch, cond) = (self.pop(), self.pop(), self.pop());
                let (cond, then_branch, else_branch) = (cond.expr, then_branch.expr, else_branch.expr);
                self.push_new(self.ast.exprs[expr].span, ExprKind::If { cond, then_branch, else_branch });
            }
            Step::Fn(func, target) => {
                self.module.funcs[target].body = self.pop().expr;
                self.end_func(func);
                self.push_new(self.ast.funcs[func].span, ExprKind::Fn(target));
            }
            Step::Match(expr) => self.end_match(expr),
            Step::Pattern(pat) => self.pattern(pat),
            Step::Reference(expr) => self.reference(expr),
            Step::OpenScope => self.scopes.open(),
            Step::CloseScope => self.scopes.close(),
            Step::Stmt { seq, index, n_lets } => self.stmt(seq, index, n_lets),
            Step::Graph(stmt, name) => self.graph_binding(stmt, name),
            Step::Let(stmt, var) => self.let_binding(stmt, var),
            Step::SeqEnd { seq, n_lets } => self.end_seq(seq, n_lets),
        }
    }

    fn begin(&mut self, expr: ast::ExprId) {
        let ast = self.ast;
        let ast::Expr { span, kind } = ast.exprs[expr];
        match kind {
            ast::ExprKind::Error => self.push_new(span, ExprKind::Error),
            ast::ExprKind::Int | ast::ExprKind::Float | ast::ExprKind::Bool(_) => self.literal(span, kind),
            ast::ExprKind::Local => self.local(span),
            ast::ExprKind::Global => self.global(span),
            ast::ExprKind::Graph => self.graph_use(span),
            ast::ExprKind::Name => self.name(span, false),
            ast::ExprKind::Tuple(fields) => {
                self.steps.push(Step::Tuple(expr));
                self.steps.extend(ast.items(fields).iter().rev().map(|&field| Step::Expr(field)));
            }
            ast::ExprKind::Paren(inner) => self.steps.push(Step::Expr(inner)),
            ast::ExprKind::Proj { tuple, .. } => self.steps.extend([Step::Proj(expr), Step::Expr(tuple)]),
            ast::ExprKind::Call { callee, args, .. } => {
                self.steps.push(Step::Call(expr));
                let (args, _) = self.split_args(args);
                self.steps.extend(args.iter().rev().map(|&arg| Step::Expr(arg)));
                self.steps.push(Step::Callee(callee));
            }
            ast::ExprKind::Binary { lhs, rhs, .. } => {
                self.steps.extend([Step::Binary(expr), Step::Expr(rhs), Step::Expr(lhs)]);
            }
            ast::ExprKind::Fn(func) => {
                let target = self.new_func(ast.funcs[func].span);
                self.begin_func(func, target);
                self.steps.extend([Step::Fn(func, target), Step::Expr(ast.funcs[func].body)]);
            }
            ast::ExprKind::If { cond, then_branch, else_branch } => {
                self.steps.push(Step::If(expr));
                for branch in [else_branch, then_branch] {
                    self.steps.extend([Step::CloseScope, Step::Expr(branch), Step::OpenScope]);
                }
                self.steps.push(Step::Expr(cond));
            }
            ast::ExprKind::Block(inner) => self.steps.extend([Step::CloseScope, Step::Expr(inner), Step::OpenScope]),
            ast::ExprKind::Seq { .. } => self.steps.push(Step::Stmt { seq: expr, index: 0, n_lets: self.lets.len() }),
            ast::ExprKind::Meta => self.meta_expr(span),
            ast::ExprKind::Match { .. } => self.begin_match(expr),
            ast::ExprKind::RefNew(operand) | ast::ExprKind::RefRead(operand) => {
                self.steps.extend([Step::Reference(expr), Step::Expr(operand)]);
            }
            ast::ExprKind::RefWrite { cell, value } => {
                self.steps.extend([Step::Reference(expr), Step::Expr(value), Step::Expr(cell)]);
            }
        }
    }

    /// A literal; a bad one has been reported by the lexer and is an error node here.
    fn literal(&mut self, span: Span, kind: ast::ExprKind) {
        let text = match self.ast.typed_numbers.get(&span.start) {
            Some(typed) => typed,
            None => self.ast.text(span),
        };
        let value = match kind {
            ast::ExprKind::Bool(value) => Some(Tensor::scalar(value)),
            ast::ExprKind::Int => literal::parse_int(text).ok().map(|(value, width)| match width {
                literal::IntWidth::I16 => Tensor::scalar(value as i16),
                literal::IntWidth::I32 => Tensor::scalar(value as i32),
                literal::IntWidth::I64 => Tensor::scalar(value),
            }),
            _ => literal::parse_float(text).ok().map(|(value, width)| match width {
                // By way of float32, as TVM rounds it (`src/support/scalars.cc`).
                literal::FloatWidth::F16 => Tensor::scalar(half::f16::from_f32(value as f32)),
                literal::FloatWidth::F32 => Tensor::scalar(value as f32),
                literal::FloatWidth::F64 => Tensor::scalar(value),
            }),
        };
        match value {
            Some(value) => {
                let expr = self.module.constant(value, span);
                self.push(expr, span);
            }
            None => self.push_new(span, ExprKind::Error),
        }
    }

    fn reference(&mut self, expr: ast::ExprId) {
        let ast::Expr { span, kind } = self.ast.exprs[expr];
        let last = self.pop().expr;
        let kind = match kind {
            ast::ExprKind::RefNew(_) => ExprKind::RefNew(last),
            ast::ExprKind::RefRead(_) => ExprKind::RefRead(last),
            _ => ExprKind::RefWrite { cell: self.pop().expr, value: last },
        };
        self.push_new(span, kind);
    }

    fn proj(&mut self, expr: ast::ExprId) {
        let ast::ExprKind::Proj { index, .. } = self.ast.exprs[expr].kind else { return };
        let span = self.ast.exprs[expr].span;
        let tuple = self.pop();
        let value = literal::parse_int(self.ast.text(index)).ok().and_then(|(value, _)| i32::try_from(value).ok());
        match value {
            Some(index) => self.push_new(span, ExprKind::Proj { tuple: tuple.expr, index }),
            None => {
                self.diagnostics.push(errors::projection_index(self.ast.text(index), index));
                self.push_new(span, ExprKind::Error);
            }
        }
    }

    fn call(&mut self, expr: ast::ExprId) {
        let ast::ExprKind::Call { args, attrs, .. } = self.ast.exprs[expr].kind else { return };
        let span = self.ast.exprs[expr].span;
        let (written, object) = self.split_args(args);
        let args = self.pop_n(written.len());
        let callee = self.pop();
        let n_reports = self.diagnostics.len();
        let kind = self.module.exprs[callee.expr].kind;
        let is_misplaced = matches!(kind, ExprKind::Op(op) if self.misplaced(op, callee.span, written, attrs));
        let given = attrs;
        let attrs = match kind {
            _ if is_misplaced => None,
            ExprKind::Error => None,
            // Without its attributes the call has no type; what is wrong has been said. Its arguments are still counted.
            ExprKind::Op(op) => self.call_attrs(op, callee.span, attrs, object, span).unwrap_or_default(),
            _ => self.keyed_attrs(attrs, object),
        };
        let is_wrong = match kind {
            ExprKind::Error => true,
            ExprKind::Op(op) => {
                let n_params = self.ops.args(op).map(<[Arg]>::len);
                let is_reported = self.diagnostics.get(n_reports..).unwrap_or_default().iter().any(Diagnostic::is_error);
                is_misplaced || is_reported || n_params.is_some_and(|n| n != written.len())
            }
            _ => false,
        };
        if (is_wrong || self.old_calls.is_old_text())
            && let Some(old) = self.old_calls.of(expr).filter(|old| matches!(kind, ExprKind::Error) || self.is_old(old))
        {
            let said = self.diagnostics.drain(n_reports.min(self.diagnostics.len())..).next();
            let missing = said.filter(|report| old.only_lacks && report.code == codes::E0402);
            // Who forgets an attribute does not write old text.
            self.has_old_calls |= missing.is_none();
            self.diagnostics.push(match missing {
                Some(report) => errors::left_out_once(report, &old),
                None => errors::old_call(self.ast.text(old.callee), &old),
            });
            return self.push_new(span, ExprKind::Error);
        }
        if is_misplaced || self.lacks_both(kind, (span, written.len(), given), n_reports) {
            return self.push_new(span, ExprKind::Error);
        }
        self.push_new(span, ExprKind::Call { callee: callee.expr, args, attrs });
    }

    /// Whether a call lacks attributes, which has been reported, and has another number of arguments: the report says both.
    fn lacks_both(&mut self, callee: ExprKind, call: (Span, usize, ast::List<ast::Attr>), n_reports: usize) -> bool {
        let ExprKind::Op(op) = callee else { return false };
        let (span, n_args, written) = call;
        let Some(args) = self.ops.args(op).filter(|args| args.len() != n_args) else { return false };
        let name = self.ops.name(op);
        let found = self.diagnostics.get_mut(n_reports..).unwrap_or_default();
        let Some(report) = found.iter_mut().find(|report| report.code == codes::E0402) else { return false };
        report.notes.push(missing::also_arguments(name, &signature(Some(args)), (args.len(), n_args)));
        let dynamic = self.ops.find(&format!("dyn.{name}"));
        if let Some((dynamic, args)) =
            dynamic.and_then(|op| Some((op, self.ops.args(op)?))).filter(|(_, args)| args.len() == n_args)
        {
            let is_written = |name: &str| self.ast.items(written).iter().any(|attr| self.ast.text(attr.key) == name);
            let fields = self.ops.schema(dynamic).map_or(&[][..], |schema| schema.fields);
            let lacking: Vec<&Field> = fields.iter().filter(|field| field.default.is_none() && !is_written(field.name)).collect();
            let form = (self.ops.name(dynamic), &*signature(Some(args)));
            missing::computed_shape(report, form, &lacking, attrs::end(self.ast, span));
        }
        true
    }

    /// Whether a call that looks like one of an older TVM has no attribute of another name: one is misspelt then, not old.
    fn is_old(&self, old: &OldCall) -> bool {
        let schema = self.ops.find(old.operator).and_then(|op| self.ops.schema(op).or(self.ops.meta_schema(op)));
        let is_known = |key: &str| key == attrs::TYPE_KEY || schema.is_some_and(|schema| schema.position(key).is_some());
        old.advice.is_some() || old.others.iter().all(|key| is_known(&name_text(self.ast.text(*key))))
    }

    /// Reports calls that look right, in a text that is old because others do not.
    fn report_hidden_old_calls(&mut self) {
        if !self.has_old_calls {
            return;
        }
        let is_reported = |report: &Diagnostic| report.code == codes::E0406;
        let reported: FxHashSet<u32> = self.diagnostics.iter().filter(|d| is_reported(d)).map(|d| d.span().start).collect();
        for old in OldCalls::new(self.ast).all() {
            if !old.only_lacks && !reported.contains(&old.callee.start) && self.is_old(&old) {
                self.diagnostics.push(errors::old_call(self.ast.text(old.callee), &old));
            }
        }
    }

    /// The arguments of a call, and the metadata reference after them that replaces all attributes, if there is one.
    fn split_args(&self, args: ast::List<ast::ExprId>) -> (&'a [ast::ExprId], Option<Span>) {
        let ast = self.ast;
        let args = ast.items(args);
        match args.split_last() {
            Some((&last, before)) if matches!(ast.exprs[last].kind, ast::ExprKind::Meta) => {
                let span = ast.exprs[last].span;
                let key = literal::parse_meta(ast.text(span)).map_or("", |(key, _)| key);
                let constant = ["relay.Constant"];
                // Misspelt, it is still meant as an argument.
                let is_constant = key == constant[0] || relayc_base::text::nearest(key, constant).is_some();
                if is_constant { (args, None) } else { (before, Some(span)) }
            }
            _ => (args, None),
        }
    }

    /// An item of a list with the comma before it, for leaving it out.
    fn with_separator(&self, item: Span) -> Span {
        let before = self.ast.text(Span { start: 0, end: item.start, ..item });
        let before = before.trim_end();
        let start = before.strip_suffix(',').unwrap_or(before).len() as u32;
        Span { start, ..item }
    }

    fn binary(&mut self, expr: ast::ExprId) {
        let ast::ExprKind::Binary { op, op_span, .. } = self.ast.exprs[expr].kind else { return };
        let args = self.pop_n(2);
        let name = op.operator().0;
        let callee = match self.ops.find(name) {
            Some(op) => {
                self.mention(op_span, Meaning::Operator(op));
                self.module.expr(op_span, ExprKind::Op(op))
            }
            None => {
                self.diagnostics.push(errors::unknown_operator(name, op_span, None));
                self.module.expr(op_span, ExprKind::Error)
            }
        };
        self.push_new(self.ast.exprs[expr].span, ExprKind::Call { callee, args, attrs: None });
    }

    fn stmt(&mut self, seq: ast::ExprId, index: usize, n_lets: usize) {
        let ast::ExprKind::Seq { stmts, value } = self.ast.exprs[seq].kind else { return };
        let Some(&stmt) = self.ast.items(stmts).get(index) else {
            self.steps.extend([Step::SeqEnd { seq, n_lets }, Step::Expr(value)]);
            return;
        };
        self.steps.push(Step::Stmt { seq, index: index + 1, n_lets });
        match self.ast.stmts[stmt].kind {
            ast::StmtKind::Error => {}
            ast::StmtKind::FreeVar { name, ty } => {
                let ty = ty.and_then(|ty| self.ty(ty));
                let var = self.module.var(self.ast.text(name).trim_start_matches('%'), ty, self.ast.stmts[stmt].span);
                self.scopes.declare_free(self.ast.text(name), var);
                self.mention(name, Meaning::Local(var));
            }
            ast::StmtKind::Graph { name, value } => self.steps.extend([Step::Graph(stmt, name), Step::Expr(value)]),
            ast::StmtKind::Let { value, .. } => {
                // A function sees the name it is bound to; any other value sees the name's outer meaning.
                let is_fn = matches!(self.ast.exprs[value].kind, ast::ExprKind::Fn(_));
                let var = is_fn.then(|| self.declare_let(stmt));
                self.steps.extend([Step::Let(stmt, var), Step::Expr(value)]);
            }
            ast::StmtKind::Expr(value) => match self.compared_graph(value) {
                Some((name, sign, bound)) => {
                    self.diagnostics.push(errors::compared_binding(self.ast.text(name), name, sign));
                    self.steps.extend([Step::Graph(stmt, name), Step::Expr(bound)]);
                }
                None => self.steps.extend([Step::Let(stmt, None), Step::Expr(value)]),
            },
        }
    }

    /// Declares the variable of a let in a scope of its own, so that a later let of its name shadows it.
    fn declare_let(&mut self, stmt: ast::StmtId) -> VarId {
        let ast = self.ast;
        let ast::StmtKind::Let { name, ty, .. } = ast.stmts[stmt].kind else {
            // `e1; e2` binds a variable without a name (language 2).
            return self.module.var("", None, ast.stmts[stmt].span);
        };
        let text = ast.text(name);
        self.lint_hidden(text, name);
        let (var, first) = self.declare(text, ty, name);
        self.mention(name, Meaning::Local(var));
        if let Some(first) = first {
            // TVM ignores the new name here, and so does what is printed and read (language 4).
            self.diagnostics.push(errors::unreachable_let(text, name, first));
        }
        self.scopes.open();
        var
    }

    /// Makes a variable of the innermost scope. If the scope holds its name already, that one keeps it and its place is
    /// returned.
    fn declare(&mut self, name: &'a str, ty: Option<ast::TypeId>, span: Span) -> (VarId, Option<Span>) {
        let ty = ty.and_then(|ty| self.ty(ty));
        let var = self.module.var(name.trim_start_matches('%'), ty, span);
        let first = self.scopes.declare(name, var);
        (var, first.map(|first| self.module.vars[first].span))
    }

    /// `%0 == f(%x);` above which there is no `%0`: the name, the sign, and the value that is meant.
    fn compared_graph(&self, stmt: ast::ExprId) -> Option<(Span, Span, ast::ExprId)> {
        let ast::ExprKind::Binary { op: ast::BinOp::Eq, op_span, lhs, rhs } = self.ast.exprs[stmt].kind else { return None };
        let ast::Expr { span, kind: ast::ExprKind::Graph } = self.ast.exprs[lhs] else { return None };
        let is_new = self.graph.find(literal::graph_key(self.ast.text(span))).is_none();
        is_new.then_some((span, op_span, rhs))
    }

    fn graph_binding(&mut self, stmt: ast::StmtId, name: Span) {
        let value = self.pop();
        let text = self.ast.text(name);
        let key = literal::graph_key(text);
        let node = self.forward_value(key, value.expr, self.ast.stmts[stmt].span);
        self.mention(name, Meaning::Graph { node, binder: name });
        if let Some(first) = self.graph.define(key, text, node, name) {
            self.diagnostics.push(errors::duplicate("graph variable", text, name, first));
        }
    }

    fn let_binding(&mut self, stmt: ast::StmtId, var: Option<VarId>) {
        let value = self.pop();
        let var = var.unwrap_or_else(|| self.declare_let(stmt));
        self.lets.push((var, value.expr, self.ast.stmts[stmt].span));
    }

    fn end_seq(&mut self, seq: ast::ExprId, n_lets: usize) {
        let ast::ExprKind::Seq { .. } = self.ast.exprs[seq].kind else { return };
        let value = self.pop();
        let mut body = value.expr;
        for (var, value, span) in self.lets.split_off(n_lets).into_iter().rev() {
            if !self.module.vars[var].name.is_empty() {
                self.scopes.close();
            }
            let span = span.to(self.ast.exprs[seq].span.end_point());
            body = self.module.expr(span, ExprKind::Let { var, value, body });
        }
        self.push(body, value.span);
    }
}

/// A dotted name without the blanks and comments that may stand around its dots.
fn name_text(text: &str) -> std::borrow::Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')) {
        return text.into();
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/');
    if text.chars().all(plain) && !text.contains("//") && !text.contains("/*") {
        return text.into();
    }
    // What is left of each part is its identifier: comments are cut, blanks dropped.
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if rest.starts_with("/*") {
            rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
        } else {
            if !c.is_whitespace() {
                out.push(c);
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    out.into()
}

/// The arguments of an operator, for a message.
fn signature(args: Option<&[Arg]>) -> String {
    args.map_or("…".to_owned(), |args| args.iter().map(|arg| arg.name).collect::<Vec<_>>().join(", "))
}
