//! Bounds over intervals, for functions that are neither monotone nor convex.
//!
//! The effect of an operand's error is measured at the ends of its interval. A monotone function is between its ends what it is
//! at one of them, or less far; a convex one is as far at an end as anywhere between. The functions here turn, have a pole, or jump
//! and come back: whether numbers are equal, circular functions, quotients, powers, remainders, operations on bits, and arithmetic of
//! integers that wraps.

use super::{BoundedTensor, rounding};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, DTypeCode};
use relayc_ops::declarations::{
    ADD, BITWISE_AND, BITWISE_OR, BITWISE_XOR, CAST, COS, DIVIDE, EQUAL, FLOOR_DIVIDE, FLOOR_MOD, LEFT_SHIFT, MOD, MULTIPLY,
    NOT_EQUAL, POWER, SIN, SUBTRACT, TAN, TRUNC_DIVIDE, TRUNC_MOD,
};
use std::f64::consts::{FRAC_PI_2, PI};

/// A number, and how far it may be moved.
#[derive(Clone, Copy)]
struct Interval {
    x: f64,
    reach: f64,
}

impl Interval {
    fn ends(self) -> [f64; 2] {
        [self.x - self.reach, self.x + self.reach]
    }

    /// Whether it holds 0 and other numbers.
    fn holds_zero(self) -> bool {
        self.reach > 0.0 && self.x.abs() <= self.reach
    }
}

/// How far the result of operands in these intervals may lie from this one.
type Distance = Box<dyn Fn(&[Interval], f64) -> f64>;

fn of_operator(name: &str, from: DType, to: DType) -> Option<Distance> {
    // Integers wrap around.
    let wraps = |exact: fn(f64, f64) -> f64| -> Option<Distance> {
        (from.is_int() && to.is_int()).then(|| Box::new(move |operands: &[Interval], _| wrapped(operands, exact, to)) as Distance)
    };
    let is = |names: &[&str]| names.contains(&name);
    let distance: Distance = if is(&[EQUAL.name, NOT_EQUAL.name]) {
        Box::new(equality)
    } else if is(&[SIN.name, COS.name]) {
        Box::new(sine)
    } else if is(&[TAN.name]) {
        Box::new(tangent)
    } else if is(&[DIVIDE.name, TRUNC_DIVIDE.name, FLOOR_DIVIDE.name]) {
        Box::new(quotient)
    } else if is(&[POWER.name]) {
        Box::new(power)
    } else if is(&[MOD.name, TRUNC_MOD.name]) {
        Box::new(|operands: &[Interval], result| remainder(operands, result, f64::trunc))
    } else if is(&[FLOOR_MOD.name]) {
        Box::new(|operands: &[Interval], result| remainder(operands, result, f64::floor))
    } else if is(&[BITWISE_AND.name, BITWISE_OR.name, BITWISE_XOR.name]) {
        Box::new(bits)
    } else if is(&[CAST.name]) && to.is_bool() {
        Box::new(|operands: &[Interval], _| f64::from(operands.iter().any(|x| x.holds_zero())))
    } else if is(&[CAST.name]) {
        return wraps(|x, _| x);
    } else if is(&[ADD.name]) {
        return wraps(|x, y| x + y);
    } else if is(&[SUBTRACT.name]) {
        return wraps(|x, y| x - y);
    } else if is(&[MULTIPLY.name]) {
        return wraps(|x, y| x * y);
    } else if is(&[LEFT_SHIFT.name]) {
        return wraps(|x, y| x * y.exp2());
    } else {
        return None;
    };
    Some(distance)
}

