//! The grammar's actions: one function for each construct, which makes its node.
//!
//! The only checks here concern text that the grammar accepts in order to report it well; those functions are called `report_…`.
//! Precedence of infix operators is resolved here, from a flat list, without recursion.

use super::again::{Known, Mark, Marks};
use super::ast::{
    Ast, Attr, AttrValue, AttrValueKind, BinOp, Clause, Ctor, Def, Dim, DimKind, ExprId, ExprKind, Func, FuncId, List, Param,
    Pat, PatId, PatKind, Root, Stmt, StmtId, StmtKind, Type, TypeId, TypeKind, ValueId,
};
use super::lexer::MAX_KEPT;
use super::{errors, foreign_operators};
use relayc_base::diag::{self, Diagnostic, Edit, codes};
use relayc_base::{FileId, Span};
use rustc_hash::FxHashSet;

/// The tree under construction, and the reports of the actions.
pub(crate) struct Builder {
    pub(crate) ast: Ast,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The number of errors that were not kept.
    pub(crate) n_dropped: usize,
    /// How much there was of the tree after each statement and definition.
    pub(crate) marks: Marks,
    /// What stands behind [`super::token::Tok::Known`].
    known: Option<Known>,
    file: FileId,
}

/// The head of a type definition: everything before its constructors.
pub(crate) struct TypeHead {
    pub(crate) start: u32,
    pub(crate) name: Span,
    pub(crate) params: Vec<Span>,
    pub(crate) is_extern: bool,
}

/// Operands with operators between them, before precedence is resolved.
pub(crate) struct Chain {
    first: ExprId,
    rest: Vec<(BinOp, Span, ExprId)>,
}

impl Chain {
    /// `lhs op rhs`.
    pub(crate) fn new(lhs: ExprId, op: (BinOp, Span), rhs: ExprId) -> Chain {
        Chain { first: lhs, rest: vec![(op.0, op.1, rhs)] }
    }

    /// The chain with one more operand.
    pub(crate) fn and(mut self, op: (BinOp, Span), rhs: ExprId) -> Chain {
        self.rest.push((op.0, op.1, rhs));
        self
    }
}

/// A list of one item, with capacity for a few more.
pub(crate) fn one<T>(item: T) -> Vec<T> {
    let mut list = Vec::with_capacity(4);
    list.push(item);
    list
}

/// The list with one more item.
pub(crate) fn push<T>(mut list: Vec<T>, item: T) -> Vec<T> {
    list.push(item);
    list
}

/// The content of the parentheses of a call or a function: items, then attributes.
type WithAttrs<T> = (Vec<T>, Vec<Attr>);

impl Builder {
    pub(crate) fn new(file: FileId, source: std::sync::Arc<str>, known: Option<Known>) -> Builder {
        let (mut ast, mut marks) = (Ast::new(source), Marks::default());
        if let Some(known) = &known {
            known.make_room(&mut ast, &mut marks);
        }
        Builder { ast, diagnostics: vec![], n_dropped: 0, marks, known, file }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.n_dropped += usize::from(!diag::push_limited(&mut self.diagnostics, diagnostic, MAX_KEPT));
    }

    pub(crate) fn span(&self, start: u32, end: u32) -> Span {
        Span { file: self.file, start, end }
    }

    // ---- Definitions ----

    pub(crate) fn finish_module(&mut self) {
        self.ast.root = Root::Module;
    }

    pub(crate) fn finish_expr(&mut self, value: ExprId) {
        self.ast.root = Root::Expr(value);
    }

    pub(crate) fn def_func(&mut self, start: u32, name: Span, func: FuncId, end: u32) {
        let span = self.span(start, end);
        self.def(Def::Func { span, name, func });
    }

    fn def(&mut self, def: Def) {
        self.ast.defs.push(def);
        self.marks.defs.push(Mark::of(&self.ast));
    }

    /// Definitions of an earlier tree.
    pub(crate) fn known_defs(&mut self, start: u32) {
        if let Some(known) = &self.known {
            known.copy(start, &mut self.ast, &mut self.marks);
        }
    }

