//! Converts functions, each for the types at its calls.

use super::super::build::{ExprKey, args};
use super::super::copy::{Copy, renamed_pattern};
use super::super::let_list::{LetList, mention};
use super::super::rewrite::with_children;
use super::super::{Stop, lambda_lift, type_params};
use super::encode::Encodings;
use relayc_base::Span;
use relayc_ir::types::{Ty, TyData};
use relayc_ir::{Clause, ExprId, ExprKind, Func, FuncId, Global, GlobalId, Module, Operand, VarId};
use rustc_hash::FxHashMap;

/// How many copies of functions a program may get: one that calls itself with larger types needs more.
const MAX_COPIES: usize = 1 << 10;

/// Why a function cannot become data.
const UNKNOWN: &str = "a function that is a value has no known type";

/// What type parameters are.
type Subst = FxHashMap<Ty, Ty>;

pub(super) struct Program {
    encodings: Encodings,
    /// The copies of global functions, by the types of their type parameters.
    copies: FxHashMap<(GlobalId, Vec<Ty>), GlobalId>,
    /// Copies without a body yet.
    pending: Vec<(GlobalId, GlobalId, Subst)>,
}

/// A function that is being converted.
struct Body<'a> {
    subst: &'a Subst,
    vars: FxHashMap<VarId, VarId>,
    /// The names by which function literals call themselves.
    names: FxHashMap<ExprId, VarId>,
    done: FxHashMap<ExprId, ExprId>,
}

impl Program {
    pub(super) fn new(module: &Module) -> Program {
        Program { encodings: Encodings::new(module), copies: FxHashMap::default(), pending: vec![] }
    }

    /// A function without type parameters, and what it calls.
    pub(super) fn converted(&mut self, module: &mut Module, func: FuncId) -> Result<FuncId, Stop> {
        let new = self.function(module, func, &Subst::default())?;
        while let Some((global, copy, subst)) = self.pending.pop() {
            let func = module.globals[global].func;
            module.globals[copy].func = self.function(module, func, &subst)?;
        }
        Ok(new)
    }

    pub(super) fn finish(self, module: &mut Module) -> Result<(), Stop> {
        self.encodings.finish(module)
    }

    fn function(&mut self, module: &mut Module, func: FuncId, subst: &Subst) -> Result<FuncId, Stop> {
        let func = module.funcs[func].clone();
        let order = module.post_order(&[func.body]);
        let subst = &with_literals(module, subst.clone(), &order);
        let mut body = Body { subst, vars: FxHashMap::default(), names: FxHashMap::default(), done: FxHashMap::default() };
        for &expr in &order {
            if let ExprKind::Let { var, value, .. } = module.exprs[expr].kind {
                body.names.insert(value, var);
            }
        }
        for expr in order {
            let new = self.expr(module, &mut body, expr).map_err(|stop| stop.at(module.exprs[expr].span))?;
            body.done.insert(expr, new);
        }
        let params = func.params.iter().map(|&param| self.var(module, &mut body, param)).collect();
        let ret = func.ret.map(|ret| self.ty(module, subst, ret));
        let new = self.value(module, &mut body, func.body, ret).map_err(|stop| stop.at(module.exprs[func.body].span))?;
        Ok(module.funcs.push(Func { type_params: vec![], params, ret, body: new, ..func }))
    }

    /// A type with data for functions, and types for type parameters.
    fn ty(&mut self, module: &mut Module, subst: &Subst, ty: Ty) -> Ty {
        let ty = instance(module, subst, ty);
        self.encodings.ty(module, ty)
    }

    fn var(&mut self, module: &mut Module, body: &mut Body, var: VarId) -> VarId {
        if let Some(&known) = body.vars.get(&var) {
            return known;
        }
        let of = module.vars[var].clone();
        let ty = of.checked_ty.or(of.ty).map(|ty| self.ty(module, body.subst, ty));
        let new = module.var(&of.name, ty, of.span);
        body.vars.insert(var, new);
        new
    }

