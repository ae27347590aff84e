//! Gradients of any program, by cells: TVM's `gradient` (`src/relay/transforms/higher_order_gradient.cc`).
//!
//! A tensor becomes a pair of it and a cell that holds its gradient. A function gets a cell `bp` more, which holds a function of no
//! arguments: the way back. An operator computes its value, and puts a function into `bp` that adds the gradients of its operands to their
//! cells and then calls the one that was there. So the way back takes the steps of the way forth in reverse, through branches, closures,
//! recursion and data types. The operand of `annotation.checkpoint`, if it is only operators on tensors that have names, is computed
//! without steps, and again with them on the way back.
//!
//! A global function that is called gets a differentiated twin, `@f_grad`, and those that call the function itself call a copy of it as it
//! was, `@f_0`. A program with shared expressions is brought to A-normal form first, because each expression may only take one step.
//!
//! ```text
//! def @main(%x) { exp(%x) }
//! →
//! def @main(%x) {
//!   let %bp = ref(fn () { () });  let %dx = (%x, ref(zeros_like(%x)));  let %y = (fn (%x, %bp) { … })(%dx, %bp);
//!   ref_write(%y.1, ones_like(%y.0));  ref_read(%bp)();  (%y.0, (ref_read(%dx.1),))
//! }
//! ```

use super::super::build::{Budget, ExprKey, args, set_ty, typed};
use super::super::callers::keep_callers;
use super::super::constructors::changed_ctor;
use super::super::copy::{Copy, renamed_pattern};
use super::super::eta_expand::expand_constructors;
use super::super::let_list::{LetList, mention};
use super::super::names::Names;
use super::super::rewrite::with_children;
use super::super::step::{ArgKind, Param};
use super::super::to_a_normal_form::without_sharing;
use super::super::{Pass, PassCx, Stop, function, refused, require_types};
use super::{field, of_operands, op, pair, ref_new, ref_read, ref_write, result_ty};
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_ir::types::{Ty, TyData, Types};
use relayc_ir::{Clause, ExprId, ExprKind, Func, FuncId, Global, GlobalId, Module, OpId, Operand, PatId, VarId};
use relayc_ops::call::{call, tuple};
use relayc_ops::declarations::{ADD, CHECKPOINT, ONES_LIKE, ZEROS_LIKE};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) const PASS: Pass = Pass {
    name: "gradient",
    doc: "Adds the gradients with respect to the parameters to the result of a function, which may have branches, closures and \
          recursion.",
    params: &[Param { name: "function", kind: ArgKind::Word, default: "main", doc: "the function to differentiate" }],
    keeps_answers: false,
    run,
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> Result<bool, Box<Diagnostic>> {
    let found = function(module, &PASS, cx.args.word("function"))?;
    // Before constructors become functions, which hide that their types are not known.
    require_types(module, &module.post_order(&module.roots())).map_err(|stop| refused(&PASS, stop))?;
    expand_constructors(module);
    if !without_sharing(module) {
        return Err(refused(&PASS, "functions share an expression"));
    }
    let (names, budget) = (Names::of_globals(module), Budget::default());
    let (tys, vars, globals) = Default::default();
    let mut reverse = Reverse { cx, names, tys, budget, vars, globals, pending: vec![] };
    let Global { func, span, .. } = module.globals[found];
    let was = module.funcs[func].clone();
    reverse.entry(module, func).map_err(|stop| refused(&PASS, stop.at(span)))?;
    keep_callers(module, found, &was, &mut reverse.names);
    Ok(true)
}

struct Reverse<'a> {
    cx: &'a PassCx<'a>,
    names: Names,
    /// The types of values with their gradients.
    tys: FxHashMap<Ty, Ty>,
    /// How many tensors may still be taken out of tuples.
    budget: Budget,
    /// The variables that hold the pairs.
    vars: FxHashMap<VarId, VarId>,
    /// The twins of global functions.
    globals: FxHashMap<GlobalId, GlobalId>,
    /// Twins without a body yet.
    pending: Vec<(GlobalId, GlobalId)>,
}

