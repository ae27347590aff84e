//! Evaluates expressions that depend on constants only: TVM's `FoldConstant` (`src/relay/transforms/fold_constant.cc`).
//!
//! The rewrite is sound because it uses the operator's own evaluation, and a constant has the type that the relation determines.
//! Three kinds of calls stay: those that trap, those that draw random numbers, and those that only mark their operand. The pass
//! folds calls of operators, projections of tuples, and mentions of variables that a `let` binds to constants. It folds the shape
//! of a tensor with a static shape, which removes the tensor's computation, as in TVM. It folds an `if` with a known condition.
//! A call whose relation refuses what its operands become stays as it is, and a run of it fails ([`super::refined`]).
//!
//! Some constants would make the program larger or slower to load, and not faster to run. The pass leaves results above 64 MiB,
//! and all results once they total 256 MiB. It leaves large results of small operands (`zeros`, `broadcast_to`): a kernel makes
//! them in place. It leaves transposed weights that only feed convolutions, which pack them into their own order anyway, and
//! 16-bit weights that only feed sums of products as float32, which convert them on their way.
//!
//! ```text
//! add(meta[Constant][0], meta[Constant][1])    →    meta[Constant][0]
//! shape_of(%x)    where %x: Tensor[(2, 3), …]    →    meta[Constant][0]
//! ```

use super::bindings::Bindings;
use super::build::{args, shape, tuple, typed, value_of, widened};
use super::effects::Pure;
use super::refined::Refined;
use super::rewrite::{Replaced, rewrite_with};
use super::{Pass, PassCx};
use relayc_base::Idx;
use relayc_base::limits::FOLDED_BYTES;
use relayc_ir::attrs::OpTable;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{Ty, Types, checked_bytes, dims_of};
use relayc_ir::{ExprId, ExprKind, Module, VarId};
use relayc_ops::declarations::{CONV1D, CONV2D, CONV3D, LAYOUT_TRANSFORM, TRANSPOSE};
use relayc_ops::eval::{ArgValue, EvalCx, OutTy, Outputs};
use relayc_ops::lower::Lower;
use relayc_ops::{Fixed, KnownFacts, OpDef};
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "fold-constants",
    doc: "Computes what depends on constants only. Results above 64 MiB, and after 256 MiB in all, are left to the run; so is \
          what makes large tensors of small ones.",
    level: 1,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

/// The most bytes of one constant; [`FOLDED_BYTES`] bounds all that one run of the pass makes (reliability 2).
const MAX_CONSTANT: u64 = 64 << 20;

/// Results of up to so many bytes are folded whatever their operands are; larger ones where they are not more than so many
/// times as large as their operands.
const SMALL: u64 = 64 << 10;
const MAX_GROWTH: u64 = 4;

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let order = module.post_order(&module.roots());
    let pure = Pure::of(module, &order);
    let bindings = Bindings::of(module, &order);
    let packed = packed_weights(module, cx, &order);
    let mut fold =
        Fold { cx, lets: lets(module, &order), bindings, packed, pure, refined: Refined::default(), left: FOLDED_BYTES.get() };
    rewrite_with(module, |module, replaced, expr| {
        fold.refined.follow(module, cx, &fold.lets, replaced, &mut fold.pure, expr);
        let new = fold.visit(module, replaced, expr)?;
        fold.refined.replaced(module, expr, new);
        Some(new)
    })
}

/// What `let` binds variables to.
pub(crate) fn lets(module: &Module, order: &[ExprId]) -> FxHashMap<VarId, ExprId> {
    let binding = |expr: ExprId| match module.exprs[expr].kind {
        ExprKind::Let { var, value, .. } => Some((var, value)),
        _ => None,
    };
    order.iter().copied().filter_map(binding).collect()
}

/// The large calls that only move the elements of a convolution's weight, or convert those of a product's weight to float32.
fn packed_weights(module: &Module, cx: &PassCx, order: &[ExprId]) -> Vec<bool> {
    let roots = module.roots();
    let mut packed = vec![false; module.exprs.len()];
    for &expr in order {
        let moves = cx.calls_any(module, expr, &[&TRANSPOSE, &LAYOUT_TRANSFORM]);
        let large = || bytes_of(&module.types, module.ty(expr)).is_some_and(|bytes| bytes > SMALL);
        packed[expr.index()] = (moves || widened(module, cx.ops, expr).is_some()) && large();
    }
    let mut children = Vec::new();
    for &expr in order {
        let is_conv = cx.calls_any(module, expr, &[&CONV1D, &CONV2D, &CONV3D]);
        let lower = cx.called(module, expr).and_then(|def| def.lower.as_ref());
        let is_product = matches!(lower, Some(Lower::Product(_) | Lower::Windows(..)));
        children.clear();
        module.children(expr, &mut children);
        // The children of a call are its callee, then its operands.
        for (at, child) in children.iter().enumerate() {
            let takes = if is_product && widened(module, cx.ops, *child).is_some() { at > 0 } else { is_conv && at == 2 };
            packed[child.index()] &= takes;
        }
    }
    roots.iter().for_each(|root| packed[root.index()] = false);
    packed
}

