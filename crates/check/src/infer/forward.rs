//! The types of a dataflow function from those of its parameters.
//!
//! [`super::reinfer`] finds them for any program. Here every operand has its type before its user, so nothing waits, and equal
//! calls of operators on operands of equal types run their relation once: a network that repeats its layers costs one of them. Which
//! calls are equal does not depend on shapes, so that it is found once for a program of many sizes.

use super::call_attrs;
use relayc_base::{Idx, IndexVec};
use relayc_ir::attrs::{AttrValue, OpId};
use relayc_ir::types::{Solver, Ty};
use relayc_ir::{ExprId, ExprKind, FuncId, Module, VarId};
use relayc_ops::Table;
use relayc_ops::rel::RelCx;
use rustc_hash::FxHashMap;

/// What the types of a dataflow function of operators on tensors, fused or not, depend on: found once, for any shapes of its
/// parameters. Expressions of one *class* have one type. Shapes decide no class, so that a function with open dimensions has them for
/// all its sizes.
#[derive(Clone, Debug)]
pub struct TypeClasses {
    classes: Vec<Class>,
    /// A call of each operator with certain attributes.
    kinds: Vec<(OpId, ExprId)>,
    /// The class of each typed expression, of parameters of groups, and of results.
    exprs: Vec<(ExprId, usize)>,
    vars: Vec<(VarId, usize)>,
    rets: Vec<(FuncId, usize)>,
}

/// How the type of a class is found from those of earlier ones.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Class {
    /// The type of a parameter.
    Param(VarId),
    Known(Ty),
    Tuple(Box<[usize]>),
    Field(usize, usize),
    /// A call of a kind, on operands of these classes.
    Call(usize, Box<[usize]>),
    Group(Box<[usize]>, usize),
}

impl TypeClasses {
    /// The classes of a function. `None` if something else than operators on tensors is in it.
    pub fn of(module: &mut Module, func: FuncId) -> Option<TypeClasses> {
        let body = module.funcs[func].body;
        let mut finder = Finder { of: vec![None; module.exprs.len()], ..Finder::default() };
        for &param in &module.funcs[func].params {
            let class = finder.class(Class::Param(param));
            finder.params.insert(param, class);
        }
        for expr in module.post_order_by(&[body], outside_of_groups) {
            let class = match module.exprs[expr].kind {
                ExprKind::Call { callee, .. } => match module.exprs[callee].kind {
                    ExprKind::Fn(group) => finder.group(module, expr, callee, group)?,
                    ExprKind::Op(op) => finder.call(module, expr, op)?,
                    _ => return None,
                },
                _ => finder.plain(module, expr)?,
            };
            finder.of[expr.index()] = Some(class);
        }
        finder.rets.push((func, finder.of[body.index()]?));
        let exprs = module.exprs.ids().zip(&finder.of).filter_map(|(expr, class)| Some((expr, (*class)?)));
        let Finder { classes, kinds, vars, rets, .. } = finder;
        Some(TypeClasses { exprs: exprs.collect(), classes, kinds, vars, rets })
    }

    /// The types of the classes.
    fn tys(&self, module: &mut Module, ops: &Table) -> Option<Vec<Ty>> {
        let mut tys: Vec<Ty> = Vec::with_capacity(self.classes.len());
        // What calls of a kind give for operands of certain types: classes may have equal types.
        let mut known: Vec<Vec<(Vec<Ty>, Ty)>> = vec![vec![]; self.kinds.len()];
        let mut of: Vec<Ty> = vec![];
        for class in &self.classes {
            if let Class::Tuple(classes) | Class::Call(_, classes) | Class::Group(classes, _) = class {
                of.clear();
                of.extend(classes.iter().map(|&class| tys[class]));
            }
            tys.push(match *class {
                Class::Param(var) => module.vars[var].checked_ty.or(module.vars[var].ty)?,
                Class::Known(ty) => ty,
                Class::Tuple(_) => module.types.tuple(&of),
                Class::Field(tuple, index) => *module.types.as_tuple(tys[tuple])?.get(index)?,
                Class::Call(kind, _) => match known[kind].iter().find(|(args, _)| *args == of) {
                    Some((_, ty)) => *ty,
                    None => {
                        let (op, expr) = self.kinds[kind];
                        let attrs = call_attrs(module, expr).to_vec();
                        let ty = related(module, ops, op, &of, &attrs)?;
                        known[kind].push((of.clone(), ty));
                        ty
                    }
                },
                Class::Group(_, ret) => module.types.func(&of, tys[ret]),
            });
        }
        Some(tys)
    }

    /// Forgets what [`TypeClasses::retype`] finds.
    pub fn forget(&self, module: &mut Module) {
        self.exprs.iter().for_each(|&(expr, _)| module.expr_tys[expr] = None);
        self.vars.iter().for_each(|&(var, _)| (module.vars[var].ty, module.vars[var].checked_ty) = (None, None));
        self.rets.iter().for_each(|&(func, _)| module.funcs[func].ret = None);
    }