/// The type of the cell that holds the way back.
fn bp_ty(types: &mut Types) -> Ty {
    let unit = types.tuple(&[]);
    let back = types.func(&[], unit);
    types.intern(TyData::Ref(back))
}

/// The type of a value with its gradient: `(T, ref T)` for a tensor, and so on inside of other types.
fn reverse_ty(types: &mut Types, done: &mut FxHashMap<Ty, Ty>, ty: Ty) -> Ty {
    types.map(ty, done, |types, ty, children| match types.data(ty) {
        TyData::Tensor { .. } => {
            let cell = types.intern(TyData::Ref(ty));
            Some(types.tuple(&[ty, cell]))
        }
        TyData::Fn { type_params, .. } => {
            let type_params = type_params.clone();
            let (ret, params) = children.split_last()?;
            let params = params.iter().copied().chain([bp_ty(types)]).collect();
            Some(types.intern(TyData::Fn { type_params, params, ret: *ret }))
        }
        _ => None,
    })
}

impl Reverse<'_> {
    /// Replaces the body of a function by one that also computes its gradients.
    fn entry(&mut self, module: &mut Module, func: FuncId) -> Result<(), Stop> {
        let Func { params, body, type_params, span, .. } = module.funcs[func].clone();
        if !type_params.is_empty() {
            return Err("the function has type parameters".into());
        }
        let is_tensor = |&&param: &&VarId| {
            let var = &module.vars[param];
            var.checked_ty.or(var.ty).is_some_and(|ty| module.types.as_tensor(ty).is_some())
        };
        if params.iter().filter(is_tensor).count() != params.len() {
            return Err("a parameter of the function is no tensor".into());
        }
        let result = module.ty(body);
        self.budget.spend(&module.types, result)?;
        let twin = self.function(module, &module.funcs[func].clone())?;
        self.finish_pending(module)?;
        let twin = module.expr(span, ExprKind::Fn(twin));
        let mut list = LetList::default();
        let bp = self.empty_way_back(module, span, &mut list);
        let mut duals = Vec::new();
        for &param in &params {
            let value = mention(module, span, param);
            let dual = self.with_zeros(module, value);
            duals.push(list.push(module, dual));
        }
        let given: Vec<ExprId> = duals.iter().copied().chain([bp]).collect();
        let out = apply(module, span, twin, &given);
        let ty = reverse_ty(&mut module.types, &mut self.tys, result);
        set_ty(module, out, ty);
        let out = list.push(module, out);
        self.start(module, result, out, &mut list)?;
        let way_back = ref_read(module, bp);
        let went = apply(module, span, way_back, &[]);
        list.push(module, went);
        let mut grads = Vec::new();
        for dual in duals {
            let cell = field(module, dual, 1);
            grads.push(ref_read(module, cell));
        }
        let grads = tuple(module, span, &grads);
        let value = value_of(module, result, out, &mut list)?;
        let both = pair(module, value, grads);
        module.funcs[func].ret = result_ty(module, func);
        module.funcs[func].body = list.around(module, both);
        Ok(())
    }

    /// `let %bp = ref(fn () { () })`.
    fn empty_way_back(&mut self, module: &mut Module, span: Span, list: &mut LetList) -> ExprId {
        let nothing = tuple(module, span, &[]);
        let unit = module.ty(nothing);
        let func = Func {
            span,
            type_params: vec![],
            params: vec![],
            ret: Some(unit),
            ret_span: Span::NONE,
            body: nothing,
            attrs: vec![],
        };
        let func = module.funcs.push(func);
        let ty = module.types.func(&[], unit);
        let func = typed(module, span, ExprKind::Fn(func), ty);
        let cell = ref_new(module, func);
        let ty = bp_ty(&mut module.types);
        let bp = module.var("bp", Some(ty), span);
        list.push_as(module, bp, cell)
    }

    /// `(value, ref(zeros_like(value)))`.
    fn with_zeros(&self, module: &mut Module, value: ExprId) -> ExprId {
        let zeros = op(module, module.exprs[value].span, &ZEROS_LIKE, &[value]);
        let cell = ref_new(module, zeros);
        pair(module, value, cell)
    }

    /// Writes ones as the gradient of the result: of its first tensor, if it is a tuple.
    fn start(&mut self, module: &mut Module, mut ty: Ty, mut out: ExprId, list: &mut LetList) -> Result<(), Stop> {
        while let Some(fields) = module.types.as_tuple(ty) {
            ty = *fields.first().ok_or("the result of the function has no tensor")?;
            let first = field(module, out, 0);
            out = list.push(module, first);
        }
        if module.types.as_tensor(ty).is_none() {
            return Err("the result of the function is neither a tensor nor a tuple of tensors".into());
        }
        let (cell, value) = (field(module, out, 1), field(module, out, 0));
        let ones = op(module, module.exprs[out].span, &ONES_LIKE, &[value]);
        let written = ref_write(module, cell, ones);
        list.push(module, written);
        Ok(())
    }

    fn finish_pending(&mut self, module: &mut Module) -> Result<(), Stop> {
        while let Some((global, twin)) = self.pending.pop() {
            let func = module.funcs[module.globals[global].func].clone();
            module.globals[twin].func = self.function(module, &func)?;
        }
        Ok(())
    }

    /// The twin of a function, which takes pairs and the way back.
    fn function(&mut self, module: &mut Module, func: &Func) -> Result<FuncId, Stop> {
        // The function to differentiate has a twin as well if it calls itself.
        self.vars.clear();
        let mut contexts = self.contexts(module, func.body);
        let ty = bp_ty(&mut module.types);
        let bp = module.var("bp", Some(ty), func.span);
        contexts.insert(func.body, bp);
        let params: Vec<VarId> = func.params.iter().map(|&param| self.var(module, param)).chain([bp]).collect();
        let order = module.post_order(&[func.body]);
        let tys = &mut self.tys;
        if let Some(ctor) = changed_ctor(module, &order, |types, ty| reverse_ty(types, tys, ty)) {
            let why = format!("the fields of the constructor `{}` have no place for gradients", ctor.name);
            return Err(Stop::from(why).at(ctor.span));
        }
        spread(module, &order, &mut contexts);
        let (checkpoints, inside) = self.checkpoints(module, &order);
        let mut done: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for expr in order {
            if inside.contains(&expr) {
                continue;
            }
            let new = match checkpoints.contains(&expr) {
                true => self.checkpoint(module, expr, contexts[&expr]),
                false => self.expr(module, expr, &contexts, &done),
            };
            done.insert(expr, new.map_err(|stop| stop.at(module.exprs[expr].span))?);
        }
        let ret = func.ret.map(|ty| reverse_ty(&mut module.types, &mut self.tys, ty));
        Ok(module.funcs.push(Func { params, ret, body: done[&func.body], ..func.clone() }))
    }

    /// The variables of the way back of the function literals in a body, by the literals' bodies.
    fn contexts(&mut self, module: &mut Module, body: ExprId) -> FxHashMap<ExprId, VarId> {
        let mut contexts = FxHashMap::default();
        let ty = bp_ty(&mut module.types);
        for expr in module.post_order(&[body]) {
            if let ExprKind::Fn(func) = module.exprs[expr].kind {
                let (body, span) = (module.funcs[func].body, module.funcs[func].span);
                let bp = module.var("bp", Some(ty), span);
                contexts.insert(body, bp);
            }
        }
        contexts
    }

    fn var(&mut self, module: &mut Module, var: VarId) -> VarId {
        if let Some(&known) = self.vars.get(&var) {
            return known;
        }
        let of = module.vars[var].clone();
        let ty = of.checked_ty.or(of.ty).map(|ty| reverse_ty(&mut module.types, &mut self.tys, ty));
        let new = module.var(&of.name, ty, of.span);
        self.vars.insert(var, new);
        new
    }

    /// The twin of an expression whose children have theirs.
    fn expr(
        &mut self,
        module: &mut Module,
        expr: ExprId,
        contexts: &FxHashMap<ExprId, VarId>,
        done: &FxHashMap<ExprId, ExprId>,
    ) -> Result<ExprId, Stop> {
        let span = module.exprs[expr].span;
        Ok(match module.exprs[expr].kind {
            ExprKind::Error | ExprKind::Op(_) | ExprKind::Ctor(_) => expr,
            ExprKind::Var(var) => {
                let var = self.var(module, var);
                mention(module, span, var)
            }
            kind @ ExprKind::Const(_) => {
                let mut list = LetList::default();
                let ty = module.ty(expr);
                let value = typed(module, span, kind, ty);
                let value = list.push(module, value);
                let dual = self.with_zeros(module, value);
                list.around(module, dual)
            }
            ExprKind::Global(global) => {
                let twin = self.twin(module, global);
                module.expr(span, ExprKind::Global(twin))
            }
            ExprKind::Fn(func) => self.literal(module, expr, func, contexts, done),
            ExprKind::If { cond, then_branch, else_branch } => {
                let cond = field(module, done[&cond], 0);
                self.rebuilt(module, expr, &[cond, done[&then_branch], done[&else_branch]])
            }
            ExprKind::Let { var, value, body } => {
                let var = self.var(module, var);
                let (value, body) = (done[&value], done[&body]);
                let ty = module.ty(body);
                typed(module, span, ExprKind::Let { var, value, body }, ty)
            }
            ExprKind::Match { scrutinee, clauses, total } => {
                let old: Vec<Clause> = module.clause_items(clauses).to_vec();
                let mut new = Vec::new();
                for clause in old {
                    new.push(Clause { pat: self.pattern(module, clause.pat), body: done[&clause.body] });
                }
                let clauses = module.clauses(&new);
                let twin = module.expr(span, ExprKind::Match { scrutinee: done[&scrutinee], clauses, total });
                self.retyped(module, expr, twin)
            }
            ExprKind::Call { .. } => match (module.called_op(expr), module.called_ctor(expr)) {
                (Some(op), _) => self.operator(module, expr, op, contexts[&expr], done)?,
                (None, Some(_)) => self.with_done(module, expr, done),
                (None, None) => {
                    let mut children = self.done_children(module, expr, done);
                    let bp = mention(module, span, contexts[&expr]);
                    children.push(bp);
                    let twin = apply(module, span, children[0], &children[1..]);
                    self.retyped(module, expr, twin)
                }
            },
            ExprKind::Tuple(_)
            | ExprKind::Proj { .. }
            | ExprKind::RefNew(_)
            | ExprKind::RefRead(_)
            | ExprKind::RefWrite { .. } => self.with_done(module, expr, done),
        })
    }

    fn done_children(&self, module: &Module, expr: ExprId, done: &FxHashMap<ExprId, ExprId>) -> Vec<ExprId> {
        let mut children = Vec::new();
        module.children(expr, &mut children);
        children.iter().map(|child| done[child]).collect()
    }

    fn with_done(&mut self, module: &mut Module, expr: ExprId, done: &FxHashMap<ExprId, ExprId>) -> ExprId {
        let children = self.done_children(module, expr, done);
        self.rebuilt(module, expr, &children)
    }

    fn rebuilt(&mut self, module: &mut Module, expr: ExprId, children: &[ExprId]) -> ExprId {
        let mut twin = with_children(module, expr, children);
        if twin == expr {
            // The function and its twin share no expressions.
            twin = module.expr(module.exprs[expr].span, module.exprs[expr].kind);
        }
        self.retyped(module, expr, twin)
    }

    /// Gives a twin the type of its expression, with gradients.
    fn retyped(&mut self, module: &mut Module, expr: ExprId, twin: ExprId) -> ExprId {
        let ty = module.ty(expr);
        let ty = reverse_ty(&mut module.types, &mut self.tys, ty);
        set_ty(module, twin, ty);
        twin
    }

    fn literal(
        &mut self,
        module: &mut Module,
        expr: ExprId,
        func: FuncId,
        contexts: &FxHashMap<ExprId, VarId>,
        done: &FxHashMap<ExprId, ExprId>,
    ) -> ExprId {
        let func = module.funcs[func].clone();
        let bp = contexts[&func.body];
        let params: Vec<VarId> = func.params.iter().map(|&param| self.var(module, param)).chain([bp]).collect();
        let ret = func.ret.map(|ty| reverse_ty(&mut module.types, &mut self.tys, ty));
        let twin = module.funcs.push(Func { params, ret, body: done[&func.body], ..func });
        let twin = module.expr(module.exprs[expr].span, ExprKind::Fn(twin));
        self.retyped(module, expr, twin)
    }

    fn twin(&mut self, module: &mut Module, global: GlobalId) -> GlobalId {
        if let Some(&twin) = self.globals.get(&global) {
            return twin;
        }
        let of = module.globals[global].clone();
        let name = self.names.free(&format!("{}_grad", of.name), "");
        let twin = module.globals.push(Global { name, ..of });
        self.globals.insert(global, twin);
        self.pending.push((global, twin));
        twin
    }

    /// A pattern with the new variables.
    fn pattern(&mut self, module: &mut Module, pat: PatId) -> PatId {
        renamed_pattern(module, pat, &mut |module, var| self.var(module, var))
    }

    /// A call of an operator, and its step on the way back.
    fn operator(
        &mut self,
        module: &mut Module,
        expr: ExprId,
        op_id: OpId,
        bp: VarId,
        done: &FxHashMap<ExprId, ExprId>,
    ) -> Result<ExprId, Stop> {
        let (span, def, ty) = (module.exprs[expr].span, self.cx.ops.def(op_id), module.ty(expr));
        let operands = args(module, expr);
        let tys: Vec<Ty> = operands.iter().map(|&operand| module.ty(operand)).collect();
        let mut list = LetList::default();
        let mut duals = Vec::new();
        self.budget.spend(&module.types, ty)?;
        for (&operand, &ty) in operands.iter().zip(&tys) {
            self.budget.spend(&module.types, ty)?;
            let dual = list.push(module, done[&operand]);
            let ty = reverse_ty(&mut module.types, &mut self.tys, ty);
            set_ty(module, dual, ty);
            duals.push(dual);
        }
        let mut values = Vec::new();
        for (&dual, &ty) in duals.iter().zip(&tys) {
            values.push(value_of(module, ty, dual, &mut list)?);
        }
        let attrs = module.call_attrs(expr).to_vec();
        let value = call(module, span, def, &values, attrs.clone());
        set_ty(module, value, ty);
        let value = list.push(module, value);
        let out = self.dual_of(module, ty, value, &mut list)?;
        let cell = mention(module, span, bp);
        let before = ref_read(module, cell);
        let before = list.push(module, before);
        let mut back = LetList::default();
        let grad = grad_of(module, ty, out, &mut back)?;
        let grads = of_operands(module, self.cx, op_id, (value, &values, &attrs), grad, &mut back)?;
        for ((&dual, &ty), grad) in duals.iter().zip(&tys).zip(grads) {
            give_grad(module, ty, dual, grad, true, &mut back)?;
        }
        let rest = apply(module, span, before, &[]);
        back.push(module, rest);
        write_way_back(module, span, bp, back, &mut list);
        Ok(list.around(module, out))
    }

    /// The outermost checkpoints of operators on tensors that may be computed again, and the calls and tuples in their operands.
    fn checkpoints(&self, module: &Module, order: &[ExprId]) -> (FxHashSet<ExprId>, FxHashSet<ExprId>) {
        let def = |expr: ExprId| module.called_op(expr).map(|op| self.cx.ops.def(op));
        let (mut repeatable, mut fresh) = (FxHashSet::default(), FxHashSet::default());
        let mut children = Vec::new();
        for &expr in order {
            children.clear();
            module.children(expr, &mut children);
            let own = match module.exprs[expr].kind {
                ExprKind::Const(_) | ExprKind::Op(_) | ExprKind::Tuple(_) | ExprKind::Proj { .. } => true,
                ExprKind::Var(_) => module.types.as_tensor(module.ty(expr)).is_some(),
                ExprKind::Call { .. } => def(expr).is_some_and(|def| !def.random),
                _ => false,
            };
            if own && children.iter().all(|child| repeatable.contains(child)) {
                repeatable.insert(expr);
            }
            let is_call = def(expr).is_some();
            let is_tuple = matches!(module.exprs[expr].kind, ExprKind::Tuple(_));
            if is_call || (is_tuple && children.iter().all(|child| fresh.contains(child))) {
                fresh.insert(expr);
            }
        }
        let (mut checkpoints, mut inside) = (FxHashSet::default(), FxHashSet::default());
        for &expr in order.iter().rev() {
            if !inside.contains(&expr) {
                // The cells of what is computed again must be its own.
                let is_outermost = def(expr).is_some_and(|def| def.name == CHECKPOINT.name)
                    && repeatable.contains(&expr)
                    && args(module, expr).iter().all(|operand| fresh.contains(operand));
                if !is_outermost {
                    continue;
                }
                checkpoints.insert(expr);
            }
            children.clear();
            module.children(expr, &mut children);
            // What may be shared stays.
            let is_part = |child: &ExprId| {
                matches!(module.exprs[*child].kind, ExprKind::Call { .. } | ExprKind::Tuple(_) | ExprKind::Proj { .. })
            };
            inside.extend(children.drain(..).filter(is_part));
        }
        (checkpoints, inside)
    }

    /// The operand of a checkpoint, and a step on the way back that computes it again, now with steps, and takes them.
    fn checkpoint(&mut self, module: &mut Module, expr: ExprId, bp: VarId) -> Result<ExprId, Stop> {
        let (span, ty, operand) = (module.exprs[expr].span, module.ty(expr), args(module, expr)[0]);
        self.budget.spend(&module.types, ty)?;
        let order = module.post_order(&[operand]);
        let mut values = FxHashMap::default();
        for &part in &order {
            if let ExprKind::Var(var) = module.exprs[part].kind {
                let dual = self.var(module, var);
                let dual = mention(module, span, dual);
                values.insert(ExprKey::Var(var), field(module, dual, 0));
            }
        }
        let mut list = LetList::default();
        let value = Copy::applied(module, values, &order).expr(operand);
        let value = list.push(module, value);
        let out = self.dual_of(module, ty, value, &mut list)?;
        let cell = mention(module, span, bp);
        let before = ref_read(module, cell);
        let before = list.push(module, before);
        let mut back = LetList::default();
        let own = self.empty_way_back(module, span, &mut back);
        let ExprKind::Var(own_bp) = module.exprs[own].kind else { unreachable!("a list gives mentions") };
        let contexts: FxHashMap<ExprId, VarId> = order.iter().map(|&part| (part, own_bp)).collect();
        let mut done: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for part in order {
            let new = self.expr(module, part, &contexts, &done).map_err(|stop| stop.at(module.exprs[part].span))?;
            done.insert(part, new);
        }
        let again = back.push(module, done[&operand]);
        let grad = grad_of(module, ty, out, &mut back)?;
        give_grad(module, ty, again, grad, false, &mut back)?;
        for way_back in [ref_read(module, own), before] {
            let went = apply(module, span, way_back, &[]);
            back.push(module, went);
        }
        write_way_back(module, span, bp, back, &mut list);
        Ok(list.around(module, out))
    }

    /// A value with cells of zeros for each of its tensors.
    fn dual_of(&self, module: &mut Module, ty: Ty, value: ExprId, list: &mut LetList) -> Result<ExprId, Stop> {
        let each = |module: &mut Module, value: ExprId| self.with_zeros(module, value);
        each_tensor(module, ty, value, list, &each)
    }
}

