//! Quantizes a float32 program: products of constant weights get data and weights of 8 bits, written as `qnn.quantize` and
//! `qnn.dequantize` around what they were.
//!
//! The text stays one that a person can read and that means what it says: every conversion is an operator. Where a machine has
//! products of bytes, `integer-products` makes integers of it. Data is unsigned with one scale and zero point, weights
//! are signed with a scale for each output (Krishnamoorthi, *Quantizing deep convolutional networks for efficient inference*, 2018).
//!
//! Not a pass of the pipeline, because it needs the ranges that activations have.

use super::build::{ExprKey, PassCx, args, dims, dtype, value_of};
use super::rewrite::rewrite;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId, ExprKind, GlobalId, Module};
use relayc_ops::declarations::{
    ADD, CLIP, CONV2D, Conv2dAttrs, DENSE, DEQUANTIZE, MATMUL, MAX_POOL2D, MatmulAttrs, QUANTIZE, RELU,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Whether operand and result of a call have one scale, because the elements of the one are among those of the other.
pub(crate) fn keeps_scale(module: &Module, cx: &PassCx, expr: ExprId) -> bool {
    cx.moves(module, expr) || cx.calls(module, expr, &MAX_POOL2D)
}

/// An activation that is to be quantized.
#[derive(Clone, Copy, Debug)]
pub struct Activation {
    pub expr: ExprId,
    /// The number of the activation whose scale it has: its own, or that of what it only moves.
    pub scale_of: usize,
}

/// The scale and the zero point of an activation of uint8.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    pub scale: f32,
    pub zero: i32,
}

/// The operators of a program that can be quantized, and what they read.
pub struct Candidates {
    /// In the order of evaluation; `scale_of` is never behind.
    pub activations: Vec<Activation>,
    pub products: FxHashSet<ExprId>,
    /// Whether there are products in inner functions or clauses, whose values the end of the entry cannot name.
    pub has_inner: bool,
    /// A product with weights that have no range: NaN or an infinity is among them.
    pub unbounded: Option<ExprId>,
}

/// The axis of a weight that its outputs lie on; `None` if the call is no product of constant weights.
fn output_axis(module: &Module, cx: &PassCx, expr: ExprId) -> Option<usize> {
    let def = cx.called(module, expr)?;
    let &[data, weight] = &args(module, expr)[..] else { return None };
    let rank = value_of(module, weight)?.rank();
    let floats = [data, weight, expr].iter().all(|&tensor| dtype(module, tensor) == Some(DType::F32));
    floats.then_some(())?;
    match def.name {
        name if name == CONV2D.name => {
            let of = Conv2dAttrs::read(module.call_attrs(expr));
            let channels = dims(module, expr)?.get(1)?.value();
            let plain = of.data_layout == "NCHW" && of.kernel_layout == "OIHW" && ["", "NCHW"].contains(&of.out_layout.as_str());
            (plain && (of.groups == 1 || Some(of.groups) == channels)).then_some(0)
        }
        name if name == DENSE.name => (rank == 2).then_some(0),
        name if name == MATMUL.name => {
            let MatmulAttrs { transpose_a, transpose_b, .. } = MatmulAttrs::read(module.call_attrs(expr));
            (rank == 2 && !transpose_a).then_some(usize::from(!transpose_b))
        }
        _ => None,
    }
}

/// What can be quantized in a function: the data of products, and what is added to the results of others.
pub fn candidates(module: &Module, cx: &PassCx, entry: GlobalId) -> Candidates {
    let mut order = module.evaluation_order(&[module.funcs[module.globals[entry].func].body]);
    let outer = outer(module, entry);
    let has_inner = order.iter().any(|expr| !outer.contains(expr) && output_axis(module, cx, *expr).is_some());
    order.retain(|expr| outer.contains(expr));
    let mut wanted: FxHashSet<ExprKey> = FxHashSet::default();
    let (mut products, mut unbounded) = (FxHashSet::default(), None);
    for &expr in order.iter().rev() {
        let is_wanted = wanted.contains(&ExprKey::of(module, expr));
        let operands = args(module, expr);
        if output_axis(module, cx, expr).is_some() {
            products.insert(expr);
            let weights = value_of(module, operands[1]).and_then(|weight| weight.to_vec::<f32>());
            if weights.is_some_and(|weights| !weights.iter().all(|weight| weight.is_finite())) {
                unbounded = Some(expr);
            }
            wanted.insert(ExprKey::of(module, operands[0]));
        }
        if !is_wanted {
            continue;
        }
        if keeps_scale(module, cx, expr) {
            wanted.insert(ExprKey::of(module, operands[0]));
        }
        // A sum of two results, before its activation.
        let sum = if cx.calls_any(module, expr, &[&RELU, &CLIP]) { operands[0] } else { expr };
        if cx.calls(module, sum, &ADD) && args(module, sum).iter().all(|&term| value_of(module, term).is_none()) {
            wanted.extend(args(module, sum).into_iter().map(|term| ExprKey::of(module, term)));
        }
    }
    let mut activations: Vec<Activation> = vec![];
    let mut known: FxHashMap<ExprKey, usize> = FxHashMap::default();
    for &expr in &order {
        let key = ExprKey::of(module, expr);
        let is_new = wanted.contains(&key) && !known.contains_key(&key);
        if !is_new || dtype(module, expr) != Some(DType::F32) || value_of(module, expr).is_some() {
            continue;
        }
        let moved = keeps_scale(module, cx, expr).then(|| known.get(&ExprKey::of(module, args(module, expr)[0])));
        let scale_of = moved.flatten().map_or(activations.len(), |&from| activations[from].scale_of);
        known.insert(key, activations.len());
        activations.push(Activation { expr, scale_of });
    }
    Candidates { activations, products, has_inner, unbounded }
}

