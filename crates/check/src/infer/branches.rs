//! Results of functions and of branches: `if` has one type on both sides, and the declared result says which side is wrong.

use super::{Infer, errors};
use relayc_ir::types::{DType, Mismatch, Ty, TyData};
use relayc_ir::{ExprId, ExprKind, FuncId};
use rustc_hash::FxHashSet;

impl Infer<'_> {
    pub(super) fn return_from(&mut self, func: FuncId) {
        let fn_ty = self.fn_ty(func);
        let TyData::Fn { ret, .. } = *self.module.types.data(fn_ty) else { return };
        let body = self.module.funcs[func].body;
        let found = self.ty(body);
        let found = self.instantiate_body(ret, found);
        if let Err(mismatch) = self.agree(ret, found) {
            self.report_result(func, (ret, found), body, mismatch, None);
        }
    }

    /// Reports a value of a function that is not of the type that its result is declared with, unlike that of another branch.
    fn report_result(
        &mut self,
        func: FuncId,
        (ret, found): (Ty, Ty),
        body: ExprId,
        mismatch: Mismatch,
        other: Option<(ExprId, &str)>,
    ) {
        let value = self.mention(self.final_value(body));
        self.report(value.span, |infer| {
            let declared = infer.module.funcs[func].ret_span;
            let place = (declared, "the result is declared here".to_owned());
            let mut diagnostic = infer.mismatch(mismatch, (ret, found), value, place);
            if let Some((other, what)) = other {
                let ty = infer.resolved_ty(other);
                let label = format!("another {what} is `{}`", infer.module.types.text(ty));
                diagnostic = diagnostic.also(infer.module.exprs[infer.final_value(other)].span, label);
            }
            let found = infer.resolve(found);
            if declared.is_none() || infer.module.types.has_hole(found) {
                return diagnostic;
            }
            let text = infer.module.types.text(found);
            let or = if diagnostic.helps.is_empty() { "" } else { "or " };
            diagnostic.fix(format!("{or}declare the result as `{text}`"), declared, text)
        });
    }

    /// Where branches differ, the declared result of their function says which are wrong. Reports those; false if nothing says it.
    pub(super) fn report_off_result(&mut self, expr: ExprId, branches: &[ExprId], what: &str) -> bool {
        if !self.errors.wants(self.module.exprs[expr].span) {
            return false;
        }
        let Some(func) = self.within.last().copied().filter(|&func| self.is_result(func, expr)) else { return false };
        let fn_ty = self.fn_ty(func);
        let TyData::Fn { ret, .. } = *self.module.types.data(fn_ty) else { return false };
        let mut off = vec![];
        for &branch in branches {
            let found = self.ty(branch);
            if let Err(mismatch) = self.agree(ret, found) {
                off.push((branch, found, mismatch));
            }
        }
        // If all are of another type, the declaration may be the mistake.
        if off.is_empty() || off.len() == branches.len() {
            return false;
        }
        let other = branches.iter().copied().find(|&branch| off.iter().all(|(off, ..)| *off != branch));
        for (branch, found, mismatch) in off {
            self.report_result(func, (ret, found), branch, mismatch, other.map(|other| (other, what)));
        }
        true
    }

    /// Whether the value of a function with a declared result is that of an expression, by what is seen of its branches in a few steps.
    fn is_result(&self, func: FuncId, expr: ExprId) -> bool {
        const MAX_STEPS: usize = 1000;
        if self.module.funcs[func].ret_span.is_none() {
            return false;
        }
        let (mut stack, mut seen) = (vec![self.module.funcs[func].body], FxHashSet::default());
        while let Some(value) = stack.pop().filter(|_| seen.len() < MAX_STEPS) {
            let value = self.final_value(value);
            if value == expr {
                return true;
            }
            match self.module.exprs[value].kind {
                _ if !seen.insert(value) => {}
                ExprKind::If { then_branch, else_branch, .. } => stack.extend([then_branch, else_branch]),
                ExprKind::Match { clauses, .. } => {
                    stack.extend(self.module.clause_items(clauses).iter().map(|clause| clause.body));
                }
                _ => {}
            }
        }
        false
    }

    /// A body of a polymorphic function type is instantiated (language 7.3), unless the result is declared to be one.
    fn instantiate_body(&mut self, ret: Ty, found: Ty) -> Ty {
        let types = &self.module.types;
        let is_polymorphic = |ty: Ty| matches!(types.data(self.solver.shallow(types, ty)), TyData::Fn { type_params, .. } if !type_params.is_empty());
        if !is_polymorphic(found) || is_polymorphic(ret) {
            return found;
        }
        let TyData::Fn { type_params, params, ret } = types.data(self.solver.shallow(types, found)).clone() else { return found };
        let (params, ret) = self.instantiate(&type_params, &params, ret);
        self.module.types.func(&params, ret)
    }

    /// The expression whose value a body has: behind lets.
    pub(super) fn final_value(&self, mut expr: ExprId) -> ExprId {
        while let ExprKind::Let { body, .. } = self.module.exprs[expr].kind {
            expr = body;
        }
        expr
    }

    pub(super) fn exit_if(&mut self, expr: ExprId, cond: ExprId, then_branch: ExprId, else_branch: ExprId) -> Ty {
        let bool_ty = self.module.types.scalar(DType::BOOL);
        let found = self.ty(cond);
        if self.agree(bool_ty, found).is_err() {
            let cond = self.mention(cond);
            self.report(cond.span, |infer| {
                let found = infer.resolve(found);
                let diagnostic = errors::condition(infer.module, cond.expr, found);
                infer.convert(diagnostic, cond, bool_ty, found)
            });
        }
        let (expected, found) = (self.ty(then_branch), self.ty(else_branch));
        if let Err(mismatch) = self.agree(expected, found) {
            if let Some(ty) = self.narrowed(expr, expected, found) {
                return ty;
            }
            if self.report_off_result(expr, &[then_branch, else_branch], "branch") {
                return Ty::ERROR;
            }
            let value = self.mention(self.final_value(else_branch));
            self.report(value.span, |infer| {
                let then_span = infer.module.exprs[infer.final_value(then_branch)].span;
                let then_ty = infer.resolve(expected);
                let place = (then_span, format!("the other branch is `{}`", infer.module.types.text(then_ty)));
                infer.mismatch(mismatch, (expected, found), value, place).note("the branches of an `if` have one type")
            });
            return Ty::ERROR;
        }
        self.solver.join(&mut self.module.types, expected, found).unwrap_or(expected)
    }

    /// The common type of branches that differ in dimensions which the text leaves open. `None` unless [`infer_sized`] runs.
    pub(super) fn narrowed(&mut self, expr: ExprId, expected: Ty, found: Ty) -> Option<Ty> {
        let ty = self.solver.join(&mut self.module.types, expected, found).filter(|_| self.sized)?;
        self.narrowed.push(expr);
        Some(ty)
    }
}
