//! Type and shape inference: unification, and the operators' type relations run to a fixed point (language 7).
//!
//! One walk over the program gives every expression a type or a hole. A relation with too little information waits for its
//! operands' holes, and runs again when one is bound. The work is therefore linear in the information found. Functions are
//! visited callees first. A hole that remains is an error; an error type silences errors that follow from it. The origin of a
//! dimension is not stored: `origin.rs` runs the relations again when a message needs it.

mod again;
mod branches;
mod budget;
mod calls;
mod data;
mod errors;
mod exhaust;
mod forward;
mod holes;
mod origin;
mod repair;
mod waiting;

pub use again::{Clean, Earlier};
use budget::Budget;
pub use forward::TypeClasses;
pub use origin::DimOrigins;
use relayc_base::diag::{Diagnostic, FirstErrors};
use relayc_base::limits::{DIAGNOSTICS, INFERENCE_STEPS, TYPE_PARTS, TYPES};
use relayc_base::{Idx, IndexVec, Span};
use relayc_ir::types::{Mismatch, Solver, Ty, TyData};
use relayc_ir::{AttrValue, ExprId, ExprKind, FuncId, GlobalId, Module, Operand, Root, VarId};
use relayc_ops::rel::{Origins, RelCx, Stop};
use relayc_ops::{OpDef, Table};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Infers the types of a module in place, of what its functions are made of: expression types, variable annotations, return types.
pub fn infer(module: &mut Module, ops: &Table) -> Vec<Diagnostic> {
    what_is_used(module, ops, "", false).0
}

/// As [`infer`], for all that a text has, whether or not something uses it. Suggestions may quote the text. The errors are the first in
/// text order, as many as are shown; the number is that of the others.
pub fn infer_text(module: &mut Module, ops: &Table, text: &str) -> (Vec<Diagnostic>, usize) {
    let mut infer = Infer::new(module, ops, text, false);
    infer.run();
    infer.infer_unused();
    infer.finish().0
}

/// What an inference found besides the types, for tools that show a program while it is written.
pub struct Found {
    /// As [`infer_text`] gives them.
    pub errors: (Vec<Diagnostic>, usize),
    pub origins: DimOrigins,
    pub clean: Clean,
    /// How many functions of the module were inferred; the others kept their types.
    pub n_inferred: usize,
}

/// As [`infer_text`], for another form of a program: equal functions keep their types if what they mention keeps its signatures.
pub fn infer_again(module: &mut Module, ops: &Table, text: &str, earlier: Option<Earlier>) -> Found {
    let mut infer = Infer::new(module, ops, text, false);
    let (clean, n_inferred) = infer.run_after(earlier);
    infer.infer_unused();
    let (errors, origins) = infer.finish();
    let name = |global: GlobalId| (module.globals[global].name.clone(), global);
    Found { errors, origins, clean: clean.into_iter().map(name).collect(), n_inferred }
}

/// As [`infer`], for a program read from a text whose dynamic dimensions became numbers; errors are given as by [`infer_text`]. If the branches of an `if` or a `match` differ in
/// dimensions now, an annotated binding gives them their common type.
pub fn infer_sized(module: &mut Module, ops: &Table, text: &str) -> (Vec<Diagnostic>, usize) {
    what_is_used(module, ops, text, true)
}

/// Whether the relation of an operator can hold on operands of these types, as far as they are known, with some attributes. Only
/// types are added to the module.
pub fn may_hold(module: &mut Module, def: &OpDef, args: &[Option<Ty>]) -> bool {
    let mut solver = Solver::with_written(&module.types);
    let types = &mut module.types;
    let args: Vec<Ty> = args.iter().map(|arg| arg.unwrap_or_else(|| solver.fresh(types))).collect();
    let out = solver.fresh(types);
    let attrs = def.attrs.map_or(vec![], |schema| schema.values(&[]));
    let mut cx = RelCx::new(types, &mut solver, &attrs, &args, out);
    // What lacks an attribute says so with a fault, too: what it would say otherwise is not known.
    !matches!((def.rel)(&mut cx), Err(Stop::Fault(_)))
}