    /// The new form of an expression. A function that is a value waits for its user, who knows its type.
    fn expr(&mut self, module: &mut Module, body: &mut Body, expr: ExprId) -> Result<ExprId, Stop> {
        let span = module.exprs[expr].span;
        let children = {
            let mut children = Vec::new();
            module.children(expr, &mut children);
            children
        };
        Ok(match module.exprs[expr].kind {
            kind @ (ExprKind::Error | ExprKind::Const(_) | ExprKind::Op(_) | ExprKind::Ctor(_) | ExprKind::Global(_)) => {
                module.expr(span, kind)
            }
            ExprKind::Var(var) => {
                let var = self.var(module, body, var);
                mention(module, span, var)
            }
            ExprKind::Fn(func) => {
                let func = module.funcs[func].clone();
                let params = func.params.iter().map(|&param| self.var(module, body, param)).collect();
                let ret = func.ret.map(|ret| self.ty(module, body.subst, ret));
                let inner = self.value(module, body, func.body, ret)?;
                let type_params = func.type_params.iter().copied().filter(|param| !body.subst.contains_key(param)).collect();
                let new = module.funcs.push(Func { type_params, params, ret, body: inner, ..func });
                module.expr(span, ExprKind::Fn(new))
            }
            ExprKind::Let { var, value, body: rest } => {
                let (value, rest) = (self.value(module, body, value, None)?, self.value(module, body, rest, None)?);
                let var = self.var(module, body, var);
                module.expr(span, ExprKind::Let { var, value, body: rest })
            }
            ExprKind::Match { scrutinee, clauses, total } => {
                let scrutinee = self.value(module, body, scrutinee, None)?;
                let old = module.clause_items(clauses).to_vec();
                let mut new = Vec::new();
                for clause in old {
                    let inner = self.value(module, body, clause.body, None)?;
                    let pat = renamed_pattern(module, clause.pat, &mut |module, var| self.var(module, body, var));
                    new.push(Clause { pat, body: inner });
                }
                let clauses = module.clauses(&new);
                module.expr(span, ExprKind::Match { scrutinee, clauses, total })
            }
            ExprKind::Call { callee, .. } => self.call(module, body, expr, callee, &children)?,
            ExprKind::Tuple(_)
            | ExprKind::Proj { .. }
            | ExprKind::If { .. }
            | ExprKind::RefNew(_)
            | ExprKind::RefRead(_)
            | ExprKind::RefWrite { .. } => {
                let mut new = Vec::new();
                for child in children {
                    new.push(self.value(module, body, child, None)?);
                }
                untyped(module, expr, &new)
            }
        })
    }

    fn call(
        &mut self,
        module: &mut Module,
        body: &mut Body,
        expr: ExprId,
        callee: ExprId,
        children: &[ExprId],
    ) -> Result<ExprId, Stop> {
        let span = module.exprs[expr].span;
        let (new_callee, formal) = match module.exprs[callee].kind {
            ExprKind::Op(_) => (body.done[&callee], vec![]),
            ExprKind::Ctor(ctor) => {
                let inputs = module.ctors[ctor].inputs.clone();
                let params = match module.types.data(module.ctors[ctor].ty) {
                    TyData::Fn { type_params, .. } => type_params.to_vec(),
                    _ => vec![],
                };
                let subst = matched(module, body.subst, &params, &inputs, &children[1..], (None, expr));
                (body.done[&callee], inputs.into_iter().map(|ty| instance(module, &subst, ty)).collect())
            }
            ExprKind::Global(global) => self.specialised(module, body, global, expr, &children[1..])?,
            ExprKind::Fn(func) => {
                let func = module.funcs[func].clone();
                let tys: Vec<Ty> = func.params.iter().filter_map(|&param| declared(module, param)).collect();
                let subst = matched(module, body.subst, &func.type_params, &tys, &children[1..], (func.ret, expr));
                (body.done[&callee], tys.into_iter().map(|ty| instance(module, &subst, ty)).collect())
            }
            _ => {
                let ty = instance(module, body.subst, module.ty(callee));
                let formal = match module.types.data(ty) {
                    TyData::Fn { params, .. } => params.to_vec(),
                    _ => vec![],
                };
                let encoded = self.encodings.ty(module, ty);
                let apply = self.encodings.apply(encoded).ok_or("a value that is called has no known type")?;
                let apply = module.expr(span, ExprKind::Global(apply));
                let called = self.value(module, body, callee, None)?;
                // A callee is computed after the arguments, and an argument after those before it.
                let mut list = LetList::default();
                let mut args = vec![called];
                for (at, &arg) in children[1..].iter().enumerate() {
                    let arg = self.value(module, body, arg, formal.get(at).copied())?;
                    let goes_first = !is_named(module, called) && !is_named(module, arg);
                    args.push(if goes_first { list.push(module, arg) } else { arg });
                }
                let call = applied(module, span, apply, &args);
                return Ok(list.around(module, call));
            }
        };
        let mut new = vec![new_callee];
        for (at, &arg) in children[1..].iter().enumerate() {
            new.push(self.value(module, body, arg, formal.get(at).copied())?);
        }
        Ok(untyped(module, expr, &new))
    }

