//! Computes in a narrow float type where that pays and is safe: TVM's `ToMixedPrecision`
//! (`src/relay/transforms/to_mixed_precision.cc`).
//!
//! The operators say how they are treated (`relayc_ops::mixed_precision`). An operand of another float type is cast, once for each type; a cast
//! back gives the value that was cast. The results of calls differ by roundings, and a function's result may have the narrow type.
//!
//! Where two types must agree, values are cast back: what branches and closures return, what a `match` takes apart, what a cell holds, what
//! functions and constructors get, what a function returns that others mention, and what is declared to have another type
//! (`bindings.rs`).
//!
//! ```text
//! nn.softmax(nn.dense(%x, %w))
//! →
//! nn.softmax(cast(nn.dense(cast(%x, dtype="float16"), cast(%w, dtype="float16"), out_dtype="float16"), dtype="float32"))
//! ```

use super::bindings::say_the_same;
use super::build::{Budget, ExprKey, args, project, set_ty, tuple};
use super::rewrite::{rewrite, with_children};
use super::step::{ArgKind, Param};
use super::{Pass, PassCx, Stop, refused};
use relayc_base::Idx;
use relayc_base::diag::Diagnostic;
use relayc_ir::types::{DType, Ty, TyData};
use relayc_ir::{AttrValue, ExprId, ExprKind, Func, FuncId, Module, Root, VarId};
use relayc_ops::OpDef;
use relayc_ops::declarations::{CAST, CLIP, ClipAttrs};
use relayc_ops::mixed_precision::{Precision, dtype_attr, precision};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) const PASS: Pass = Pass {
    name: "to-mixed-precision",
    doc: "Has convolutions, products and what is around them compute in a narrow float type. Results differ by roundings.",
    params: &[
        Param { name: "dtype", kind: ArgKind::Word, default: "float16", doc: "the narrow type" },
        Param { name: "keep_output", kind: ArgKind::Bool, default: "false", doc: "whether results keep their types" },
        Param { name: "always", kind: ArgKind::Words, default: "[]", doc: "more operators that compute in it" },
        Param {
            name: "follow",
            kind: ArgKind::Words,
            default: "[]",
            doc: "more operators that compute in it if all operands are of it",
        },
        Param { name: "never", kind: ArgKind::Words, default: "[]", doc: "more operators that compute in float32" },
        Param {
            name: "refuse_unlisted",
            kind: ArgKind::Bool,
            default: "false",
            doc: "whether operators in no list are an error",
        },
    ],
    keeps_answers: false,
    run,
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> Result<bool, Box<Diagnostic>> {
    let name = cx.args.word("dtype");
    let dtype = DType::parse(name).filter(|dtype| is_float(*dtype));
    let dtype = dtype.ok_or_else(|| refused(&PASS, format!("`{name}` is no float type")))?;
    let order = module.post_order(&module.roots());
    let mut mixed = Mixed::of(module, cx, dtype, &order);
    if cx.args.bool("refuse_unlisted") {
        mixed.require_listed(module, &order).map_err(|stop| refused(&PASS, stop))?;
    }
    rewrite(module, |module, expr| mixed.visit(module, expr));
    mixed.results(module);
    mixed.stopped.map_or(Ok(true), |stop| Err(refused(&PASS, stop)))
}

fn is_float(dtype: DType) -> bool {
    dtype.is_float() || dtype == DType::BF16
}

struct Mixed<'a> {
    cx: &'a PassCx<'a>,
    dtype: DType,
    /// The types before, by the number of an expression.
    before: Vec<Option<Ty>>,
    /// The values of variables.
    value_of: FxHashMap<VarId, ExprId>,
    /// The types that variables are declared with, where those of their values say something else.
    declared: FxHashMap<VarId, Ty>,
    /// Function literals that are only called, so that their result may have another type.
    called: FxHashSet<ExprId>,
    casts: FxHashMap<(ExprKey, DType), ExprId>,
    /// What replaces an expression.
    now: FxHashMap<ExprId, ExprId>,
    /// The expressions that others replace.
    was: FxHashMap<ExprId, ExprId>,
    /// The results of functions that nothing mentions.
    free_results: FxHashSet<ExprId>,
    budget: Budget,
    /// Why a value could not be cast.
    stopped: Option<Stop>,
}

