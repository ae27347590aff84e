//! Error budgets: how far a compiled result may differ from the interpreter's (reliability 5).
//!
//! The interpreter evaluates each operator. The budget of an operator is the error that its kernel may add. The effect of its
//! operands' errors is measured by evaluating the operator again on perturbed operands. Perturbations are all up, all down, one
//! against the other, and random signs. At a discontinuity (a comparison, a rounding) the perturbed results differ, so both
//! pass. A function that is neither monotone nor convex has bounds for what lies between (`between.rs`). If no error is possible, the
//! result must be equal bit for bit, except for NaN. An infinite error stands for any result, NaN too, and is carried on as such.
//! Absent: programs that branch; the caller has another rule for them.
//!
//! Each perturbation is within the errors of the operands. So the largest effect of any number of perturbations is at most the
//! worst one, and more of them measure it better: [`Effort`].

mod between;

use relayc_base::diag::Diagnostic;
use relayc_driver::bind::Bound;
use relayc_driver::bind::tensors_in;
use relayc_driver::run::{to_bound, to_value};
use relayc_exec::plan::{Accuracy, accuracy};
use relayc_interp::{self as interp, Limits};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_ir::{ExprId, ExprKind, Module, VarId};
use relayc_ops as ops;
use relayc_ops::declarations::CAST;
use rustc_hash::FxHashMap;

/// A tensor, and the allowed error of each element; exact without errors.
#[derive(Clone, Debug)]
pub struct BoundedTensor {
    pub value: Tensor,
    pub error: Option<Vec<f64>>,
}

impl BoundedTensor {
    pub(crate) fn exact(value: Tensor) -> BoundedTensor {
        BoundedTensor { value, error: None }
    }

    fn error_at(&self, at: usize) -> f64 {
        self.error.as_ref().map_or(0.0, |error| error[at])
    }
}

/// A value of such tensors.
#[derive(Clone, Debug)]
pub enum BoundedValue {
    Tensor(BoundedTensor),
    Tuple(Vec<BoundedValue>),
}

impl BoundedValue {
    pub fn exact(bound: Bound) -> BoundedValue {
        match bound {
            Bound::Tensor(tensor) => BoundedValue::Tensor(BoundedTensor::exact(tensor)),
            Bound::Tuple(fields) => BoundedValue::Tuple(fields.into_iter().map(BoundedValue::exact).collect()),
        }
    }

    /// Its tensors in order.
    pub fn tensors(&self) -> Vec<&BoundedTensor> {
        let (mut found, mut stack) = (vec![], vec![self]);
        while let Some(value) = stack.pop() {
            match value {
                BoundedValue::Tensor(near) => found.push(near),
                BoundedValue::Tuple(fields) => stack.extend(fields.iter().rev()),
            }
        }
        found
    }

    /// The value with every tensor mapped; `at` counts them.
    fn map(&self, at: &mut usize, f: &mut dyn FnMut(usize, &BoundedTensor) -> Tensor) -> Bound {
        match self {
            BoundedValue::Tensor(near) => {
                *at += 1;
                Bound::Tensor(f(*at - 1, near))
            }
            BoundedValue::Tuple(fields) => Bound::Tuple(fields.iter().map(|field| field.map(at, f)).collect()),
        }
    }
}

/// Why there is no budget.
#[derive(Debug)]
pub enum NoBudget {
    /// A call of a function, a branch, a reference.
    ControlFlow,
    /// The interpreter's error.
    Failed(Box<Diagnostic>),
}

/// How freely an engine may compute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Freedom {
    /// Operator by operator, like a group.
    AsWritten,
    /// Rewritten by passes: each operand may have been rounded differently.
    Rewritten,
}

/// How many perturbations measure the effect of the operands' errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// Two of random signs. An element of a sum of many has the effect of a random walk of so few: by chance almost none. Two
    /// elements that are almost equal keep their order in half of all tests.
    Quick,
    /// So many of random signs that none is missed by chance, and signs by the bits of positions: any two elements are moved
    /// against each other, in both ways. For results that are too far by [`Effort::Quick`].
    Thorough,
}

