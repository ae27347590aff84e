//! What takes the place of each operator of a region, by the rules that operators declare.

use super::super::build::{number, shape, value_of};
use super::affine::{AffineType, Quantized, TensorAffineType, dtype_value};
use super::region::{Call, Operand, Region};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId};
use relayc_ops::OpDef;
use relayc_ops::call::tuple;
use relayc_ops::declarations::{ADD, CLIP, ClipAttrs, Layout, MAXIMUM, MINIMUM, MULTIPLY, TransposeAttrs, ZEROS_LIKE};
use relayc_ops::fake_quantization::IntegerRule;

/// An expression and its affine type.
type Applied = Result<(ExprId, AffineType), String>;

pub(super) fn apply(region: &mut Region, call: &Call, rule: IntegerRule) -> Applied {
    match rule {
        IntegerRule::Same => same(region, call),
        IntegerRule::Reshaped => reshaped(region, call),
        IntegerRule::Transposed => transposed(region, call),
        IntegerRule::Split => split(region, call),
        IntegerRule::Values if call.text("ret_type") == Some("values") => same(region, call),
        IntegerRule::Values => Err(format!("the result of `{}` holds indices", call.def.name)),
        IntegerRule::Unary(def) => {
            let wanted = region.wanted()?;
            rescaled(region, call, def, wanted)
        }
        IntegerRule::Windows(def) => {
            let own = region.operand(call, 0)?.ty;
            let wanted = region.wanted().ok().filter(|to| region.is_last(call) && to.dtype == own.dtype);
            rescaled(region, call, def, wanted.unwrap_or(own))
        }
        IntegerRule::Binary(def) => binary(region, call, def),
        IntegerRule::Choice => choice(region, call),
        IntegerRule::Joined(def) => joined(region, call, def),
        IntegerRule::Product(def) => product(region, call, def),
        IntegerRule::BatchProduct(def) => batch_product(region, call, def),
        IntegerRule::MeanInt32 => mean_int32(region, call),
        IntegerRule::Mean => mean(region, call),
        IntegerRule::Bias => bias(region, call),
        IntegerRule::Padded => padded(region, call),
        IntegerRule::Clipped => clipped(region, call),
        IntegerRule::Rectified => rectified(region, call),
    }
}

/// An error if the channels of a tensor have scales of their own.
fn one_scale(region: &Region, call: &Call, of: &Quantized) -> Result<(), String> {
    match region.build.channels(&of.ty) {
        None => Ok(()),
        Some(_) => Err(format!("the operand of `{}` has a scale for each channel", call.def.name)),
    }
}

fn same(region: &mut Region, call: &Call) -> Applied {
    let of = region.operand(call, 0)?;
    one_scale(region, call, &of)?;
    let out = region.same(call)?;
    region.build.typed(out, of.ty)
}

/// The channels stay one axis if as many elements are before it and on it.
fn reshaped(region: &mut Region, call: &Call) -> Applied {
    let of = region.operand(call, 0)?;
    let out = region.same(call)?;
    let mut ty = of.ty;
    if region.build.channels(&ty).is_some() {
        let axis = region.build.axis(&of)?;
        let known = |expr| shape(region.build.module, expr).ok_or_else(|| "a shape that is not known".to_owned());
        let (before, after) = (known(of.expr)?, known(out)?);
        let leading = |shape: &[i64], axis: usize| shape[..axis].iter().try_fold(1i64, |n, &dim| n.checked_mul(dim));
        let kept = (0..after.len()).find(|&to| after[to] == before[axis] && leading(&after, to) == leading(&before, axis));
        ty.axis = kept.ok_or_else(|| format!("`{}` changes the axis of the scales", call.def.name))? as i64;
    }
    region.build.typed(out, ty)
}