impl<'a> Mixed<'a> {
    fn of(module: &Module, cx: &'a PassCx<'a>, dtype: DType, order: &[ExprId]) -> Mixed<'a> {
        let before = module.exprs.ids().map(|expr| module.expr_tys.get(expr).copied().flatten()).collect();
        let mut value_of = FxHashMap::default();
        let (mut called, mut flowing, mut mentioned) = (FxHashSet::default(), FxHashSet::default(), FxHashSet::default());
        let mut children = Vec::new();
        flowing.extend(module.roots());
        for &expr in order {
            children.clear();
            module.children(expr, &mut children);
            let is_call = matches!(module.exprs[expr].kind, ExprKind::Call { .. });
            for (at, &child) in children.iter().enumerate() {
                let list = if is_call && at == 0 { &mut called } else { &mut flowing };
                list.insert(child);
            }
            match module.exprs[expr].kind {
                ExprKind::Let { var, value, .. } => drop(value_of.insert(var, value)),
                ExprKind::Global(global) => drop(mentioned.insert(global)),
                _ => {}
            }
        }
        // The types of a generic function are those that each of its calls gives it.
        let is_generic = |expr: ExprId| match module.exprs[expr].kind {
            ExprKind::Fn(func) => !module.funcs[func].type_params.is_empty(),
            _ => false,
        };
        called.retain(|&expr| !flowing.contains(&expr) && !is_generic(expr));
        let mut declared: FxHashMap<VarId, Ty> = FxHashMap::default();
        for (&var, &value) in &value_of {
            let ty = module.vars[var].checked_ty.or(module.vars[var].ty);
            declared.extend(ty.filter(|&ty| !say_the_same(&module.types, ty, module.ty(value))).map(|ty| (var, ty)));
        }
        let free = module.globals.iter_ids().filter(|(id, _)| !mentioned.contains(id));
        let free_results = free.map(|(_, global)| module.funcs[global.func].body).collect();
        let (casts, now, was, budget, stopped) = Default::default();
        Mixed { cx, dtype, before, value_of, declared, called, casts, now, was, free_results, budget, stopped }
    }

    /// Checks that a list says of every operator how it is treated. Errors: the first of which none does.
    fn require_listed(&self, module: &Module, order: &[ExprId]) -> Result<(), Stop> {
        let mut called = order.iter().filter_map(|&expr| Some((expr, self.cx.called(module, expr)?.name)));
        let unlisted = called.find(|(_, name)| self.treatment(name).is_none());
        unlisted
            .map_or(Ok(()), |(expr, name)| Err(Stop::from(format!("nothing is known of `{name}`")).at(module.exprs[expr].span)))
    }

    fn treatment(&self, name: &str) -> Option<Precision> {
        let lists = [("always", Precision::Always), ("follow", Precision::Follow), ("never", Precision::Never)];
        let asked = lists.into_iter().find(|(list, _)| self.cx.args.words(list).contains(&name));
        asked.map(|(_, precision)| precision).or_else(|| precision(name))
    }

    fn before(&self, expr: ExprId) -> Ty {
        self.before.get(expr.index()).copied().flatten().unwrap_or(Ty::ERROR)
    }

    /// Replaces an expression whose operands have been replaced.
    fn visit(&mut self, module: &mut Module, expr: ExprId) -> Option<ExprId> {
        let new = match module.exprs[expr].kind {
            ExprKind::Var(var) => {
                let value =
                    self.value_of.get(&var).filter(|_| !self.declared.contains_key(&var)).and_then(|value| self.now.get(value));
                if let Some(&value) = value {
                    let ty = module.ty(value);
                    set_ty(module, expr, ty);
                }
                expr
            }
            ExprKind::Tuple(_) => {
                let tys: Vec<Ty> = args(module, expr).into_iter().map(|field| module.ty(field)).collect();
                let ty = module.types.tuple(&tys);
                set_ty(module, expr, ty);
                expr
            }
            ExprKind::Proj { tuple, index } => {
                let ty = module.types.as_tuple(module.ty(tuple)).and_then(|fields| fields.get(index as usize).copied());
                set_ty(module, expr, ty.unwrap_or(Ty::ERROR));
                expr
            }
            ExprKind::Let { var, value, body } if self.declared.contains_key(&var) => {
                let value = self.cast_to(module, value, self.declared[&var]);
                let ty = module.ty(body);
                let new = with_children(module, expr, &[value, body]);
                set_ty(module, new, ty);
                new
            }
            ExprKind::Let { var, value, body } => {
                let (of_value, of_body) = (module.ty(value), module.ty(body));
                (module.vars[var].ty, module.vars[var].checked_ty) = (Some(of_value), Some(of_value));
                set_ty(module, expr, of_body);
                expr
            }
            ExprKind::Fn(func) => self.function(module, expr, func),
            ExprKind::Call { callee, .. } => match (self.cx.called(module, expr), module.exprs[callee].kind) {
                (Some(def), _) => self.operator(module, expr, def),
                (None, ExprKind::Fn(func)) if module.funcs[func].type_params.is_empty() => {
                    self.literal_call(module, expr, callee)
                }
                _ => self.kept(module, expr, 1),
            },
            ExprKind::If { .. } | ExprKind::Match { .. } | ExprKind::RefNew(_) | ExprKind::RefWrite { .. } => {
                self.kept(module, expr, 0)
            }
            ExprKind::Error
            | ExprKind::Const(_)
            | ExprKind::Global(_)
            | ExprKind::Op(_)
            | ExprKind::Ctor(_)
            | ExprKind::RefRead(_) => expr,
        };
        self.now.insert(expr, new);
        self.was.insert(new, expr);
        (new != expr).then_some(new)
    }

    /// An expression whose children, from one on, must have the types that they had.
    fn kept(&mut self, module: &mut Module, expr: ExprId, from: usize) -> ExprId {
        let mut children = Vec::new();
        module.children(expr, &mut children);
        let wanted = self.types_before(module, expr, &children);
        for (at, child) in children.iter_mut().enumerate().skip(from) {
            *child = self.cast_to(module, *child, wanted[at]);
        }
        let ty = self.before(expr);
        let new = with_children(module, expr, &children);
        set_ty(module, new, ty);
        new
    }

    /// The types that children had before they were replaced.
    fn types_before(&self, module: &Module, expr: ExprId, children: &[ExprId]) -> Vec<Ty> {
        let own = self.before(expr);
        let of = |child: ExprId| self.before(self.was.get(&child).copied().unwrap_or(child));
        let is_branch = matches!(module.exprs[expr].kind, ExprKind::If { .. } | ExprKind::Match { .. });
        children.iter().enumerate().map(|(at, &child)| if is_branch && at > 0 { own } else { of(child) }).collect()
    }

    /// The result of a function, which may have another type than before unless another one is declared.
    fn result(&mut self, module: &mut Module, func: FuncId, may_change: bool) {
        let Func { body, ret, .. } = module.funcs[func];
        let before = self.before(self.was.get(&body).copied().unwrap_or(body));
        match ret.filter(|&ret| !say_the_same(&module.types, ret, before)) {
            None if may_change => module.funcs[func].ret = Some(module.ty(body)),
            ret => module.funcs[func].body = self.cast_to(module, body, ret.unwrap_or(before)),
        }
    }

    fn function(&mut self, module: &mut Module, expr: ExprId, func: FuncId) -> ExprId {
        self.result(module, func, self.called.contains(&expr));
        expr
    }

    /// A call of a function literal: its operands are cast to float32, as TVM has it.
    fn literal_call(&mut self, module: &mut Module, expr: ExprId, callee: ExprId) -> ExprId {
        let ExprKind::Fn(func) = module.exprs[callee].kind else { return expr };
        let params = module.funcs[func].params.clone();
        let mut children = vec![callee];
        for (operand, param) in args(module, expr).into_iter().zip(params) {
            let ty = module.vars[param].checked_ty.or(module.vars[param].ty).unwrap_or(Ty::ERROR);
            children.push(self.cast_to(module, operand, ty));
        }
        let ty = match module.funcs[func].ret {
            Some(ret) if self.called.contains(&callee) => ret,
            _ => self.before(expr),
        };
        let new = with_children(module, expr, &children);
        set_ty(module, new, ty);
        new
    }

    fn operator(&mut self, module: &mut Module, expr: ExprId, def: &'static OpDef) -> ExprId {
        let operands = args(module, expr);
        let treatment = self.treatment(def.name).unwrap_or(Precision::Follow);
        let may_follow = |&operand: &ExprId| {
            let is_leaf = matches!(module.exprs[operand].kind, ExprKind::Var(_) | ExprKind::Const(_));
            is_leaf || self.is_narrow(module, module.ty(operand))
        };
        let narrow = match treatment {
            Precision::Always => true,
            Precision::Follow => operands.iter().all(may_follow),
            Precision::Never => false,
        };
        let narrow = narrow && self.holds_bounds(module, expr);
        let wanted = if narrow { self.dtype } else { DType::F32 };
        let new: Vec<ExprId> = operands.iter().map(|&operand| self.cast_all(module, operand, wanted)).collect();
        let old = module.call_attrs(expr);
        let mut attrs = old.to_vec();
        let at = def.attrs.and_then(|schema| schema.position(dtype_attr(schema.type_key)?)).filter(|_| narrow);
        if let Some(at) = at
            && matches!(attrs[at], AttrValue::DType(dtype) if dtype.is_none_or(is_float))
        {
            attrs[at] = AttrValue::DType(Some(self.dtype));
        }
        let changed = new != operands || attrs != old;
        // Without other operands the type may be another all the same: a variable's may be.
        match self.cx.call_ty(module, def, &new, &attrs) {
            Some(ty) if !changed => {
                set_ty(module, expr, ty);
                expr
            }
            Some(_) => self.cx.call(module, module.exprs[expr].span, def, &new, attrs),
            // It does not take the narrow type: its operands get their types back.
            None => self.kept(module, expr, 1),
        }
    }

    /// Whether the numbers among the attributes of a call are in the range of the narrow type.
    fn holds_bounds(&self, module: &Module, expr: ExprId) -> bool {
        if !self.cx.calls(module, expr, &CLIP) {
            return true;
        }
        let bound = match self.dtype {
            DType::F16 => 65504.0,
            DType::BF16 | DType::F32 => f64::from(f32::MAX),
            _ => return true,
        };
        let ClipAttrs { a_min, a_max } = ClipAttrs::read(module.call_attrs(expr));
        a_min >= -bound && a_max <= bound
    }

    /// Whether every float in a type is narrow.
    fn is_narrow(&self, module: &Module, ty: Ty) -> bool {
        let is_wide = |ty: Ty| module.types.as_tensor(ty).is_some_and(|(_, dtype)| is_float(dtype) && dtype != self.dtype);
        !module.types.parts(ty, |_| false).into_iter().any(is_wide)
    }

    /// Whether a value may be taken apart as one of a type.
    fn affords(&mut self, module: &Module, expr: ExprId, ty: Ty) -> bool {
        let spent = self.budget.spend(&module.types, ty);
        let affords = spent.is_ok();
        self.stopped = self.stopped.take().or(spent.err().map(|why| Stop::from(why).at(module.exprs[expr].span)));
        affords
    }

    /// A value with all its floats cast.
    fn cast_all(&mut self, module: &mut Module, expr: ExprId, wanted: DType) -> ExprId {
        if !self.affords(module, expr, module.ty(expr)) {
            return expr;
        }
        self.cast_by(module, expr, &mut |_| wanted)
    }

    /// A value cast to the dtypes of a type of the same form.
    fn cast_to(&mut self, module: &mut Module, expr: ExprId, wanted: Ty) -> ExprId {
        if module.ty(expr) == wanted || module.types.has_hole(wanted) || !self.affords(module, expr, wanted) {
            return expr;
        }
        let mut dtypes = Vec::new();
        let mut left = vec![wanted];
        while let Some(ty) = left.pop() {
            match module.types.data(ty) {
                TyData::Tensor { dtype, .. } => dtypes.push(*dtype),
                TyData::Tuple(fields) => left.extend(fields.iter().rev()),
                // What is neither stays as it is.
                _ => {}
            }
        }
        let mut dtypes = dtypes.into_iter();
        self.cast_by(module, expr, &mut |own| dtypes.next().unwrap_or(own))
    }

    /// Casts each tensor of a value to the dtype that a function says, in order.
    fn cast_by(&mut self, module: &mut Module, expr: ExprId, wanted: &mut dyn FnMut(DType) -> DType) -> ExprId {
        let ty = module.ty(expr);
        if let Some((_, dtype)) = module.types.as_tensor(ty) {
            let wanted = wanted(dtype);
            return self.cast(module, expr, dtype, wanted);
        }
        let Some(n) = module.types.as_tuple(ty).map(<[Ty]>::len) else { return expr };
        let fields: Vec<ExprId> = match module.exprs[expr].kind {
            ExprKind::Tuple(_) => args(module, expr),
            _ => (0..n).map(|at| project(module, module.exprs[expr].span, expr, at)).collect(),
        };
        let new: Vec<ExprId> = fields.iter().map(|&field| self.cast_by(module, field, wanted)).collect();
        if new == fields { expr } else { tuple(module, module.exprs[expr].span, &new) }
    }

    fn cast(&mut self, module: &mut Module, expr: ExprId, from: DType, to: DType) -> ExprId {
        if !is_float(from) || from == to {
            return expr;
        }
        let key = ExprKey::of(module, expr);
        if let Some(&known) = self.casts.get(&(key, to)) {
            return known;
        }
        let attrs = CAST.attrs.map_or(vec![], |schema| schema.values(&[("dtype", AttrValue::DType(Some(to)))]));
        let cast = self.cx.call(module, module.exprs[expr].span, &CAST, &[expr], attrs);
        self.casts.insert((key, to), cast);
        self.casts.insert((ExprKey::of(module, cast), from), expr);
        cast
    }

    /// Gives functions the types of their results, or their results the types that they had.
    fn results(&mut self, module: &mut Module) {
        let Root::Globals = module.root else { return };
        for global in module.globals.ids().collect::<Vec<_>>() {
            let func = module.globals[global].func;
            let body = module.funcs[func].body;
            let old = self.was.get(&body).copied().unwrap_or(body);
            self.result(module, func, self.free_results.contains(&old) && !self.cx.args.bool("keep_output"));
        }
    }
}
