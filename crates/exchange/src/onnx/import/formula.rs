//! Formulas of elementwise operators: arithmetic on values that becomes calls of a program.
//!
//! `x / (1.0 + call("abs", x))` reads like the definition of an operator. Operands keep their order, and equal parts are not
//! shared. Recursion is bounded: a formula is as deep as a converter writes it.

use super::build::{Builder, Val};
use super::errors::Refusal;
use relayc_ir::attrs::AttrValue;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use std::ops::{Add, Div, Mul, Sub};

/// A value, a number, or a call of a Relay operator on formulas.
pub(crate) enum Formula {
    Value(Val),
    /// A scalar of the dtype of the whole formula.
    Number(f64),
    Call(&'static str, Vec<Formula>, Vec<(&'static str, AttrValue)>),
}

impl From<Val> for Formula {
    fn from(val: Val) -> Formula {
        Formula::Value(val)
    }
}

impl From<f64> for Formula {
    fn from(number: f64) -> Formula {
        Formula::Number(number)
    }
}

/// A call with one operand.
pub(crate) fn call(op: &'static str, x: impl Into<Formula>) -> Formula {
    Formula::Call(op, vec![x.into()], vec![])
}

/// A call with two operands.
pub(crate) fn call2(op: &'static str, a: impl Into<Formula>, b: impl Into<Formula>) -> Formula {
    Formula::Call(op, vec![a.into(), b.into()], vec![])
}

/// `yes` where `condition` is true, else `no`.
pub(crate) fn select(condition: impl Into<Formula>, yes: impl Into<Formula>, no: impl Into<Formula>) -> Formula {
    Formula::Call("where", vec![condition.into(), yes.into(), no.into()], vec![])
}

/// `x` between two bounds.
pub(crate) fn clip(x: impl Into<Formula>, low: f64, high: f64) -> Formula {
    let bounds = vec![("a_min", AttrValue::float(low)), ("a_max", AttrValue::float(high))];
    Formula::Call("clip", vec![x.into()], bounds)
}

impl Builder {
    /// Adds the calls of a formula; its numbers have the dtype of `like`.
    pub(crate) fn formula(&mut self, like: Val, formula: impl Into<Formula>) -> Result<Val, Refusal> {
        match formula.into() {
            Formula::Value(val) => Ok(val),
            Formula::Number(number) => {
                let dtype = self.dtype(like)?;
                self.scalar(dtype, number)
            }
            Formula::Call(op, args, attrs) => {
                let args: Vec<Val> = args.into_iter().map(|arg| self.formula(like, arg)).collect::<Result<_, _>>()?;
                self.call(op, &args, &attrs)
            }
        }
    }

    /// A constant of rank 0, converted like `cast`.
    pub(crate) fn scalar(&mut self, dtype: DType, value: f64) -> Result<Val, Refusal> {
        let tensor = Tensor::full(dtype, &[], value).ok_or_else(|| Refusal::unsupported(format!("a scalar of {dtype}")))?;
        Ok(self.constant(tensor))
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $op:literal; $(($($generic:tt)*) $left:ty, $right:ty;)*) => {$(
        impl $($generic)* $trait<$right> for $left {
            type Output = Formula;

            fn $method(self, right: $right) -> Formula {
                call2($op, self, right)
            }
        }
    )*};
}

macro_rules! arithmetic {
    ($($trait:ident, $method:ident, $op:literal;)*) => {$(
        operator! {
            $trait, $method, $op;
            (<R: Into<Formula>>) Val, R;
            (<R: Into<Formula>>) Formula, R;
            () f64, Val;
            () f64, Formula;
        }
    )*};
}

arithmetic! {
    Add, add, "add";
    Sub, sub, "subtract";
    Mul, mul, "multiply";
    Div, div, "divide";
}
