//! Helpers with which passes inspect calls and build new ones.

use super::Args;
use relayc_base::Span;
use relayc_ir::kernel::ByteProducts;
use relayc_ir::tensor::{Tensor, bf16, f16};
use relayc_ir::types::{DType, Dim, Ty, Types, dims_of};
use relayc_ir::{AttrValue, ConstId, ExprId, ExprKind, FuncId, Module, Object, Operand, VarId};
use relayc_ops::call;
pub(crate) use relayc_ops::call::{project, set_ty, tuple, typed};
use relayc_ops::declarations::{CAST, RESHAPE, TRANSPOSE};
use relayc_ops::lower::Lower;
use relayc_ops::{OpDef, Table};

/// The context that every pass gets besides the module.
#[derive(Clone, Copy)]
pub struct PassCx<'a> {
    pub ops: &'a Table,
    /// The number of floats in a vector of the target: 8 or 16.
    pub lanes: usize,
    /// How the target multiplies integers of 8 bits.
    pub byte_products: ByteProducts,
    /// The function at which execution starts, if there is exactly one.
    pub entry: Option<&'a str>,
    /// The arguments of the pass.
    pub args: &'a Args,
}

/// What a pass may still take out of tuples. Types such as a tuple of a tuple of … can have exponentially many tensors.
pub(crate) struct Budget(usize);

impl Default for Budget {
    fn default() -> Budget {
        Budget(1 << 20)
    }
}

impl Budget {
    /// Allows to take a value apart, down to its tensors, by code that recurses over its type. Errors: why not, in words.
    pub(crate) fn spend(&mut self, types: &Types, ty: Ty) -> Result<(), String> {
        if types.as_tuple(ty).is_none() {
            return Ok(());
        }
        let left = types.shallow_parts(ty).and_then(|n_parts| self.0.checked_sub(n_parts));
        self.0 = left.ok_or("its tuples hold too many tensors or are nested too deeply")?;
        Ok(())
    }
}

impl PassCx<'_> {
    /// The operator an expression calls directly.
    pub(crate) fn called(&self, module: &Module, expr: ExprId) -> Option<&'static OpDef> {
        module.called_op(expr).map(|op| self.ops.def(op))
    }

    /// The operator of a call that computes each element from those of its operands, broadcast.
    pub(crate) fn by_elements(&self, module: &Module, expr: ExprId) -> Option<&'static OpDef> {
        self.called(module, expr).filter(|def| def.lower.as_ref().is_some_and(Lower::is_by_elements))
    }

    /// Whether an expression is a call of the operator `def`.
    pub(crate) fn calls(&self, module: &Module, expr: ExprId, def: &OpDef) -> bool {
        self.calls_any(module, expr, &[def])
    }

    /// Whether an expression is a call of one of these operators.
    pub(crate) fn calls_any(&self, module: &Module, expr: ExprId, defs: &[&OpDef]) -> bool {
        self.called(module, expr).is_some_and(|called| defs.iter().any(|def| def.name == called.name))
    }

    /// Whether each element of a call's result is an element of its only operand.
    pub(crate) fn moves(&self, module: &Module, expr: ExprId) -> bool {
        let moves = |def: &OpDef| matches!(def.lower, Some(Lower::View(_) | Lower::Move(..)));
        self.called(module, expr).is_some_and(moves) && args(module, expr).len() == 1
    }

    /// Builds a call of an operator with complete attributes, typed by its relation. The operands must have types.
    pub(crate) fn call(&self, module: &mut Module, span: Span, def: &OpDef, args: &[ExprId], attrs: Vec<AttrValue>) -> ExprId {
        call::call(module, span, def, args, attrs)
    }

    /// As [`PassCx::call`]; `None` unless the relation accepts the operands and determines the type.
    pub(crate) fn typed_call(
        &self,
        module: &mut Module,
        span: Span,
        def: &OpDef,
        args: &[ExprId],
        attrs: Vec<AttrValue>,
    ) -> Option<ExprId> {
        self.call_ty(module, def, args, &attrs)?;
        Some(self.call(module, span, def, args, attrs))
    }

    /// Builds a conversion of a tensor to a dtype.
    pub(crate) fn cast(&self, module: &mut Module, span: Span, data: ExprId, to: DType) -> Option<ExprId> {
        let values = CAST.attrs?.values(&[("dtype", AttrValue::DType(Some(to)))]);
        self.typed_call(module, span, &CAST, &[data], values)
    }

    /// Builds a transposition; `axes` in order leave a tensor as it is.
    pub(crate) fn transposed(&self, module: &mut Module, span: Span, data: ExprId, axes: &[usize]) -> Option<ExprId> {
        if axes.is_sorted() {
            return Some(data);
        }
        let axes = axes.iter().map(|&axis| i64::try_from(axis).ok()).collect::<Option<Vec<_>>>()?;
        let values = TRANSPOSE.attrs?.values(&[("axes", AttrValue::ints(&axes))]);
        self.typed_call(module, span, &TRANSPOSE, &[data], values)
    }

    /// Builds a reshape; a tensor of that shape stays as it is.
    pub(crate) fn reshaped(&self, module: &mut Module, span: Span, data: ExprId, shape: &[Dim]) -> Option<ExprId> {
        if dims(module, data)? == shape {
            return Some(data);
        }
        let values = RESHAPE.attrs?.values(&to_shape(shape));
        self.typed_call(module, span, &RESHAPE, &[data], values)
    }

    /// The type of a call of an operator, if its relation accepts the operands and determines the type.
    pub(crate) fn call_ty(&self, module: &mut Module, def: &OpDef, args: &[ExprId], attrs: &[AttrValue]) -> Option<Ty> {
        call::call_ty(module, def, args, attrs)
    }

    /// Builds a constant with its type.
    pub(crate) fn constant(&self, module: &mut Module, span: Span, value: Tensor) -> ExprId {
        call::constant(module, span, value)
    }
}

