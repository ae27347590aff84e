//! Moves a multiplication of each channel by a constant into constant weights, before or behind it: TVM's `FoldScaleAxis`, both
//! directions (`src/relay/transforms/fold_scale_axis.cc`). The addition that a batch normalisation leaves becomes part of the
//! bias.
//!
//! The rewrite is sound because a product is linear in its weight. Behind: `conv(x, W) * s == conv(x, W')` with
//! `W'(o, …) == s(o) * W(o, …)`. Before: `conv(x * s, W) == conv(x, W')` with `W'(o, i, …) == s(i) * W(o, i, …)`, where padding is 0
//! either way.
//! The factor moves through operators that commute with it: additions of constants, pools, zero padding, concatenation and
//! layouts. It moves through `max(x, 0)` and similar operators where no factor is negative. The added constants are multiplied
//! too, or divided where the factor is taken out of their sum. The order of rounding changes, not the sums: every weight is
//! multiplied in f64 by all its factors and rounded once.
//!
//! A factor that does not reach a weight on every path stays where it is. Values with other uses stay, and so do weights that
//! several products share. Factors that would bring weights near the limits of their dtype stay.
//!
//! ```text
//! %0 = nn.conv2d(%x, W);  %1 = multiply(%0, s);  add(%1, t)    →    %0 = nn.conv2d(%x, W');  add(%0, t)
//! ```

mod bias;
mod product;
mod scale;
mod walk;

use super::build::{args, consts_of_attrs, dtype, largest, least_normal, value_of};
use super::rewrite::rewrite_with;
use super::users::Users;
use super::{Pass, PassCx};
use product::{Product, open_shape};
use relayc_ir::tensor::Tensor;
use relayc_ir::{ConstId, ExprId, ExprKind, Module, Operand};
use relayc_ops::declarations::{DIVIDE, MULTIPLY};
use rustc_hash::{FxHashMap, FxHashSet};
use scale::Scale;

pub(crate) const PASS: Pass = Pass {
    name: "fold-scale-axis",
    doc: "Moves multiplications of channels by constants into the weights of the products before or behind them. Additions that \
          follow each other behind a product become one bias.",
    level: 1,
    reorders_terms: true,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

/// Factors of more elements are not followed.
const MAX_FACTORS: usize = 1 << 16;

/// All walks together take so many steps for each expression, and some more.
const STEPS_EACH: usize = 64;
const STEPS_AT_LEAST: usize = 100_000;

/// Weights up to so many elements are scaled even where another product has them too.
const SMALL_WEIGHT: usize = 1 << 12;

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let (users, order) = Users::of(module);
    let n_mentions = mentions(module, &users, &order);
    let steps_left = STEPS_EACH * order.len() + STEPS_AT_LEAST;
    let mut fold = Fold { cx, users, bypassed: FxHashMap::default(), pending: FxHashMap::default(), n_mentions, steps_left };
    for &expr in &order {
        if let Some((data, scale)) = fold.multiplication(module, expr)
            && fold.backward(module, expr, data, &scale)
        {
            fold.bypass(expr, data);
        }
    }
    for &expr in order.iter().rev() {
        if fold.bypassed.contains_key(&expr) {
            continue;
        }
        if let Some((data, scale)) = fold.multiplication(module, expr)
            && fold.forward(module, expr, &scale)
        {
            fold.bypass(expr, data);
        }
    }
    fold.merge_biases(module, &order);
    let scales = !fold.pending.is_empty();
    fold.scale_weights(module, &order);
    let bypassed = fold.bypassed;
    rewrite_with(module, |_, replaced, expr| bypassed.get(&expr).map(|&data| replaced.get(data))) || scales
}

