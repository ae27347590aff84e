//! Replaces operators whose attributes are tensors by operators whose attributes are numbers, where the numbers are known: TVM's
//! `DynamicToStatic` (`src/relay/transforms/dynamic_to_static.cc`).
//!
//! The rewrite is sound because the static operator defines the dynamic one: the evaluator of the dynamic operator calls it with
//! the same numbers. Known numbers are constants, dimensions of static shapes, and results of small integer computations on
//! these.
//!
//! [`dynamic_to_static`] does so before inference, for a program that got its sizes. On a typed program folding constants does
//! (`fold_constants.rs`). The pass lets the results of functions have the types that follow; a function that others mention
//! keeps its own.
//!
//! ```text
//! %0 = shape_of(%x);           where %x: Tensor[(2, 3), …]
//! dyn.reshape(%y, %0)     →    reshape(%y, newshape=[2, 3])
//! ```

use super::effects::Pure;
use super::{Pass, PassCx, fold_constants};
use relayc_base::diag::{self, Diagnostic};
use relayc_check::infer;
use relayc_ir::attrs::OpTable;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{Solver, Ty, dims_of};
use relayc_ir::{Attrs, ExprId, ExprKind, Module, Operand, VarId};
use relayc_ops::eval::{ArgValue, EvalCx, OutTy, Outputs};
use relayc_ops::rel::RelCx;
use relayc_ops::{Fixed, KnownFacts, OpDef, Table};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) const PASS: Pass = Pass {
    name: "dynamic-to-static",
    doc: "Writes operators whose shapes are known operands with attributes, and folds constants. The results of functions that no \
          other one mentions get the types that follow.",
    run,
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> Result<bool, Box<Diagnostic>> {
    let mut mentioned = FxHashSet::default();
    for expr in module.post_order(&module.roots()) {
        if let ExprKind::Global(global) = module.exprs[expr].kind {
            mentioned.insert(global);
        }
    }
    let mut any = false;
    for global in module.globals.ids().filter(|global| !mentioned.contains(global)) {
        let func = module.globals[global].func;
        if module.funcs[func].ret.is_some_and(|ret| module.types.has_open(ret)) {
            module.funcs[func].ret = None;
            any = true;
        }
    }
    Ok((fold_constants::PASS.run)(module, cx)? || any)
}

/// The largest tensor to compute; computations with shapes are small.
const MAX_ELEMENTS: usize = 1024;

/// Rewrites a module before inference. A module with errors stays as it is.
pub fn dynamic_to_static(module: &mut Module, ops: &Table) {
    // Only an operator that may be another one becomes one.
    let may = |expr: ExprId| module.called_op(expr).is_some_and(|op| ops.def(op).fixed.is_some());
    if !module.post_order(&module.roots()).into_iter().any(may) {
        return;
    }
    let mut typed = module.clone();
    if diag::has_errors(&infer::infer_sized(&mut typed, ops, "").0) {
        return;
    }
    let pure = Pure::of(&typed, &typed.post_order(&typed.roots()));
    let mut walk = Walk {
        module: &mut typed,
        ops,
        tys: FxHashMap::default(),
        values: FxHashMap::default(),
        lets: FxHashMap::default(),
        calls: vec![],
        pure,
    };
    walk.run();
    for (expr, call) in walk.calls {
        replace(module, ops, expr, call);
    }
}

/// A call of another operator with some of the operands.
struct StaticCall {
    def: &'static OpDef,
    kept: &'static [usize],
    attrs: Vec<relayc_ir::AttrValue>,
}

fn replace(module: &mut Module, ops: &Table, expr: ExprId, call: StaticCall) {
    let ExprKind::Call { args, .. } = module.exprs[expr].kind else { return };
    let Some(op) = ops.find(call.def.name) else { return };
    let args: Vec<Operand> = call.kept.iter().map(|&at| module.items(args)[at]).collect();
    let args = module.operands(&args);
    let callee = module.expr(module.exprs[expr].span, ExprKind::Op(op));
    let attrs = call.def.attrs.map(|_| module.attrs.push(Attrs { values: call.attrs.into(), spans: Box::default() }));
    module.exprs[expr].kind = ExprKind::Call { callee, args, attrs };
}

/// The known values of expressions, in the order of computation.
struct Walk<'a> {
    module: &'a mut Module,
    ops: &'a Table,
    /// Types that are more exact than those of inference.
    tys: FxHashMap<ExprId, Ty>,
    values: FxHashMap<ExprId, Tensor>,
    /// The values that `let`s bind to variables.
    lets: FxHashMap<VarId, ExprId>,
    calls: Vec<(ExprId, StaticCall)>,
    /// Which operands may be left out.
    pure: Pure,
}

