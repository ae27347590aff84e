//! Types of an earlier form of a program that still hold.
//!
//! Two things are not found twice. In one program: a relation gives equal calls of an operator on operands of equal closed types one
//! result, so that a network that repeats its layers costs one of them. From one form of a program to the next: a function keeps its
//! types if it is the same, and the signatures of the functions it mentions are.
//!
//! Both hold for *closed* types only: tensors whose dimensions are numbers, and tuples, references and functions of them. Nothing else
//! can be known of such a type later, so that no order of inference changes what follows from it. A function is *clean* if all that it
//! was inferred from was closed before, and its inference reported nothing and left nothing waiting.

use super::{DimOrigins, Infer, call_attrs};
use crate::resolve;
use relayc_base::Idx;
use relayc_ir::attrs::OpId;
use relayc_ir::types::{Ty, TyData, Types};
use relayc_ir::{ExprId, ExprKind, FuncId, GlobalId, Module, VarId};
use rustc_hash::FxHashMap;

/// The functions that may keep their types in the next form of the program, by name.
pub type Clean = FxHashMap<Box<str>, GlobalId>;

/// An earlier form of the program, as it was inferred.
#[derive(Clone, Copy)]
pub struct Earlier<'a> {
    pub module: &'a Module,
    pub origins: &'a DimOrigins,
    pub clean: &'a Clean,
}

/// What relations gave in this run, a few calls of each operator.
#[derive(Default)]
pub(super) struct Relations {
    of: FxHashMap<OpId, Vec<(ExprId, Vec<Ty>, Ty)>>,
    n_kept: usize,
}

/// How many calls of an operator are kept. A network has fewer layers that differ, and a text of calls that all differ is not searched
/// at length.
const MAX_KEPT: usize = 32;

impl Relations {
    pub(super) fn find(&self, module: &Module, (op, call): (OpId, ExprId), args: &[Ty]) -> Option<Ty> {
        let same = |(known, of, _): &&(ExprId, Vec<Ty>, Ty)| of == args && call_attrs(module, *known) == call_attrs(module, call);
        self.of.get(&op)?.iter().find(same).map(|(.., ty)| *ty)
    }

    pub(super) fn keep(&mut self, (op, call): (OpId, ExprId), args: Vec<Ty>, ty: Ty) {
        let known = self.of.entry(op).or_default();
        self.n_kept += 1;
        match known.len() {
            MAX_KEPT => known[self.n_kept % MAX_KEPT] = (call, args, ty),
            _ => known.push((call, args, ty)),
        }
    }
}

/// Whether nothing more can be known of a type.
fn is_closed(types: &Types, ty: Ty) -> bool {
    if let Some((shape, _)) = types.as_tensor(ty) {
        return shape.iter().all(|dim| dim.value().is_some());
    }
    let open = |ty: &Ty| match types.data(*ty) {
        TyData::Tensor { shape, .. } => shape.iter().any(|dim| dim.value().is_none()),
        TyData::Fn { type_params, .. } => !type_params.is_empty(),
        TyData::Tuple(_) | TyData::Ref(_) => false,
        TyData::Error | TyData::Param { .. } | TyData::Adt { .. } | TyData::Hole(_) => true,
    };
    !types.has_hole(ty) && !types.has_param(ty) && !types.parts(ty, |_| false).iter().any(open)
}

impl Infer<'_> {
    /// The type that is known of another, if it is closed.
    pub(super) fn closed(&self, ty: Ty) -> Option<Ty> {
        let ty = self.solver.shallow(&self.module.types, ty);
        Some(ty).filter(|&ty| is_closed(&self.module.types, ty))
    }

    /// Whether all that a function is inferred from is closed: its parameters, and the functions that it mentions.
    pub(super) fn starts_closed(&mut self, global: GlobalId, exprs: &[ExprId]) -> bool {
        let params = self.module.funcs[self.module.globals[global].func].params.clone();
        let mut is_closed = |param: VarId| {
            let ty = self.var_ty(param);
            self.closed(ty).is_some()
        };
        params.into_iter().all(&mut is_closed)
            && exprs.iter().all(|&expr| {
                let is_mention = matches!(self.module.exprs[expr].kind, ExprKind::Global(_));
                !is_mention || self.mentioned(expr).is_some()
            })
    }

    /// The closed type of the function that an expression mentions.
    fn mentioned(&mut self, expr: ExprId) -> Option<Ty> {
        let ExprKind::Global(global) = self.module.exprs[expr].kind else { return None };
        let ty = self.fn_ty(self.module.globals[global].func);
        let ty = self.resolve(ty);
        self.closed(ty)
    }

    /// Gives a function the types that it had in an earlier form of the program, if they hold; these are its expressions. Returns whether
    /// they do.
    pub(super) fn keep(&mut self, earlier: Earlier, global: GlobalId, exprs: &[ExprId]) -> bool {
        let Some(&old) = earlier.clean.get(&*self.module.globals[global].name) else { return false };
        let mut same =
            Same { old: earlier.module, tys: FxHashMap::default(), exprs: None, vars: None, funcs: None, bound: vec![] };
        let (old_func, func) = (earlier.module.globals[old].func, self.module.globals[global].func);
        let Some(kept) = same.function(self, (old_func, func), exprs) else { return false };
        for &(expr, ty) in &kept.exprs {
            self.entered[expr.index()] = true;
            self.tys[expr] = ty;
        }
        for (from, to) in same.bound {
            self.var_tys[to] = Some(kept.vars[&to]);
            if let Some(&(call, arg)) = earlier.origins.decided_by.get(&from) {
                self.decided_by.insert(to, (moved(call, same.exprs), arg));
            }
            if let Some(&value) = earlier.origins.let_values.get(&from) {
                self.let_values.insert(to, moved(value, same.exprs));
            }
        }
        for (inner, ty) in kept.funcs {
            self.fn_tys[inner] = Some(ty);
        }
        let fn_ty = self.fn_ty(func);
        if let TyData::Fn { ret, .. } = *self.module.types.data(fn_ty) {
            // Its result is a hole or the same.
            let _ = self.solver.unify(&mut self.module.types, ret, kept.ret);
            self.wake();
        }
        true
    }
}

