//! Layout requests: what users of a value want of its memory, found before anything is computed.
//!
//! A convolution wants zeros around its input, a concatenation wants its parts side by side, and the function's result should
//! be an output. Requests are keyed by the expression that computes the value.

use super::call;
use super::structure::Structure;
use relayc_ir::attrs::OpId;
use relayc_ir::kernel::View;
use relayc_ir::types::Ty;
use relayc_ir::{ExprId, ExprKind, Module, Operand, VarId};
use relayc_ops::lower::{AxisMap, Call, Lower, Product, Tensor};
use relayc_ops::{OpDef, Table};
use rustc_hash::FxHashMap;

/// The requested memory layout of a value.
#[derive(Clone, Default, Debug)]
pub(crate) struct Request {
    /// Number of zero elements before and after each axis.
    pub(crate) margins: Vec<(u64, u64)>,
    /// The concatenation that contains it, the axis, and its first index.
    pub(crate) part_of: Option<(ExprId, usize, u64)>,
    pub(crate) output: Option<usize>,
}

/// Requests by expression.
pub(crate) struct Requests {
    wanted: FxHashMap<ExprId, Request>,
}

impl Requests {
    pub(crate) fn of(&self, expr: ExprId) -> Request {
        self.wanted.get(&expr).cloned().unwrap_or_default()
    }
}

/// Finds the requests of calls, given in evaluation order; `value` maps an expression to the one that computes it, behind
/// bindings.
pub(crate) fn find(
    module: &Module,
    ops: &Table,
    structure: &Structure,
    results: &[ExprId],
    value: &dyn Fn(ExprId) -> ExprId,
) -> Requests {
    let order = &structure.order;
    let mut finder = Finder { module, ops, structure, value, wanted: FxHashMap::default(), reaches: FxHashMap::default() };
    for &expr in order {
        finder.visit(expr);
    }
    let mut next = 0;
    for &result in results {
        // A tuple that is passed on as it is has an output for each of its tensors.
        let at = next;
        next += n_tensors(module, module.ty(result));
        let result = value(result);
        let request = finder.wanted.entry(result).or_default();
        // Two outputs are two places.
        if computes(module, result) && request.output.is_none() && request.part_of.is_none() {
            request.output = Some(at);
        }
    }
    // A part has the margins of the whole: from the last whole to the first part. A tensor has those of its slices.
    for &expr in order.iter().rev() {
        finder.lift(expr);
        finder.lift_slice(expr);
    }
    Requests { wanted: finder.wanted }
}

/// Number of tensors in a value of a type.
fn n_tensors(module: &Module, ty: Ty) -> usize {
    let (mut n, mut stack) = (0, vec![ty]);
    while let Some(ty) = stack.pop() {
        match module.types.as_tuple(ty) {
            Some(fields) => stack.extend(fields),
            None => n += 1,
        }
    }
    n
}

/// Whether an expression computes its value instead of passing one on.
fn computes(module: &Module, expr: ExprId) -> bool {
    matches!(module.exprs[expr].kind, ExprKind::Call { .. }) && module.types.as_tensor(module.ty(expr)).is_some()
}

struct Finder<'a> {
    module: &'a Module,
    ops: &'a Table,
    structure: &'a Structure,
    value: &'a dyn Fn(ExprId) -> ExprId,
    wanted: FxHashMap<ExprId, Request>,
    /// Calls of products by operator and types of the operands; those of one signature differ in attributes.
    reaches: FxHashMap<(OpId, Vec<Ty>), Vec<KnownReach>>,
}

/// The reach of a call.
type KnownReach = (ExprId, Option<Reach>);

/// How far the products of a call read beyond their data: the argument that holds it, and its margins.
#[derive(Clone)]
struct Reach {
    data_arg: usize,
    margins: Vec<(u64, u64)>,
}

impl<'a> Finder<'a> {
    fn visit(&mut self, expr: ExprId) {
        let module = self.module;
        let ExprKind::Call { callee, .. } = module.exprs[expr].kind else { return };
        match module.exprs[callee].kind {
            ExprKind::Op(_) => self.wishes(expr, expr),
            ExprKind::Fn(func) => {
                for &inner in &self.structure.group(func).order {
                    self.wishes(inner, expr);
                }
            }
            _ => {}
        }
    }