/// How often each constant is mentioned, by attributes too.
fn mentions(module: &Module, users: &Users, order: &[ExprId]) -> FxHashMap<ConstId, usize> {
    let mut n_mentions: FxHashMap<ConstId, usize> = FxHashMap::default();
    for &expr in order {
        if let ExprKind::Const(id) = module.exprs[expr].kind {
            *n_mentions.entry(id).or_default() += users.list(expr).len() + usize::from(users.is_result(expr));
        }
    }
    consts_of_attrs(module).for_each(|id| *n_mentions.entry(id).or_default() += 1);
    n_mentions
}

/// The planned changes of a program.
struct Fold<'a> {
    cx: &'a PassCx<'a>,
    users: Users,
    /// The operands of removed multiplications.
    bypassed: FxHashMap<ExprId, ExprId>,
    /// The factors of products' weights.
    pending: FxHashMap<ExprId, Pending>,
    /// How often a constant is mentioned.
    n_mentions: FxHashMap<ConstId, usize>,
    /// How much may still be walked.
    steps_left: usize,
}

/// Factors of a weight.
#[derive(Default)]
struct Pending {
    outputs: Option<Vec<f64>>,
    inputs: Option<Vec<f64>>,
}

/// The end of a factor's path, or a change on its way.
enum Change {
    Outputs(ExprId, Vec<f64>),
    Inputs(ExprId, Vec<f64>),
    /// Replaces an operand by a constant.
    Operand(ExprId, usize, Tensor),
}

impl Change {
    /// The place of the change: the outputs or the inputs of a product's weight, or an operand of a call.
    fn place(&self) -> (ExprId, usize) {
        match self {
            Change::Outputs(product, _) => (*product, 0),
            Change::Inputs(product, _) => (*product, 1),
            Change::Operand(call, at, _) => (*call, 2 + at),
        }
    }
}

