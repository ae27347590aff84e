//! Data types: their definitions, constructors, patterns and `match` (language 2, 4, 7.7).
//!
//! A type may be used above its definition, a constructor only below it, as in TVM: above it the name would mean an operator.
//! Kinds are checked wherever a type is written, in definitions too (language 7.7).

use super::{Meaning, Resolver, Step, errors};
use relayc_base::Span;
use relayc_ir::types::{Ty, TyData};
use relayc_ir::{self as ir, AdtId, CtorId, ExprKind, PatId, PatKind};
use relayc_syntax::ast::{self, Ast};

impl<'a> Resolver<'a> {
    /// Declares every type by its name, then reads their constructors.
    pub(super) fn data_types(&mut self, ast: &'a Ast) {
        let mut bodies = Vec::new();
        for def in &ast.defs {
            let ast::Def::Type { span: _, name, params, ctors, is_extern: _ } = def else { continue };
            let text = ast.text(*name);
            if let Some(&first) = self.adts.get(text) {
                let first = self.module.adts[first].span;
                self.diagnostics.push(errors::duplicate("type", text, *name, first));
                self.lost_ctors.extend(ast.items(*ctors).iter().map(|ctor| ast.text(ctor.name)));
                continue;
            }
            let adt = ir::Adt { name: text.into(), params: vec![], ctors: vec![], span: *name };
            let id = self.module.adts.push(adt);
            self.adts.insert(text, id);
            self.mention(*name, Meaning::Type(id));
            self.n_adt_params.insert(id, ast.items(*params).len());
            bodies.push((id, *params, *ctors));
        }
        for (id, params, ctors) in bodies {
            self.data_type(id, ast.items(params), ast.items(ctors));
        }
    }

    fn data_type(&mut self, id: AdtId, params: &'a [Span], ctors: &'a [ast::Ctor]) {
        let ast = self.ast;
        self.begin_generic(self.module.adts[id].span, params);
        self.module.adts[id].params = self.new_type_params(params);
        for ctor in ctors {
            self.constructor(id, ctor);
        }
        for &param in params.iter().rev() {
            self.end_type_param(ast.text(param));
        }
    }

    fn constructor(&mut self, adt: AdtId, ctor: &'a ast::Ctor) {
        let ast = self.ast;
        let ast::Ctor { span, name, inputs } = *ctor;
        let text = ast.text(name);
        let mut input_tys = Vec::new();
        for &input in inputs.map_or(&[][..], |inputs| ast.items(inputs)) {
            // A constructor is the same at every use; nothing could say what `_` stands for.
            let ty = self.ty(input).filter(|&ty| !self.module.types.has_hole(ty));
            input_tys.push(ty.unwrap_or_else(|| {
                self.diagnostics.push(errors::inner_infer(ast.types[input].span));
                Ty::ERROR
            }));
        }
        if let Some(&first) = self.ctors.get(text) {
            let first = self.module.ctors[first].span;
            return self.diagnostics.push(errors::duplicate("constructor", text, name, first));
        }
        let ir::Adt { name: adt_name, params, .. } = &self.module.adts[adt];
        let (adt_name, params) = (adt_name.clone(), params.clone());
        let ret = self.module.types.intern(TyData::Adt { name: adt_name, args: params.as_slice().into() });
        let data = TyData::Fn { type_params: params.into(), params: input_tys.as_slice().into(), ret };
        let ty = self.module.types.intern(data);
        let id = self.module.ctors.push(ir::Ctor { name: text.into(), adt, inputs: input_tys, ty, span });
        self.module.adts[adt].ctors.push(id);
        self.ctors.insert(text, id);
        self.mention(name, Meaning::Ctor(id));
    }

    /// The constructor with a name used at `span`, if it is defined above (#115).
    pub(super) fn find_ctor(&self, name: &str, span: Span) -> Option<CtorId> {
        self.ctors.get(name).copied().filter(|&ctor| self.module.ctors[ctor].span.start < span.start)
    }

    /// A constructor as a value; one without inputs is applied at once (language 2).
    pub(super) fn ctor_value(&mut self, ctor: CtorId, span: Span, is_callee: bool) {
        self.mention(span, Meaning::Ctor(ctor));
        if is_callee || !self.module.ctors[ctor].inputs.is_empty() {
            return self.push_new(span, ExprKind::Ctor(ctor));
        }
        let callee = self.module.expr(span, ExprKind::Ctor(ctor));
        let args = self.module.operands(&[]);
        self.push_new(span, ExprKind::Call { callee, args, attrs: None });
    }

    pub(super) fn begin_match(&mut self, expr: ast::ExprId) {
        let ast = self.ast;
        let ast::ExprKind::Match { scrutinee, clauses, total: _ } = ast.exprs[expr].kind else { return };
        self.steps.push(Step::Match(expr));
        for clause in ast.items(clauses).iter().rev() {
            let ast::Clause { span: _, pattern, body } = *clause;
            self.steps.extend([Step::CloseScope, Step::Expr(body), Step::Pattern(pattern), Step::OpenScope]);
        }
        self.steps.push(Step::Expr(scrutinee));
    }