impl Walk<'_> {
    fn run(&mut self) {
        for expr in self.module.post_order(&self.module.roots()) {
            if let ExprKind::Let { var, value, .. } = self.module.exprs[expr].kind {
                self.lets.insert(var, value);
            }
        }
        for expr in self.module.evaluation_order(&self.module.roots()) {
            self.visit(expr);
        }
    }

    fn ty(&self, expr: ExprId) -> Ty {
        self.tys.get(&expr).copied().unwrap_or_else(|| self.module.ty(expr))
    }

    /// Copies the known value of one expression to another.
    fn same(&mut self, expr: ExprId, other: ExprId) {
        self.tys.insert(expr, self.ty(other));
        if let Some(value) = self.values.get(&other).cloned() {
            self.values.insert(expr, value);
        }
    }

    fn visit(&mut self, expr: ExprId) {
        match self.module.exprs[expr].kind {
            ExprKind::Const(id) => {
                self.values.insert(expr, self.module.consts[id].clone());
            }
            ExprKind::Var(var) => {
                if let Some(&value) = self.lets.get(&var) {
                    self.same(expr, value);
                }
            }
            ExprKind::Let { body, .. } => self.same(expr, body),
            ExprKind::Tuple(fields) => {
                let fields: Vec<Ty> = self.module.items(fields).iter().map(|field| self.ty(field.expr)).collect();
                let ty = self.module.types.tuple(&fields);
                self.tys.insert(expr, ty);
            }
            ExprKind::Proj { tuple, index } => self.project(expr, tuple, index),
            ExprKind::Call { args, attrs, .. } => {
                let Some(op) = self.module.called_op(expr) else { return };
                let args: Vec<ExprId> = self.module.items(args).iter().map(|arg| arg.expr).collect();
                let attrs = attrs.map_or(vec![], |attrs| self.module.attrs[attrs].values.to_vec());
                self.call(expr, self.ops.def(op), &args, &attrs);
            }
            _ => {}
        }
    }

    fn project(&mut self, expr: ExprId, tuple: ExprId, index: i32) {
        let Ok(index) = usize::try_from(index) else { return };
        let ty = self.ty(tuple);
        if let Some(&field) = self.module.types.as_tuple(ty).and_then(|fields| fields.get(index)) {
            self.tys.insert(expr, field);
        }
        let fields = match self.module.exprs[tuple].kind {
            ExprKind::Tuple(fields) => self.module.items(fields),
            _ => return,
        };
        if let Some(value) = fields.get(index).and_then(|field| self.values.get(&field.expr)).cloned() {
            self.values.insert(expr, value);
        }
    }

    fn call(&mut self, expr: ExprId, def: &'static OpDef, args: &[ExprId], attrs: &[relayc_ir::AttrValue]) {
        let known = KnownFacts {
            attrs,
            values: args.iter().map(|arg| self.values.get(arg).cloned()).collect(),
            shapes: args.iter().map(|&arg| self.shape(arg)).collect(),
        };
        match def.fixed.and_then(|fixed| fixed(&known)) {
            Some(Fixed::Value(value)) => {
                self.values.insert(expr, value);
                self.relate(expr, def, args, attrs);
            }
            Some(Fixed::Call { def, kept, attrs }) if self.are_pure_without(args, kept) => {
                let args: Vec<ExprId> = kept.iter().map(|&at| args[at]).collect();
                self.relate(expr, def, &args, &attrs);
                self.calls.push((expr, StaticCall { def, kept, attrs }));
            }
            Some(Fixed::Call { .. }) | None => {
                self.relate(expr, def, args, attrs);
                self.compute(expr, def, args, attrs);
            }
        }
    }

    /// Whether the operands that go have no effects.
    fn are_pure_without(&self, args: &[ExprId], kept: &[usize]) -> bool {
        args.iter().enumerate().all(|(at, &arg)| kept.contains(&at) || self.pure.is(arg))
    }

    fn shape(&self, expr: ExprId) -> Option<Vec<i64>> {
        self.module.types.as_tensor(self.ty(expr)).and_then(|(shape, _)| dims_of(shape))
    }

    /// The result's type from those of the operands, which may be more exact than inference knew.
    fn relate(&mut self, expr: ExprId, def: &OpDef, args: &[ExprId], attrs: &[relayc_ir::AttrValue]) {
        let args: Vec<Ty> = args.iter().map(|&arg| self.ty(arg)).collect();
        let mut solver = Solver::default();
        let out = solver.fresh(&mut self.module.types);
        if (def.rel)(&mut RelCx::new(&mut self.module.types, &mut solver, attrs, &args, out)).is_ok() {
            let out = solver.resolve(&mut self.module.types, out);
            self.tys.insert(expr, out);
        }
    }

    /// The result's value, where it is small and all operands are known.
    fn compute(&mut self, expr: ExprId, def: &OpDef, args: &[ExprId], attrs: &[relayc_ir::AttrValue]) {
        let Some(args) = args.iter().map(|&arg| self.arg_value(arg)).collect::<Option<Vec<ArgValue>>>() else { return };
        if attrs.iter().any(|value| value.named_size().is_some()) {
            return;
        }
        let ty = self.ty(expr);
        let Some((dims, dtype)) = self.module.types.as_tensor(ty).and_then(|(shape, dtype)| Some((dims_of(shape)?, dtype)))
        else {
            return;
        };
        let shape: Vec<usize> = dims.into_iter().filter_map(|dim| usize::try_from(dim).ok()).collect();
        let n = shape.iter().try_fold(1usize, |n, &dim| n.checked_mul(dim));
        if def.internal || n.is_none_or(|n| n > MAX_ELEMENTS) {
            return;
        }
        let out = [OutTy { shape, dtype }];
        // What traps here does so again in a run, which says where.
        if let Ok(Outputs::One(value)) = (def.eval)(&EvalCx { args: &args, attrs, out: &out, max_bytes: 1 << 20 }) {
            self.values.insert(expr, value);
        }
    }

    fn arg_value(&self, expr: ExprId) -> Option<ArgValue> {
        let small = |expr: ExprId| self.values.get(&expr).filter(|value| value.len() <= MAX_ELEMENTS).cloned();
        match self.module.exprs[expr].kind {
            ExprKind::Tuple(fields) => self
                .module
                .items(fields)
                .iter()
                .map(|field| small(field.expr))
                .collect::<Option<Vec<Tensor>>>()
                .map(ArgValue::Tuple),
            _ => small(expr).map(ArgValue::Tensor),
        }
    }
}