    /// The copy of a global function for the types at a call, and the types of its parameters there.
    fn specialised(
        &mut self,
        module: &mut Module,
        body: &Body,
        global: GlobalId,
        call: ExprId,
        args: &[ExprId],
    ) -> Result<(ExprId, Vec<Ty>), Stop> {
        let func = module.funcs[module.globals[global].func].clone();
        let tys: Vec<Ty> = func.params.iter().filter_map(|&param| declared(module, param)).collect();
        let subst = matched(module, body.subst, &func.type_params, &tys, args, (func.ret, call));
        let copy = self.copy(module, global, &func, subst.clone())?;
        let tys = tys.into_iter().map(|ty| instance(module, &subst, ty)).collect();
        Ok((module.expr(module.exprs[call].span, ExprKind::Global(copy)), tys))
    }

    fn copy(&mut self, module: &mut Module, global: GlobalId, func: &Func, subst: Subst) -> Result<GlobalId, Stop> {
        let types: Option<Vec<Ty>> = func.type_params.iter().map(|param| subst.get(param).copied()).collect();
        let types = types.ok_or_else(|| format!("the types at a call of `@{}` are not known", module.globals[global].name))?;
        if let Some(&known) = self.copies.get(&(global, types.clone())) {
            return Ok(known);
        }
        if self.copies.len() >= MAX_COPIES {
            return Err(format!("`@{}` is called with too many types", module.globals[global].name).into());
        }
        let of = module.globals[global].clone();
        let name = self.encodings.copy_name(&of.name);
        let copy = module.globals.push(Global { name, ..of });
        self.copies.insert((global, types), copy);
        self.pending.push((global, copy, subst));
        Ok(copy)
    }

    /// A child as a value: data, if it is a function, of the type that its user takes.
    fn value(&mut self, module: &mut Module, body: &mut Body, expr: ExprId, wanted: Option<Ty>) -> Result<ExprId, Stop> {
        let kind = module.exprs[expr].kind;
        if !matches!(kind, ExprKind::Fn(_) | ExprKind::Global(_) | ExprKind::Op(_) | ExprKind::Ctor(_)) {
            return Ok(body.done[&expr]);
        }
        let own = instance(module, body.subst, module.ty(expr));
        let is_plain =
            |module: &Module, ty: Ty| matches!(module.types.data(ty), TyData::Fn { type_params, .. } if type_params.is_empty());
        let ty = wanted.filter(|&ty| is_plain(module, ty)).unwrap_or(own);
        if !is_plain(module, ty) {
            return Err("a function with type parameters is a value".into());
        }
        let encoded = self.encodings.ty(module, ty);
        let span = module.exprs[expr].span;
        let callee = match kind {
            ExprKind::Fn(_) => return self.closure(module, body, expr, encoded),
            ExprKind::Global(global) => {
                let func = module.funcs[module.globals[global].func].clone();
                let tys: Vec<Ty> = func.params.iter().filter_map(|&param| declared(module, param)).collect();
                let formal = module.types.func(&tys, func.ret.unwrap_or(Ty::ERROR));
                let subst = found(module, &func.type_params, vec![(formal, ty)]);
                let copy = self.copy(module, global, &func, subst)?;
                module.expr(span, ExprKind::Global(copy))
            }
            kind => module.expr(span, kind),
        };
        let ctor = self.encodings.ctor(module, encoded, vec![]).ok_or(UNKNOWN)?;
        self.encodings.clause(module, encoded, ctor, &[], callee);
        let ctor = module.expr(span, ExprKind::Ctor(ctor));
        Ok(applied(module, span, ctor, &[]))
    }