/// How far each element of an operator's result may lie from it, where its operands are moved by their errors and by this many units
/// of rounding. `None` for operators that the ends tell all of.
pub(super) fn distances(name: &str, operands: &[&BoundedTensor], slack: f64, result: &Tensor) -> Option<Vec<f64>> {
    let distance = of_operator(name, operands.first()?.value.dtype(), result.dtype())?;
    if operands.iter().all(|near| near.error.is_none() && (slack == 0.0 || !near.value.dtype().is_float())) {
        return None;
    }
    let results = result.to_f64s();
    let shape = Tensor::from_vec(result.shape(), vec![0.0; results.len()]);
    let spread = |near: &BoundedTensor, elements: Vec<f64>| {
        let spread = Tensor::from_vec(near.value.shape(), elements).zip(&shape, |x, _| x, |x, _| x)?;
        (spread.len() == results.len()).then(|| spread.to_f64s())
    };
    let intervals = |near: &&BoundedTensor| {
        let values = near.value.to_f64s();
        let reach = |(at, &x): (usize, &f64)| match x.is_finite() {
            true => near.error_at(at) + rounding(near.value.dtype(), slack, x),
            false => near.error_at(at),
        };
        let reaches = values.iter().enumerate().map(reach).collect();
        let (values, reaches) = (spread(near, values)?, spread(near, reaches)?);
        Some(values.into_iter().zip(reaches).map(|(x, reach)| Interval { x, reach }).collect::<Vec<_>>())
    };
    let intervals: Vec<Vec<Interval>> = operands.iter().map(intervals).collect::<Option<_>>()?;
    let at = |at: usize| intervals.iter().map(|operand| operand[at]).collect::<Vec<Interval>>();
    Some(results.iter().enumerate().map(|(position, &result)| distance(&at(position), result)).collect())
}

/// No perturbation need make two numbers equal that may be.
fn equality(operands: &[Interval], _: f64) -> f64 {
    let &[a, b] = operands else { return 0.0 };
    f64::from(a.reach + b.reach > 0.0 && (a.x - b.x).abs() <= a.reach + b.reach)
}

/// All values over half a period. Over less, none between lies farther from that in the middle than one at the ends.
fn sine(operands: &[Interval], result: f64) -> f64 {
    if operands.iter().any(|x| x.reach >= FRAC_PI_2) { 1.0 + result.abs() } else { 0.0 }
}

/// Any number where a pole lies between.
fn tangent(operands: &[Interval], _: f64) -> f64 {
    let between_poles = |x: f64| (x / PI + 0.5).floor();
    let holds_pole = |x: &Interval| {
        let [low, high] = x.ends();
        x.reach >= FRAC_PI_2 || (x.reach > 0.0 && between_poles(low) != between_poles(high))
    };
    if operands.iter().any(holds_pole) { f64::INFINITY } else { 0.0 }
}

fn quotient(operands: &[Interval], _: f64) -> f64 {
    if operands.last().is_some_and(|divisor| divisor.holds_zero()) { f64::INFINITY } else { 0.0 }
}

fn power(operands: &[Interval], _: f64) -> f64 {
    let &[base, exponent] = operands else { return 0.0 };
    if base.holds_zero() && exponent.ends()[0] < 0.0 { f64::INFINITY } else { 0.0 }
}

/// Anything below the divisor where the quotient passes a whole number.
fn remainder(operands: &[Interval], result: f64, whole: fn(f64) -> f64) -> f64 {
    let &[x, divisor] = operands else { return 0.0 };
    if divisor.holds_zero() {
        return f64::INFINITY;
    }
    let [[low, high], divisors] = [x.ends(), divisor.ends()];
    let quotients = divisors.map(|divisor| [whole(low / divisor), whole(high / divisor)]);
    let moved = x.reach > 0.0 || divisor.reach > 0.0;
    if moved && quotients.as_flattened().iter().any(|&other| other != quotients[0][0]) {
        result.abs() + divisor.x.abs() + divisor.reach
    } else {
        0.0
    }
}

/// Bits below the highest one that is not the same in all of an operand's interval may be anything.
fn bits(operands: &[Interval], _: f64) -> f64 {
    let differing = |x: &Interval| {
        let [low, high] = x.ends().map(|end| end as i128);
        (low ^ high) as u128
    };
    let open = operands.iter().map(differing).fold(0, |all, own| all | own);
    2f64.powi((u128::BITS - open.leading_zeros()) as i32) - 1.0
}