/// The bytes of a tensor or of a tuple of tensors, if all dimensions are known.
fn bytes_of(types: &Types, ty: Ty) -> Option<u64> {
    let of = |&ty: &Ty| types.as_tensor(ty).and_then(|(shape, dtype)| checked_bytes(&dims_of(shape)?, dtype));
    types.as_tuple(ty).unwrap_or(&[ty]).iter().map(of).sum()
}

struct Fold<'a> {
    cx: &'a PassCx<'a>,
    lets: FxHashMap<VarId, ExprId>,
    bindings: Bindings,
    /// The expressions left to packing, by number.
    packed: Vec<bool>,
    /// Which operands may be left out where only their shapes count.
    pure: Pure,
    refined: Refined,
    /// How many bytes of constants may still be made.
    left: u64,
}

impl Fold<'_> {
    fn visit(&mut self, module: &mut Module, replaced: &Replaced, expr: ExprId) -> Option<ExprId> {
        match module.exprs[expr].kind {
            ExprKind::Var(var) => {
                let value = replaced.get(*self.lets.get(&var)?);
                value_of(module, value)?;
                self.bindings.may_go(module, var, value).then_some(value)
            }
            // Fields that are computed for nothing would be lost with the tuple; constants are not.
            ExprKind::Proj { tuple, index } => {
                let fields = match module.exprs[tuple].kind {
                    ExprKind::Tuple(_) => args(module, tuple),
                    _ => return None,
                };
                let all_known = fields.iter().all(|&field| value_of(module, field).is_some());
                fields.get(usize::try_from(index).ok()?).copied().filter(|_| all_known)
            }
            ExprKind::If { cond, then_branch, else_branch } => {
                let holds = value_of(module, cond)?.to_ints().first()? != &0;
                self.pure.may_choose(expr).then_some(if holds { then_branch } else { else_branch })
            }
            ExprKind::Call { .. } => self.call(module, expr),
            _ => None,
        }
    }

    fn call(&mut self, module: &mut Module, expr: ExprId) -> Option<ExprId> {
        let def = self.cx.called(module, expr)?;
        if def.internal || def.random || self.packed.get(expr.index()).is_some_and(|&packed| packed) {
            return None;
        }
        let operands = args(module, expr);
        let values: Option<Vec<ArgValue>> = operands.iter().map(|&arg| arg_value(module, arg)).collect();
        match values.and_then(|values| self.compute(module, expr, def, &values)) {
            Some(outputs) => Some(self.put(module, expr, outputs)),
            None => self.fixed(module, expr, def),
        }
    }

    /// Replaces a call by a value or another call that known shapes and operands determine. A call whose operand has an effect
    /// stays, because the operand must be computed.
    fn fixed(&mut self, module: &mut Module, expr: ExprId, def: &OpDef) -> Option<ExprId> {
        let fixed = def.fixed?;
        let operands = args(module, expr);
        let known = KnownFacts {
            attrs: module.call_attrs(expr),
            values: operands.iter().map(|&arg| value_of(module, arg).cloned()).collect(),
            shapes: operands.iter().map(|&arg| shape(module, arg)).collect(),
        };
        let span = module.exprs[expr].span;
        let fixed = fixed(&known)?;
        let kept = if let Fixed::Call { kept, .. } = fixed { kept } else { &[] };
        self.pure.learn(module);
        if !operands.iter().enumerate().all(|(at, &operand)| kept.contains(&at) || self.pure.is(operand)) {
            return None;
        }
        match fixed {
            Fixed::Value(value) => Some(self.cx.constant(module, span, value)),
            Fixed::Call { def, kept, attrs } => {
                let operands: Vec<ExprId> = kept.iter().map(|&at| operands[at]).collect();
                let call = self.cx.call(module, span, def, &operands, attrs);
                // A relation that refuses says why in a run of the call as it is written.
                let typed = module.expr_tys.get(call).copied().flatten().is_some();
                (typed && self.cx.ops.find(def.name).is_some()).then_some(call)
            }
        }
    }

    fn compute(&mut self, module: &mut Module, expr: ExprId, def: &OpDef, values: &[ArgValue]) -> Option<Outputs> {
        if module.call_attrs(expr).iter().any(|value| value.named_size().is_some()) {
            return None;
        }
        let out = self.out_types(module, expr, def, values)?;
        let operands: u64 = values.iter().map(|value| tensors(value).iter().map(size).sum::<u64>()).sum();
        let limit = MAX_CONSTANT.min(self.left).min(SMALL.max(operands.saturating_mul(MAX_GROWTH)));
        let cx = EvalCx { args: values, attrs: module.call_attrs(expr), out: &out, max_bytes: limit };
        if out.iter().map(|out| cx.check_size(&out.shape, out.dtype).ok()).sum::<Option<u64>>()? > limit {
            return None;
        }
        let outputs = (def.eval)(&cx).ok()?;
        let made = match &outputs {
            Outputs::One(tensor) => std::slice::from_ref(tensor),
            Outputs::Tuple(tensors) => tensors,
        };
        let n: u64 = made.iter().map(size).sum();
        if n > limit || !agrees(&module.types, module.ty(expr), made) {
            return None;
        }
        self.left -= n;
        Some(outputs)
    }

    /// The types of the result's tensors; none where only the data can tell. `None` where the relation refuses.
    fn out_types(&self, module: &mut Module, expr: ExprId, def: &OpDef, values: &[ArgValue]) -> Option<Vec<OutTy>> {
        let operands = args(module, expr);
        let exact = operands.iter().zip(values).all(|(&arg, value)| {
            let ty = module.ty(arg);
            let fields = module.types.as_tuple(ty).unwrap_or(std::slice::from_ref(&ty));
            fields.len() == tensors(value).len()
                && fields.iter().zip(tensors(value)).all(|(&ty, tensor)| has_shape(&module.types, ty, tensor))
        });
        let said = exact.then(|| concrete(&module.types, module.ty(expr))).flatten();
        if said.is_some() {
            return said;
        }
        let retyped: Vec<ExprId> = operands.iter().zip(values).map(|(&arg, value)| self.retyped(module, arg, value)).collect();
        let attrs = module.call_attrs(expr).to_vec();
        let ty = self.cx.call_ty(module, def, &retyped, &attrs)?;
        Some(concrete(&module.types, ty).unwrap_or_default())
    }

    /// An operand with the type that its value has.
    fn retyped(&self, module: &mut Module, expr: ExprId, value: &ArgValue) -> ExprId {
        let ty = value.ty(&mut module.types);
        let (span, kind) = (module.exprs[expr].span, module.exprs[expr].kind);
        typed(module, span, kind, ty)
    }

    /// The result as a constant, or as a tuple of constants.
    fn put(&self, module: &mut Module, expr: ExprId, outputs: Outputs) -> ExprId {
        let span = module.exprs[expr].span;
        match outputs {
            Outputs::One(tensor) => self.cx.constant(module, span, tensor),
            Outputs::Tuple(tensors) => {
                let fields: Vec<ExprId> = tensors.into_iter().map(|tensor| self.cx.constant(module, span, tensor)).collect();
                tuple(module, span, &fields)
            }
        }
    }
}