/// Evaluates an expression, given the values of its free variables.
pub fn evaluate(
    module: &Module,
    body: ExprId,
    values: FxHashMap<VarId, BoundedValue>,
    freedom: Freedom,
    effort: Effort,
    limits: &Limits,
) -> Result<BoundedValue, NoBudget> {
    let order = module.evaluation_order(&[body]);
    // What a branch computes must not be computed to find that there is one.
    if order.iter().any(|&expr| branches(module, expr)) {
        return Err(NoBudget::ControlFlow);
    }
    let mut bound: FxHashMap<VarId, ExprId> = FxHashMap::default();
    for &expr in &order {
        if let ExprKind::Let { var, value, .. } = module.exprs[expr].kind {
            bound.insert(var, value);
        }
    }
    let slack = if freedom == Freedom::Rewritten { 1.0 } else { 0.0 };
    let evaluator = Evaluator { module, slack, effort, limits };
    let mut done: FxHashMap<ExprId, BoundedValue> = FxHashMap::default();
    for &expr in &order {
        let of = |expr: ExprId| done.get(&expr).cloned().ok_or(NoBudget::ControlFlow);
        let value = match module.exprs[expr].kind {
            ExprKind::Op(_) => continue,
            ExprKind::Const(id) => BoundedValue::Tensor(BoundedTensor::exact(module.consts[id].clone())),
            ExprKind::Var(var) => match (values.get(&var), bound.get(&var)) {
                (Some(value), _) => value.clone(),
                (None, Some(&value)) => of(value)?,
                (None, None) => return Err(NoBudget::ControlFlow),
            },
            ExprKind::Let { body, .. } => of(body)?,
            ExprKind::Tuple(fields) => {
                BoundedValue::Tuple(module.items(fields).iter().map(|field| of(field.expr)).collect::<Result<_, _>>()?)
            }
            ExprKind::Proj { tuple, index } => match of(tuple)? {
                BoundedValue::Tuple(mut fields) if (index as usize) < fields.len() => fields.swap_remove(index as usize),
                _ => return Err(NoBudget::ControlFlow),
            },
            ExprKind::Call { args, .. } if module.called_op(expr).is_some() => {
                let args: Vec<BoundedValue> = module.items(args).iter().map(|arg| of(arg.expr)).collect::<Result<_, _>>()?;
                let value = evaluator.call(expr, &args).map_err(NoBudget::Failed)?;
                if expr != body && rounds_a_sum(module, expr) { unrounded(value) } else { value }
            }
            _ => return Err(NoBudget::ControlFlow),
        };
        done.insert(expr, value);
    }
    done.remove(&body).ok_or(NoBudget::ControlFlow)
}

/// Whether an expression rounds a sum to a 16-bit float. A kernel that goes on with the sum need not.
fn rounds_a_sum(module: &Module, expr: ExprId) -> bool {
    let ExprKind::Call { args, .. } = module.exprs[expr].kind else { return false };
    let is_cast = module.called_op(expr).is_some_and(|op| ops::table().def(op).name == CAST.name);
    let to_half = module.types.as_tensor(module.ty(expr)).is_some_and(|(_, to)| matches!(to, DType::F16 | DType::BF16));
    is_cast
        && to_half
        && module.items(args).iter().all(|arg| {
            module.called_op(arg.expr).is_some() && matches!(accuracy(module, ops::table(), arg.expr), Accuracy::Sum(_))
        })
}

/// A value that may not have been rounded: between two numbers lies none, so it reaches the next ones.
fn unrounded(value: BoundedValue) -> BoundedValue {
    let BoundedValue::Tensor(BoundedTensor { value, error }) = value else { return value };
    let rounding = scaled(&value, 2.0);
    let error = match error {
        Some(own) => own.iter().zip(&rounding).map(|(own, rounding)| own + rounding).collect(),
        None => rounding,
    };
    BoundedValue::Tensor(BoundedTensor { value, error: Some(error) })
}

/// Whether an expression is neither a given value nor computed by an operator.
fn branches(module: &Module, expr: ExprId) -> bool {
    match module.exprs[expr].kind {
        ExprKind::Op(_)
        | ExprKind::Const(_)
        | ExprKind::Var(_)
        | ExprKind::Let { .. }
        | ExprKind::Tuple(_)
        | ExprKind::Proj { .. } => false,
        ExprKind::Call { .. } => module.called_op(expr).is_none(),
        _ => true,
    }
}

