//! Follows the paths of a factor: back to the products that compute a value, and on to its users.

use super::product::open_shape;
use super::scale::Scale;
use super::{Change, Fold};
use crate::build::value_of;
use relayc_ir::{ExprId, ExprKind, Module};
use relayc_ops::OpDef;
use relayc_ops::declarations::{
    ADD, AVG_POOL1D, AVG_POOL2D, AVG_POOL3D, BATCH_FLATTEN, BIAS_ADD, BiasAddAttrs, CONCATENATE, ConcatenateAttrs, EXPAND_DIMS,
    GLOBAL_AVG_POOL2D, GLOBAL_MAX_POOL2D, GlobalPool2dAttrs, LAYOUT_TRANSFORM, LEAKY_RELU, Layout, LayoutTransformAttrs,
    MAX_POOL1D, MAX_POOL2D, MAX_POOL3D, MULTIPLY, MaxPool2dAttrs, PAD, PRELU, PadAttrs, RELU, RESHAPE, SQUEEZE, SUBTRACT,
    TRANSPOSE, TransposeAttrs,
};

/// The number of expressions that one factor may pass, and the number on its way to another multiplication. A multiplication that
/// stays blocks the next one, so a long chain of multiplications is not walked again for each of them.
const MAX_STEPS: usize = 1000;
const MAX_STEPS_TO_FACTORS: usize = 8;

/// The effect of an expression on a factor that reaches it.
enum Step {
    /// The factor continues: back to operand 0, or on to the users of the result.
    Pass(Scale),
    /// The factor continues to the operand that is not constant, and the constant operand changes.
    PassWith(Scale, ExprId, Change),
    /// The factor ends here.
    End(Change),
    /// Back only: the factor continues to each field of a tuple.
    Fields(ExprId, Vec<Scale>),
}

/// Which way a factor goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Back,
    On,
}