/// The value of a constant or of a tuple of constants.
fn arg_value(module: &Module, expr: ExprId) -> Option<ArgValue> {
    match module.exprs[expr].kind {
        ExprKind::Tuple(_) => {
            let fields: Option<Vec<Tensor>> =
                args(module, expr).into_iter().map(|field| value_of(module, field).cloned()).collect();
            fields.map(ArgValue::Tuple)
        }
        _ => value_of(module, expr).cloned().map(ArgValue::Tensor),
    }
}

fn tensors(value: &ArgValue) -> &[Tensor] {
    match value {
        ArgValue::Tensor(tensor) => std::slice::from_ref(tensor),
        ArgValue::Tuple(tensors) => tensors,
    }
}

fn size(tensor: &Tensor) -> u64 {
    tensor.len() as u64 * tensor.dtype().bytes()
}

/// The tensors of a type, if all dimensions are known.
pub(crate) fn concrete(types: &Types, ty: Ty) -> Option<Vec<OutTy>> {
    let of = |&ty: &Ty| {
        let (shape, dtype) = types.as_tensor(ty)?;
        let shape: Option<Vec<usize>> = dims_of(shape)?.into_iter().map(|dim| usize::try_from(dim).ok()).collect();
        Some(OutTy { shape: shape?, dtype })
    };
    types.as_tuple(ty).unwrap_or(&[ty]).iter().map(of).collect()
}

fn has_shape(types: &Types, ty: Ty, tensor: &Tensor) -> bool {
    types.as_tensor(ty).is_some_and(|(shape, _)| {
        shape.len() == tensor.rank() && shape.iter().zip(tensor.shape()).all(|(dim, &n)| dim.value() == Some(n as i64))
    })
}

/// Whether tensors can be of a type; a run traps where they cannot.
fn agrees(types: &Types, ty: Ty, made: &[Tensor]) -> bool {
    let fields = types.as_tuple(ty).unwrap_or(std::slice::from_ref(&ty));
    fields.len() == made.len()
        && fields.iter().zip(made).all(|(&ty, tensor)| {
            types.as_tensor(ty).is_some_and(|(shape, dtype)| {
                let fits = |(dim, &n): (&relayc_ir::types::Dim, &usize)| dim.value().is_none_or(|dim| dim == n as i64);
                dtype == tensor.dtype() && shape.len() == tensor.rank() && shape.iter().zip(tensor.shape()).all(fits)
            })
        })
}