/// Evaluates one step of a plan, an operator or a fused group, on given operands.
pub(crate) fn evaluate_call(
    module: &Module,
    call: ExprId,
    args: Vec<BoundedValue>,
    effort: Effort,
    limits: &Limits,
) -> Result<BoundedValue, NoBudget> {
    let ExprKind::Call { callee, .. } = module.exprs[call].kind else { return Err(NoBudget::ControlFlow) };
    match module.exprs[callee].kind {
        ExprKind::Op(_) => Evaluator { module, slack: 0.0, effort, limits }.call(call, &args).map_err(NoBudget::Failed),
        ExprKind::Fn(func) => {
            let values = module.funcs[func].params.iter().copied().zip(args).collect();
            evaluate(module, module.funcs[func].body, values, Freedom::AsWritten, effort, limits)
        }
        _ => Err(NoBudget::ControlFlow),
    }
}

struct Evaluator<'a> {
    module: &'a Module,
    /// Minimum perturbation of every operand, in units of the last place.
    slack: f64,
    effort: Effort,
    limits: &'a Limits,
}

/// The sign of each element's error.
#[derive(Clone, Copy)]
enum Signs {
    Up,
    Down,
    /// Operands of even numbers up, the others down, or the other way.
    Operands {
        even_up: bool,
    },
    Random(u64),
    /// Up where a bit of the position is so.
    Bit {
        bit: u32,
        set: bool,
    },
}

impl Signs {
    fn of(self, arg: usize, at: usize) -> f64 {
        let up = match self {
            Signs::Up => true,
            Signs::Down => false,
            Signs::Operands { even_up } => arg.is_multiple_of(2) == even_up,
            Signs::Random(seed) => return chance(seed, arg, at),
            Signs::Bit { bit, set } => (at >> bit & 1 == 1) == set,
        };
        if up { 1.0 } else { -1.0 }
    }

    /// An element that may be anything, as one of its kinds: infinite with either sign, not a number, or finite.
    fn anything(self, arg: usize, at: usize) -> f64 {
        match self {
            Signs::Operands { .. } if self.of(arg, at) > 0.0 => f64::NAN,
            Signs::Operands { .. } => 0.0,
            _ => self.of(arg, at) * f64::INFINITY,
        }
    }

    /// Those that measure the effect of errors on operands of at most so many elements.
    fn all(effort: Effort, n_elements: usize) -> Vec<Signs> {
        let mut all = vec![Signs::Up, Signs::Down, Signs::Operands { even_up: true }, Signs::Operands { even_up: false }];
        all.extend((1..=effort.n_random()).map(Signs::Random));
        if effort == Effort::Thorough {
            let n_bits = usize::BITS - n_elements.saturating_sub(1).leading_zeros();
            all.extend((0..n_bits).flat_map(|bit| [true, false].map(|set| Signs::Bit { bit, set })));
        }
        all
    }
}