    /// The parameters and arguments of a called group; none for a call of an operator.
    fn outside(&self, call: ExprId) -> (&'a [VarId], &'a [Operand]) {
        let module = self.module;
        let ExprKind::Call { callee, args, .. } = module.exprs[call].kind else { return (&[], &[]) };
        let ExprKind::Fn(func) = module.exprs[callee].kind else { return (&[], &[]) };
        (&module.funcs[func].params, module.items(args))
    }

    /// The value outside a call that an expression in its group stands for, if any.
    fn outer(&self, expr: ExprId, call: ExprId) -> Option<ExprId> {
        let (params, args) = self.outside(call);
        match self.module.exprs[expr].kind {
            ExprKind::Var(var) => {
                let at = params.iter().position(|&param| param == var)?;
                Some((self.value)(args.get(at)?.expr))
            }
            _ if params.is_empty() => Some((self.value)(expr)),
            _ => None,
        }
    }

    fn wishes(&mut self, call: ExprId, group: ExprId) {
        let module = self.module;
        let ExprKind::Call { args, .. } = module.exprs[call].kind else { return };
        let Some(op) = module.called_op(call) else { return };
        let args = || module.items(args).iter().map(|arg| arg.expr).collect::<Vec<ExprId>>();
        match self.ops.def(op).lower {
            Some(Lower::Product(product) | Lower::Windows(product, _)) => {
                let args = args();
                let Some(Reach { data_arg, margins }) = self.reach(call, op, &args, product) else { return };
                let Some(outer) = self.outer(args[data_arg], group) else { return };
                widen(&mut self.wanted.entry(outer).or_default().margins, &margins);
            }
            Some(Lower::Join(axis)) => {
                // Only where the concatenation is the group's result as it is.
                let result = result_of(module, group);
                if result == call {
                    self.join(call, group, &args(), axis);
                }
            }
            _ => {}
        }
    }

    /// The reach of a call, which equal calls share: a network repeats its layers.
    fn reach(&mut self, call: ExprId, op: OpId, args: &[ExprId], product: fn(&Call) -> Option<Vec<Product>>) -> Option<Reach> {
        let module = self.module;
        let known = self.reaches.entry((op, args.iter().map(|&arg| module.ty(arg)).collect())).or_default();
        if let Some((_, reach)) = known.iter().find(|(other, _)| module.call_attrs(*other) == module.call_attrs(call)) {
            return reach.clone();
        }
        let found = described(module, call, |call| Product::near(product(call)?, call));
        let reach = found.and_then(|(data, products)| {
            let data_arg = products.first()?.data_arg;
            let mut all = vec![];
            products.iter().for_each(|product| widen(&mut all, &margins(product, &data[product.data_arg].shape)));
            Some(Reach { data_arg, margins: all })
        });
        known.push((call, reach.clone()));
        reach
    }

    fn join(&mut self, call: ExprId, group: ExprId, args: &[ExprId], axis: fn(&Call) -> Option<usize>) {
        let module = self.module;
        let Some((_, Some(axis))) = described(module, call, |call| Some(axis(call))) else { return };
        let tuple = match self.outer(args[0], group) {
            Some(outer) if matches!(module.exprs[outer].kind, ExprKind::Tuple(_)) => outer,
            _ => args[0],
        };
        let ExprKind::Tuple(fields) = module.exprs[tuple].kind else { return };
        let inside = tuple == args[0] && !self.outside(group).0.is_empty();
        let mut begin = 0;
        for field in module.items(fields) {
            let outer = if inside { self.outer(field.expr, group) } else { Some((self.value)(field.expr)) };
            let Ok(part) = call::tensor(module, module.ty(field.expr)) else { return };
            let n = part.shape.get(axis).copied().unwrap_or(0);
            if let Some(outer) = outer.filter(|&outer| computes(module, outer)) {
                let request = self.wanted.entry(outer).or_default();
                if request.part_of.is_none() {
                    request.part_of = Some((group, axis, begin));
                }
            }
            begin += n;
        }
    }

