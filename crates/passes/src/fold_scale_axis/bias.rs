//! Merges constants that are added one after the other behind a product.

use super::product::{Product, open_shape};
use super::{Fold, set_operand};
use crate::build::{rounded, value_of};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_ir::{ExprId, Module};
use relayc_ops::declarations::{ADD, BIAS_ADD, BiasAddAttrs, SUBTRACT};

/// The least number near which a float32 has no half: `2^22`. A sum with one that large rounds, and quantization wants just that.
const LEAST_ROUNDING: f64 = 4_194_304.0;

impl Fold<'_> {
    /// `(product + a) + b == product + (a + b)`, with `a + b` computed in f64 and rounded once.
    pub(super) fn merge_biases(&mut self, module: &mut Module, order: &[ExprId]) {
        for &expr in order {
            let Some((inner, outer)) = self.addition(module, expr) else { continue };
            let Some((data, first)) = self.addition(module, inner) else { continue };
            if !self.users.only(inner, expr) || Product::of(module, self.cx, data).is_none() {
                continue;
            }
            let Some(sum) = sum(&first, &outer) else { continue };
            let constant = self.cx.constant(module, module.exprs[expr].span, sum);
            set_operand(module, inner, first.at, constant);
            self.bypass(expr, inner);
        }
    }

    /// An addition of a float constant to a tensor of the result's shape: the tensor, and the constant.
    fn addition(&self, module: &Module, expr: ExprId) -> Option<(ExprId, Added)> {
        let [lhs, rhs] = self.args(module, expr).try_into().ok()?;
        let vector = self.cx.calls(module, expr, &BIAS_ADD);
        let (data, at, constant) = if vector || self.cx.calls(module, expr, &SUBTRACT) {
            (lhs, 1, value_of(module, rhs)?)
        } else if self.cx.calls(module, expr, &ADD) {
            match (value_of(module, lhs), value_of(module, rhs)) {
                (None, Some(constant)) => (lhs, 1, constant),
                (Some(constant), None) => (rhs, 0, constant),
                _ => return None,
            }
        } else {
            return None;
        };
        let shape = open_shape(module, data)?;
        let rounds = |number: f64| number.abs() >= LEAST_ROUNDING;
        if !constant.dtype().is_float()
            || constant.to_f64s().into_iter().any(rounds)
            || Some(&shape) != open_shape(module, expr).as_ref()
        {
            return None;
        }
        let negative = self.cx.calls(module, expr, &SUBTRACT);
        let n_after = if vector {
            let axis = BiasAddAttrs::read(module.call_attrs(expr)).axis.rem_euclid(shape.len() as i64) as usize;
            Some(shape.len() - axis - 1)
        } else {
            None
        };
        Some((data, Added { at, constant: constant.clone(), negative, n_after }))
    }
}

/// A constant that is added.
struct Added {
    /// Which operand it is.
    at: usize,
    constant: Tensor,
    /// Whether it is subtracted.
    negative: bool,
    /// Of a vector that runs along an axis, how many axes follow.
    n_after: Option<usize>,
}

impl Added {
    /// The constant with its sign, as it broadcasts, in f64.
    fn tensor(&self) -> Option<Tensor> {
        let wide = self.constant.cast(DType::F64)?;
        let wide = if self.negative { wide.map(|x| -x, |x| x) } else { wide };
        match self.n_after {
            None => Some(wide),
            Some(n) => wide.reshape(&[&[wide.len()][..], &vec![1; n]].concat()),
        }
    }
}

/// Both constants as one that stands in the place of the first. `None` where it would not fit there, or be larger than both.
fn sum(first: &Added, second: &Added) -> Option<Tensor> {
    let sum = first.tensor()?.zip(&second.tensor()?, |x, y| x + y, |x, _| x)?;
    let sum = if first.negative { sum.map(|x| -x, |x| x) } else { sum };
    if sum.len() > first.constant.len().max(second.constant.len()) {
        return None;
    }
    let sum = rounded(&sum, first.constant.dtype())?;
    match first.n_after {
        None => Some(sum),
        // A vector along its axis, if the other ran along that too.
        Some(_) => (sum.len() == first.constant.len()).then(|| sum.reshape(&[sum.len()]))?,
    }
}