/// A pseudo-random sign.
fn chance(seed: u64, arg: usize, at: usize) -> f64 {
    let mixed = (seed << 40 ^ (arg as u64) << 32 ^ at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    if mixed >> 40 & 1 == 0 { 1.0 } else { -1.0 }
}

impl Effort {
    /// The largest of 32 normal numbers is below half of their deviation once in 10^13.
    fn n_random(self) -> u64 {
        if self == Effort::Quick { 2 } else { 32 }
    }
}

impl Evaluator<'_> {
    fn run(&self, call: ExprId, args: Vec<Bound>) -> Result<Bound, Box<Diagnostic>> {
        let args: Vec<_> = args.into_iter().map(to_value).collect();
        to_bound(interp::call_operator(self.module, ops::table(), call, &args, self.limits)?).map_err(Box::new)
    }

    fn call(&self, call: ExprId, args: &[BoundedValue]) -> Result<BoundedValue, Box<Diagnostic>> {
        let result = self.run(call, mapped(args, &mut |_, near| near.value.clone()))?;
        let accuracy = accuracy(self.module, ops::table(), call);
        let tensors = tensors_in(std::slice::from_ref(&result)).into_iter().cloned().collect::<Vec<_>>();
        let mut errors: Vec<Vec<f64>> = tensors.iter().map(|tensor| vec![0.0; tensor.len()]).collect();
        // What the operands' errors become.
        let slack = self.slack.max(if matches!(accuracy, Accuracy::Mixed(_)) { 4.0 } else { 0.0 });
        let all: Vec<&BoundedTensor> = args.iter().flat_map(BoundedValue::tensors).collect();
        if slack > 0.0 || all.iter().any(|near| near.error.is_some()) {
            let n_elements = all.iter().map(|near| near.value.len()).max().unwrap_or(0);
            for signs in Signs::all(self.effort, n_elements) {
                match self.run(call, mapped(args, &mut |arg, near| moved(near, slack, signs, arg))) {
                    Ok(other) => {
                        tensors_in(&[other]).iter().zip(&tensors).zip(&mut errors).for_each(|((other, tensor), errors)| {
                            widen(errors, &distances(other, tensor));
                        })
                    }
                    // Whether it fails at all hangs on the error.
                    Err(_) => errors.iter_mut().for_each(|errors| errors.fill(f64::INFINITY)),
                }
            }
        }
        if let (Some(op), [tensor]) = (self.module.called_op(call), &tensors[..])
            && let Some(reached) = between::distances(ops::table().def(op).name, &all, slack, tensor)
        {
            widen(&mut errors[0], &reached);
        }
        // What the kernel adds.
        let own: Vec<Vec<f64>> = match accuracy {
            Accuracy::Exact => vec![],
            Accuracy::Ulps(ulps) => tensors.iter().map(|tensor| scaled(tensor, 2.0 * ulps)).collect(),
            Accuracy::Sum(terms) => self.of_sum(call, args, terms)?,
            Accuracy::Mixed(terms) => tensors
                .iter()
                .map(|tensor| {
                    let most = tensor.to_f64s().into_iter().filter(|x| x.is_finite()).fold(0.0, |most: f64, x| most.max(x.abs()));
                    vec![most * grown(terms) * unit(tensor.dtype()); tensor.len()]
                })
                .collect(),
        };
        own.iter().zip(&mut errors).for_each(|(own, errors)| {
            errors.iter_mut().zip(own).for_each(|(error, own)| *error += if own.is_nan() { 0.0 } else { *own });
        });
        let mut parts = tensors.into_iter().zip(errors).map(|(value, error)| {
            let error = error.iter().any(|&error| error != 0.0).then_some(error);
            BoundedTensor { value, error }
        });
        Ok(rebuilt(&result, &mut parts))
    }

    /// The errors of a sum of so many terms.
    fn of_sum(&self, call: ExprId, args: &[BoundedValue], terms: u64) -> Result<Vec<Vec<f64>>, Box<Diagnostic>> {
        // What an infinite operand makes of a sum no order changes.
        let size = |x: f64| if x.is_finite() { x.abs() } else { 0.0 };
        let sums = self.run(call, mapped(args, &mut |_, near| near.value.map(size, i128::abs)))?;
        let sums = tensors_in(std::slice::from_ref(&sums));
        let mut errors: Vec<Vec<f64>> = sums.iter().map(|sum| of_magnitudes(sum, grown(terms))).collect();
        // A small product is rounded to a multiple of the least number, or not at all where the kernel adds it at once.
        let underflow = |sum: &Tensor| terms as f64 * step(in_sums(sum.dtype()));
        if sums.iter().any(|sum| sum.to_f64s().iter().any(|&x| x * unit(sum.dtype()) < underflow(sum))) {
            let counts =
                self.run(call, mapped(args, &mut |_, near| near.value.map(|x| (x != 0.0).into(), |x| (x != 0).into())))?;
            for (errors, count) in errors.iter_mut().zip(tensors_in(&[counts])) {
                let underflow = underflow(count);
                errors.iter_mut().zip(count.to_f64s()).filter(|(_, n)| *n != 0.0).for_each(|(error, _)| *error += underflow);
            }
        }
        Ok(errors)
    }
}

fn mapped(args: &[BoundedValue], f: &mut dyn FnMut(usize, &BoundedTensor) -> Tensor) -> Vec<Bound> {
    let mut at = 0;
    args.iter().map(|arg| arg.map(&mut at, f)).collect()
}

fn rebuilt(shape: &Bound, parts: &mut dyn Iterator<Item = BoundedTensor>) -> BoundedValue {
    match shape {
        Bound::Tensor(_) => BoundedValue::Tensor(parts.next().expect("as many as there were")),
        Bound::Tuple(fields) => BoundedValue::Tuple(fields.iter().map(|field| rebuilt(field, parts)).collect()),
    }
}