fn transposed(region: &mut Region, call: &Call) -> Applied {
    let of = region.operand(call, 0)?;
    let out = region.same(call)?;
    let mut ty = of.ty;
    if region.build.channels(&ty).is_some() {
        let (axis, rank) = (region.build.axis(&of)? as i64, region.build.rank(of.expr)? as i64);
        let axes = TransposeAttrs::read(&call.attrs).axes.unwrap_or_else(|| (0..rank).rev().collect());
        let to = axes.iter().position(|&from| from == axis || from + rank == axis);
        ty.axis = to.ok_or("an axis that `transpose` does not name")? as i64;
    }
    region.build.typed(out, ty)
}

fn split(region: &mut Region, call: &Call) -> Applied {
    let of = region.operand(call, 0)?;
    one_scale(region, call, &of)?;
    let out = region.same(call)?;
    let module = &region.build.module;
    let n = module.types.as_tuple(module.ty(out)).ok_or("the result of a split is no tuple")?.len();
    Ok((out, AffineType::Tuple(vec![of.ty; n])))
}

/// An operator of `qnn` that gets scale and zero point of its operand and of its result.
fn rescaled(region: &mut Region, call: &Call, def: &OpDef, to: TensorAffineType) -> Applied {
    let Quantized { expr, ty } = region.operand(call, 0)?;
    let operands = [expr, ty.scale, ty.zero_point, to.scale, to.zero_point];
    let out = region.build.call(def, &operands, call.attrs_for(def, &[]))?;
    region.build.typed(out, to)
}

fn joined(region: &mut Region, call: &Call, def: &OpDef) -> Applied {
    let (expr, types) = region.fields(call)?;
    let to = region.wanted()?;
    let build = &mut region.build;
    let numbers = [|ty: &TensorAffineType| ty.scale, |ty: &TensorAffineType| ty.zero_point];
    let [scales, zero_points] =
        numbers.map(|number| tuple(build.module, build.span, &types.iter().map(number).collect::<Vec<ExprId>>()));
    let out = build.call(def, &[expr, scales, zero_points, to.scale, to.zero_point], call.attrs_for(def, &[]))?;
    build.typed(out, to)
}

/// The operands of a function of two tensors, and the affine type of its result.
fn operands(region: &mut Region, call: &Call) -> Result<(Quantized, Quantized, TensorAffineType), String> {
    let (x, y) = match (region.any_operand(call, 0)?, region.any_operand(call, 1)?) {
        (Operand::Quantized(x), Operand::Quantized(y)) => (x, y),
        (Operand::Quantized(x), Operand::Constant(y)) => (x, quantized_like(region, y, &x)?),
        (Operand::Constant(x), Operand::Quantized(y)) => (quantized_like(region, x, &y)?, y),
        (Operand::Constant(_), Operand::Constant(_)) => return Err(format!("no operand of `{}` is quantized", call.def.name)),
    };
    let wanted = region.wanted()?;
    // The result has the operands' dtype, so that another dtype's zero point would saturate it.
    Ok((x, y, if x.ty.dtype == wanted.dtype { wanted } else { x.ty }))
}

/// A constant in the affine type of a tensor that it is broadcast with: their axes are counted from the end.
fn quantized_like(region: &mut Region, constant: ExprId, like: &Quantized) -> Result<Quantized, String> {
    let mut ty = like.ty;
    if region.build.channels(&ty).is_some() {
        ty.axis = region.build.axis(like)? as i64 - region.build.rank(like.expr)? as i64;
    }
    Ok(Quantized { expr: region.build.quantized(constant, &ty)?, ty })
}

fn binary(region: &mut Region, call: &Call, def: &OpDef) -> Applied {
    let (x, y, to) = operands(region, call)?;
    if call.def.name == ADD.name && is_bias(region, &x, &y, &to)? {
        let out = region.build.call(&ADD, &[x.expr, y.expr], vec![])?;
        return region.build.typed(out, x.ty);
    }
    let numbers = [x.ty.scale, x.ty.zero_point, y.ty.scale, y.ty.zero_point, to.scale, to.zero_point];
    let operands: Vec<ExprId> = [x.expr, y.expr].into_iter().chain(numbers).collect();
    let axes = [("lhs_axis", AttrValue::int(x.ty.axis)), ("rhs_axis", AttrValue::int(y.ty.axis))];
    let out = region.build.call(def, &operands, call.attrs_for(def, &axes))?;
    region.build.typed(out, to)
}