    /// Propagates the margins of a part to its whole.
    fn lift(&mut self, expr: ExprId) {
        let mut part = expr;
        while let Some(request) = self.wanted.get(&part)
            && let Some((whole, axis, _)) = request.part_of
        {
            let mut margins = request.margins.clone();
            if margins.get(axis).is_some_and(|&margin| margin != (0, 0)) {
                // Zeros between parts are no concatenation.
                self.wanted.entry(part).or_default().part_of = None;
                return;
            }
            std::mem::swap(&mut self.wanted.entry(whole).or_default().margins, &mut margins);
            widen(&mut self.wanted.entry(whole).or_default().margins, &margins);
            part = whole;
        }
    }

    /// Moves the margins of a slice to the tensor that it is cut from, if they lie along axes that are not cut.
    fn lift_slice(&mut self, expr: ExprId) -> Option<()> {
        let module = self.module;
        let margins = self.wanted.get(&expr)?.margins.clone();
        margins.iter().any(|&margin| margin != (0, 0)).then_some(())?;
        let call = result_of(module, expr);
        let Some(Lower::View(view)) = def(module, self.ops, call)?.lower.as_ref() else { return None };
        let ExprKind::Call { args, .. } = module.exprs[call].kind else { return None };
        let source = self.outer(module.items(args).first()?.expr, expr)?;
        let (tensors, view) = described(module, call, |call| view(call, &View::dense(&call.arg(0).shape)))?;
        let whole = View::dense(&tensors[0].shape);
        let cut = |axis: usize| view.dims[axis] != whole.dims[axis];
        let fits = view.strides == whole.strides && (0..margins.len()).all(|axis| margins[axis] == (0, 0) || !cut(axis));
        (fits && computes(module, source)).then_some(())?;
        self.wanted.get_mut(&expr)?.margins.clear();
        widen(&mut self.wanted.entry(source).or_default().margins, &margins);
        Some(())
    }
}

/// The expression that yields the result of a step: the call, or the body of the called function.
pub(crate) fn result_of(module: &Module, step: ExprId) -> ExprId {
    match module.exprs[step].kind {
        ExprKind::Call { callee, .. } => match module.exprs[callee].kind {
            ExprKind::Fn(func) => module.funcs[func].body,
            _ => step,
        },
        _ => step,
    }
}

/// Evaluates part of an operator's declaration for a call with known types; returns it with the operands.
pub(super) fn described<T>(module: &Module, call: ExprId, f: impl FnOnce(&Call) -> Option<T>) -> Option<(Vec<Tensor>, T)> {
    let ExprKind::Call { args, .. } = module.exprs[call].kind else { return None };
    let args: Vec<Vec<Tensor>> =
        module.items(args).iter().map(|arg| call::tensors(module, module.ty(arg.expr)).ok()).collect::<Option<_>>()?;
    let outs = call::tensors(module, module.ty(call)).ok()?;
    let said = f(&Call { attrs: module.call_attrs(call), args: &args, outs: &outs })?;
    Some((args.into_iter().map(|mut tensors| tensors.swap_remove(0)).collect(), said))
}

/// How far the data's indices extend before and after each axis.
pub(crate) fn margins(product: &Product, shape: &[u64]) -> Vec<(u64, u64)> {
    reach(&product.data, &product.extents(), shape)
}

/// How far indices over loops of these extents extend before and after each axis.
pub(crate) fn reach(axes: &[AxisMap], extents: &[u64], shape: &[u64]) -> Vec<(u64, u64)> {
    let of = |(map, &dim): (&AxisMap, &u64)| {
        let (least, most) = map.range(extents);
        ((-least).max(0) as u64, (most - (dim as i64 - 1)).max(0) as u64)
    };
    axes.iter().zip(shape).map(of).collect()
}

/// Enlarges margins to contain others.
pub(crate) fn widen(margins: &mut Vec<(u64, u64)>, other: &[(u64, u64)]) {
    margins.resize(margins.len().max(other.len()), (0, 0));
    for (own, other) in margins.iter_mut().zip(other) {
        *own = (own.0.max(other.0), own.1.max(other.1));
    }
}

/// The declaration of the operator that a call names.
pub(crate) fn def(module: &Module, ops: &Table, call: ExprId) -> Option<&'static OpDef> {
    module.called_op(call).map(|op| ops.def(op))
}