/// Infers a module again after a rewrite, as [`infer_sized`]. Types that stayed open before are open again.
pub fn reinfer(module: &mut Module, ops: &Table) -> Vec<Diagnostic> {
    holes::reopen(module);
    what_is_used(module, ops, "", true).0
}

/// Infers what the functions of a module are made of: what was replaced in them is still in the module.
fn what_is_used(module: &mut Module, ops: &Table, text: &str, sized: bool) -> (Vec<Diagnostic>, usize) {
    let mut infer = Infer::new(module, ops, text, sized);
    infer.run();
    infer.report_open();
    infer.finish().0
}

struct Infer<'a> {
    module: &'a mut Module,
    ops: &'a Table,
    /// The text it was read from, empty if from none.
    text: &'a str,
    solver: Solver,
    tys: IndexVec<ExprId, Option<Ty>>,
    var_tys: IndexVec<VarId, Option<Ty>>,
    fn_tys: IndexVec<FuncId, Option<Ty>>,
    entered: Vec<bool>,
    /// The call whose relation gave a variable its type, and as which operand.
    decided_by: FxHashMap<VarId, (ExprId, usize)>,
    let_values: FxHashMap<VarId, ExprId>,
    /// What relations gave so far.
    relations: again::Relations,
    /// Calls and projections that wait; a watcher's number is an index here.
    waiting: Vec<Option<ExprId>>,
    /// Calls that broke a rule, and so could not determine the types of their operands or of the called function.
    faulty: Vec<ExprId>,
    /// Calls that have a type although they break a rule.
    typed_faults: FxHashSet<ExprId>,
    /// Where values are made that are used as tuples or references and are none: said once for each.
    misused: FxHashSet<Span>,
    /// The functions inside which the walk is, the innermost last.
    within: Vec<FuncId>,
    /// Matches with a pattern that does not fit: which cases they miss is not asked.
    faulty_matches: FxHashSet<ExprId>,
    n_steps: u64,
    /// What a module may cost, by its size.
    budget: Budget,
    /// Whether it costs more, which has been reported.
    given_up: bool,
    errors: FirstErrors,
    /// Whether more dimensions are known than in the text of the program.
    sized: bool,
    /// Expressions whose branches differ in dimensions that the text leaves open.
    narrowed: Vec<ExprId>,
}

/// A pending step of the walk; the next one is on top.
enum Step {
    Enter(ExprId),
    /// The value of a let has its type: bind the variable.
    Bind(ExprId),
    /// The scrutinee of a match has its type: check the patterns.
    Patterns(ExprId),
    /// The parts of an expression have their types.
    Exit(ExprId),
    /// The body of a global has its type.
    Return(FuncId),
}

