//! Suggestions for calls of functions, and for the values that they take: arguments swapped, side by side in place of a tuple, too
//! many or too few.

use super::errors::{EXTRA_ARGUMENT, func_of};
use super::repair::{MAX_HELPS, MAX_REPAIRED, compatible};
use super::{Infer, call_attrs};
use relayc_base::Span;
use relayc_base::diag::{Diagnostic, Edit, codes};
use relayc_ir::types::{Dim, Mismatch, Ty, TyData};
use relayc_ir::{ExprId, ExprKind, FuncId, Operand, PatId, PatKind, VarId};
use rustc_hash::FxHashMap;

impl Infer<'_> {
    /// The function a callee certainly is.
    pub(super) fn called_func(&self, callee: ExprId) -> Option<FuncId> {
        match self.module.exprs[callee].kind {
            ExprKind::Var(var) => func_of(self.module, *self.let_values.get(&var)?),
            _ => func_of(self.module, callee),
        }
    }

    /// The variable of parameter `index` of a callee, if the called function is known.
    pub(super) fn parameter(&self, callee: ExprId, index: usize) -> Option<VarId> {
        let func = self.called_func(callee)?;
        self.module.funcs[func].params.get(index).copied()
    }

    /// An argument of another type than the parameter at this index of the callee.
    pub(super) fn mismatch_of_argument(
        &mut self,
        mismatch: Mismatch,
        (param, found): (Ty, Ty),
        arg: Operand,
        (callee, index): (ExprId, usize),
    ) -> Diagnostic {
        let place = self.parameter_place(callee, index);
        let diagnostic = self.mismatch(mismatch, (param, found), arg, place);
        let [param, found] = [param, found].map(|ty| self.resolve(ty));
        // What the body calls or takes apart stays that, and what is generic stays so.
        let alike = matches!(
            (self.module.types.data(param), self.module.types.data(found)),
            (TyData::Tensor { .. }, TyData::Tensor { .. }) | (TyData::Tuple(_), TyData::Tuple(_))
        );
        match self.parameter(callee, index) {
            Some(untyped) if self.module.vars[untyped].ty.is_none() => self.untyped_parameter(diagnostic, untyped, param, found),
            Some(_) if !alike => diagnostic,
            Some(declared) if self.module.vars[declared].ty.is_some_and(|ty| self.module.types.has_param(ty)) => diagnostic,
            Some(declared) if !self.module.types.has_hole(found) => {
                self.declare_as(diagnostic, "or declare the parameter", declared, found)
            }
            _ => diagnostic,
        }
    }

    /// Says why a parameter without a type takes arguments of one type only, and which annotation takes both.
    fn untyped_parameter(&mut self, diagnostic: Diagnostic, param: VarId, expected: Ty, found: Ty) -> Diagnostic {
        let (name, span) = (self.module.vars[param].name.clone(), self.module.vars[param].span);
        let types = &mut self.module.types;
        let why = format!("`%{name}` is declared without a type: the first use decides it, for all calls");
        let diagnostic = diagnostic.note(why);
        let joined = match (types.as_tensor(expected), types.as_tensor(found)) {
            (Some((one, dtype)), Some((other, of))) if dtype == of && one.len() == other.len() => {
                let dims = one.iter().zip(other).map(|(&one, &other)| if one == other { one } else { Dim::Any });
                Some((dims.collect::<Vec<Dim>>(), dtype))
            }
            _ => None,
        };
        match joined {
            Some((dims, dtype)) => {
                let ty = types.tensor(&dims, dtype);
                let ty = types.text(ty);
                diagnostic.fix(format!("declare the parameter `%{name}: {ty}`"), span.end_point(), format!(": {ty}"))
            }
            None => diagnostic.help("write one function for each type of argument"),
        }
    }

    /// Finds two arguments that fit each other's parameters but not their own.
    pub(super) fn crossed(&mut self, params: &[Ty], found: &[Ty]) -> Option<(usize, usize)> {
        let resolve = |infer: &mut Self, tys: &[Ty]| -> Vec<Ty> {
            tys.iter().map(|&ty| infer.solver.resolve(&mut infer.module.types, ty)).collect()
        };
        let (params, found) = (resolve(self, params), resolve(self, found));
        let fits = |param: usize, arg: usize| compatible(&self.module.types, params[param], found[arg]);
        let wrong: Vec<usize> = (0..params.len()).filter(|&i| !fits(i, i)).collect();
        let [first, second] = wrong[..] else { return None };
        (fits(first, second) && fits(second, first)).then_some((first, second))
    }

    /// Reports two swapped arguments; the call gets the type that it would have otherwise.
    pub(super) fn swapped_arguments(
        &mut self,
        callee: ExprId,
        args: &[Operand],
        (first, second): (usize, usize),
        (params, found): (&[Ty], &[Ty]),
        ret: Ty,
    ) -> Ty {
        self.report(args[first].span, |infer| {
            let [expected, actual] = [params[first], found[first]].map(|ty| infer.resolve(ty));
            let text = |ty: Ty| infer.module.types.text(ty);
            let message = format!("expected `{}`, found `{}`", text(expected), text(actual));
            let place = infer.parameter_place(callee, first);
            let diagnostic = Diagnostic::new(codes::E0301, message)
                .at(args[first].span, format!("this is `{}`", text(actual)))
                .also(args[second].span, "these two stand in each other's places")
                .also(place.0, place.1);
            infer.swap(diagnostic, args[first].span, args[second].span)
        });
        let mut order: Vec<usize> = (0..params.len()).collect();
        order.swap(first, second);
        for (param, arg) in params.iter().zip(order) {
            // They were found to agree, or are reported where they do not.
            let _ = self.solver.unify(&mut self.module.types, *param, found[arg]);
        }
        ret
    }

    /// Adds that two arguments of a generic function are swapped, if the one at `at`, which does not fit, and another would fit then.
    /// `given` are the types of the arguments before the call decided anything of them.
    pub(super) fn swapped_in_generic(
        &mut self,
        diagnostic: Diagnostic,
        (type_params, params): (&[Ty], &[Ty]),
        given: &[Ty],
        (args, at): (&[Operand], usize),
    ) -> Diagnostic {
        let fitting: Vec<usize> = (0..given.len())
            .filter(|&other| {
                let mut order = given.to_vec();
                order.swap(at, other);
                other != at && self.fits_generic(type_params, params, &order)
            })
            .collect();
        match fitting[..] {
            [other] => {
                let (first, second) = (args[at.min(other)].span, args[at.max(other)].span);
                let diagnostic = diagnostic.also(args[other].span, "these two stand in each other's places");
                self.swap(diagnostic, first, second)
            }
            _ => match self.same_param(type_params, params, at) {
                Some((other, param)) => {
                    let label = format!("`{}` is what this argument says", self.module.types.text(param));
                    diagnostic.also(args[other].span, label)
                }
                None => diagnostic,
            },
        }
    }

    /// An earlier parameter whose type mentions a type parameter that the type of the one at `at` mentions, and that type parameter.
    fn same_param(&self, type_params: &[Ty], params: &[Ty], at: usize) -> Option<(usize, Ty)> {
        let mentions = |ty: Ty, wanted: Ty| {
            let mut stack = vec![ty];
            while let Some(ty) = stack.pop() {
                if ty == wanted {
                    return true;
                }
                self.module.types.children(ty, &mut stack);
            }
            false
        };
        let of_both = |other: usize| {
            let both = |&&param: &&Ty| mentions(params[at], param) && mentions(params[other], param);
            type_params.iter().find(both).map(|&param| (other, param))
        };
        (0..at).find_map(of_both)
    }

    /// Whether arguments of these types fit a generic function; what is not known of them stays so.
    fn fits_generic(&mut self, type_params: &[Ty], params: &[Ty], given: &[Ty]) -> bool {
        let (params, _) = self.instantiate(type_params, params, Ty::UNIT);
        let mut copies: FxHashMap<Ty, Ty> = FxHashMap::default();
        params.into_iter().zip(given).all(|(param, &ty)| {
            let copy = self.module.types.rewrite(ty, |types, ty| {
                matches!(types.data(ty), TyData::Hole(_)).then(|| *copies.entry(ty).or_insert_with(|| self.solver.fresh(types)))
            });
            self.solver.unify(&mut self.module.types, param, copy).is_ok()
        })
    }

    /// The arguments that fit as one tuple, where a call has too many and they are the only ones. What a generic function takes may
    /// be a tuple.
    pub(super) fn untupled(&mut self, params: &[Ty], args: &[Operand], is_generic: bool) -> Option<Span> {
        let more = args.len().checked_sub(params.len()).filter(|&more| more > 0)?;
        let found: Vec<Ty> = args.iter().map(|arg| self.resolved_ty(arg.expr)).collect();
        let params: Vec<Ty> = params.iter().map(|&ty| self.resolve(ty)).collect();
        let mut fitting = vec![];
        for at in 0..params.len() {
            let tuple = self.module.types.tuple(&found[at..=at + more]);
            let packed: Vec<Ty> = [&found[..at], &[tuple], &found[at + more + 1..]].concat();
            let takes_tuple = is_generic || self.module.types.as_tuple(params[at]).is_some();
            if takes_tuple && params.iter().zip(packed).all(|(&param, ty)| compatible(&self.module.types, param, ty)) {
                fitting.push(at);
            }
        }
        let [at] = fitting[..] else { return None };
        Some(args[at].span.to(args[at + more].span))
    }

    /// As [`Infer::untupled`], of the fields of a pattern.
    pub(super) fn untupled_fields(&mut self, pat: PatId, tys: &[Ty]) -> Option<Span> {
        let PatKind::Ctor(_, fields) = self.module.pats[pat].kind else { return None };
        let spans: Vec<Span> = self.module.sub_pats(fields).iter().map(|&pat| self.module.pats[pat].span).collect();
        let more = spans.len().checked_sub(tys.len()).filter(|&more| more > 0)?;
        let mut fitting = vec![];
        for (at, &ty) in tys.iter().enumerate() {
            let ty = self.resolve(ty);
            if self.module.types.as_tuple(ty).is_some_and(|fields| fields.len() == more + 1) {
                fitting.push(at);
            }
        }
        let [at] = fitting[..] else { return None };
        Some(spans[at].to(spans[at + more]))
    }

    /// The help that makes one tuple of what stands side by side.
    pub(super) fn tuple_of(&self, mut diagnostic: Diagnostic, span: Span) -> Diagnostic {
        let text = self.source(span);
        let shown = if text.len() < 50 { text } else { "…" };
        let title = format!("put them into a tuple: `({shown})`");
        diagnostic.helps.clear();
        diagnostic.labels.retain(|label| label.text != EXTRA_ARGUMENT);
        diagnostic.also(span, "these are not in a tuple").fix_all(title, Edit::around(span, "(", ")"))
    }

    /// Suggests leaving out extra arguments, or adding a variable with the missing parameter's name.
    pub(super) fn other_count(&mut self, diagnostic: Diagnostic, call: ExprId, expected: usize) -> Diagnostic {
        let ExprKind::Call { callee, .. } = self.module.exprs[call].kind else { return diagnostic };
        let args = self.operands(call);
        if self.text.is_empty() || self.errors.n_found() >= MAX_REPAIRED {
            return diagnostic;
        }
        if let (Some(first), Some(last)) = (args.get(expected), args.last()) {
            let diagnostic = if args.len() == expected + 1 { self.bias(diagnostic, call, *last) } else { diagnostic };
            let start = expected.checked_sub(1).map_or(first.span.start, |i| args[i].span.end);
            let span = Span { start, end: last.span.end, ..first.span };
            let noun = if args.len() - expected == 1 { "leave the last argument out" } else { "leave the last arguments out" };
            return diagnostic.fix(noun, span, "");
        }
        let (Some(missing), Some(last)) = (self.missing_name(call, callee, args.len()), args.last()) else { return diagnostic };
        let title = format!("write `{missing}` as the last argument");
        if args.len() + 1 == expected { diagnostic.fix(title, last.span.end_point(), format!(", {missing}")) } else { diagnostic }
    }

    /// Suggests adding the last operand to the result where other frameworks take it as a bias.
    fn bias(&self, diagnostic: Diagnostic, call: ExprId, last: Operand) -> Diagnostic {
        /// Operands that are moved are short.
        const MOST: usize = 60;
        let args = self.operands(call);
        let op = self.module.called_op(call).and_then(|op| self.ops.def(op).bias());
        let (Some(op), [.., before, _]) = (op, &args[..]) else { return diagnostic };
        let (span, text) = (self.module.exprs[call].span, self.source(last.span));
        if text.is_empty() || text.len() > MOST {
            return diagnostic;
        }
        let edits = vec![
            Edit { span: Span { end: span.start, ..span }, text: format!("{op}(") },
            Edit { span: Span { start: before.span.end, end: last.span.end, ..span }, text: String::new() },
            Edit { span: span.end_point(), text: format!(", {text})") },
        ];
        diagnostic.fix_all(format!("a bias is added to the result: `{op}(…, {text})`"), edits)
    }

    /// An unused parameter of the calling function, or one with the name of the parameter without an argument.
    fn missing_name(&mut self, call: ExprId, callee: ExprId, index: usize) -> Option<String> {
        let at = self.module.exprs[call].span;
        let within = |span: Span| span.start <= at.start && at.end <= span.end;
        let caller = self.module.funcs.iter().find(|func| within(func.span))?;
        let params = caller.params.clone();
        if let Some(wanted) = self.parameter(callee, index) {
            let wanted = &self.module.vars[wanted].name;
            let same = params.iter().find(|&&var| self.module.vars[var].name == *wanted)?;
            return Some(format!("%{}", self.module.vars[*same].name));
        }
        let (def, args) = self.op_call(call).filter(|_| !self.lacks_attrs(call))?;
        let args: Vec<Ty> = args.into_iter().map(|ty| self.resolve(ty)).collect();
        let mut used = vec![false; self.module.vars.len()];
        for expr in self.module.exprs.iter() {
            if let ExprKind::Var(var) = expr.kind {
                used[relayc_base::Idx::index(var)] = true;
            }
        }
        let attrs = call_attrs(self.module, call).to_vec();
        // Of several that fit, the first in the order of the parameters.
        for var in params.into_iter().filter(|&var| !used[relayc_base::Idx::index(var)]) {
            let ty = self.var_ty(var);
            let tys: Vec<Ty> = args.iter().copied().chain([ty]).collect();
            if tys.len() != def.args.len() || tys.iter().any(|&ty| self.module.types.has_hole(ty)) {
                continue;
            }
            if self.relation_holds(def, &attrs, &tys) {
                return Some(format!("%{}", self.module.vars[var].name));
            }
        }
        None
    }

    /// Suggests the fields of a tuple if a missing one is taken.
    pub(super) fn other_field(&self, mut diagnostic: Diagnostic, expr: ExprId, ty: Ty) -> Diagnostic {
        let fields = self.module.types.as_tuple(ty).map_or(vec![], <[Ty]>::to_vec);
        let span = self.module.exprs[expr].span;
        let Some(dot) = self.source(span).rfind('.').filter(|_| fields.len() <= MAX_HELPS) else { return diagnostic };
        let index = Span { start: span.start + dot as u32 + 1, ..span };
        for (i, &field) in fields.iter().enumerate().rev().filter(|(_, field)| **field != Ty::ERROR) {
            diagnostic = diagnostic.fix(format!("`.{i}` is `{}`", self.module.types.text(field)), index, i.to_string());
        }
        diagnostic
    }

    /// The expression that gives a value which may have a name.
    pub(super) fn made(&self, value: ExprId) -> ExprId {
        match self.module.exprs[value].kind {
            ExprKind::Var(var) => self.let_values.get(&var).copied().unwrap_or(value),
            _ => value,
        }
    }

    /// Shows where a variable is bound to a value that is used as a reference, and suggests to make one there.
    pub(super) fn as_reference(&self, diagnostic: Diagnostic, cell: ExprId) -> Diagnostic {
        let made = self.made(cell);
        let span = self.module.exprs[made].span;
        if made == cell || self.source(span).is_empty() {
            return diagnostic;
        }
        let diagnostic = self.made_here(diagnostic, cell, "it is made here");
        diagnostic.fix_all("make a reference of it: `ref(…)`", Edit::around(span, "ref(", ")"))
    }

    /// Shows where a value is made, if that is elsewhere.
    pub(super) fn made_here(&self, diagnostic: Diagnostic, value: ExprId, what: &str) -> Diagnostic {
        let (span, made) = (diagnostic.span(), self.module.exprs[self.made(value)].span);
        if made.end <= span.start || made.start > span.end { diagnostic.also(made, what) } else { diagnostic }
    }
}
