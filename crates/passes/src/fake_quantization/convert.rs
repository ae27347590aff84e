//! Finds regions of dequantized tensors, and rewrites them by the rules of their operators.

use super::super::build::{args, dtype, tuple};
use super::super::{PassCx, Stop};
use super::affine::{AffineType, Builder, TensorAffineType, dtype_value};
use super::region::{Call, Region, Value};
use super::rules;
use relayc_base::Span;
use relayc_ir::attrs::OpTable;
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId, ExprKind, Module};
use relayc_ops::call::project;
use relayc_ops::declarations::{DEQUANTIZE, QUANTIZE, QuantizeAttrs};
use relayc_ops::fake_quantization::{IntegerRule, integer_rule, is_converted_alone, optional_integer_rule};
use std::cell::Cell;

/// How many expressions the regions of a program have in all. Regions may share what they begin with, and each gets a copy of its own: of n
/// regions along a chain of n operators, the copies would be n²/2.
const MAX_EXPRS: usize = 1 << 20;

/// The rules that a program asks for.
pub(super) struct Rules<'a> {
    cx: &'a PassCx<'a>,
    /// What is left of [`MAX_EXPRS`].
    left: Cell<usize>,
    optional: Vec<&'a str>,
    excluded: Vec<&'a str>,
}

impl<'a> Rules<'a> {
    pub(super) fn of(cx: &'a PassCx<'a>) -> Rules<'a> {
        Rules { cx, left: Cell::new(MAX_EXPRS), optional: cx.args.words("optional_qnn_ops"), excluded: cx.args.words("excluded") }
    }

    fn find(&self, name: &str) -> Option<IntegerRule> {
        if self.excluded.contains(&name) {
            return None;
        }
        integer_rule(name).or_else(|| optional_integer_rule(name).filter(|_| self.optional.contains(&name)))
    }
}

/// The region behind a quantization on integers. `None` for another expression, and where nothing is dequantized by dataflow alone.
/// Errors: why the region cannot be converted.
pub(super) fn quantized(module: &mut Module, rules: &Rules, expr: ExprId) -> Result<Option<ExprId>, Stop> {
    let operands = args(module, expr);
    let (true, Some(dtype), &[last, ..]) = (rules.cx.calls(module, expr, &QUANTIZE), dtype(module, expr), &operands[..]) else {
        return Ok(None);
    };
    let Some(order) = dataflow(module, rules, &[last], parts)? else { return Ok(None) };
    let mut region = region(module, rules, Some(affine_type(module, expr, dtype)), Some(last));
    for &expr in &order {
        rewritten(&mut region, rules, expr)?;
    }
    let (wanted, of) = (region.wanted()?, region.tensor(&region.values[&last])?);
    region.build.span = region.build.module.exprs[expr].span;
    let new = region.build.converted(&of, &wanted)?;
    match module.ty(new) == module.ty(expr) {
        true => Ok(Some(new)),
        false => Err("the type of the region would change".into()),
    }
}

/// A dequantization of an operator on integers, in the place of the operator on dequantized tensors. As [`quantized`] otherwise.
pub(super) fn alone(module: &mut Module, rules: &Rules, expr: ExprId) -> Result<Option<ExprId>, Stop> {
    let Some(def) = rules.cx.called(module, expr).filter(|def| is_converted_alone(def.name)) else { return Ok(None) };
    let (Some(_), Some(float)) = (rules.find(def.name), dtype(module, expr)) else { return Ok(None) };
    let Some(order) = dataflow(module, rules, &args(module, expr), fields)? else { return Ok(None) };
    let others = order.iter().filter(|&&expr| !rules.cx.calls(module, expr, &DEQUANTIZE));
    if let Some(other) = others.filter_map(|&expr| rules.cx.called(module, expr)).next() {
        return Err(
            format!("an operand of `{}` is the result of `{}`, not of `{}`", def.name, other.name, DEQUANTIZE.name).into()
        );
    }
    let mut region = region(module, rules, None, None);
    for &expr in order.iter().chain([&expr]) {
        rewritten(&mut region, rules, expr)?;
    }
    let of = region.tensor(&region.values[&expr])?;
    let set = [("out_dtype", dtype_value(float)), ("axis", AttrValue::int(of.ty.axis))];
    region.build.with(&DEQUANTIZE, &[of.expr, of.ty.scale, of.ty.zero_point], &set).map(Some).map_err(Stop::from)
}