/// All numbers of the dtype where an exact result passes from one of them to the one that wraps to the other end.
fn wrapped(operands: &[Interval], exact: fn(f64, f64) -> f64, to: DType) -> f64 {
    let (Some(x), Some(y)) = (operands.first(), operands.last()) else { return 0.0 };
    let n_numbers = f64::from(to.bits).exp2();
    let least = if to.code == DTypeCode::Int { -n_numbers / 2.0 } else { 0.0 };
    let turns = x.ends().map(|x| y.ends().map(|y| ((exact(x, y) - least) / n_numbers).floor()));
    if turns.as_flattened().iter().any(|&turn| turn != turns[0][0]) { n_numbers } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(values: &[f32], error: f64) -> BoundedTensor {
        BoundedTensor { value: Tensor::from_vec(&[values.len()], values.to_vec()), error: Some(vec![error; values.len()]) }
    }

    fn of(name: &str, operands: &[&BoundedTensor], results: &[f32]) -> Vec<f64> {
        distances(name, operands, 0.0, &Tensor::from_vec(&[results.len()], results.to_vec())).expect("it is one of them")
    }

    #[test]
    fn numbers_may_be_equal_where_their_errors_reach() {
        let (a, b) = (near(&[1.0 - 2f32.powi(-24), 1.0, 0.5], 4.0 * 2f64.powi(-24)), near(&[1.0], 0.0));
        assert_eq!(of(EQUAL.name, &[&a, &b], &[0.0, 1.0, 0.0]), [1.0, 1.0, 0.0]);
        assert_eq!(of(EQUAL.name, &[&near(&[1.0, 0.5], 0.0), &b], &[1.0, 0.0]), [0.0, 0.0]);
    }

    #[test]
    fn a_circular_function_is_anything_over_half_a_period() {
        let cosine = |x: f32, error: f64| of(COS.name, &[&near(&[x], error)], &[x.cos()])[0];
        assert!(cosine(1e6, 2.0 * PI) >= 1.5 && cosine(0.0, 2.0 * PI) == 2.0 && cosine(1e6, 1.0) == 0.0);
        let tangent = |x: f32, error: f64| of(TAN.name, &[&near(&[x], error)], &[x.tan()])[0];
        assert!(tangent(1.5, 0.1).is_infinite() && tangent(1e6, PI).is_infinite() && tangent(1.0, 0.5) == 0.0);
    }

    #[test]
    fn what_passes_a_pole_may_be_anything_and_a_remainder_all_below_its_divisor() {
        let one = near(&[1.0], 0.0);
        let divided = |x: f32, error: f64| of(DIVIDE.name, &[&one, &near(&[x], error)], &[1.0 / x])[0];
        assert!(divided(0.1, 0.2).is_infinite() && divided(0.0, 1e-45).is_infinite() && divided(0.3, 0.2) == 0.0);
        let raised = |x: f32, exponent: f32| of(POWER.name, &[&near(&[x], 0.5), &near(&[exponent], 0.0)], &[1.0])[0];
        assert!(raised(0.1, -2.0).is_infinite() && raised(0.1, 2.0) == 0.0 && raised(1.0, -2.0) == 0.0);
        let rest = |x: f32, error: f64| of(FLOOR_MOD.name, &[&near(&[x], error), &near(&[3.0], 0.0)], &[x % 3.0])[0];
        assert_eq!([rest(4.0, 0.5), rest(4.0, 3.0), rest(3.0, 0.1), rest(4.0, 0.0)], [0.0, 4.0, 3.0, 0.0]);
    }

    #[test]
    fn bits_below_those_that_all_of_an_interval_shares_are_open() {
        let near = |x: i32, error: f64| BoundedTensor { value: Tensor::from_vec(&[1], vec![x]), error: Some(vec![error]) };
        let both = |x: i32, error: f64| distances(BITWISE_AND.name, &[&near(x, error), &near(1, 0.0)], 0.0, &near(0, 0.0).value);
        assert_eq!([both(4, 1.0), both(5, 0.0), both(6, 1.0)].map(|of| of.map(|of| of[0])), [Some(7.0), Some(0.0), Some(3.0)]);
        assert!(both(0, 1.0).is_some_and(|of| of[0] > 1e38));
    }

    #[test]
    fn what_wraps_may_be_any_number_of_its_dtype() {
        let near = |x: i32, error: f64| BoundedTensor { value: Tensor::from_vec(&[1], vec![x]), error: Some(vec![error]) };
        let cast = |x: i32, error: f64, to: Tensor| distances(CAST.name, &[&near(x, error)], 0.0, &to).map(|of| of[0]);
        let byte = Tensor::from_vec(&[1], vec![0i8]);
        assert_eq!([cast(127, 1.0, byte.clone()), cast(1000, 5.0, byte)], [Some(256.0), Some(0.0)]);
        assert_eq!([cast(1, 2.0, Tensor::from_vec(&[1], vec![true])), cast(1, 1.0, Tensor::scalar(1f32))], [Some(1.0), None]);
        let product = |x: i32, error: f64| {
            distances(MULTIPLY.name, &[&near(x, error), &near(1 << 20, 0.0)], 0.0, &near(0, 0.0).value).map(|of| of[0])
        };
        assert_eq!([product(2047, 1.0), product(1000, 1.0)], [Some(2f64.powi(32)), Some(0.0)]);
    }
}
