//! Finds regions of dequantized tensors, and rewrites them by the rules of their operators.

use super::super::PassCx;
use super::super::build::{args, dtype, tuple, value_of};
use super::affine::{AffineType, Builder, Quantized, TensorAffineType, dtype_value};
use super::rules;
use relayc_base::Span;
use relayc_ir::attrs::OpTable;
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId, ExprKind, Module};
use relayc_ops::OpDef;
use relayc_ops::call::project;
use relayc_ops::declarations::{DEQUANTIZE, QUANTIZE, QuantizeAttrs};
use relayc_ops::fake_quantization::{IntegerRule, integer_rule, is_converted_alone, optional_integer_rule};
use rustc_hash::FxHashMap;

/// The rules that a program asks for.
pub(super) struct Rules<'a> {
    cx: &'a PassCx<'a>,
    optional: Vec<&'a str>,
    excluded: Vec<&'a str>,
}

impl<'a> Rules<'a> {
    pub(super) fn of(cx: &'a PassCx<'a>) -> Rules<'a> {
        Rules { cx, optional: cx.args.words("optional_qnn_ops"), excluded: cx.args.words("excluded") }
    }

    fn find(&self, name: &str) -> Option<IntegerRule> {
        if self.excluded.contains(&name) {
            return None;
        }
        integer_rule(name).or_else(|| optional_integer_rule(name).filter(|_| self.optional.contains(&name)))
    }
}

/// An expression in the place of one of a region. One without an affine type is made of constants.
#[derive(Clone)]
struct Value {
    expr: ExprId,
    ty: Option<AffineType>,
}

/// A region that is being rewritten.
pub(super) struct Region<'a> {
    pub(super) build: Builder<'a>,
    rules: &'a Rules<'a>,
    /// The affine type of the region's result; none for an operator by itself.
    wanted: Option<TensorAffineType>,
    /// The expression that the region quantizes.
    last: Option<ExprId>,
    /// By the expressions of the region as it was.
    values: FxHashMap<ExprId, Value>,
}

/// A call of a region as it was, with the operands as they are.
pub(super) struct Call {
    expr: ExprId,
    pub(super) def: &'static OpDef,
    operands: Vec<Value>,
    pub(super) attrs: Vec<AttrValue>,
}

/// An operand of a call, and whether it is quantized.
pub(super) enum Operand {
    Quantized(Quantized),
    /// Floats.
    Constant(ExprId),
}

/// The region behind a quantization on integers. `None` for another expression, and where nothing is dequantized by dataflow alone.
/// Errors: why the region cannot be converted.
pub(super) fn quantized(module: &mut Module, rules: &Rules, expr: ExprId) -> Result<Option<ExprId>, String> {
    let operands = args(module, expr);
    let (true, Some(dtype), &[last, ..]) = (rules.cx.calls(module, expr, &QUANTIZE), dtype(module, expr), &operands[..]) else {
        return Ok(None);
    };
    let Some(order) = dataflow(module, rules.cx, &[last], parts) else { return Ok(None) };
    let mut region = Region::new(module, rules, Some(affine_type(module, expr, dtype)), Some(last));
    for &expr in &order {
        region.rewrite(expr)?;
    }
    let wanted = region.wanted()?;
    let of = region.tensor(&region.values[&last])?;
    let new = region.build.converted(&of, &wanted)?;
    match module.ty(new) == module.ty(expr) {
        true => Ok(Some(new)),
        false => Err("the type of the region would change".into()),
    }
}