    pub(crate) fn def_type(&mut self, head: TypeHead, ctors: Vec<Ctor>, end: u32) {
        let span = self.span(head.start, end);
        let (params, ctors) = (self.ast.list(&head.params), self.ast.list(&ctors));
        self.def(Def::Type { span, name: head.name, params, ctors, is_extern: head.is_extern });
    }

    pub(crate) fn report_extern_ctors(&mut self, head: TypeHead, ctors: Vec<Ctor>, end: u32) {
        let body = self.span(head.name.end, end);
        self.report(errors::extern_with_ctors(head.name, body));
        self.def_type(head, ctors, end);
    }

    pub(crate) fn ctor(&mut self, start: u32, name: Span, inputs: Vec<TypeId>, end: u32) -> Ctor {
        Ctor { span: self.span(start, end), name, inputs: Some(self.ast.list(&inputs)) }
    }

    pub(crate) fn func(
        &mut self,
        start: u32,
        type_params: Vec<Span>,
        (params, attrs): WithAttrs<Param>,
        ret: Option<TypeId>,
        body: ExprId,
        end: u32,
    ) -> FuncId {
        let span = self.span(start, end);
        let (type_params, params) = (self.ast.list(&type_params), self.ast.list(&params));
        let attrs = self.ast.list(&attrs);
        self.ast.funcs.push(Func { span, type_params, params, attrs, ret, body })
    }

    pub(crate) fn param(&mut self, start: u32, name: Span, attrs: Vec<Attr>, ty: Option<TypeId>, end: u32) -> Param {
        Param { span: self.span(start, end), name, attrs: self.ast.list(&attrs), ty }
    }

    /// A parameter that was not understood; its text is its name, so no other parameter's is.
    pub(crate) fn param_hole(&mut self, place: Span) -> Param {
        let ty = self.ast.types.push(Type { span: place, kind: TypeKind::Error });
        Param { span: place, name: place, attrs: self.ast.list(&[]), ty: Some(ty) }
    }

    // ---- Lists ----

    /// The list with one more item, which no comma separates from the one before it (language 2, `list`).
    pub(crate) fn lint_comma<T>(&mut self, list: Vec<T>, end: u32, (next, next_end): (u32, u32), item: T) -> Vec<T> {
        // `f(%a, not %b)` reads as three arguments.
        if self.ends_in_not(end) {
            let (word, operand) = (self.span(end - 3, end), self.span(next, next_end));
            self.report(errors::not_operator(foreign_operators::NOT, word, operand, self.ast.text(operand)));
            return push(list, item);
        }
        // `f(%a, %b and %c)` reads as four; the call reports it.
        let next_text = self.ast.source.get(next as usize..next_end as usize).unwrap_or("");
        if foreign_operators::word(next_text).is_some() || self.ends_in_word(end) {
            return push(list, item);
        }
        push(self.lint_attrs_comma(list, end, next), item)
    }

    fn ends_in_word(&self, end: u32) -> bool {
        let before = self.ast.source.get(..end as usize).unwrap_or("");
        let start = before.bytes().rev().take(4).take_while(u8::is_ascii_alphabetic).count();
        foreign_operators::word(&before[before.len() - start..]).is_some()
    }

    /// Reports `and` and `or` among the items of a list, where they read as items without commas.
    fn report_words(&mut self, items: &[ExprId]) {
        let text = |at: usize| match items.get(at).map(|&item| self.ast.exprs[item]) {
            Some(expr) if matches!(expr.kind, ExprKind::Name) => self.ast.text(expr.span),
            _ => "",
        };
        let span = |at: usize| self.ast.exprs[items[at]].span;
        let goes_on = |at: usize| {
            let gap = self.ast.source.get(span(at - 1).end as usize..span(at).start as usize);
            !gap.is_none_or(|gap| gap.contains(','))
        };
        // The one that binds tightest comes first.
        let words = (1..items.len()).filter(|&at| foreign_operators::word(text(at)).is_some() && goes_on(at));
        let Some(first) = words.rev().max_by_key(|&at| foreign_operators::word(text(at))) else { return };
        let mut start = first - 1;
        while start > 0 && text(start - 1) == "not" && goes_on(start) {
            start -= 1;
        }
        let mut operands = vec![];
        let mut at = first;
        while at < items.len() && text(at) == text(first) {
            let mut end = at + 1;
            while text(end) == "not" {
                end += 1;
            }
            if end >= items.len() {
                break;
            }
            operands.push((span(at), span(end)));
            at = end + 1;
        }
        if !operands.is_empty() {
            let ours = foreign_operators::word(text(first)).map_or("", |(_, ours)| ours);
            let report = errors::word_operator((text(first), ours), span(start), self.ast.text(span(start)), &operands);
            self.report(report);
        }
    }