/// The tight bound of a sum of this many terms of either sign, in units of rounding.
fn grown(terms: u64) -> f64 {
    (2.0 * (terms as f64).sqrt()).max(6.0)
}

/// Half the distance from 1 to the next number.
fn unit(dtype: DType) -> f64 {
    match dtype {
        _ if !dtype.is_float() => 0.0,
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        DType::F64 => 2f64.powi(-53),
        _ => 2f64.powi(-24),
    }
}

/// The distance of subnormal numbers: the rounding unit if a unit of the element is smaller.
fn step(dtype: DType) -> f64 {
    match dtype {
        _ if !dtype.is_float() => 0.0,
        DType::F16 => 2f64.powi(-24),
        DType::BF16 => 2f64.powi(-133),
        DType::F64 => f64::from_bits(1),
        _ => 2f64.powi(-149),
    }
}

/// The dtype in which such numbers are added.
fn in_sums(dtype: DType) -> DType {
    if matches!(dtype, DType::F16 | DType::BF16) { DType::F32 } else { dtype }
}

/// This many units of rounding of each element; 0 for elements that are 0.
fn scaled(tensor: &Tensor, units: f64) -> Vec<f64> {
    let (unit, step) = (unit(tensor.dtype()), step(tensor.dtype()));
    let of = |x: f64| if x.is_finite() && x != 0.0 { x.abs() * units * unit + step } else { 0.0 };
    tensor.to_f64s().into_iter().map(of).collect()
}

/// As [`scaled`], for the sum of the magnitudes of finite terms. Where it overflows, their sum in another order may.
fn of_magnitudes(magnitudes: &Tensor, units: f64) -> Vec<f64> {
    let errors = scaled(magnitudes, units).into_iter().zip(magnitudes.to_f64s());
    errors.map(|(error, sum)| if sum.is_infinite() { f64::INFINITY } else { error }).collect()
}

/// The operand of this number moved by its error and by this many units of rounding.
fn moved(near: &BoundedTensor, slack: f64, signs: Signs, arg: usize) -> Tensor {
    let value = &near.value;
    if near.error.is_none() && (slack == 0.0 || !value.dtype().is_float()) {
        return value.clone();
    }
    let elements = value.to_f64s().into_iter().enumerate().map(|(at, x)| match near.error_at(at) {
        f64::INFINITY => signs.anything(arg, at),
        error => x + signs.of(arg, at) * (error + rounding(value.dtype(), slack, x)),
    });
    let elements: Vec<f64> = elements.collect();
    Tensor::from_vec(value.shape(), elements).cast(value.dtype()).unwrap_or_else(|| value.clone())
}

/// So many units of rounding of a number. Two are the distance to the next one, or more.
fn rounding(dtype: DType, slack: f64, x: f64) -> f64 {
    slack * 2.0 * unit(dtype) * x.abs()
}

/// The distance of two tensors at each element; infinite if only one is NaN or infinite.
fn distances(a: &Tensor, b: &Tensor) -> Vec<f64> {
    if a.shape() != b.shape() {
        return vec![f64::INFINITY; b.len()];
    }
    a.to_f64s().into_iter().zip(b.to_f64s()).map(|(a, b)| if same(a, b) || a == b { 0.0 } else { (a - b).abs() }).collect()
}

fn widen(errors: &mut [f64], distances: &[f64]) {
    for (error, &distance) in errors.iter_mut().zip(distances) {
        *error = if distance.is_nan() { f64::INFINITY } else { error.max(distance) };
    }
}

/// Whether two numbers are equal, with the same sign; NaN equals NaN.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// A wrong element.
#[derive(Clone, PartialEq, Debug)]
pub struct LargestError {
    /// The number of the tensor.
    pub(crate) tensor: usize,
    pub(crate) index: Vec<usize>,
    pub(crate) got: f64,
    pub(crate) expected: f64,
    /// Its error, relative to the allowed one.
    pub(crate) times: f64,
}

/// Safety factor for measured propagated errors.
const SAFETY: f64 = 4.0;