/// The expressions of the entry that its end can name: outside of inner functions, of clauses, and of bodies of a `let` inside an
/// operand or a branch.
fn outer(module: &Module, entry: GlobalId) -> FxHashSet<ExprId> {
    let body = module.funcs[module.globals[entry].func].body;
    let mut spine = FxHashSet::default();
    let mut end = body;
    while let ExprKind::Let { body, .. } = module.exprs[end].kind {
        spine.insert(end);
        end = body;
    }
    let (mut outer, mut stack) = (FxHashSet::default(), vec![body]);
    while let Some(expr) = stack.pop() {
        if !outer.insert(expr) {
            continue;
        }
        match module.exprs[expr].kind {
            ExprKind::Fn(_) => {}
            ExprKind::Match { scrutinee, .. } => stack.push(scrutinee),
            ExprKind::Let { value, .. } if !spine.contains(&expr) => stack.push(value),
            _ => module.children(expr, &mut stack),
        }
    }
    outer
}

/// Quantizes activations and the weights of products. Returns what stands for each activation: the dequantized integers.
pub fn apply(
    module: &mut Module,
    cx: &PassCx,
    activations: &[(Activation, Scale)],
    products: &FxHashSet<ExprId>,
    per_channel: bool,
) -> Option<Vec<ExprId>> {
    let of: FxHashMap<ExprKey, usize> =
        activations.iter().enumerate().map(|(at, (one, _))| (ExprKey::of(module, one.expr), at)).collect();
    let mut quantized: Vec<Option<ExprId>> = vec![None; activations.len()];
    rewrite(module, |module, expr| {
        let key = ExprKey::of(module, expr);
        let axis = output_axis(module, cx, expr).filter(|_| products.contains(&expr));
        let product = axis.and_then(|axis| with_weights(module, cx, expr, axis, per_channel));
        let Some(&at) = of.get(&key) else { return product };
        let number = |module: &mut Module, tensor: Tensor| cx.constant(module, module.exprs[expr].span, tensor);
        if let Some(done) = quantized[at] {
            return Some(done);
        }
        let Scale { scale, zero } = activations[at].1;
        let (scale, zero) = (number(module, Tensor::scalar(scale)), number(module, Tensor::scalar(zero)));
        let (span, data) = (module.exprs[expr].span, product.unwrap_or(expr));
        let out = |dtype| AttrValue::DType(Some(dtype));
        let q = cx.typed_call(
            module,
            span,
            &QUANTIZE,
            &[data, scale, zero],
            QUANTIZE.attrs?.values(&[("out_dtype", out(DType::U8))]),
        )?;
        let values = DEQUANTIZE.attrs?.values(&[("out_dtype", out(DType::F32))]);
        quantized[at] = cx.typed_call(module, span, &DEQUANTIZE, &[q, scale, zero], values);
        quantized[at]
    });
    quantized.into_iter().collect()
}

/// The product with dequantized weights.
fn with_weights(module: &mut Module, cx: &PassCx, product: ExprId, axis: usize, per_channel: bool) -> Option<ExprId> {
    let [data, weight] = args(module, product).try_into().ok()?;
    let (span, def) = (module.exprs[product].span, cx.called(module, product)?);
    let value = value_of(module, weight)?.clone();
    let floats = value.to_vec::<f32>()?;
    let n_outputs = if per_channel { value.shape()[axis] } else { 1 };
    let inner: usize = value.shape()[axis + 1..].iter().product();
    let output = |at: usize| if per_channel { at / inner % n_outputs } else { 0 };
    let mut largest = vec![0f32; n_outputs];
    for (at, float) in floats.iter().enumerate() {
        largest[output(at)] = largest[output(at)].max(float.abs());
    }
    let scales: Vec<f32> = largest.iter().map(|&most| if most.is_normal() { most / 127.0 } else { 1.0 }).collect();
    let ints: Vec<i8> =
        floats.iter().enumerate().map(|(at, float)| (float / scales[output(at)]).round_ties_even() as i8).collect();
    let ints = cx.constant(module, span, Tensor::from_vec(value.shape(), ints));
    let scales = if per_channel { Tensor::from_vec(&[n_outputs], scales) } else { Tensor::scalar(scales[0]) };
    let scale = cx.constant(module, span, scales);
    let zero = cx.constant(module, span, Tensor::scalar(0i32));
    let values =
        DEQUANTIZE.attrs?.values(&[("out_dtype", AttrValue::DType(Some(DType::F32))), ("axis", AttrValue::int(axis as i64))]);
    let weights = cx.typed_call(module, span, &DEQUANTIZE, &[ints, scale, zero], values)?;
    let values = module.call_attrs(product).to_vec();
    cx.typed_call(module, span, def, &[data, weights], values)
}