/// Binds variables in order around a body; each `let` gets the type `ty`, if it is known.
pub(crate) fn bind(
    module: &mut Module,
    span: Span,
    ty: Ty,
    bindings: impl DoubleEndedIterator<Item = (VarId, ExprId)>,
    body: ExprId,
) -> ExprId {
    bindings.rev().fold(body, |body, (var, value)| {
        let kind = ExprKind::Let { var, value, body };
        if ty == Ty::ERROR { module.expr(span, kind) } else { typed(module, span, kind, ty) }
    })
}

/// Makes the result of a function a tuple of it and of other expressions that it computes. Its types must be inferred again.
pub fn add_results(module: &mut Module, func: FuncId, exprs: &[ExprId]) {
    if exprs.is_empty() {
        return;
    }
    let mut holder = None;
    let mut body = module.funcs[func].body;
    while let ExprKind::Let { body: inner, .. } = module.exprs[body].kind {
        (holder, body) = (Some(body), inner);
    }
    let operands: Vec<Operand> =
        [body].iter().chain(exprs).map(|&expr| Operand { expr, span: module.exprs[expr].span }).collect();
    let fields = module.operands(&operands);
    let span = module.exprs[body].span;
    let tuple = module.expr(span, ExprKind::Tuple(fields));
    match holder.map(|holder| (holder, module.exprs[holder].kind)) {
        Some((holder, ExprKind::Let { var, value, .. })) => {
            module.exprs[holder].kind = ExprKind::Let { var, value, body: tuple };
        }
        _ => module.funcs[func].body = tuple,
    }
    module.funcs[func].ret = None;
}

/// An attribute of a call of an operator, by its name.
pub(crate) fn attr<'a>(cx: &PassCx, module: &'a Module, call: ExprId, name: &str) -> Option<&'a AttrValue> {
    let schema = cx.called(module, call)?.attrs?;
    module.call_attrs(call).get(schema.position(name)?)
}

/// A list of integers among the attributes of a call.
pub(crate) fn ints_attr(cx: &PassCx, module: &Module, call: ExprId, name: &str) -> Option<Vec<i64>> {
    attr(cx, module, call, name)?.as_list()?.iter().map(AttrValue::as_int).collect()
}

/// A string among the attributes of a call.
pub(crate) fn str_attr<'a>(cx: &PassCx, module: &'a Module, call: ExprId, name: &str) -> Option<&'a str> {
    match attr(cx, module, call, name)? {
        AttrValue::Str(text) => Some(text),
        _ => None,
    }
}

/// The attributes of a call with some of them changed, by name.
pub(crate) fn changed_attrs(cx: &PassCx, module: &Module, call: ExprId, changes: &[(&str, AttrValue)]) -> Vec<AttrValue> {
    let mut values = module.call_attrs(call).to_vec();
    let schema = cx.called(module, call).and_then(|def| def.attrs);
    for (name, value) in changes {
        let at = schema.and_then(|schema| schema.position(name)).expect("an attribute of the operator");
        values[at] = value.clone();
    }
    values
}

/// The operands of a call or tuple.
pub fn args(module: &Module, expr: ExprId) -> Vec<ExprId> {
    match module.exprs[expr].kind {
        ExprKind::Call { args, .. } | ExprKind::Tuple(args) => module.items(args).iter().map(|arg| arg.expr).collect(),
        _ => vec![],
    }
}

/// The value of a constant.
pub(crate) fn value_of(module: &Module, expr: ExprId) -> Option<&Tensor> {
    match module.exprs[expr].kind {
        ExprKind::Const(id) => Some(&module.consts[id]),
        _ => None,
    }
}