/// A dequantization of an operator on integers, in the place of the operator on dequantized tensors. As [`quantized`] otherwise.
pub(super) fn alone(module: &mut Module, rules: &Rules, expr: ExprId) -> Result<Option<ExprId>, String> {
    let Some(def) = rules.cx.called(module, expr).filter(|def| is_converted_alone(def.name)) else { return Ok(None) };
    let (Some(_), Some(float)) = (rules.find(def.name), dtype(module, expr)) else { return Ok(None) };
    let Some(order) = dataflow(module, rules.cx, &args(module, expr), fields) else { return Ok(None) };
    let others = order.iter().filter(|&&expr| !rules.cx.calls(module, expr, &DEQUANTIZE));
    if let Some(other) = others.filter_map(|&expr| rules.cx.called(module, expr)).next() {
        return Err(format!("an operand of `{}` is the result of `{}`, not of `{}`", def.name, other.name, DEQUANTIZE.name));
    }
    let mut region = Region::new(module, rules, None, None);
    for &expr in order.iter().chain([&expr]) {
        region.rewrite(expr)?;
    }
    let of = region.tensor(&region.values[&expr])?;
    let set = [("out_dtype", dtype_value(float)), ("axis", AttrValue::int(of.ty.axis))];
    region.build.with(&DEQUANTIZE, &[of.expr, of.ty.scale, of.ty.zero_point], &set).map(Some)
}

/// The expressions under some of them, operands before users. `None` if one is no dataflow, or nothing is dequantized.
fn dataflow(module: &Module, cx: &PassCx, from: &[ExprId], parts: fn(&Module, ExprId, &mut Vec<ExprId>)) -> Option<Vec<ExprId>> {
    let is_dataflow = |&expr: &ExprId| match module.exprs[expr].kind {
        ExprKind::Call { .. } => cx.called(module, expr).is_some(),
        kind => matches!(kind, ExprKind::Tuple(_) | ExprKind::Proj { .. } | ExprKind::Const(_)),
    };
    let order = module.post_order_by(from, parts);
    let any = order.iter().any(|&expr| cx.calls(module, expr, &DEQUANTIZE));
    (any && order.iter().all(is_dataflow)).then_some(order)
}

/// The operands of an expression of a region, which ends at dequantizations.
fn parts(module: &Module, expr: ExprId, out: &mut Vec<ExprId>) {
    match module.called_op(expr) {
        Some(op) if relayc_ops::table().name(op) != DEQUANTIZE.name => out.extend(args(module, expr)),
        _ => fields(module, expr, out),
    }
}

/// What tuples and projections are made of.
fn fields(module: &Module, expr: ExprId, out: &mut Vec<ExprId>) {
    match module.exprs[expr].kind {
        ExprKind::Proj { tuple, .. } => out.push(tuple),
        ExprKind::Tuple(_) => out.extend(args(module, expr)),
        _ => {}
    }
}

/// The affine type that a quantization or a dequantization says, of integers of a dtype.
fn affine_type(module: &Module, expr: ExprId, dtype: DType) -> TensorAffineType {
    let operands = args(module, expr);
    let QuantizeAttrs { axis, .. } = QuantizeAttrs::read(module.call_attrs(expr));
    TensorAffineType { scale: operands[1], zero_point: operands[2], dtype, axis }
}