/// Whether a sum is one of int32 whose scales are equal and zero points 0: it has room for the sum, and its scales may be those of
/// channels, which no operator of `qnn` takes for a result.
fn is_bias(region: &Region, x: &Quantized, y: &Quantized, to: &TensorAffineType) -> Result<bool, String> {
    let build = &region.build;
    let from_end = |of: &Quantized| Ok::<i64, String>(build.axis(of)? as i64 - build.rank(of.expr)? as i64);
    let aligned = build.channels(&x.ty).is_none() || from_end(x)? == from_end(y)?;
    let zero = value_of(build.module, to.zero_point).is_some_and(|zero| zero.to_ints().iter().all(|&zero| zero == 0));
    Ok(x.ty.dtype == DType::I32 && aligned && zero && build.is_same(&x.ty, &y.ty) && build.is_same(&x.ty, to))
}

fn choice(region: &mut Region, call: &Call) -> Applied {
    let (x, y, to) = operands(region, call)?;
    let operands = [region.build.converted(&x, &to)?, region.build.converted(&y, &to)?];
    let out = region.build.call(call.def, &operands, vec![])?;
    region.build.typed(out, to)
}

/// The affine type of sums of products, whose channels are on an axis.
fn summed(region: &mut Region, x: &Quantized, w: &Quantized, axis: i64) -> Result<TensorAffineType, String> {
    let scale = region.build.number(&MULTIPLY, &[x.ty.scale, w.ty.scale], &[])?;
    let zeros = region.build.number(&ZEROS_LIKE, &[scale], &[])?;
    let zero_point = region.build.cast(zeros, DType::I32)?;
    Ok(TensorAffineType { scale, zero_point, dtype: DType::I32, axis })
}

fn multiplied(region: &mut Region, call: &Call, def: &OpDef, x: &Quantized, w: &Quantized) -> Result<ExprId, String> {
    let operands = [x.expr, w.expr, x.ty.zero_point, w.ty.zero_point, x.ty.scale, w.ty.scale];
    region.build.call(def, &operands, call.attrs_for(def, &[("out_dtype", dtype_value(DType::I32))]))
}

fn product(region: &mut Region, call: &Call, def: &OpDef) -> Applied {
    let (x, w) = (region.operand(call, 0)?, region.operand(call, 1)?);
    let out = multiplied(region, call, def, &x, &w)?;
    let axis_of = |layout: &str, letter: char| Layout::parse(layout).ok().and_then(|layout| layout.axis(letter));
    let layout = call.text("out_layout").filter(|layout| !layout.is_empty()).or_else(|| call.text("data_layout"));
    let (axis, of_weights) = match (layout, call.text("kernel_layout")) {
        (Some(layout), Some(weights)) => (axis_of(layout, 'C'), axis_of(weights, 'O')),
        // Rows of weights are the last axis of the result.
        _ => (region.build.rank(out)?.checked_sub(1), Some(0)),
    };
    let axis = axis.ok_or("the layout has no axis of channels")?;
    if region.build.channels(&w.ty).is_some() && Some(region.build.axis(&w)?) != of_weights {
        return Err(format!("the scales of weights of `{}` are not those of its outputs", call.def.name));
    }
    let ty = summed(region, &x, &w, axis as i64)?;
    region.build.typed(out, ty)
}

fn batch_product(region: &mut Region, call: &Call, def: &OpDef) -> Applied {
    let (x, y) = (region.operand(call, 0)?, region.operand(call, 1)?);
    let out = multiplied(region, call, def, &x, &y)?;
    let ty = summed(region, &x, &y, x.ty.axis)?;
    region.build.typed(out, ty)
}