/// Puts a gradient into the cells of a value, or adds it to what they hold.
fn give_grad(module: &mut Module, ty: Ty, dual: ExprId, grad: ExprId, adds: bool, list: &mut LetList) -> Result<(), Stop> {
    let span = module.exprs[dual].span;
    if module.types.as_tensor(ty).is_some() {
        let mut grad = grad;
        if adds {
            let cell = field(module, dual, 1);
            let old = ref_read(module, cell);
            grad = op(module, span, &ADD, &[old, grad]);
        }
        let cell = field(module, dual, 1);
        let written = ref_write(module, cell, grad);
        list.push(module, written);
        return Ok(());
    }
    let fields = module.types.as_tuple(ty).map(<[Ty]>::to_vec).ok_or("an operand is neither a tensor nor a tuple of tensors")?;
    for (at, ty) in fields.into_iter().enumerate() {
        let (of_dual, of_grad) = (field(module, dual, at), field(module, grad, at));
        let (of_dual, of_grad) = (list.push(module, of_dual), list.push(module, of_grad));
        give_grad(module, ty, of_dual, of_grad, adds, list)?;
    }
    Ok(())
}

/// Writes the bindings of a step as a function, the new way back.
fn write_way_back(module: &mut Module, span: Span, bp: VarId, step: LetList, list: &mut LetList) {
    let &(last, _) = step.bindings.last().expect("a step calls the way back before it");
    let unit = module.types.tuple(&[]);
    let last = mention(module, span, last);
    set_ty(module, last, unit);
    let body = step.around(module, last);
    let func = Func { span, type_params: vec![], params: vec![], ret: Some(unit), ret_span: Span::NONE, body, attrs: vec![] };
    let func = module.funcs.push(func);
    let func = module.expr(span, ExprKind::Fn(func));
    let cell = mention(module, span, bp);
    let written = ref_write(module, cell, func);
    list.push(module, written);
}