impl Fold<'_> {
    /// The operands of a call as they are by now.
    fn args(&self, module: &Module, expr: ExprId) -> Vec<ExprId> {
        args(module, expr).into_iter().map(|arg| self.resolve(arg)).collect()
    }

    fn resolve(&self, mut expr: ExprId) -> ExprId {
        while let Some(&data) = self.bypassed.get(&expr) {
            expr = data;
        }
        expr
    }

    fn bypass(&mut self, expr: ExprId, data: ExprId) {
        self.users.bypass(expr, data);
        self.bypassed.insert(expr, data);
    }

    /// A multiplication of a tensor by a constant for each channel: the tensor and the factors.
    fn multiplication(&self, module: &Module, expr: ExprId) -> Option<(ExprId, Scale)> {
        let divides = self.cx.calls(module, expr, &DIVIDE);
        if !divides && !self.cx.calls(module, expr, &MULTIPLY) {
            return None;
        }
        let [lhs, rhs] = self.args(module, expr).try_into().ok()?;
        let (data, constant) = match (value_of(module, lhs), value_of(module, rhs)) {
            (None, Some(constant)) => (lhs, constant),
            (Some(constant), None) if !divides => (rhs, constant),
            _ => return None,
        };
        if !constant.dtype().is_float() || constant.len() > MAX_FACTORS {
            return None;
        }
        let scale = Scale::of(constant, &open_shape(module, data)?)?;
        let scale = if divides { scale.inverse() } else { scale };
        scale.is_moderate(constant.dtype()).then_some((data, scale))
    }

    /// A product whose weight may be changed.
    fn product(&self, module: &Module, expr: ExprId) -> Option<Product> {
        let product = Product::of(module, self.cx, expr)?;
        let ExprKind::Const(id) = module.exprs[args(module, expr)[1]].kind else { return None };
        let own = self.n_mentions.get(&id) == Some(&1) || module.consts[id].len() <= SMALL_WEIGHT;
        own.then_some(product)
    }

    /// Makes changes, except in two cases: a weight or its factors would become too large or too small, or two paths of a walk
    /// reach one place. In the second case each change knows only its own part of the factors that meet there.
    fn apply(&mut self, module: &mut Module, changes: Vec<Change>) -> bool {
        let mut places = FxHashSet::default();
        if !changes.iter().all(|change| places.insert(change.place())) {
            return false;
        }
        let combined = |all: Option<&Vec<f64>>, factors: &[f64]| match all {
            Some(all) => all.iter().zip(factors).map(|(all, factor)| all * factor).collect(),
            None => factors.to_vec(),
        };
        let mut products = Vec::new();
        for change in &changes {
            let (product, factors, of_outputs) = match change {
                Change::Outputs(product, factors) => (*product, factors, true),
                Change::Inputs(product, factors) => (*product, factors, false),
                Change::Operand(..) => continue,
            };
            let pending = self.pending.get(&product);
            let all = pending.and_then(|pending| if of_outputs { pending.outputs.as_ref() } else { pending.inputs.as_ref() });
            let scale = Scale { shape: vec![factors.len()], factors: combined(all, factors) };
            let other = pending.and_then(|pending| if of_outputs { pending.inputs.as_ref() } else { pending.outputs.as_ref() });
            let moderate = dtype(module, product).is_some_and(|dtype| scale.is_moderate(dtype));
            if !moderate || !holds(module, product, &[Some(&scale.factors), other]) {
                return false;
            }
            products.push((product, scale.factors, of_outputs));
        }
        for (product, factors, of_outputs) in products {
            let pending = self.pending.entry(product).or_default();
            *(if of_outputs { &mut pending.outputs } else { &mut pending.inputs }) = Some(factors);
        }
        for change in changes {
            if let Change::Operand(call, at, value) = change {
                let constant = self.cx.constant(module, module.exprs[args(module, call)[at]].span, value);
                set_operand(module, call, at, constant);
            }
        }
        true
    }

    /// Multiplies the weights, each once. One that nobody else has is changed in place.
    fn scale_weights(&mut self, module: &mut Module, order: &[ExprId]) {
        for &expr in order {
            let Some(pending) = self.pending.remove(&expr) else { continue };
            let Some(product) = Product::of(module, self.cx, expr) else { continue };
            let old = args(module, expr)[1];
            let ExprKind::Const(id) = module.exprs[old].kind else { continue };
            let own = self.n_mentions.get(&id) == Some(&1);
            let weight =
                if own { std::mem::replace(&mut module.consts[id], Tensor::scalar(false)) } else { module.consts[id].clone() };
            let scaled = product.scaled(weight, pending.outputs.as_deref(), pending.inputs.as_deref());
            let scaled = scaled.expect("weights of products are floats");
            let constant = self.cx.constant(module, module.exprs[old].span, scaled);
            set_operand(module, expr, 1, constant);
        }
    }
}

/// Whether the dtype of a product's weight holds it when it is multiplied by these factors: each number is finite, and the largest does
/// not lose its digits.
fn holds(module: &Module, product: ExprId, factors: &[Option<&Vec<f64>>]) -> bool {
    let Some(weight) = args(module, product).get(1).and_then(|&weight| value_of(module, weight)) else { return false };
    let sizes =
        |factors: &Vec<f64>| factors.iter().fold((f64::INFINITY, 0f64), |(low, high), x| (low.min(x.abs()), high.max(x.abs())));
    let ends = factors.iter().flatten().map(|factors| sizes(factors)).fold((1.0, 1.0), |all, own| (all.0 * own.0, all.1 * own.1));
    let (least, most) = (least_normal(weight.dtype()) / ends.0, largest(weight.dtype()) / ends.1);
    !weight.any(|x| x.abs() > most, |_| false)
        && (weight.any(|x| x.abs() >= least, |_| false) || !weight.any(|x| x != 0.0, |_| false))
}

/// Puts another operand into a call.
fn set_operand(module: &mut Module, call: ExprId, at: usize, operand: ExprId) {
    let ExprKind::Call { callee, args, attrs } = module.exprs[call].kind else { return };
    let mut operands: Vec<Operand> = module.items(args).to_vec();
    operands[at].expr = operand;
    let args = module.operands(&operands);
    module.exprs[call].kind = ExprKind::Call { callee, args, attrs };
}