/// Floats computed in f64, rounded once to a dtype. `None` if one is not finite then, or if the largest is below the normal numbers of
/// the dtype, which do not hold its digits.
pub(crate) fn rounded(numbers: &Tensor, dtype: DType) -> Option<Tensor> {
    let rounded = numbers.cast(dtype)?;
    let finite = !rounded.any(|x| !x.is_finite(), |_| false);
    let holds = numbers.any(|x| x.abs() >= least_normal(dtype), |_| false) || !numbers.any(|x| x != 0.0, |_| false);
    (finite && holds).then_some(rounded)
}

/// The least positive normal number of a float dtype.
pub(crate) fn least_normal(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => f64::from(f16::MIN_POSITIVE),
        DType::F64 => f64::MIN_POSITIVE,
        _ => f64::from(f32::MIN_POSITIVE),
    }
}

/// The largest finite number of a float dtype.
pub(crate) fn largest(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => f64::from(f16::MAX),
        DType::BF16 => f64::from(bf16::MAX),
        DType::F64 => f64::MAX,
        _ => f64::from(f32::MAX),
    }
}

/// The only number of a constant.
pub(crate) fn number(module: &Module, expr: ExprId) -> Option<f64> {
    value_of(module, expr).filter(|value| value.len() == 1).and_then(|value| value.to_f64s().first().copied())
}

/// The constants that attributes of calls and functions, and objects of the metadata section, mention.
pub(crate) fn consts_of_attrs(module: &Module) -> impl Iterator<Item = ConstId> {
    let of_calls = module.attrs.iter().flat_map(|attrs| &attrs.values);
    let of_funcs = module.funcs.iter().flat_map(|func| func.attrs.iter().map(|(_, value)| value));
    let of_attrs = of_calls.chain(of_funcs).filter_map(|value| match value {
        AttrValue::Const(id, _) => Some(*id),
        _ => None,
    });
    of_attrs.chain(module.objects.iter().filter_map(|object| match object {
        Object::Const(id) => Some(*id),
        _ => None,
    }))
}

/// The dtype of a tensor.
pub(crate) fn dtype(module: &Module, expr: ExprId) -> Option<DType> {
    module.types.as_tensor(module.ty(expr)).map(|(_, dtype)| dtype)
}

/// The operand of a conversion from a 16-bit float to float32.
pub(crate) fn widened(module: &Module, ops: &Table, expr: ExprId) -> Option<ExprId> {
    let is_cast = module.called_op(expr).is_some_and(|op| ops.def(op).name == CAST.name);
    let [data] = args(module, expr).try_into().ok().filter(|_| is_cast)?;
    let is_half = matches!(dtype(module, data)?, DType::F16 | DType::BF16);
    (is_half && dtype(module, expr)? == DType::F32).then_some(data)
}

/// The shape of a tensor, if all its dimensions are known.
pub(crate) fn shape(module: &Module, expr: ExprId) -> Option<Vec<i64>> {
    dims(module, expr).and_then(dims_of)
}

/// The shape of a tensor, if each dimension is a number or computed from named sizes.
pub(crate) fn sized(module: &Module, expr: ExprId) -> Option<&[Dim]> {
    dims(module, expr).filter(|dims| dims.iter().all(|dim| dim.is_sized()))
}

/// The dimensions of a tensor.
pub(crate) fn dims(module: &Module, expr: ExprId) -> Option<&[Dim]> {
    module.types.as_tensor(module.ty(expr)).map(|(shape, _)| shape)
}

/// The attributes of a reshape to dimensions that are numbers or have names.
pub(crate) fn to_shape(dims: &[Dim]) -> [(&'static str, AttrValue); 2] {
    let code = |dim: &Dim| match *dim {
        Dim::Symbol(symbol) => AttrValue::Symbol(symbol),
        _ => AttrValue::Int { value: dim.value().unwrap_or(0), bits: if dim.is_wide() { 64 } else { 32 } },
    };
    // A size may be 0.
    let empty = dims.iter().any(|dim| matches!(dim.value(), Some(0) | None));
    [("newshape", AttrValue::List(dims.iter().map(code).collect())), ("allowzero", AttrValue::Bool(empty))]
}

/// The padding of two axes: top, left, bottom and right.
pub(crate) fn sides(padding: &[i64]) -> Option<[i64; 4]> {
    match *padding {
        [all] => Some([all; 4]),
        [rows, columns] => Some([rows, columns, rows, columns]),
        [top, left, bottom, right] => Some([top, left, bottom, right]),
        _ => None,
    }
}

/// An operand, identified by its value: every mention of a variable is an expression of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ExprKey {
    Var(VarId),
    Other(ExprId),
}

impl ExprKey {
    pub(crate) fn of(module: &Module, expr: ExprId) -> ExprKey {
        match module.exprs[expr].kind {
            ExprKind::Var(var) => ExprKey::Var(var),
            _ => ExprKey::Other(expr),
        }
    }
}