impl<'a> Region<'a> {
    fn new(module: &'a mut Module, rules: &'a Rules<'a>, wanted: Option<TensorAffineType>, last: Option<ExprId>) -> Region<'a> {
        let build = Builder { module, cx: rules.cx, span: Span::NONE };
        Region { build, rules, wanted, last, values: FxHashMap::default() }
    }

    /// Rewrites an expression whose operands have been rewritten.
    fn rewrite(&mut self, expr: ExprId) -> Result<(), String> {
        self.build.span = self.build.module.exprs[expr].span;
        let (new, ty) = match self.build.module.exprs[expr].kind {
            ExprKind::Const(_) => (expr, None),
            ExprKind::Tuple(_) => {
                let fields = self.operands(expr);
                let types = fields.iter().map(|field| Ok(self.tensor(field)?.ty)).collect::<Result<_, String>>()?;
                let fields: Vec<ExprId> = fields.iter().map(|field| field.expr).collect();
                (tuple(self.build.module, self.build.span, &fields), Some(AffineType::Tuple(types)))
            }
            ExprKind::Proj { tuple, index } => {
                let of = self.values[&tuple].clone();
                let (Some(AffineType::Tuple(types)), Ok(index)) = (of.ty, usize::try_from(index)) else {
                    return Err("a field of a tuple that is not quantized".into());
                };
                let ty = types.get(index).ok_or("a field that the tuple does not have")?;
                (project(self.build.module, self.build.span, of.expr, index), Some(AffineType::Tensor(*ty)))
            }
            _ if self.build.cx.calls(self.build.module, expr, &DEQUANTIZE) => {
                let q = args(self.build.module, expr)[0];
                let dtype = dtype(self.build.module, q).ok_or("a tensor of unknown dtype")?;
                (q, Some(AffineType::Tensor(affine_type(self.build.module, expr, dtype))))
            }
            _ => {
                let def = self.build.cx.called(self.build.module, expr).ok_or("no operator")?;
                let rule = self.rules.find(def.name).ok_or_else(|| format!("`{}` has no rule", def.name))?;
                let attrs = self.build.module.call_attrs(expr).to_vec();
                let call = Call { expr, def, operands: self.operands(expr), attrs };
                let (new, ty) = rules::apply(self, &call, rule)?;
                (new, Some(ty))
            }
        };
        self.values.insert(expr, Value { expr: new, ty });
        Ok(())
    }

    fn operands(&self, expr: ExprId) -> Vec<Value> {
        args(self.build.module, expr).iter().map(|operand| self.values[operand].clone()).collect()
    }

    fn tensor(&self, value: &Value) -> Result<Quantized, String> {
        match value.ty {
            Some(AffineType::Tensor(ty)) => Ok(Quantized { expr: value.expr, ty }),
            _ => Err("an operand is not quantized".into()),
        }
    }

    /// The affine type of the region's result.
    pub(super) fn wanted(&self) -> Result<TensorAffineType, String> {
        self.wanted.ok_or_else(|| "the scale of the result is not known".into())
    }

    /// Whether nothing but the quantization stands behind a call.
    pub(super) fn is_last(&self, call: &Call) -> bool {
        self.last == Some(call.expr)
    }

    /// An operand that is quantized.
    pub(super) fn operand(&self, call: &Call, at: usize) -> Result<Quantized, String> {
        call.operands.get(at).ok_or_else(|| "an operand is missing".into()).and_then(|value| self.tensor(value))
    }

    /// An operand that is quantized, or a constant.
    pub(super) fn any_operand(&self, call: &Call, at: usize) -> Result<Operand, String> {
        let value = call.operands.get(at).ok_or("an operand is missing")?;
        match value_of(self.build.module, value.expr).filter(|_| value.ty.is_none()) {
            Some(_) => Ok(Operand::Constant(value.expr)),
            None => self.tensor(value).map(Operand::Quantized),
        }
    }

    /// The affine types of the tuple that a call gets.
    pub(super) fn fields(&self, call: &Call) -> Result<(ExprId, Vec<TensorAffineType>), String> {
        match call.operands.first() {
            Some(Value { expr, ty: Some(AffineType::Tuple(types)) }) => Ok((*expr, types.clone())),
            _ => Err("the operand is no tuple of quantized tensors".into()),
        }
    }

    /// The call on its new operands.
    pub(super) fn same(&mut self, call: &Call) -> Result<ExprId, String> {
        let operands: Vec<ExprId> = call.operands.iter().map(|value| value.expr).collect();
        self.build.call(call.def, &operands, call.attrs.clone())
    }
}

impl Call {
    /// The attribute of a name.
    pub(super) fn attr(&self, name: &str) -> Option<&AttrValue> {
        self.attrs.get(self.def.attrs?.position(name)?)
    }

    /// The text of an attribute.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match self.attr(name)? {
            AttrValue::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Attributes for another operator: those of the call that it has too, and some that are set.
    pub(super) fn attrs_for(&self, def: &OpDef, set: &[(&'static str, AttrValue)]) -> Vec<AttrValue> {
        let Some(schema) = def.attrs else { return vec![] };
        let own = schema.fields.iter().filter_map(|field| Some((field.name, self.attr(field.name)?.clone())));
        let own = own.filter(|(name, _)| set.iter().all(|(known, _)| known != name));
        schema.values(&own.chain(set.iter().cloned()).collect::<Vec<_>>())
    }
}