impl<'a> Infer<'a> {
    fn new(module: &'a mut Module, ops: &'a Table, text: &'a str, sized: bool) -> Infer<'a> {
        let (budget, mut solver) = (Budget::of(module), Solver::with_written(&module.types));
        solver.limit_visits(budget.visits);
        Infer {
            solver,
            budget,
            given_up: false,
            tys: IndexVec::filled(None, module.exprs.len()),
            var_tys: IndexVec::filled(None, module.vars.len()),
            fn_tys: IndexVec::filled(None, module.funcs.len()),
            entered: vec![false; module.exprs.len()],
            decided_by: FxHashMap::default(),
            let_values: FxHashMap::default(),
            relations: again::Relations::default(),
            waiting: vec![],
            faulty: vec![],
            typed_faults: FxHashSet::default(),
            misused: FxHashSet::default(),
            within: vec![],
            faulty_matches: FxHashSet::default(),
            n_steps: 0,
            errors: FirstErrors::new(DIAGNOSTICS.count()),
            sized,
            narrowed: vec![],
            module,
            ops,
            text,
        }
    }

    fn run(&mut self) {
        match self.module.root {
            Root::Expr(expr) => self.walk(vec![Step::Enter(expr)]),
            Root::Globals => {
                self.declare_globals();
                self.callees_first().into_iter().for_each(|(global, _)| self.walk_global(global));
            }
        }
    }

    /// As [`Infer::run`], with what is known of an earlier form. Returns the functions that may keep their types next time, and how many
    /// were inferred.
    fn run_after(&mut self, earlier: Option<Earlier>) -> (Vec<GlobalId>, usize) {
        if let Root::Expr(_) = self.module.root {
            self.run();
            return (vec![], 1);
        }
        self.declare_globals();
        let (mut clean, mut n_inferred) = (vec![], 0);
        for (global, exprs) in self.callees_first() {
            let starts_closed = self.starts_closed(global, &exprs);
            if starts_closed && earlier.is_some_and(|earlier| self.keep(earlier, global, &exprs)) {
                clean.push(global);
                continue;
            }
            n_inferred += 1;
            let before = (self.errors.n_found(), self.faulty.len(), self.waiting.len());
            self.walk_global(global);
            let nothing_waits = self.waiting[before.2..].iter().all(Option::is_none);
            if starts_closed
                && nothing_waits
                && !self.given_up
                && (self.errors.n_found(), self.faulty.len()) == (before.0, before.1)
            {
                clean.push(global);
            }
        }
        (clean, n_inferred)
    }

    fn declare_globals(&mut self) {
        let funcs: Vec<FuncId> = self.module.globals.iter().map(|global| global.func).collect();
        for &func in &funcs {
            self.fn_ty(func);
        }
    }

    fn walk_global(&mut self, global: GlobalId) {
        let func = self.module.globals[global].func;
        let body = self.module.funcs[func].body;
        self.within.push(func);
        self.walk(vec![Step::Return(func), Step::Enter(body)]);
    }

    /// The globals in an order in which callees come before callers, as far as recursion allows, each with its expressions, children
    /// before parents.
    fn callees_first(&self) -> Vec<(GlobalId, Vec<ExprId>)> {
        let mut order = Vec::new();
        let mut exprs: IndexVec<GlobalId, Vec<ExprId>> = IndexVec::filled(vec![], self.module.globals.len());
        let mut seen = vec![false; self.module.globals.len()];
        let mut stack: Vec<(GlobalId, bool)> = self.module.globals.ids().rev().map(|id| (id, false)).collect();
        while let Some((global, done)) = stack.pop() {
            if done {
                order.push((global, std::mem::take(&mut exprs[global])));
            } else if !std::mem::replace(&mut seen[global.index()], true) {
                stack.push((global, true));
                let body = self.module.funcs[self.module.globals[global].func].body;
                exprs[global] = self.module.post_order(&[body]);
                stack.extend(exprs[global].iter().rev().filter_map(|&expr| match self.module.exprs[expr].kind {
                    ExprKind::Global(callee) => Some((callee, false)),
                    _ => None,
                }));
            }
        }
        order
    }

    fn fresh(&mut self) -> Ty {
        self.solver.fresh(&mut self.module.types)
    }

    /// The type of a variable: its annotation, or one hole.
    fn var_ty(&mut self, var: VarId) -> Ty {
        if let Some(ty) = self.var_tys[var] {
            return ty;
        }
        let ty = self.module.vars[var].ty.unwrap_or_else(|| self.solver.fresh(&mut self.module.types));
        self.var_tys[var] = Some(ty);
        ty
    }

    /// The type of a function from its annotations, holes where there are none.
    fn fn_ty(&mut self, func: FuncId) -> Ty {
        if let Some(ty) = self.fn_tys[func] {
            return ty;
        }
        let params = self.module.funcs[func].params.clone();
        let params: Vec<Ty> = params.into_iter().map(|var| self.var_ty(var)).collect();
        let ret = self.module.funcs[func].ret.unwrap_or_else(|| self.solver.fresh(&mut self.module.types));
        let type_params = self.module.funcs[func].type_params.clone().into();
        let ty = self.module.types.intern(TyData::Fn { type_params, params: params.into(), ret });
        self.fn_tys[func] = Some(ty);
        ty
    }

    fn walk(&mut self, mut steps: Vec<Step>) {
        while let Some(step) = steps.pop() {
            let at = match step {
                Step::Enter(expr) | Step::Bind(expr) | Step::Patterns(expr) | Step::Exit(expr) => self.module.exprs[expr].span,
                Step::Return(func) => self.module.funcs[func].span,
            };
            if self.is_over_budget(at) {
                return;
            }
            match step {
                Step::Enter(expr) => {
                    if !std::mem::replace(&mut self.entered[expr.index()], true) {
                        self.enter(expr, &mut steps);
                    }
                }
                Step::Bind(expr) => self.bind_let(expr),
                Step::Patterns(expr) => self.bind_patterns(expr),
                Step::Exit(expr) => {
                    let ty = self.exit(expr);
                    self.tys[expr] = Some(ty);
                }
                Step::Return(func) => {
                    self.within.pop();
                    self.return_from(func);
                }
            }
            self.wake();
        }
    }

    /// Reports an error, which stands at a place or behind it. One behind all that are shown is only counted.
    fn report(&mut self, at: Span, build: impl FnOnce(&mut Self) -> Diagnostic) {
        if self.errors.wants(at) {
            let error = build(self);
            self.errors.push(error);
        } else {
            self.errors.count();
        }
    }

    /// Whether the budget is used up; reports it once, at the place that is not looked at any more.
    fn is_over_budget(&mut self, place: Span) -> bool {
        let n_types = self.module.types.n_types();
        let over = [
            (self.n_steps > self.budget.steps, &INFERENCE_STEPS),
            (n_types > self.budget.types, &TYPES),
            (self.solver.is_exhausted(), &TYPE_PARTS),
        ];
        let Some((_, limit)) = over.into_iter().find(|(is_over, _)| *is_over) else { return false };
        if !std::mem::replace(&mut self.given_up, true) {
            self.report(place, |_| errors::too_many_steps(place, limit));
        }
        true
    }

    fn enter(&mut self, expr: ExprId, steps: &mut Vec<Step>) {
        steps.push(Step::Exit(expr));
        match self.module.exprs[expr].kind {
            ExprKind::Fn(func) => {
                self.fn_ty(func);
                self.within.push(func);
                steps.extend([Step::Return(func), Step::Enter(self.module.funcs[func].body)]);
            }
            ExprKind::Let { var, value, body } => {
                let ty = self.var_ty(var);
                self.let_values.insert(var, value);
                // A function may call itself by the name it is bound to.
                if let ExprKind::Fn(func) = self.module.exprs[value].kind {
                    let fn_ty = self.fn_ty(func);
                    if self.solver.unify(&mut self.module.types, ty, fn_ty).is_err() {
                        // Where it is bound this is said.
                        self.var_tys[var] = Some(Ty::ERROR);
                    }
                }
                steps.extend([Step::Enter(body), Step::Bind(expr), Step::Enter(value)]);
            }
            ExprKind::Match { scrutinee, clauses, .. } => {
                let bodies = self.module.clause_items(clauses).iter().rev().map(|clause| Step::Enter(clause.body));
                steps.extend(bodies);
                steps.extend([Step::Patterns(expr), Step::Enter(scrutinee)]);
            }
            // An operator that is called needs no type of its own.
            ExprKind::Call { args, .. } if self.module.called_op(expr).is_some() => {
                steps.extend(self.module.items(args).iter().rev().map(|arg| Step::Enter(arg.expr)));
            }
            _ => {
                let mut children = Vec::new();
                self.module.children(expr, &mut children);
                steps.extend(children.into_iter().rev().map(Step::Enter));
            }
        }
    }

    /// A type with all that is known of its holes.
    fn resolve(&mut self, ty: Ty) -> Ty {
        self.solver.resolve(&mut self.module.types, ty)
    }

    /// The resolved type of an expression.
    fn resolved_ty(&mut self, expr: ExprId) -> Ty {
        let ty = self.ty(expr);
        self.resolve(ty)
    }

    /// The type of an expression that has been walked; a hole for one inside which it stands.
    fn ty(&mut self, expr: ExprId) -> Ty {
        if let Some(ty) = self.tys[expr] {
            return ty;
        }
        let ty = self.fresh();
        self.tys[expr] = Some(ty);
        ty
    }

    fn bind_let(&mut self, expr: ExprId) {
        let ExprKind::Let { var, value, .. } = self.module.exprs[expr].kind else { return };
        let expected = self.module.vars[var].ty.unwrap_or_else(|| self.var_ty(var));
        let found = self.ty(value);
        if let Err(mismatch) = self.agree(expected, found) {
            let value = self.mention(value);
            self.report(value.span, |infer| {
                let declared = infer.annotation(var).unwrap_or(infer.module.vars[var].span);
                let place = (declared, "the variable is declared here".to_owned());
                let diagnostic = infer.mismatch(mismatch, (expected, found), value, place);
                let found = infer.resolve(found);
                if infer.module.types.has_hole(found) { diagnostic } else { infer.declare(diagnostic, var, found) }
            });
            // Which of the two is meant is not known: what follows from either is not said.
            self.var_tys[var] = Some(Ty::ERROR);
        }
    }

    /// Unifies two types. Where a part of one is an error, that has been said, and what the rest would be is not known.
    fn agree(&mut self, expected: Ty, found: Ty) -> Result<(), Mismatch> {
        let result = self.solver.unify(&mut self.module.types, expected, found);
        if result.is_err() && [expected, found].into_iter().any(|ty| self.holds_error(ty)) { Ok(()) } else { result }
    }

    fn holds_error(&mut self, ty: Ty) -> bool {
        let ty = self.resolve(ty);
        self.module.types.has_error(ty)
    }

    /// An expression as an operand of the surrounding one.
    fn mention(&self, expr: ExprId) -> Operand {
        Operand { expr, span: self.module.exprs[expr].span }
    }

    fn exit(&mut self, expr: ExprId) -> Ty {
        match self.module.exprs[expr].kind {
            ExprKind::Error => Ty::ERROR,
            ExprKind::Const(id) => {
                let value = &self.module.consts[id];
                let shape: Vec<i64> = value.shape().iter().map(|&dim| dim as i64).collect();
                let dtype = value.dtype();
                self.module.types.tensor_of(&shape, dtype)
            }
            ExprKind::Var(var) => self.var_ty(var),
            ExprKind::Global(global) => self.fn_ty(self.module.globals[global].func),
            // An operator as a value has a type only where it is called (language 7.3).
            ExprKind::Op(_) => self.fresh(),
            ExprKind::Tuple(fields) => {
                let fields: Vec<ExprId> = self.module.items(fields).iter().map(|field| field.expr).collect();
                let fields: Vec<Ty> = fields.into_iter().map(|field| self.ty(field)).collect();
                self.module.types.tuple(&fields)
            }
            ExprKind::Fn(func) => self.fn_ty(func),
            ExprKind::Let { body, .. } => self.ty(body),
            ExprKind::If { cond, then_branch, else_branch } => self.exit_if(expr, cond, then_branch, else_branch),
            ExprKind::Ctor(ctor) => self.module.ctors[ctor].ty,
            ExprKind::Match { .. } => self.exit_match(expr),
            ExprKind::RefNew(value) => self.exit_ref_new(value),
            ExprKind::RefRead(cell) => self.exit_ref_read(expr, cell),
            ExprKind::RefWrite { cell, value } => self.exit_ref_write(expr, cell, value),
            ExprKind::Proj { .. } => self.attempt_new(expr),
            ExprKind::Call { callee, args, .. } => match self.module.exprs[callee].kind {
                ExprKind::Op(op) if self.ops.def(op).args.len() == args.len() => self.attempt_new(expr),
                ExprKind::Op(op) => {
                    let def = self.ops.def(op);
                    self.report(self.module.exprs[callee].span, |infer| match infer.takes_tuple(expr) {
                        true => errors::tuple_arity(infer.module, expr, def),
                        false => {
                            let diagnostic = errors::operator_arity(infer.module, expr, def);
                            infer.other_count(diagnostic, expr, def.args.len())
                        }
                    });
                    self.faulty.push(expr);
                    Ty::ERROR
                }
                _ => self.exit_call(expr, callee),
            },
        }
    }

    /// Whether a call with too many arguments would be one with a tuple of them.
    fn takes_tuple(&mut self, call: ExprId) -> bool {
        let Some((def, fields)) = self.op_call(call) else { return false };
        if def.args.len() != 1 || fields.len() < 2 || self.lacks_attrs(call) {
            return false;
        }
        let attrs = call_attrs(self.module, call).to_vec();
        // Tensors that do not fit each other are meant as a tuple as well, if equal ones would be one.
        let equal = vec![fields[0]; fields.len()];
        [fields, equal].into_iter().any(|fields| {
            let tuple = self.module.types.tuple(&fields);
            self.relation_holds(def, &attrs, &[tuple])
        })
    }

    /// A call of something that is not an operator.
    fn exit_call(&mut self, expr: ExprId, callee: ExprId) -> Ty {
        let ExprKind::Call { args, .. } = self.module.exprs[expr].kind else { return Ty::ERROR };
        let args: Vec<_> = self.module.items(args).to_vec();
        let callee_ty = self.ty(callee);
        let callee_ty = self.solver.shallow(&self.module.types, callee_ty);
        let arg_tys: Vec<Ty> = args.iter().map(|arg| self.ty(arg.expr)).collect();
        match self.module.types.data(callee_ty).clone() {
            TyData::Fn { type_params, params: generic_params, ret: generic_ret } => {
                let (params, ret) = self.instantiate(&type_params, &generic_params, generic_ret);
                if params.len() != args.len() {
                    self.report(self.module.exprs[callee].span, |infer| {
                        let diagnostic = infer.function_arity(expr, callee, params.len());
                        match infer.untupled(&params, &args, !type_params.is_empty()) {
                            Some(span) => infer.tuple_of(diagnostic, span),
                            None => infer.other_count(diagnostic, expr, params.len()),
                        }
                    });
                    self.faulty.push(expr);
                    return ret;
                }
                if let Some((first, second)) = self.crossed(&params, &arg_tys) {
                    return self.swapped_arguments(callee, &args, (first, second), (&params, &arg_tys), ret);
                }
                // As they are before this call decides anything of them.
                let given: Vec<Ty> = match type_params.is_empty() {
                    true => vec![],
                    false => arg_tys.iter().map(|&ty| self.resolve(ty)).collect(),
                };
                for (i, (&param, &found)) in params.iter().zip(&arg_tys).enumerate() {
                    let Err(mismatch) = self.agree(param, found) else { continue };
                    self.report(args[i].span, |infer| {
                        let diagnostic = infer.mismatch_of_argument(mismatch, (param, found), args[i], (callee, i));
                        infer.swapped_in_generic(diagnostic, (&type_params, &generic_params), &given, (&args, i))
                    });
                    self.faulty.push(expr);
                    // Which of its arguments say rightly what the type parameters are is not known.
                    if ret != generic_ret {
                        return Ty::ERROR;
                    }
                }
                ret
            }
            TyData::Hole(_) => {
                let ret = self.fresh();
                let func = self.module.types.func(&arg_tys, ret);
                // The callee is a hole, so only an infinite type can fail; it stays a hole and is reported as such.
                let _ = self.solver.unify(&mut self.module.types, callee_ty, func);
                ret
            }
            TyData::Error => {
                self.faulty.push(expr);
                Ty::ERROR
            }
            _ => {
                let span = self.module.exprs[callee].span;
                self.report(span, |infer| {
                    let diagnostic = errors::not_a_function(infer.module, callee, callee_ty);
                    match (&args[..], &arg_tys[..]) {
                        ([arg], &[ty]) if matches!(infer.module.types.data(ty), TyData::Fn { .. }) => {
                            infer.swap(diagnostic, span, arg.span)
                        }
                        _ => diagnostic,
                    }
                });
                Ty::ERROR
            }
        }
    }

    /// The parameters and the result of a function type with fresh holes for its type parameters.
    fn instantiate(&mut self, type_params: &[Ty], params: &[Ty], ret: Ty) -> (Vec<Ty>, Ty) {
        if type_params.is_empty() {
            return (params.to_vec(), ret);
        }
        let holes: FxHashMap<Ty, Ty> = type_params.iter().map(|&param| (param, self.fresh())).collect();
        let mut instance = |ty: Ty| {
            let ty = self.resolve(ty);
            self.module.types.rewrite(ty, |_, ty| {
                self.solver.visited();
                holes.get(&ty).copied()
            })
        };
        (params.iter().map(|&ty| instance(ty)).collect(), instance(ret))
    }

    /// Gives a call of an operator or a projection its type, or a hole for it, and tries to fill that.
    fn attempt_new(&mut self, expr: ExprId) -> Ty {
        if let Some(ty) = self.known_result(expr) {
            return ty;
        }
        let ty = self.fresh();
        self.tys[expr] = Some(ty);
        self.attempt(expr);
        ty
    }

    /// Tries to determine the type of an operator's call or of a projection; makes it wait if that is not possible yet.
    fn attempt(&mut self, expr: ExprId) {
        self.n_steps += 1;
        if self.is_over_budget(self.module.exprs[expr].span) {
            return;
        }
        let stop = match self.module.exprs[expr].kind {
            ExprKind::Proj { tuple, index } => self.project(expr, tuple, index),
            _ => self.relate(expr),
        };
        match stop {
            Ok(()) => {}
            Err(Stop::NotYet) => self.wait(expr),
            Err(Stop::Poisoned) => self.give_up(expr),
            Err(Stop::Fault(fault)) => {
                let operands: Vec<Ty> = self.arg_exprs(expr).into_iter().map(|operand| self.ty(operand)).collect();
                match operands.into_iter().any(|ty| self.holds_error(ty)) {
                    true => self.give_up(expr),
                    false => self.report_fault(expr, *fault),
                }
            }
        }
    }

    fn project(&mut self, expr: ExprId, tuple: ExprId, index: i32) -> Result<(), Stop> {
        let ty = self.ty(tuple);
        let ty = self.solver.shallow(&self.module.types, ty);
        match self.module.types.data(ty) {
            TyData::Hole(_) => Err(Stop::NotYet),
            TyData::Error => Err(Stop::Poisoned),
            TyData::Tuple(fields) => match usize::try_from(index).ok().and_then(|index| fields.get(index)).copied() {
                Some(field) => {
                    let own = self.ty(expr);
                    // Its own type is a fresh hole or has been unified with one that agrees.
                    if let Err(mismatch) = self.agree(own, field) {
                        let value = self.mention(expr);
                        let nowhere = (Span::NONE, String::new());
                        self.report(value.span, |infer| infer.mismatch(mismatch, (own, field), value, nowhere));
                    }
                    Ok(())
                }
                None => {
                    let n = fields.len();
                    self.report(self.module.exprs[expr].span, |infer| {
                        let diagnostic = errors::projection_range(infer.module, expr, index, n);
                        let diagnostic = infer.other_field(diagnostic, expr, ty);
                        infer.made_here(diagnostic, tuple, "the tuple is made here")
                    });
                    Err(Stop::Poisoned)
                }
            },
            _ => {
                if self.misused.insert(self.module.exprs[self.made(tuple)].span) {
                    self.report(self.module.exprs[expr].span, |infer| {
                        let diagnostic = errors::projection_of(infer.module, expr, ty);
                        infer.made_here(diagnostic, tuple, "it is made here")
                    });
                }
                Err(Stop::Poisoned)
            }
        }
    }

    /// Whether a call of an operator lacks attributes that it needs: their errors have been reported, and no relation can run.
    fn lacks_attrs(&self, call: ExprId) -> bool {
        let needs = self.module.called_op(call).is_some_and(|op| self.ops.def(op).attrs.is_some());
        needs && matches!(self.module.exprs[call].kind, ExprKind::Call { attrs: None, .. })
    }

    /// What the relation of an operator has given for an equal call: of closed types it is a function.
    fn known_result(&mut self, expr: ExprId) -> Option<Ty> {
        let op = self.module.called_op(expr)?;
        let ExprKind::Call { args, .. } = self.module.exprs[expr].kind else { return None };
        let closed = self.module.items(args).iter().map(|arg| self.closed(self.tys[arg.expr]?));
        let closed: SmallVec<[Ty; 4]> = closed.collect::<Option<_>>()?;
        let ty = self.relations.find(self.module, (op, expr), &closed).filter(|_| !self.lacks_attrs(expr))?;
        self.tys[expr] = Some(ty);
        Some(ty)
    }

    /// Runs the relation of a call of an operator.
    fn relate(&mut self, expr: ExprId) -> Result<(), Stop> {
        let Some((def, args)) = self.op_call(expr) else { return Ok(()) };
        if self.lacks_attrs(expr) {
            return Err(Stop::Poisoned);
        }
        let out = self.ty(expr);
        let call = self.module.called_op(expr).map(|op| (op, expr)).filter(|_| self.is_hole(out));
        let closed: Option<Vec<Ty>> = call.and_then(|_| args.iter().map(|&ty| self.closed(ty)).collect());
        let holes: Vec<bool> = args.iter().map(|&ty| self.is_hole(ty)).collect();
        let attrs = call_attrs(self.module, expr).to_vec();
        let (result, origins) = self.run_relation(def, &attrs, (&args, out), None);
        for (arg, _) in origins.args.into_iter().filter(|(arg, _)| holes[*arg]) {
            self.remember_decision(expr, arg);
        }
        if let (Some(call), Some(closed), Ok(())) = (call, closed, &result)
            && let Some(ty) = self.closed(out)
        {
            self.relations.keep(call, closed, ty);
        }
        result
    }

    /// Runs an operator's relation; the origins are those found until it ended, of the result only those of the field to trace.
    fn run_relation(
        &mut self,
        def: &OpDef,
        attrs: &[AttrValue],
        (args, out): (&[Ty], Ty),
        traced: Option<usize>,
    ) -> (Result<(), Stop>, Origins) {
        let mut cx = RelCx::new(&mut self.module.types, &mut self.solver, attrs, args, out);
        (cx.objects, cx.traced) = (Some(&self.module.objects), traced);
        let result = (def.rel)(&mut cx);
        (result, cx.origins)
    }

    /// Whether an operator's relation holds on these operand types, for some result.
    fn relation_holds(&mut self, def: &OpDef, attrs: &[AttrValue], args: &[Ty]) -> bool {
        let out = self.fresh();
        self.run_relation(def, attrs, (args, out), None).0.is_ok()
    }

    /// The operator and the operand types of a call of an operator.
    fn op_call(&mut self, expr: ExprId) -> Option<(&'static OpDef, Vec<Ty>)> {
        let op = self.module.called_op(expr)?;
        let tys = self.arg_exprs(expr).into_iter().map(|arg| self.ty(arg)).collect();
        Some((self.ops.def(op), tys))
    }

    fn arg_exprs(&self, call: ExprId) -> Vec<ExprId> {
        match self.module.exprs[call].kind {
            ExprKind::Call { args, .. } => self.module.items(args).iter().map(|arg| arg.expr).collect(),
            _ => vec![],
        }
    }

    fn is_hole(&self, ty: Ty) -> bool {
        matches!(self.module.types.data(self.solver.shallow(&self.module.types, ty)), TyData::Hole(_))
    }

    fn remember_decision(&mut self, call: ExprId, arg: usize) {
        let ExprKind::Call { args, .. } = self.module.exprs[call].kind else { return };
        let operand = self.module.items(args)[arg].expr;
        if let ExprKind::Var(var) = self.module.exprs[operand].kind {
            self.decided_by.entry(var).or_insert((call, arg));
        }
    }

    fn poison(&mut self, expr: ExprId) {
        let ty = self.ty(expr);
        self.solver.poison(&mut self.module.types, ty);
    }
}

/// The attribute values of a call.
fn call_attrs(module: &Module, expr: ExprId) -> &[AttrValue] {
    match module.exprs[expr].kind {
        ExprKind::Call { attrs: Some(attrs), .. } => &module.attrs[attrs].values,
        _ => &[],
    }
}