    /// Reports `axis 1` among the arguments of an operator, which reads as two without a comma, and makes an attribute of it. Functions
    /// and constructors may be given a constructor without fields, and a number behind it.
    fn report_attrs_without_sign(&mut self, callee: ExprId, (args, attrs): WithAttrs<ExprId>) -> WithAttrs<ExprId> {
        let is_name = |ast: &Ast, arg: ExprId| matches!(ast.exprs[arg].kind, ExprKind::Name);
        let is_value =
            |ast: &Ast, arg: ExprId| matches!(ast.exprs[arg].kind, ExprKind::Int | ExprKind::Float | ExprKind::Bool(_));
        let is_pair = |ast: &Ast, key: ExprId, value: ExprId| {
            let gap = ast.source.get(ast.exprs[key].span.end as usize..ast.exprs[value].span.start as usize);
            let touches = gap.is_some_and(|gap| !gap.is_empty() && gap.bytes().all(|byte| byte == b' '));
            touches && is_name(ast, key) && is_value(ast, value)
        };
        let is_operator = is_name(&self.ast, callee)
            && self.ast.text(self.ast.exprs[callee].span).starts_with(|first: char| first.is_ascii_lowercase());
        if !is_operator || !args.windows(2).any(|pair| is_pair(&self.ast, pair[0], pair[1])) {
            return (args, attrs);
        }
        let (mut operands, mut meant, mut gaps) = (Vec::with_capacity(args.len()), vec![], FxHashSet::default());
        for arg in args {
            match operands.last().copied().filter(|&key| is_pair(&self.ast, key, arg)) {
                Some(key) => {
                    operands.pop();
                    let (key, value) = (self.ast.exprs[key].span, self.ast.exprs[arg].span);
                    gaps.insert(key.end);
                    self.report(errors::attr_without_sign(key, self.ast.text(key), value, self.ast.text(value)));
                    let written = self.value(value.start, AttrValueKind::Expr(arg), value.end);
                    meant.push(self.attr(key.start, key, written, value.end));
                }
                None => operands.push(arg),
            }
        }
        self.diagnostics.retain(|report| report.code != codes::W0021 || !gaps.contains(&report.span().start));
        meant.extend(attrs);
        (operands, meant)
    }