/// The types of a function that is the same as before.
struct Kept {
    exprs: Vec<(ExprId, Option<Ty>)>,
    vars: FxHashMap<VarId, Ty>,
    funcs: Vec<(FuncId, Ty)>,
    ret: Ty,
}

/// The comparison of a function with its earlier form: its parts are the same, each moved by the same number.
struct Same<'a> {
    old: &'a Module,
    /// Earlier types in the module of today.
    tys: FxHashMap<Ty, Ty>,
    exprs: Option<usize>,
    vars: Option<usize>,
    funcs: Option<usize>,
    /// Variables bound in the function, then and now.
    bound: Vec<(VarId, VarId)>,
}

fn moved<I: Idx>(id: I, by: Option<usize>) -> I {
    I::from_usize(id.index().wrapping_add(by.unwrap_or(0)))
}

/// Whether `new` is `old` moved as all others are.
fn is_moved<I: Idx>(old: I, new: I, by: &mut Option<usize>) -> bool {
    let found = new.index().wrapping_sub(old.index());
    *by.get_or_insert(found) == found
}

impl Same<'_> {
    /// The types of a function, whose expressions of today these are, children before parents and the body last.
    fn function(&mut self, infer: &mut Infer, (old, new): (FuncId, FuncId), now: &[ExprId]) -> Option<Kept> {
        let old_module = self.old;
        is_moved(old_module.funcs[old].body, infer.module.funcs[new].body, &mut self.exprs);
        let mut kept = Kept { exprs: Vec::with_capacity(now.len()), vars: FxHashMap::default(), funcs: vec![], ret: Ty::ERROR };
        kept.ret = self.signature(infer, old, new, &mut kept.vars)?;
        let mut used: Vec<VarId> = vec![];
        for &new in now {
            // As the children of an expression are those of the earlier one, moved, these are the expressions that there were.
            let index = new.index().wrapping_sub(self.exprs.unwrap_or(0));
            if index >= old_module.exprs.len() {
                return None;
            }
            let old = ExprId::from_usize(index);
            if !self.expr(infer, (old, new), &mut kept)? {
                return None;
            }
            if let ExprKind::Var(var) = infer.module.exprs[new].kind {
                used.push(var);
            }
            let ty = match old_module.expr_tys.get(old).copied().flatten() {
                Some(ty) => Some(self.ty(infer, ty)?),
                None => None,
            };
            if let ExprKind::Global(_) = infer.module.exprs[new].kind
                && infer.mentioned(new) != ty
            {
                return None;
            }
            if let (ExprKind::Fn(func), Some(ty)) = (infer.module.exprs[new].kind, ty) {
                kept.funcs.push((func, ty));
            }
            kept.exprs.push((new, ty));
        }
        used.iter().all(|var| kept.vars.contains_key(var)).then_some(kept)
    }

    /// The result of a function whose parameters and annotations are the same.
    fn signature(&mut self, infer: &mut Infer, old: FuncId, new: FuncId, vars: &mut FxHashMap<VarId, Ty>) -> Option<Ty> {
        let (then, now) = (&self.old.funcs[old], infer.module.funcs[new].clone());
        let is_mono = then.type_params.is_empty() && now.type_params.is_empty();
        if !is_mono || then.params.len() != now.params.len() {
            return None;
        }
        for (&old, &new) in then.params.iter().zip(&now.params) {
            self.bind(infer, old, new, vars)?;
        }
        let ret = self.ty(infer, then.ret?)?;
        now.ret.is_none_or(|annotation| annotation == ret).then_some(ret)
    }

    /// Takes a variable that is bound in the function.
    fn bind(&mut self, infer: &mut Infer, old: VarId, new: VarId, vars: &mut FxHashMap<VarId, Ty>) -> Option<()> {
        let ty = self.ty(infer, self.old.vars[old].checked_ty?)?;
        let holds = infer.module.vars[new].ty.is_none_or(|annotation| annotation == ty);
        if !holds || !is_moved(old, new, &mut self.vars) {
            return None;
        }
        self.bound.push((old, new));
        vars.insert(new, ty);
        Some(())
    }

    /// Whether an expression is the same, apart from its place. `None` as well where that is not asked.
    fn expr(&mut self, infer: &mut Infer, (old, new): (ExprId, ExprId), kept: &mut Kept) -> Option<bool> {
        let old_module = self.old;
        let (then, now) = (old_module.exprs[old].kind, infer.module.exprs[new].kind);
        let by = &mut self.exprs;
        Some(match (then, now) {
            (ExprKind::Const(a), ExprKind::Const(b)) => {
                let (a, b) = (&old_module.consts[a], &infer.module.consts[b]);
                a.shape() == b.shape() && a.dtype() == b.dtype()
            }
            (ExprKind::Var(a), ExprKind::Var(b)) => is_moved(a, b, &mut self.vars),
            (ExprKind::Global(a), ExprKind::Global(b)) => old_module.globals[a].name == infer.module.globals[b].name,
            (ExprKind::Op(a), ExprKind::Op(b)) => a == b,
            (ExprKind::Tuple(a), ExprKind::Tuple(b)) => are_moved(old_module.items(a), infer.module.items(b), by),
            (ExprKind::Proj { tuple: a, index: i }, ExprKind::Proj { tuple: b, index: j }) => i == j && is_moved(a, b, by),
            (ExprKind::Call { callee: a, args: s, attrs: x }, ExprKind::Call { callee: b, args: t, attrs: y }) => {
                let attrs_same = match (x, y) {
                    (None, None) => true,
                    (Some(x), Some(y)) => {
                        let is_named = old_module.attr_names.contains_key(&x) || infer.module.attr_names.contains_key(&y);
                        let (x, y) = (&old_module.attrs[x].values, &infer.module.attrs[y].values);
                        !is_named && x == y && x.iter().all(resolve::is_plain)
                    }
                    _ => false,
                };
                attrs_same && is_moved(a, b, by) && are_moved(old_module.items(s), infer.module.items(t), by)
            }
            (ExprKind::Fn(a), ExprKind::Fn(b)) => {
                let bodies = is_moved(old_module.funcs[a].body, infer.module.funcs[b].body, by);
                self.signature(infer, a, b, &mut kept.vars)?;
                bodies && is_moved(a, b, &mut self.funcs)
            }
            (ExprKind::Let { var: v, value: a, body: c }, ExprKind::Let { var: w, value: b, body: d }) => {
                let parts = is_moved(a, b, by) && is_moved(c, d, by);
                self.bind(infer, v, w, &mut kept.vars)?;
                parts
            }
            (
                ExprKind::If { cond: a, then_branch: c, else_branch: e },
                ExprKind::If { cond: b, then_branch: d, else_branch: f },
            ) => is_moved(a, b, by) && is_moved(c, d, by) && is_moved(e, f, by),
            (ExprKind::RefNew(a), ExprKind::RefNew(b)) | (ExprKind::RefRead(a), ExprKind::RefRead(b)) => is_moved(a, b, by),
            (ExprKind::RefWrite { cell: a, value: c }, ExprKind::RefWrite { cell: b, value: d }) => {
                is_moved(a, b, by) && is_moved(c, d, by)
            }
            _ => false,
        })
    }

    /// An earlier type in the module of today, if it is closed.
    fn ty(&mut self, infer: &mut Infer, ty: Ty) -> Option<Ty> {
        if let Some(&known) = self.tys.get(&ty) {
            return Some(known);
        }
        let old = &self.old.types;
        if !is_closed(old, ty) {
            return None;
        }
        for part in old.parts(ty, |part| self.tys.contains_key(&part)) {
            let now = |tys: &[Ty]| tys.iter().map(|ty| self.tys[ty]).collect();
            let data = match old.data(part) {
                TyData::Tuple(fields) => TyData::Tuple(now(fields)),
                TyData::Fn { params, ret, .. } => {
                    TyData::Fn { type_params: Box::new([]), params: now(params), ret: self.tys[ret] }
                }
                TyData::Ref(of) => TyData::Ref(self.tys[of]),
                // Numbers mean the same in every module.
                data => data.clone(),
            };
            let new = infer.module.types.intern(data);
            self.tys.insert(part, new);
        }
        self.tys.get(&ty).copied()
    }
}

fn are_moved(old: &[relayc_ir::Operand], new: &[relayc_ir::Operand], by: &mut Option<usize>) -> bool {
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| is_moved(old.expr, new.expr, by))
}