    /// A function literal as data: a constructor with what it captures.
    fn closure(&mut self, module: &mut Module, body: &mut Body, expr: ExprId, encoded: Ty) -> Result<ExprId, Stop> {
        let (literal, span) = (body.done[&expr], module.exprs[expr].span);
        let order = module.post_order(&[literal]);
        let name = body.names.get(&expr).and_then(|name| body.vars.get(name)).copied();
        let (captured, mentions_itself) = lambda_lift::free_vars(module, &order, name);
        let inputs: Vec<Ty> = captured.iter().filter_map(|&var| module.vars[var].ty).collect();
        if inputs.len() != captured.len() {
            return Err("what a function captures has no known type".into());
        }
        let ctor = self.encodings.ctor(module, encoded, inputs).ok_or(UNKNOWN)?;
        let build = |module: &mut Module, vars: &[VarId]| {
            let fields: Vec<ExprId> = vars.iter().map(|&var| mention(module, span, var)).collect();
            let ctor = module.expr(span, ExprKind::Ctor(ctor));
            applied(module, span, ctor, &fields)
        };
        let fields: Vec<VarId> = captured.iter().map(|&var| copied_var(module, var)).collect();
        let mut given: FxHashMap<ExprKey, ExprId> = FxHashMap::default();
        for (&var, &field) in captured.iter().zip(&fields) {
            given.insert(ExprKey::Var(var), mention(module, span, field));
        }
        if let Some(name) = name.filter(|_| mentions_itself) {
            given.insert(ExprKey::Var(name), build(module, &fields));
        }
        let callee = Copy::applied(module, given, &order).expr(literal);
        self.encodings.clause(module, encoded, ctor, &fields, callee);
        Ok(build(module, &captured))
    }
}

fn is_named(module: &Module, expr: ExprId) -> bool {
    matches!(module.exprs[expr].kind, ExprKind::Var(_) | ExprKind::Const(_))
}

fn declared(module: &Module, var: VarId) -> Option<Ty> {
    module.vars[var].checked_ty.or(module.vars[var].ty)
}

fn copied_var(module: &mut Module, var: VarId) -> VarId {
    let of = module.vars[var].clone();
    module.vars.push(of)
}

/// A type with types for type parameters.
fn instance(module: &mut Module, subst: &Subst, ty: Ty) -> Ty {
    if subst.is_empty() || !module.types.has_param(ty) {
        return ty;
    }
    module.types.rewrite(ty, |_, ty| subst.get(&ty).copied())
}

/// What type parameters are, with those of the function literals that are called where they stand, outer ones first.
fn with_literals(module: &mut Module, mut subst: Subst, order: &[ExprId]) -> Subst {
    for &call in order.iter().rev() {
        if let ExprKind::Call { callee, .. } = module.exprs[call].kind
            && let ExprKind::Fn(func) = module.exprs[callee].kind
        {
            let Func { params, type_params, ret, .. } = module.funcs[func].clone();
            let tys: Vec<Ty> = params.into_iter().filter_map(|param| declared(module, param)).collect();
            let found = matched(module, &subst, &type_params, &tys, &args(module, call), (ret, call));
            subst.extend(found);
        }
    }
    subst
}

/// What type parameters are at a call, from the types of its operands and of its result.
fn matched(
    module: &mut Module,
    outer: &Subst,
    params: &[Ty],
    formal: &[Ty],
    args: &[ExprId],
    (ret, call): (Option<Ty>, ExprId),
) -> Subst {
    if params.is_empty() {
        return Subst::default();
    }
    let mut pairs: Vec<(Ty, Ty)> = ret.into_iter().map(|ret| (ret, instance(module, outer, module.ty(call)))).collect();
    for (&formal, &arg) in formal.iter().zip(args) {
        let actual = instance(module, outer, module.ty(arg));
        pairs.push((formal, actual));
    }
    found(module, params, pairs)
}

/// What type parameters are where types are others; of several, the first that is found.
fn found(module: &Module, params: &[Ty], pairs: Vec<(Ty, Ty)>) -> Subst {
    type_params::matched(&module.types, params, pairs).into_iter().rev().collect()
}

/// A new expression with other children, whose type is to be inferred.
fn untyped(module: &mut Module, expr: ExprId, children: &[ExprId]) -> ExprId {
    let new = with_children(module, expr, children);
    let kind = module.exprs[new].kind;
    module.expr(module.exprs[expr].span, kind)
}

fn applied(module: &mut Module, span: Span, callee: ExprId, args: &[ExprId]) -> ExprId {
    let args: Vec<Operand> = args.iter().map(|&expr| Operand { expr, span }).collect();
    let args = module.operands(&args);
    module.expr(span, ExprKind::Call { callee, args, attrs: None })
}
