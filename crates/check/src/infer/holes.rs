//! Ends inference: reports holes that remain, and writes the types into the module.

use super::{DIAGNOSTICS, DimOrigins, Infer, Step, errors};
use relayc_base::diag::{Diagnostic, FirstErrors, codes};
use relayc_base::{Idx, IndexVec};
use relayc_ir::types::{HoleId, Ty, TyData, Types};
use relayc_ir::{Clause, ExprId, ExprKind, Module};
use rustc_hash::{FxHashMap, FxHashSet};

/// Replaces an annotation that is missing or has holes by the inferred type.
fn fill_in(types: &Types, annotation: &mut Option<Ty>, found: Ty) {
    if annotation.is_none_or(|ty| types.has_hole(ty)) {
        *annotation = Some(found);
    }
}

/// Holes that an earlier inference left in annotations become written ones, which the next one knows.
pub(super) fn reopen(module: &mut Module) {
    let n_written = module.types.n_written_holes();
    let mut written: FxHashMap<HoleId, Ty> = FxHashMap::default();
    let mut reopened = |types: &mut Types, annotation: &mut Option<Ty>| {
        let Some(ty) = annotation.filter(|&ty| types.has_hole(ty)) else { return };
        *annotation = Some(types.rewrite(ty, |types, ty| match *types.data(ty) {
            TyData::Hole(hole) if hole.0 < n_written => Some(ty),
            TyData::Hole(hole) => Some(*written.entry(hole).or_insert_with(|| types.written_hole())),
            _ => None,
        }));
    };
    for var in module.vars.ids() {
        reopened(&mut module.types, &mut module.vars[var].ty);
    }
    for func in module.funcs.ids() {
        reopened(&mut module.types, &mut module.funcs[func].ret);
    }
}

/// Binds each branch whose type differs from that of the whole expression to a variable with the type of the whole.
fn annotate_branches(module: &mut Module, expr: ExprId) {
    let ty = module.ty(expr);
    let annotated =
        |module: &mut Module, branch| if module.ty(branch) == ty { branch } else { module.annotated("branch", branch, ty) };
    match module.exprs[expr].kind {
        ExprKind::If { cond, then_branch, else_branch } => {
            let (then_branch, else_branch) = (annotated(module, then_branch), annotated(module, else_branch));
            module.exprs[expr].kind = ExprKind::If { cond, then_branch, else_branch };
        }
        ExprKind::Match { scrutinee, clauses, total } => {
            let clauses = module.clause_items(clauses).to_vec();
            let clauses: Vec<Clause> =
                clauses.into_iter().map(|clause| Clause { body: annotated(module, clause.body), ..clause }).collect();
            let clauses = module.clauses(&clauses);
            module.exprs[expr].kind = ExprKind::Match { scrutinee, clauses, total };
        }
        _ => {}
    }
}