impl Fold<'_> {
    /// Tries to move the factors by which `user` multiplies `data` back into the products that compute `data`. Says whether it
    /// did.
    pub(super) fn backward(&mut self, module: &mut Module, user: ExprId, data: ExprId, scale: &Scale) -> bool {
        let mut work = vec![(data, user, scale.clone())];
        let mut changes = Vec::new();
        let mut n_steps = 0;
        while let Some((expr, user, scale)) = work.pop() {
            n_steps += 1;
            if !self.may_step(n_steps) || !self.users.only(expr, user) {
                return false;
            }
            match self.step_back(module, expr, &scale) {
                None => return false,
                Some(Step::End(Change::Operand(..))) if n_steps > MAX_STEPS_TO_FACTORS => return false,
                Some(Step::End(change)) => changes.push(change),
                Some(Step::Pass(scale)) => work.push((self.args(module, expr)[0], expr, scale)),
                Some(Step::PassWith(scale, data, change)) => {
                    changes.push(change);
                    work.push((data, expr, scale));
                }
                Some(Step::Fields(tuple, scales)) => {
                    if !self.users.only(tuple, expr) {
                        return false;
                    }
                    work.extend(self.args(module, tuple).into_iter().zip(scales).map(|(field, scale)| (field, tuple, scale)));
                }
            }
        }
        self.apply(module, changes)
    }

    /// Counts a step of a walk.
    fn may_step(&mut self, n_steps: usize) -> bool {
        self.steps_left = self.steps_left.saturating_sub(1);
        n_steps <= MAX_STEPS && self.steps_left > 0
    }

    /// Tries to move the factors of a multiplication into all users of its result. Says whether it did.
    pub(super) fn forward(&mut self, module: &mut Module, multiplication: ExprId, scale: &Scale) -> bool {
        let mut work = vec![(multiplication, scale.clone())];
        let mut changes = Vec::new();
        let mut n_steps = 0;
        while let Some((expr, scale)) = work.pop() {
            if self.users.is_result(expr) || self.users.list(expr).is_empty() {
                return false;
            }
            for at in 0..self.users.list(expr).len() {
                n_steps += 1;
                if !self.may_step(n_steps) {
                    return false;
                }
                let user = self.users.list(expr)[at];
                let ends = self.cx.calls(module, user, &MULTIPLY);
                match self.step_on(module, expr, user, &scale, &mut work) {
                    None => return false,
                    Some(_) if ends && n_steps > MAX_STEPS_TO_FACTORS => return false,
                    Some(change) => changes.extend(change),
                }
            }
        }
        self.apply(module, changes)
    }

    fn step_back(&self, module: &Module, expr: ExprId, scale: &Scale) -> Option<Step> {
        if let Some(product) = self.product(module, expr) {
            return Some(Step::End(Change::Outputs(expr, product.outputs(scale)?)));
        }
        if self.cx.calls(module, expr, &CONCATENATE) {
            return self.concatenate_back(module, expr, scale);
        }
        self.step(module, expr, scale, Way::Back)
    }

    /// The changes at a user of `expr`; further values whose users have to take factors go to `work`.
    fn step_on(
        &self,
        module: &Module,
        expr: ExprId,
        user: ExprId,
        scale: &Scale,
        work: &mut Vec<(ExprId, Scale)>,
    ) -> Option<Option<Change>> {
        if let ExprKind::Tuple(_) = module.exprs[user].kind {
            for &call in self.users.list(user) {
                work.push((call, self.concatenate_on(module, expr, user, call, scale)?));
            }
            return (!self.users.is_result(user)).then_some(None);
        }
        let operands = self.args(module, user);
        if operands.first() == Some(&expr)
            && let Some(product) = self.product(module, user)
        {
            return Some(Some(Change::Inputs(user, product.inputs(scale)?)));
        }
        match self.step(module, user, scale, Way::On)? {
            Step::Pass(_) if operands.first() != Some(&expr) => return None,
            Step::Pass(scale) => work.push((user, scale)),
            Step::PassWith(scale, _, change) => {
                work.push((user, scale));
                return Some(Some(change));
            }
            Step::End(change) => return Some(Some(change)),
            Step::Fields(..) => return None,
        }
        Some(None)
    }

    /// The operators that commute with a factor, in both directions. `scale` has the axes of the result on the way back, and of
    /// the operand on the way on.
    fn step(&self, module: &Module, expr: ExprId, scale: &Scale, way: Way) -> Option<Step> {
        let is = |defs: &[&OpDef]| self.cx.calls_any(module, expr, defs);
        if is(&[&ADD, &SUBTRACT, &BIAS_ADD, &MULTIPLY]) {
            return self.arithmetic(module, expr, scale, way);
        }
        // max(x, 0) * s == max(x * s, 0), and a slope below 0 is linear.
        if is(&[&RELU, &LEAKY_RELU, &PRELU]) {
            let own = self.args(module, expr).get(1).is_none_or(|&slopes| value_of(module, slopes).is_some());
            return (own && scale.is_positive()).then(|| Step::Pass(scale.clone()));
        }
        if is(&[&MAX_POOL1D, &MAX_POOL2D, &MAX_POOL3D, &AVG_POOL1D, &AVG_POOL2D, &AVG_POOL3D]) {
            return self.pool(module, expr, scale);
        }
        if is(&[&GLOBAL_AVG_POOL2D, &GLOBAL_MAX_POOL2D]) {
            let layout = Layout::parse(&GlobalPool2dAttrs::read(module.call_attrs(expr)).layout).ok()?;
            let even = scale.is_even_along(spatial_axes(&layout));
            return (even && (is(&[&GLOBAL_AVG_POOL2D]) || scale.is_positive())).then(|| Step::Pass(scale.clone()));
        }
        if is(&[&PAD]) {
            return self.pad(module, expr, scale);
        }
        if is(&[&TRANSPOSE]) {
            return transpose(module, expr, scale, way);
        }
        if is(&[&LAYOUT_TRANSFORM]) {
            return self.layout_transform(module, expr, scale, way);
        }
        if is(&[&RESHAPE, &EXPAND_DIMS, &SQUEEZE, &BATCH_FLATTEN]) && scale.is_uniform() {
            let of = if way == Way::Back { *self.args(module, expr).first()? } else { expr };
            return Some(Step::Pass(scale.uniform(open_shape(module, of)?.len())));
        }
        None
    }

    /// `(x + c) * s == x * s + c * s`, `x * s + c == (x + c / s) * s`, and `(x * c) * s == x * (c * s)`.
    fn arithmetic(&self, module: &Module, expr: ExprId, scale: &Scale, way: Way) -> Option<Step> {
        let [lhs, rhs] = self.args(module, expr).try_into().ok()?;
        let commutes = self.cx.calls_any(module, expr, &[&ADD, &MULTIPLY]);
        let (data, at, constant) = match (value_of(module, lhs), value_of(module, rhs)) {
            (None, Some(constant)) => (lhs, 1, constant),
            (Some(constant), None) if commutes => (rhs, 0, constant),
            _ => return None,
        };
        let shape = open_shape(module, data)?;
        if shape != open_shape(module, expr)? || !constant.dtype().is_float() {
            return None;
        }
        let multiplies = self.cx.calls(module, expr, &MULTIPLY);
        let factors = if way == Way::On && !multiplies { scale.clone().inverse() } else { scale.clone() };
        let constant = if self.cx.calls(module, expr, &BIAS_ADD) {
            let axis = BiasAddAttrs::read(module.call_attrs(expr)).axis.rem_euclid(shape.len() as i64) as usize;
            let channels = factors.channels(&[axis], &[constant.len()])?;
            Scale { shape: vec![constant.len()], factors: channels }.times(constant)?
        } else {
            factors.times(constant)?
        };
        let change = Change::Operand(expr, at, constant);
        Some(if multiplies { Step::End(change) } else { Step::PassWith(scale.clone(), data, change) })
    }

    /// The mean of a window is linear, and its maximum commutes with factors that are not negative. A maximum ignores padding,
    /// but a window of padding only has a value of its own.
    fn pool(&self, module: &Module, expr: ExprId, scale: &Scale) -> Option<Step> {
        let attrs = MaxPool2dAttrs::read(module.call_attrs(expr));
        let layout = Layout::parse(&attrs.layout).ok()?;
        if !scale.is_even_along(spatial_axes(&layout)) {
            return None;
        }
        if self.cx.calls_any(module, expr, &[&MAX_POOL1D, &MAX_POOL2D, &MAX_POOL3D]) {
            let least = attrs.pool_size.iter().min().copied().unwrap_or(0);
            let over = if attrs.ceil_mode { attrs.strides.iter().max().copied().unwrap_or(1) - 1 } else { 0 };
            let covers = attrs.padding.iter().all(|&padding| padding.saturating_add(over) < least);
            if !scale.is_positive() || !covers || attrs.dilation.iter().any(|&dilation| dilation != 1) {
                return None;
            }
        }
        Some(Step::Pass(scale.clone()))
    }

    /// New positions hold 0, or repeat others of the same channel.
    fn pad(&self, module: &Module, expr: ExprId, scale: &Scale) -> Option<Step> {
        let attrs = PadAttrs::read(module.call_attrs(expr));
        let padded = attrs.pad_width.iter().enumerate().filter(|(_, widths)| widths.iter().any(|&width| width != 0));
        let value = value_of(module, *self.args(module, expr).get(1)?);
        let zero = value.is_some_and(|value| !value.any(|x| x != 0.0, |x| x != 0));
        let linear = zero || attrs.pad_mode != "constant";
        (linear && scale.is_even_along(padded.map(|(axis, _)| axis))).then(|| Step::Pass(scale.clone()))
    }

    /// The channels `C` in another layout, not filled up.
    fn layout_transform(&self, module: &Module, expr: ExprId, scale: &Scale, way: Way) -> Option<Step> {
        let attrs = LayoutTransformAttrs::read(module.call_attrs(expr));
        let (src, dst) = (Layout::parse(&attrs.src_layout.0).ok()?, Layout::parse(&attrs.dst_layout.0).ok()?);
        let data = *self.args(module, expr).first()?;
        let channels = |layout: &Layout, expr: ExprId| {
            let (shape, axes) = (open_shape(module, expr)?, layout.axes_of('C'));
            let dims: Option<Vec<usize>> = axes.iter().map(|&axis| usize::try_from(shape[axis]).ok()).collect();
            Some((axes, dims?))
        };
        let (from, to) = (channels(&src, data)?, channels(&dst, expr)?);
        if from.1.iter().product::<usize>() != to.1.iter().product::<usize>() {
            return None;
        }
        let ((from, from_dims), (to, to_dims), rank) =
            if way == Way::Back { (to, from, src.rank()) } else { (from, to, dst.rank()) };
        let factors = scale.channels(&from, &from_dims)?;
        Some(Step::Pass(Scale::from_channels(rank, &to, &to_dims, &factors)))
    }

    /// The parts of a concatenation have the factors of their places.
    fn concatenate_back(&self, module: &Module, expr: ExprId, scale: &Scale) -> Option<Step> {
        let tuple = *self.args(module, expr).first()?;
        let ExprKind::Tuple(_) = module.exprs[tuple].kind else { return None };
        let (axis, lengths) = self.parts(module, expr, tuple)?;
        let mut start = 0;
        let part = |n: usize| {
            start += n;
            scale.part(axis, start - n, n)
        };
        Some(Step::Fields(tuple, lengths.into_iter().map(part).collect()))
    }

    /// The factors of a concatenation if one part has factors; the others are not multiplied.
    fn concatenate_on(&self, module: &Module, expr: ExprId, tuple: ExprId, call: ExprId, scale: &Scale) -> Option<Scale> {
        if !self.cx.calls(module, call, &CONCATENATE) {
            return None;
        }
        let fields = self.args(module, tuple);
        let (axis, lengths) = self.parts(module, call, tuple)?;
        let at = fields.iter().position(|&field| field == expr)?;
        if fields.iter().filter(|&&field| field == expr).count() != 1 {
            return None;
        }
        scale.whole(axis, lengths[..at].iter().sum(), lengths[at], lengths.iter().sum())
    }

    /// The axis of a concatenation, and the lengths of its parts.
    fn parts(&self, module: &Module, call: ExprId, tuple: ExprId) -> Option<(usize, Vec<usize>)> {
        let rank = open_shape(module, call)?.len();
        let axis = ConcatenateAttrs::read(module.call_attrs(call)).axis.rem_euclid(rank as i64) as usize;
        let length = |&field: &ExprId| usize::try_from(*open_shape(module, field)?.get(axis)?).ok();
        Some((axis, self.args(module, tuple).iter().map(length).collect::<Option<_>>()?))
    }
}

fn transpose(module: &Module, expr: ExprId, scale: &Scale, way: Way) -> Option<Step> {
    let rank = scale.shape.len();
    let axes = TransposeAttrs::read(module.call_attrs(expr)).permutation(rank);
    Some(Step::Pass(if way == Way::Back { scale.permuted_back(&axes) } else { scale.permuted(&axes) }))
}

/// The axes that a pool moves its window along.
fn spatial_axes(layout: &Layout) -> Vec<usize> {
    ['D', 'H', 'W'].into_iter().flat_map(|letter| layout.axes_of(letter)).collect()
}