/// The operands of an expression, as far as a region goes.
type Parts = fn(&Module, ExprId, &mut Vec<ExprId>);

/// The expressions under some of them, operands before users. `None` if one is no dataflow, or nothing is dequantized. Errors: there were
/// [`MAX_EXPRS`] before.
fn dataflow(module: &Module, rules: &Rules, from: &[ExprId], parts: Parts) -> Result<Option<Vec<ExprId>>, String> {
    if rules.left.get() == 0 {
        return Err("the regions share too much to be converted each by itself".to_owned());
    }
    let is_dataflow = |&expr: &ExprId| match module.exprs[expr].kind {
        ExprKind::Call { .. } => rules.cx.called(module, expr).is_some(),
        kind => matches!(kind, ExprKind::Tuple(_) | ExprKind::Proj { .. } | ExprKind::Const(_)),
    };
    let order = module.post_order_by(from, parts);
    rules.left.set(rules.left.get().saturating_sub(order.len()));
    let any = order.iter().any(|&expr| rules.cx.calls(module, expr, &DEQUANTIZE));
    Ok((any && order.iter().all(is_dataflow)).then_some(order))
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

/// An empty region, the affine type that is wanted of its result, and the expression that it quantizes.
fn region<'a>(module: &'a mut Module, rules: &Rules<'a>, wanted: Option<TensorAffineType>, last: Option<ExprId>) -> Region<'a> {
    let build = Builder { module, cx: rules.cx, span: Span::NONE };
    Region { build, wanted, last, values: Default::default() }
}

/// As [`rewrite`], with the place of an error.
fn rewritten(region: &mut Region, rules: &Rules, expr: ExprId) -> Result<(), Stop> {
    rewrite(region, rules, expr).map_err(|why| Stop::from(why).at(region.build.module.exprs[expr].span))
}

/// Rewrites an expression of a region whose operands have been rewritten.
fn rewrite(region: &mut Region, rules: &Rules, expr: ExprId) -> Result<(), String> {
    region.build.span = region.build.module.exprs[expr].span;
    let (new, ty) = match region.build.module.exprs[expr].kind {
        ExprKind::Const(_) => (expr, None),
        ExprKind::Tuple(_) => {
            let fields = region.operands(expr);
            let types = fields.iter().map(|field| Ok(region.tensor(field)?.ty)).collect::<Result<_, String>>()?;
            let fields: Vec<ExprId> = fields.iter().map(|field| field.expr).collect();
            (tuple(region.build.module, region.build.span, &fields), Some(AffineType::Tuple(types)))
        }
        ExprKind::Proj { tuple, index } => {
            let of = region.values[&tuple].clone();
            let (Some(AffineType::Tuple(types)), Ok(index)) = (of.ty, usize::try_from(index)) else {
                return Err("a field of a tuple that is not quantized".into());
            };
            let ty = types.get(index).ok_or("a field that the tuple does not have")?;
            (project(region.build.module, region.build.span, of.expr, index), Some(AffineType::Tensor(*ty)))
        }
        _ if region.build.cx.calls(region.build.module, expr, &DEQUANTIZE) => {
            let q = args(region.build.module, expr)[0];
            let dtype = dtype(region.build.module, q).ok_or("a tensor of unknown dtype")?;
            (q, Some(AffineType::Tensor(affine_type(region.build.module, expr, dtype))))
        }
        _ => {
            let def = region.build.cx.called(region.build.module, expr).ok_or("no operator")?;
            let rule = rules.find(def.name).ok_or_else(|| format!("`{}` has no rule", def.name))?;
            let attrs = region.build.module.call_attrs(expr).to_vec();
            let call = Call { expr, def, operands: region.operands(expr), attrs };
            let (new, ty) = rules::apply(region, &call, rule)?;
            (new, Some(ty))
        }
    };
    region.values.insert(expr, Value { expr: new, ty });
    Ok(())
}