    pub(super) fn end_match(&mut self, expr: ast::ExprId) {
        let ast::ExprKind::Match { clauses, total, scrutinee: _ } = self.ast.exprs[expr].kind else { return };
        let bodies = self.results.split_off(self.results.len() - clauses.len());
        let pats = self.pats.split_off(self.pats.len() - clauses.len());
        let scrutinee = self.pop().expr;
        let clauses: Vec<ir::Clause> =
            pats.into_iter().zip(bodies).map(|(pat, body)| ir::Clause { pat, body: body.expr }).collect();
        let clauses = self.module.clauses(&clauses);
        self.push_new(self.ast.exprs[expr].span, ExprKind::Match { scrutinee, clauses, total });
    }

    /// Reads a pattern and declares its variables in the scope that is open.
    pub(super) fn pattern(&mut self, root: ast::PatId) {
        // Children before parents; results in the order of the children.
        let mut steps = vec![(root, false)];
        let mut results: Vec<PatId> = Vec::new();
        while let Some((id, done)) = steps.pop() {
            let fields = match self.ast.pats[id].kind {
                ast::PatKind::Error | ast::PatKind::Wildcard | ast::PatKind::Local { .. } => &[],
                ast::PatKind::Ctor { name: _, fields } => fields.map_or(&[][..], |fields| self.ast.items(fields)),
                ast::PatKind::Tuple(fields) => self.ast.items(fields),
            };
            if done || fields.is_empty() {
                let parts = results.split_off(results.len() - fields.len());
                let pat = self.make_pattern(id, &parts);
                results.push(pat);
            } else {
                steps.push((id, true));
                steps.extend(fields.iter().rev().map(|&field| (field, false)));
            }
        }
        self.pats.extend(results.pop());
    }

    fn make_pattern(&mut self, id: ast::PatId, parts: &[PatId]) -> PatId {
        let ast = self.ast;
        let ast::Pat { span, kind } = ast.pats[id];
        let kind = match kind {
            ast::PatKind::Error => PatKind::Error,
            ast::PatKind::Wildcard => PatKind::Wildcard,
            ast::PatKind::Local { name, ty } => {
                let text = ast.text(name);
                self.lint_hidden(text, name);
                let (var, first) = self.declare(text, ty, name);
                self.mention(name, Meaning::Local(var));
                if let Some(first) = first {
                    self.diagnostics.push(errors::duplicate("pattern variable", text, name, first));
                }
                PatKind::Var(var)
            }
            ast::PatKind::Ctor { name, fields: _ } => match self.find_ctor(ast.text(name), name) {
                Some(ctor) => {
                    self.mention(name, Meaning::Ctor(ctor));
                    PatKind::Ctor(ctor, self.module.pats(parts))
                }
                None => {
                    let text = ast.text(name);
                    let near = self.near.among_unordered(text, self.ctors.keys().copied());
                    let below = self.ctors.get(text).map(|&ctor| self.module.ctors[ctor].span);
                    let is_like_none = near.is_none() && below.is_none();
                    if parts.is_empty() && is_like_none && text.starts_with(|c: char| c.is_ascii_lowercase()) {
                        return self.bare_variable(name, span);
                    }
                    self.diagnostics.push(errors::unknown_ctor(text, name, near, below));
                    // The variables inside stay declared, so that their mentions are not reported too.
                    self.poison_vars(parts);
                    PatKind::Error
                }
            },
            ast::PatKind::Tuple(_) => PatKind::Tuple(self.module.pats(parts)),
        };
        self.module.pats.push(ir::Pat { span, kind })
    }

    /// A variable of a pattern without its `%`: it is like a variable, and like no constructor.
    fn bare_variable(&mut self, name: Span, span: Span) -> PatId {
        let text = self.ast.text(name);
        self.diagnostics.push(errors::bare_variable(text, name));
        let var = self.module.var(text, Some(Ty::ERROR), span);
        // Its uses have the sigil, as a slice of the text does where one of them stands.
        let (ast, used) = (self.ast, format!("%{text}"));
        let end = span.end as usize;
        // So many bytes are passed over in the time of a letter.
        const AT_ONCE: usize = 16;
        let rest = ast.source.get(end..).filter(|rest| self.near.spend(rest.len() / AT_ONCE));
        if let Some(at) = rest.and_then(|rest| rest.find(&used)) {
            self.scopes.declare(&ast.source[end + at..end + at + used.len()], var);
        }
        self.module.pats.push(ir::Pat { span, kind: PatKind::Error })
    }

    /// Marks the variables of an invalid pattern as errors, so that they cause no further reports.
    fn poison_vars(&mut self, pats: &[PatId]) {
        for &pat in pats {
            for var in self.module.pat_vars(pat) {
                self.module.vars[var].ty = Some(Ty::ERROR);
            }
        }
    }
}