/// Gives every expression the way back of the function that it belongs to. Bodies of functions have theirs already.
fn spread(module: &Module, order: &[ExprId], contexts: &mut FxHashMap<ExprId, VarId>) {
    let mut children = Vec::new();
    for &expr in order.iter().rev() {
        let here = contexts[&expr];
        if matches!(module.exprs[expr].kind, ExprKind::Fn(_)) {
            continue;
        }
        children.clear();
        module.children(expr, &mut children);
        for &child in &children {
            contexts.entry(child).or_insert(here);
        }
    }
}

fn apply(module: &mut Module, span: Span, callee: ExprId, args: &[ExprId]) -> ExprId {
    let args: Vec<Operand> = args.iter().map(|&expr| Operand { expr, span }).collect();
    let args = module.operands(&args);
    let ret = match module.types.data(module.ty(callee)) {
        TyData::Fn { ret, .. } => Some(*ret),
        _ => None,
    };
    let call = module.expr(span, ExprKind::Call { callee, args, attrs: None });
    if let Some(ret) = ret {
        set_ty(module, call, ret);
    }
    call
}

/// The values of a pair, or of the pairs in a tuple.
fn value_of(module: &mut Module, ty: Ty, dual: ExprId, list: &mut LetList) -> Result<ExprId, Stop> {
    each_tensor(module, ty, dual, list, &|module, dual| field(module, dual, 0))
}

