//! Data types and references: constructors, patterns, `match`, cells (language 7.3).

use super::{Infer, errors};
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_ir::types::{Ty, TyData};
use relayc_ir::{Clause, CtorId, ExprId, ExprKind, Operand, PatId, PatKind};

impl Infer<'_> {
    /// Checks the patterns of a match against the type of its scrutinee, which gives their variables types.
    pub(super) fn bind_patterns(&mut self, expr: ExprId) {
        let ExprKind::Match { scrutinee, clauses, .. } = self.module.exprs[expr].kind else { return };
        let ty = self.ty(scrutinee);
        let place = (self.module.exprs[scrutinee].span, "matched here".to_owned());
        let mut fits = true;
        for Clause { pat, .. } in self.module.clause_items(clauses).to_vec() {
            fits &= self.bind_pattern(expr, pat, ty, &place);
        }
        if !fits {
            self.faulty_matches.insert(expr);
        }
    }

    /// Whether the pattern fits the type; if not, its variables cause no further reports.
    fn bind_pattern(&mut self, expr: ExprId, root: PatId, ty: Ty, place: &(Span, String)) -> bool {
        let mut pairs = vec![(root, ty)];
        while let Some((pat, ty)) = pairs.pop() {
            match self.bind_one(expr, pat, ty, place) {
                Ok(fields) => pairs.extend(fields.into_iter().rev()),
                Err(diagnostic) => {
                    if let Some(diagnostic) = diagnostic {
                        self.errors.push(*diagnostic);
                    }
                    for var in self.module.pat_vars(root) {
                        let ty = self.var_ty(var);
                        self.solver.poison(&mut self.module.types, ty);
                    }
                    return false;
                }
            }
        }
        true
    }

    /// Checks the outermost part of a pattern; the patterns inside with their types. `Err(None)`: already reported.
    fn bind_one(
        &mut self,
        expr: ExprId,
        pat: PatId,
        ty: Ty,
        place: &(Span, String),
    ) -> Result<Vec<(PatId, Ty)>, Option<Box<Diagnostic>>> {
        let span = self.module.pats[pat].span;
        let (own, fields, field_tys) = match self.module.pats[pat].kind {
            PatKind::Error => return Err(None),
            PatKind::Wildcard => return Ok(vec![]),
            PatKind::Var(var) => (self.var_ty(var), vec![], vec![]),
            PatKind::Ctor(ctor, fields) => {
                let (field_tys, own) = self.instance(ctor);
                if field_tys.len() != fields.len() {
                    let diagnostic = errors::pattern_arity(self.module, pat, ctor);
                    // What is matched says which fields are tuples.
                    let _ = self.agree(ty, own);
                    let n_fields = fields.len();
                    return Err(Some(match self.untupled_fields(pat, &field_tys) {
                        Some(span) => self.tuple_of(diagnostic, span).into(),
                        None => self.more_fields(diagnostic, span, n_fields, field_tys.len()).into(),
                    }));
                }
                (own, self.module.sub_pats(fields).to_vec(), field_tys)
            }
            PatKind::Tuple(fields) => {
                let fields = self.module.sub_pats(fields).to_vec();
                let field_tys: Vec<Ty> = fields.iter().map(|_| self.fresh()).collect();
                (self.module.types.tuple(&field_tys), fields, field_tys)
            }
        };
        if let Err(mismatch) = self.agree(ty, own) {
            let diagnostic = self.mismatch(mismatch, (ty, own), Operand { expr, span }, place.clone());
            return Err(Some(diagnostic.into()));
        }
        Ok(fields.into_iter().zip(field_tys).collect())
    }

    /// The inputs and the result type of a constructor, with fresh holes for the type's parameters.
    fn instance(&mut self, ctor: CtorId) -> (Vec<Ty>, Ty) {
        let TyData::Fn { type_params, params, ret } = self.module.types.data(self.module.ctors[ctor].ty).clone() else {
            unreachable!("a constructor has a function type")
        };
        self.instantiate(&type_params, &params, ret)
    }

    /// All clauses have one type; a total match covers every case.
    pub(super) fn exit_match(&mut self, expr: ExprId) -> Ty {
        let ExprKind::Match { scrutinee, clauses, total } = self.module.exprs[expr].kind else { return Ty::ERROR };
        if total && !self.faulty_matches.contains(&expr) {
            let span = self.module.exprs[scrutinee].span;
            let patterns: Vec<PatId> = self.module.clause_items(clauses).iter().map(|clause| clause.pat).collect();
            match super::exhaust::unmatched(self.module, &patterns) {
                Some(cases) if cases.is_empty() => {}
                Some(cases) => self.report(span, |_| errors::unmatched_cases(&cases, span)),
                None => self.report(span, |_| errors::too_many_cases(span)),
            }
        }
        let bodies: Vec<ExprId> = self.module.clause_items(clauses).iter().map(|clause| clause.body).collect();
        let Some((&first, others)) = bodies.split_first() else { return self.fresh() };
        let expected = self.ty(first);
        let (mut all, mut differ) = (expected, false);
        for &body in others {
            let found = self.ty(body);
            if let Err(mismatch) = self.agree(expected, found) {
                if let Some(ty) = self.narrowed(expr, all, found) {
                    all = ty;
                    continue;
                }
                if !std::mem::replace(&mut differ, true) && self.report_off_result(expr, &bodies, "clause") {
                    return Ty::ERROR;
                }
                let value = self.mention(self.final_value(body));
                self.report(value.span, |infer| {
                    let first_ty = infer.resolve(expected);
                    let first_text = format!("the first clause is `{}`", infer.module.types.text(first_ty));
                    let place = (infer.module.exprs[infer.final_value(first)].span, first_text);
                    infer.mismatch(mismatch, (expected, found), value, place).note("the clauses of a `match` have one type")
                });
            }
            all = self.solver.join(&mut self.module.types, all, found).unwrap_or(all);
        }
        if differ { Ty::ERROR } else { all }
    }

    pub(super) fn exit_ref_new(&mut self, value: ExprId) -> Ty {
        let value = self.ty(value);
        self.module.types.intern(TyData::Ref(value))
    }

    pub(super) fn exit_ref_read(&mut self, expr: ExprId, cell: ExprId) -> Ty {
        self.cell_content(expr, cell, None, "`ref_read` reads a reference")
    }

    pub(super) fn exit_ref_write(&mut self, expr: ExprId, cell: ExprId, value: ExprId) -> Ty {
        let expected = self.cell_content(expr, cell, Some(value), "`ref_write` writes to a reference");
        let found = self.ty(value);
        if let Err(mismatch) = self.agree(expected, found) {
            let value = self.mention(value);
            self.report(value.span, |infer| {
                let place = (infer.module.exprs[cell].span, "the reference is here".to_owned());
                infer.mismatch(mismatch, (expected, found), value, place)
            });
        }
        Ty::UNIT
    }

    fn is_ref(&mut self, expr: ExprId) -> bool {
        let ty = self.ty(expr);
        matches!(self.module.types.data(self.solver.shallow(&self.module.types, ty)), TyData::Ref(_))
    }

    /// The type of the cell's content; reports a cell that is no reference, beside a value that may be the one.
    fn cell_content(&mut self, expr: ExprId, cell: ExprId, beside: Option<ExprId>, why: &str) -> Ty {
        let content = self.fresh();
        let expected = self.module.types.intern(TyData::Ref(content));
        let found = self.ty(cell);
        if let Err(mismatch) = self.agree(expected, found) {
            let cell = self.mention(cell);
            if !self.misused.insert(self.module.exprs[self.made(cell.expr)].span) {
                self.solver.poison(&mut self.module.types, content);
                return content;
            }
            self.report(cell.span, |infer| {
                let place = (infer.module.exprs[expr].span, why.to_owned());
                let diagnostic = infer.mismatch(mismatch, (expected, found), cell, place);
                let diagnostic = infer.as_reference(diagnostic, cell.expr);
                match beside.filter(|&value| infer.is_ref(value) && !infer.is_ref(cell.expr)) {
                    Some(value) => infer.swap(diagnostic, cell.span, infer.module.exprs[value].span),
                    None => diagnostic,
                }
            });
            self.solver.poison(&mut self.module.types, content);
        }
        content
    }
}