/// Compares results. Returns the largest relative error, or the worst element if that is too large. Errors: why they cannot be
/// compared, in words.
pub fn compare(got: &[&Tensor], expected: &[&BoundedTensor]) -> Result<Result<f64, LargestError>, String> {
    if got.len() != expected.len() {
        return Err(format!("there are {} tensors, not {}", got.len(), expected.len()));
    }
    let (mut most, mut worst) = (0.0, None);
    for (tensor, (got, near)) in got.iter().zip(expected).enumerate() {
        if got.dtype() != near.value.dtype() || got.shape() != near.value.shape() {
            return Err(format!("tensor {tensor} is {}, not {}", got.type_text(), near.value.type_text()));
        }
        let (unit, step) = (unit(got.dtype()), step(got.dtype()));
        // Integers of 64 bits are compared as such.
        let ints = (!got.dtype().is_float()).then(|| (got.to_ints(), near.value.to_ints()));
        for (at, (got_at, expected)) in got.to_f64s().into_iter().zip(near.value.to_f64s()).enumerate() {
            let equal = ints.as_ref().map_or_else(|| same(got_at, expected), |(got, expected)| got[at] == expected[at]);
            if equal {
                continue;
            }
            let error = near.error_at(at);
            let times = match error {
                // What is rounded to 0 may be rounded to the number beside it, but not to another zero.
                0.0 if near.error.is_some() && expected == 0.0 && got_at.abs() == step => 1.0,
                0.0 => f64::INFINITY,
                f64::INFINITY => 0.0,
                error => {
                    let rounding = if expected == 0.0 { step } else { unit * expected.abs() };
                    (got_at - expected).abs() / (SAFETY * error + rounding)
                }
            };
            let times = if times.is_nan() { f64::INFINITY } else { times };
            if times > most {
                most = times;
                worst = Some(LargestError { tensor, index: index_of(at, got.shape()), got: got_at, expected, times });
            }
        }
    }
    Ok(match worst.filter(|worst| worst.times > 1.0) {
        Some(worst) => Err(worst),
        None => Ok(most),
    })
}

/// The indices of a row-major position.
fn index_of(mut position: usize, shape: &[usize]) -> Vec<usize> {
    let mut index: Vec<usize> = shape.iter().rev().map(|&dim| (position % dim, position /= dim).0).collect();
    index.reverse();
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of `got`, relative to the allowed `error` of `expected`.
    fn times(got: f32, expected: f32, error: f64) -> f64 {
        let tensor = |x: f32| Tensor::from_vec(&[1], vec![x]);
        let near = BoundedTensor { value: tensor(expected), error: Some(vec![error]) };
        compare(&[&tensor(got)], &[&near]).unwrap().unwrap_or_else(|worst| worst.times)
    }

    #[test]
    fn any_two_elements_are_moved_against_each_other() {
        const N: usize = 37;
        let all = Signs::all(Effort::Thorough, N);
        let apart = |a: usize, b: usize| all.iter().any(|signs| signs.of(0, a) > signs.of(0, b));
        assert!((0..N).all(|a| (0..N).all(|b| a == b || apart(a, b))));
    }

    #[test]
    fn sums_whose_magnitudes_overflow_may_be_anything() {
        let errors = of_magnitudes(&Tensor::from_vec(&[2], vec![f32::INFINITY, 1.0]), 4.0);
        assert!(times(f32::INFINITY, 2.9e38, errors[0]) <= 1.0 && times(f32::NAN, 2.9e38, errors[0]) <= 1.0);
        assert!(times(f32::INFINITY, 1.0, errors[1]) > 1.0);
    }

    #[test]
    fn subnormal_numbers_are_as_exact_as_they_can_be() {
        let least = f32::from_bits(1);
        let of = |x: f32| scaled(&Tensor::from_vec(&[1], vec![x]), 6.0)[0];
        assert!(times(least, 2.0 * least, of(2.0 * least)) <= 1.0);
        assert!(times(least, 9.0 * least, of(9.0 * least)) > 1.0);
        assert!(times(least, 0.0, of(0.0)) <= 1.0);
        assert!(times(2.0 * least, 0.0, of(0.0)) > 1.0);
        assert!(times(-0.0, 0.0, of(0.0)) > 1.0);
        assert!(times(1.0 + 1e-5, 1.0, of(1.0)) > 1.0);
    }
}