/// The gradients of a pair, or of the pairs in a tuple.
fn grad_of(module: &mut Module, ty: Ty, dual: ExprId, list: &mut LetList) -> Result<ExprId, Stop> {
    let read = |module: &mut Module, dual: ExprId| {
        let cell = field(module, dual, 1);
        ref_read(module, cell)
    };
    each_tensor(module, ty, dual, list, &read)
}

/// Applies a function to each tensor in a value of a type, and binds the results.
fn each_tensor(
    module: &mut Module,
    ty: Ty,
    value: ExprId,
    list: &mut LetList,
    f: &dyn Fn(&mut Module, ExprId) -> ExprId,
) -> Result<ExprId, Stop> {
    if module.types.as_tensor(ty).is_some() {
        let new = f(module, value);
        return Ok(list.push(module, new));
    }
    let fields = module.types.as_tuple(ty).map(<[Ty]>::to_vec).ok_or("a value is neither a tensor nor a tuple of tensors")?;
    let mut new = Vec::new();
    for (at, ty) in fields.into_iter().enumerate() {
        let part = field(module, value, at);
        let part = list.push(module, part);
        new.push(each_tensor(module, ty, part, list, f)?);
    }
    let new = tuple(module, module.exprs[value].span, &new);
    Ok(list.push(module, new))
}