impl Infer<'_> {
    /// Writes the types into the module.
    pub(super) fn finish(mut self) -> ((Vec<Diagnostic>, usize), DimOrigins) {
        let origins =
            DimOrigins { decided_by: std::mem::take(&mut self.decided_by), let_values: std::mem::take(&mut self.let_values) };
        if self.given_up {
            // What is not known is not asked for: that could take as long.
            self.module.expr_tys = IndexVec::filled(Some(Ty::ERROR), self.module.exprs.len());
            return (self.errors.finish(), origins);
        }
        for expr in self.module.exprs.ids() {
            if let Some(ty) = self.tys[expr] {
                self.tys[expr] = Some(self.resolve(ty));
            }
        }
        for var in self.module.vars.ids() {
            if let Some(ty) = self.var_tys[var] {
                let ty = self.resolve(ty);
                self.module.vars[var].checked_ty = Some(ty);
                fill_in(&self.module.types, &mut self.module.vars[var].ty, ty);
            }
        }
        for func in self.module.funcs.ids() {
            let Some(ty) = self.fn_tys[func] else { continue };
            if let TyData::Fn { ret, .. } = *self.module.types.data(ty) {
                let ret = self.resolve(ret);
                fill_in(&self.module.types, &mut self.module.funcs[func].ret, ret);
            }
        }
        self.module.expr_tys = self.tys;
        for expr in self.narrowed {
            annotate_branches(self.module, expr);
        }
        (self.errors.finish(), origins)
    }

    /// Infers what nothing uses, after it has reported every hole of the program: none of its types is decided here.
    pub(super) fn infer_unused(&mut self) {
        self.report_open();
        // Parents have higher numbers than what they are made of.
        for expr in self.module.exprs.ids().rev() {
            // An operator that is called has no type.
            let is_value = !matches!(self.module.exprs[expr].kind, ExprKind::Op(_) | ExprKind::Error);
            if is_value && !self.entered[expr.index()] && !self.given_up {
                self.walk(vec![Step::Enter(expr)]);
            }
        }
        // What only a use would decide stays open without one, and is no mistake.
        let errors = std::mem::replace(&mut self.errors, FirstErrors::new(DIAGNOSTICS.count()));
        self.report_open();
        let (open, _) = std::mem::replace(&mut self.errors, errors).finish();
        open.into_iter().filter(|error| error.code == codes::E0805).for_each(|error| self.errors.push(error));
    }

    /// Reports operators used as values: an operator has a type only in a call.
    /// TVM accepts one whose type is not needed (language 7.3).
    fn report_operator_values(&mut self) {
        for expr in self.module.exprs.ids() {
            let (ExprKind::Op(_), Some(ty)) = (self.module.exprs[expr].kind, self.tys[expr]) else { continue };
            if !self.is_hole(ty) {
                self.report_operator_value(expr);
                self.solver.poison(&mut self.module.types, ty);
                self.wake();
            }
        }
    }

    fn report_operator_value(&mut self, expr: ExprId) {
        let ExprKind::Op(op) = self.module.exprs[expr].kind else { return };
        let def = self.ops.def(op);
        let span = self.module.exprs[expr].span;
        self.report(span, |infer| errors::operator_value(infer.module, expr, def.name, def.args.len()));
    }

    /// Takes an expression for wrong that has an error among its operands, or whose own has been reported. What only it would have
    /// told of other operands stays unknown, which is no error of theirs.
    pub(super) fn give_up(&mut self, expr: ExprId) {
        self.faulty.push(expr);
        self.poison(expr);
    }

    /// Ends the search for operands and results of wrong calls: the call would have told what they are. What that makes wrong is wrong
    /// as well.
    fn poison_operands(&mut self) {
        while let Some(call) = self.faulty.pop() {
            let mut parts = self.arg_exprs(call);
            parts.push(call);
            if let (None, ExprKind::Call { callee, .. }) = (self.module.called_op(call), self.module.exprs[call].kind) {
                parts.push(callee);
            }
            for part in parts {
                let ty = self.ty(part);
                self.solver.poison(&mut self.module.types, ty);
            }
            self.wake();
        }
    }

    /// The operators that are not called, by the holes that are their types.
    fn operator_values(&mut self) -> FxHashMap<Ty, ExprId> {
        let mut values = FxHashMap::default();
        for expr in self.module.exprs.ids() {
            if let (ExprKind::Op(_), Some(ty)) = (self.module.exprs[expr].kind, self.tys[expr]) {
                values.insert(self.resolve(ty), expr);
            }
        }
        values
    }

    /// Reports every hole that stays.
    pub(super) fn report_open(&mut self) {
        if !self.given_up {
            self.report_holes();
        }
    }

    /// A hole is reported once, at the operator that has it as a value, at the variable that has it, or else at the first expression
    /// that has it.
    fn report_holes(&mut self) {
        self.report_operator_values();
        self.poison_operands();
        let operators = self.operator_values();
        for var in self.module.vars.ids() {
            let Some(ty) = self.var_tys[var] else { continue };
            if self.is_over_budget(self.module.vars[var].span) {
                return;
            }
            if self.is_open(ty) {
                let ty = self.resolve(ty);
                match operators.get(&ty) {
                    Some(&operator) => self.report_operator_value(operator),
                    None if self.holds_error(ty) => {}
                    None => self.report(self.module.vars[var].span, |infer| errors::unknown_var(infer.module, var, ty)),
                }
                self.solver.poison(&mut self.module.types, ty);
                self.wake();
                self.poison_operands();
            }
        }
        for expr in self.module.exprs.ids() {
            let Some(ty) = self.tys[expr] else { continue };
            if self.is_over_budget(self.module.exprs[expr].span) {
                return;
            }
            let is_op = matches!(self.module.exprs[expr].kind, ExprKind::Op(_));
            if is_op || !self.is_open(ty) {
                continue;
            }
            let ty = self.resolve(ty);
            match operators.get(&ty) {
                Some(&operator) => self.report_operator_value(operator),
                None if self.holds_error(ty) => {}
                None => self.report(self.module.exprs[expr].span, |infer| errors::unknown_expr(infer.module, expr, ty)),
            }
            self.solver.poison(&mut self.module.types, ty);
            self.wake();
        }
    }

    /// Whether a hole is inside that makes the type unknown. One in the arguments of a data type does not: `Nil` alone is a
    /// list of whatever, which TVM accepts and prints as `List[meta[IncompleteType][0]]` (language 7.5, #223).
    fn is_open(&mut self, ty: Ty) -> bool {
        if !self.module.types.has_hole(ty) {
            return false;
        }
        let mut stack = vec![self.resolve(ty)];
        let mut seen = FxHashSet::default();
        while let Some(ty) = stack.pop() {
            if !self.module.types.has_hole(ty) || !seen.insert(ty) {
                continue;
            }
            match self.module.types.data(ty) {
                TyData::Hole(_) => return true,
                TyData::Adt { .. } => {}
                _ => self.module.types.children(ty, &mut stack),
            }
        }
        false
    }
}