fn mean_int32(region: &mut Region, call: &Call) -> Applied {
    let (of, to) = (region.operand(call, 0)?, region.wanted()?);
    let same = region.build.is_same(&of.ty, &to) && region.build.channels(&of.ty).is_none();
    let wide = match same {
        true => region.build.cast(of.expr, DType::I32)?,
        false => region.build.requantized(&of, &to, DType::I32)?,
    };
    let out = region.build.call(call.def, &[wide], call.attrs.clone())?;
    region.build.typed(out, TensorAffineType { dtype: DType::I32, ..to })
}

fn mean(region: &mut Region, call: &Call) -> Applied {
    let of = region.operand(call, 0)?;
    one_scale(region, call, &of)?;
    let wide = region.build.cast(of.expr, DType::I32)?;
    let mean = region.build.call(call.def, &[wide], call.attrs.clone())?;
    let out = region.build.cast(mean, of.ty.dtype)?;
    region.build.typed(out, of.ty)
}

fn bias(region: &mut Region, call: &Call) -> Applied {
    let of = region.operand(call, 0)?;
    let axis = call.attr("axis").and_then(AttrValue::as_int).unwrap_or(1);
    let channels = Quantized { ty: TensorAffineType { axis, ..of.ty }, ..of };
    if region.build.channels(&of.ty).is_some() && region.build.axis(&channels)? != region.build.axis(&of)? {
        return Err("the scales are not those of the bias".into());
    }
    let to = TensorAffineType { axis: 0, ..of.ty };
    second(region, call, of, &to)
}

fn padded(region: &mut Region, call: &Call) -> Applied {
    let of = region.operand(call, 0)?;
    one_scale(region, call, &of)?;
    second(region, call, of, &of.ty)
}

/// The same call, its second operand in an affine type.
fn second(region: &mut Region, call: &Call, of: Quantized, to: &TensorAffineType) -> Applied {
    let other = match region.any_operand(call, 1)? {
        Operand::Quantized(other) => region.build.converted(&other, to)?,
        Operand::Constant(constant) => region.build.quantized(constant, to)?,
    };
    let out = region.build.call(call.def, &[of.expr, other], call.attrs.clone())?;
    region.build.typed(out, of.ty)
}

fn clipped(region: &mut Region, call: &Call) -> Applied {
    let of = region.operand(call, 0)?;
    let ClipAttrs { a_min, a_max } = ClipAttrs::read(&call.attrs);
    let module = &region.build.module;
    let out = match (number(module, of.ty.scale), number(module, of.ty.zero_point)) {
        (Some(scale), Some(zero)) => {
            let bound = |limit: f64| AttrValue::float((limit / scale + zero).trunc());
            region.build.with(&CLIP, &[of.expr], &[("a_min", bound(a_min)), ("a_max", bound(a_max))])?
        }
        _ => {
            let mut out = of.expr;
            for (limit, def) in [(a_min, &MAXIMUM), (a_max, &MINIMUM)] {
                let limit = region.build.cx.constant(region.build.module, region.build.span, Tensor::scalar(limit as f32));
                let limit = region.build.along(limit, &of)?;
                let limit = region.build.quantized(limit, &of.ty)?;
                out = region.build.with(def, &[out, limit], &[])?;
            }
            out
        }
    };
    region.build.typed(out, of.ty)
}

fn rectified(region: &mut Region, call: &Call) -> Applied {
    let of = region.operand(call, 0)?;
    let zero = region.build.along(of.ty.zero_point, &of)?;
    let own = region.build.cast(zero, of.ty.dtype)?;
    let ints = |expr| value_of(region.build.module, expr).map(Tensor::to_ints);
    if ints(zero) != ints(own) {
        return Err(format!("the zero point is no {}", of.ty.dtype));
    }
    let out = region.build.call(&MAXIMUM, &[of.expr, own], vec![])?;
    region.build.typed(out, of.ty)
}