    /// Types the function, whose parameters have their types. Returns whether all is typed: if not, a relation refuses, and the module
    /// must not be used.
    pub fn retype(&self, module: &mut Module, ops: &Table) -> bool {
        let Some(tys) = self.tys(module, ops) else { return false };
        module.expr_tys = IndexVec::filled(None, module.exprs.len());
        self.exprs.iter().for_each(|&(expr, class)| module.expr_tys[expr] = Some(tys[class]));
        for &(var, class) in &self.vars {
            (module.vars[var].ty, module.vars[var].checked_ty) = (Some(tys[class]), Some(tys[class]));
        }
        self.rets.iter().for_each(|&(func, class)| module.funcs[func].ret = Some(tys[class]));
        true
    }
}

/// The work on the classes of a function.
#[derive(Default)]
struct Finder {
    classes: Vec<Class>,
    numbers: FxHashMap<Class, usize>,
    kinds: Vec<(OpId, ExprId)>,
    /// The kinds of an operator's calls, which differ in attributes.
    of_op: FxHashMap<OpId, Vec<usize>>,
    of: Vec<Option<usize>>,
    params: FxHashMap<VarId, usize>,
    vars: Vec<(VarId, usize)>,
    rets: Vec<(FuncId, usize)>,
}

impl Finder {
    fn class(&mut self, class: Class) -> usize {
        if let Some(&known) = self.numbers.get(&class) {
            return known;
        }
        self.classes.push(class.clone());
        self.numbers.insert(class, self.classes.len() - 1);
        self.classes.len() - 1
    }

    /// A call of a group, whose body consists of operators.
    fn group(&mut self, module: &mut Module, call: ExprId, callee: ExprId, group: FuncId) -> Option<usize> {
        let args = self.args(module, call)?;
        let params = &module.funcs[group].params;
        if params.len() != args.len() || !module.funcs[group].is_primitive() {
            return None;
        }
        for (&param, &class) in params.iter().zip(&args) {
            self.params.insert(param, class);
            self.vars.push((param, class));
        }
        let body = module.funcs[group].body;
        for expr in module.post_order(&[body]) {
            let class = match module.exprs[expr].kind {
                ExprKind::Call { .. } => self.call(module, expr, module.called_op(expr)?)?,
                // The callee of a call, which has no type of its own.
                ExprKind::Op(_) => continue,
                _ => self.plain(module, expr)?,
            };
            self.of[expr.index()] = Some(class);
        }
        let ret = self.of[body.index()]?;
        self.rets.push((group, ret));
        self.of[callee.index()] = Some(self.class(Class::Group(args, ret)));
        Some(ret)
    }

    /// A call of an operator.
    fn call(&mut self, module: &Module, expr: ExprId, op: OpId) -> Option<usize> {
        let args = self.args(module, expr)?;
        let (kinds, attrs) = (self.of_op.entry(op).or_default(), call_attrs(module, expr));
        let known = kinds.iter().copied().find(|&kind| call_attrs(module, self.kinds[kind].1) == attrs);
        let kind = known.unwrap_or_else(|| {
            self.kinds.push((op, expr));
            kinds.push(self.kinds.len() - 1);
            self.kinds.len() - 1
        });
        Some(self.class(Class::Call(kind, args)))
    }

    /// An expression that is no call.
    fn plain(&mut self, module: &mut Module, expr: ExprId) -> Option<usize> {
        Some(match module.exprs[expr].kind {
            ExprKind::Const(id) => {
                let value = &module.consts[id];
                let shape: Vec<i64> = value.shape().iter().map(|&dim| dim as i64).collect();
                let dtype = value.dtype();
                self.class(Class::Known(module.types.tensor_of(&shape, dtype)))
            }
            ExprKind::Var(var) => *self.params.get(&var)?,
            ExprKind::Tuple(fields) => {
                let fields = module.items(fields).iter().map(|field| self.of[field.expr.index()]);
                let fields = fields.collect::<Option<_>>()?;
                self.class(Class::Tuple(fields))
            }
            ExprKind::Proj { tuple, index } => self.class(Class::Field(self.of[tuple.index()]?, usize::try_from(index).ok()?)),
            _ => return None,
        })
    }

    fn args(&self, module: &Module, call: ExprId) -> Option<Box<[usize]>> {
        let ExprKind::Call { args, .. } = module.exprs[call].kind else { return None };
        module.items(args).iter().map(|arg| self.of[arg.expr.index()]).collect()
    }
}

/// The type that a relation determines.
fn related(module: &mut Module, ops: &Table, op: OpId, args: &[Ty], attrs: &[AttrValue]) -> Option<Ty> {
    let mut solver = Solver::with_written(&module.types);
    let out = solver.fresh(&mut module.types);
    let mut cx = RelCx::new(&mut module.types, &mut solver, attrs, args, out);
    cx.objects = Some(&module.objects);
    (ops.def(op).rel)(&mut cx).ok()?;
    let ty = solver.resolve(&mut module.types, out);
    (!module.types.has_hole(ty) && ty != Ty::ERROR).then_some(ty)
}

/// The children of an expression, without the callee of a call.
fn outside_of_groups(module: &Module, expr: ExprId, out: &mut Vec<ExprId>) {
    match module.exprs[expr].kind {
        ExprKind::Call { args, .. } => out.extend(module.items(args).iter().map(|arg| arg.expr)),
        _ => module.children(expr, out),
    }
}