    fn ends_in_not(&self, end: u32) -> bool {
        let before = self.ast.source.get(..end as usize).and_then(|before| before.strip_suffix("not"));
        before.is_some_and(|before| {
            !before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '%' | '@' | '.'))
        })
    }

    /// The list, behind which attributes follow without a comma.
    pub(crate) fn lint_attrs_comma<T>(&mut self, list: Vec<T>, end: u32, next: u32) -> Vec<T> {
        let (end, next) = (self.span(end, end), self.span(next, next));
        self.report(errors::no_comma(end, next));
        list
    }

    // ---- Attributes ----

    /// The list with one more attribute, before which a comma may be missing.
    pub(crate) fn next_attr(&mut self, attrs: Vec<Attr>, attr: Attr) -> Vec<Attr> {
        let end = attrs.last().map_or(attr.span.start, |last| last.span.end);
        let gap = self.ast.source.get(end as usize..attr.span.start as usize);
        match gap.is_some_and(|gap| gap.contains(',')) {
            true => push(attrs, attr),
            false => push(self.lint_attrs_comma(attrs, end, attr.span.start), attr),
        }
    }

    /// A string or a list among the arguments of a call.
    pub(crate) fn report_value(&mut self, start: u32, value: ValueId, end: u32) -> ExprId {
        let span = self.span(start, end);
        // Calls in a list read as elements without commas.
        let is_comma =
            |report: &Diagnostic| report.code == codes::W0021 && start <= report.span().start && report.span().end <= end;
        while self.diagnostics.last().is_some_and(is_comma) {
            self.diagnostics.pop();
        }
        self.report(match self.ast.values[value].kind {
            AttrValueKind::List(items) => errors::list_value(span, self.as_tuple(span, items)),
            _ => errors::string_value(span),
        });
        let expr = self.expr(start, ExprKind::Error, end);
        self.ast.stray_values.insert(expr, value);
        expr
    }

    pub(crate) fn attr(&mut self, start: u32, key: Span, value: ValueId, end: u32) -> Attr {
        Attr { span: self.span(start, end), key, value }
    }

    pub(crate) fn value(&mut self, start: u32, kind: AttrValueKind, end: u32) -> ValueId {
        let span = self.span(start, end);
        self.ast.values.push(AttrValue { span, kind })
    }

    pub(crate) fn value_list(&mut self, start: u32, values: Vec<ValueId>, end: u32) -> ValueId {
        let values = self.ast.list(&values);
        self.value(start, AttrValueKind::List(values), end)
    }

    /// The edits that make a tuple of a list of variables.
    fn as_tuple(&self, list: Span, items: List<ValueId>) -> Option<Vec<Edit>> {
        let is_variable = |value: &ValueId| match self.ast.values[*value].kind {
            AttrValueKind::Expr(expr) => {
                matches!(self.ast.exprs[expr].kind, ExprKind::Local | ExprKind::Graph | ExprKind::Proj { .. })
            }
            _ => false,
        };
        let closing = if items.len() == 1 { ",)" } else { ")" };
        let edit = |start: u32, text: &str| Edit { span: Span { start, end: start + 1, ..list }, text: text.to_owned() };
        self.ast.items(items).iter().any(is_variable).then(|| vec![edit(list.start, "("), edit(list.end - 1, closing)])
    }

    // ---- Statements ----

    fn stmt(&mut self, start: u32, kind: StmtKind, end: u32) -> StmtId {
        let span = self.span(start, end);
        let stmt = self.ast.stmts.push(Stmt { span, kind });
        self.marks.stmts.push(Mark::of(&self.ast));
        stmt
    }

    /// The list with statements of an earlier tree.
    pub(crate) fn known(&mut self, mut list: Vec<StmtId>, start: u32) -> Vec<StmtId> {
        if let Some(known) = &self.known {
            list.extend(known.copy(start, &mut self.ast, &mut self.marks));
        }
        list
    }

    pub(crate) fn free_var(&mut self, start: u32, name: Span, ty: Option<TypeId>, end: u32) -> StmtId {
        self.stmt(start, StmtKind::FreeVar { name, ty }, end)
    }

    pub(crate) fn graph_stmt(&mut self, start: u32, name: Span, value: ExprId, end: u32) -> StmtId {
        self.stmt(start, StmtKind::Graph { name, value }, end)
    }

    pub(crate) fn let_stmt(&mut self, start: u32, name: Span, ty: Option<TypeId>, value: ExprId, end: u32) -> StmtId {
        self.stmt(start, StmtKind::Let { name, ty, value }, end)
    }

    pub(crate) fn expr_stmt(&mut self, start: u32, value: ExprId, end: u32) -> StmtId {
        let kind = match self.ast.exprs[value].kind {
            ExprKind::Error => StmtKind::Error,
            _ => StmtKind::Expr(value),
        };
        self.stmt(start, kind, end)
    }

    pub(crate) fn seq(&mut self, start: u32, stmts: Vec<StmtId>, value: ExprId, end: u32) -> ExprId {
        let stmts = self.ast.list(&stmts);
        self.expr(start, ExprKind::Seq { stmts, value }, end)
    }

    // ---- Expressions ----

    pub(crate) fn expr(&mut self, start: u32, kind: ExprKind, end: u32) -> ExprId {
        let span = self.span(start, end);
        self.ast.expr(span, kind)
    }

    pub(crate) fn name(&mut self, name: Span) -> ExprId {
        self.ast.expr(name, ExprKind::Name)
    }

    pub(crate) fn tuple(&mut self, start: u32, fields: Vec<ExprId>, end: u32) -> ExprId {
        self.report_words(&fields);
        let fields = self.ast.list(&fields);
        self.expr(start, ExprKind::Tuple(fields), end)
    }

    pub(crate) fn proj(&mut self, start: u32, tuple: ExprId, index: Span, end: u32) -> ExprId {
        self.expr(start, ExprKind::Proj { tuple, index }, end)
    }

    pub(crate) fn name_proj(&mut self, start: u32, name: Span, index: Span, end: u32) -> ExprId {
        let tuple = self.name(name);
        self.proj(start, tuple, index, end)
    }

    pub(crate) fn report_call_proj(&mut self, start: u32, call: ExprId, index: Span, end: u32) -> ExprId {
        self.report_proj("a projection of a call needs parentheses", start, call, index, end)
    }

    pub(crate) fn report_proj_proj(&mut self, start: u32, tuple: ExprId, index: Span, end: u32) -> ExprId {
        self.report_proj("a projection of a projection needs parentheses", start, tuple, index, end)
    }

    fn report_proj(&mut self, message: &str, start: u32, tuple: ExprId, index: Span, end: u32) -> ExprId {
        let tuple_span = self.ast.exprs[tuple].span;
        let report =
            errors::needs_parentheses(message, tuple_span, self.ast.text(tuple_span), Some((index, self.ast.text(index))));
        self.report(report);
        self.proj(start, tuple, index, end)
    }

    pub(crate) fn call(&mut self, start: u32, callee: ExprId, (args, attrs): WithAttrs<ExprId>, end: u32) -> ExprId {
        self.report_words(&args);
        let (args, attrs) = self.report_attrs_without_sign(callee, (args, attrs));
        let (args, attrs) = (self.ast.list(&args), self.ast.list(&attrs));
        self.expr(start, ExprKind::Call { callee, args, attrs }, end)
    }

    pub(crate) fn report_call_dot(&mut self, start: u32, name: Span, dot: Span, args: WithAttrs<ExprId>, end: u32) -> ExprId {
        self.report(errors::idle_dot(dot));
        let callee = self.name(name);
        self.call(start, callee, args, end)
    }

    /// Resolves precedence with two stacks; all operators associate to the left (language 1.9).
    pub(crate) fn chain(&mut self, chain: Chain) -> ExprId {
        let mut operands = vec![chain.first];
        let mut pending: Vec<(BinOp, Span)> = vec![];
        for (op, op_span, operand) in chain.rest {
            while pending.last().is_some_and(|(before, _)| before.operator().1 >= op.operator().1) {
                self.join(&mut operands, &mut pending);
            }
            pending.push((op, op_span));
            operands.push(operand);
        }
        while !pending.is_empty() {
            self.join(&mut operands, &mut pending);
        }
        operands[0]
    }

    /// Makes one node of the last two operands.
    fn join(&mut self, operands: &mut Vec<ExprId>, pending: &mut Vec<(BinOp, Span)>) {
        let (Some((op, op_span)), Some(rhs), Some(lhs)) = (pending.pop(), operands.pop(), operands.pop()) else { return };
        let span = self.ast.exprs[lhs].span.to(self.ast.exprs[rhs].span);
        operands.push(self.ast.expr(span, ExprKind::Binary { op, op_span, lhs, rhs }));
    }

    pub(crate) fn if_expr(&mut self, start: u32, cond: ExprId, then_branch: ExprId, else_branch: ExprId, end: u32) -> ExprId {
        self.expr(start, ExprKind::If { cond, then_branch, else_branch }, end)
    }

    pub(crate) fn report_no_else(&mut self, start: u32, cond: ExprId, then_branch: ExprId, end: u32) -> ExprId {
        let span = self.span(start, end);
        self.report(errors::missing_else(span));
        let else_branch = self.ast.expr(span.end_point(), ExprKind::Error);
        self.if_expr(start, cond, then_branch, else_branch, end)
    }

    pub(crate) fn report_else_if(&mut self, start: u32, cond: ExprId, then_branch: ExprId, else_if: ExprId, end: u32) -> ExprId {
        let inner = self.ast.exprs[else_if].span;
        self.report(errors::else_if(inner));
        self.if_expr(start, cond, then_branch, else_if, end)
    }

    // ---- Match ----

    pub(crate) fn match_expr(&mut self, start: u32, total: bool, scrutinee: ExprId, clauses: Vec<Clause>, end: u32) -> ExprId {
        let clauses = self.ast.list(&clauses);
        self.expr(start, ExprKind::Match { scrutinee, clauses, total }, end)
    }

    pub(crate) fn report_match_scrutinee(
        &mut self,
        start: u32,
        total: bool,
        scrutinee: ExprId,
        clauses: Vec<Clause>,
        end: u32,
    ) -> ExprId {
        let span = self.ast.exprs[scrutinee].span;
        let message = "what is matched needs parentheses";
        self.report(errors::needs_parentheses(message, span, self.ast.text(span), None));
        self.match_expr(start, total, scrutinee, clauses, end)
    }

    pub(crate) fn report_match_infix(
        &mut self,
        start: u32,
        total: bool,
        scrutinee: Chain,
        clauses: Vec<Clause>,
        end: u32,
    ) -> ExprId {
        let scrutinee = self.chain(scrutinee);
        self.report_match_scrutinee(start, total, scrutinee, clauses, end)
    }

    pub(crate) fn clause(&mut self, start: u32, pattern: PatId, body: ExprId, end: u32) -> Clause {
        Clause { span: self.span(start, end), pattern, body }
    }

    pub(crate) fn clause_hole(&mut self, start: u32, end: u32) -> Clause {
        let pattern = self.pat(start, PatKind::Error, end);
        let body = self.expr(start, ExprKind::Error, end);
        self.clause(start, pattern, body, end)
    }

    pub(crate) fn pat(&mut self, start: u32, kind: PatKind, end: u32) -> PatId {
        let span = self.span(start, end);
        self.ast.pats.push(Pat { span, kind })
    }

    pub(crate) fn pat_ctor(&mut self, start: u32, name: Span, fields: Vec<PatId>, end: u32) -> PatId {
        let fields = Some(self.ast.list(&fields));
        self.pat(start, PatKind::Ctor { name, fields }, end)
    }

    pub(crate) fn pat_tuple(&mut self, start: u32, fields: Vec<PatId>, end: u32) -> PatId {
        let fields = self.ast.list(&fields);
        self.pat(start, PatKind::Tuple(fields), end)
    }

    // ---- Types ----

    pub(crate) fn ty(&mut self, start: u32, kind: TypeKind, end: u32) -> TypeId {
        let span = self.span(start, end);
        self.ast.types.push(Type { span, kind })
    }

    pub(crate) fn tensor_type(&mut self, start: u32, shape: Vec<Dim>, dtype: Span, end: u32) -> TypeId {
        let shape = self.ast.list(&shape);
        self.ty(start, TypeKind::Tensor { shape, dtype }, end)
    }

    pub(crate) fn size_dim(&self, size: ExprId) -> Dim {
        Dim { span: self.ast.exprs[size].span, kind: DimKind::Size(size) }
    }

    pub(crate) fn size_chain_dim(&mut self, chain: Chain) -> Dim {
        let size = self.chain(chain);
        self.size_dim(size)
    }

    pub(crate) fn size_call(&mut self, start: u32, name: Span, args: Vec<ExprId>, end: u32) -> ExprId {
        let callee = self.name(name);
        self.call(start, callee, (args, vec![]), end)
    }

    pub(crate) fn tuple_type(&mut self, start: u32, fields: Vec<TypeId>, end: u32) -> TypeId {
        let fields = self.ast.list(&fields);
        self.ty(start, TypeKind::Tuple(fields), end)
    }

    pub(crate) fn fn_type(&mut self, start: u32, type_params: Vec<Span>, params: Vec<TypeId>, ret: TypeId, end: u32) -> TypeId {
        let (type_params, params) = (self.ast.list(&type_params), self.ast.list(&params));
        self.ty(start, TypeKind::Fn { type_params, params, ret }, end)
    }

    pub(crate) fn applied_type(&mut self, start: u32, name: Span, args: Vec<TypeId>, end: u32) -> TypeId {
        let args = Some(self.ast.list(&args));
        self.ty(start, TypeKind::Name { name, args }, end)
    }
}
