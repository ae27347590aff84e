//! Expands a body into primitive instructions: what a machine does in one step, or in two.
//!
//! Results keep the bounds that [`Un`] and [`Bin`] state, for every input: zeros, infinities, NaN and subnormals included, none
//! of which is flushed. Everything is straight-line code, so all lanes do the same whatever they hold, and nothing traps.
//!
//! Constants come from minimax fits (Lawson's reweighted least squares) whose coefficients were rounded one after another, the
//! rest being fitted again each time. Deliberately not here: registers and instructions of a machine.

mod circular;
mod exponential;
mod logarithm;
mod make;
mod remainder;
mod saturating;
pub mod widths;

#[cfg(test)]
pub(crate) mod evaluate;
#[cfg(test)]
mod tests;

use crate::kernel::{Bin, Body, Cmp, Instr, Lane, Un, Val};
use make::Make;

/// `body` in primitive instructions, without those that no value of `results` needs; and what became of `results`.
///
/// `reads` says what the reads hold. [`Bin::Scale`] stays only where `scale` says that the machine has it.
pub fn expand(body: &Body, reads: &[Lane], results: &[Val], scale: bool) -> (Body, Vec<Val>) {
    expand_typed(body, &body.lanes(reads), results, scale)
}

/// As [`expand`], where `lanes` says what every value holds.
pub fn expand_typed(body: &Body, lanes: &[Lane], results: &[Val], scale: bool) -> (Body, Vec<Val>) {
    let mut make = Make::new(scale);
    let mut map: Vec<Val> = Vec::with_capacity(body.instrs.len());
    let needed = needed(body, results);
    for (at, &instr) in body.instrs.iter().enumerate() {
        let val = match instr {
            // Never looked at again.
            _ if !needed[at] => Val(0),
            Instr::Un(op, a) => unary(&mut make, op, map[a.0 as usize]),
            Instr::Bin(op, a, b) => binary(&mut make, op, map[a.0 as usize], map[b.0 as usize], lanes[a.0 as usize]),
            _ => make.push(instr.map(|val| map[val.0 as usize])),
        };
        map.push(val);
    }
    let results: Vec<Val> = results.iter().map(|val| map[val.0 as usize]).collect();
    pruned(&make.finish(), &results)
}

/// Which instructions `results` are made of.
fn needed(body: &Body, results: &[Val]) -> Vec<bool> {
    let mut needed = vec![false; body.instrs.len()];
    for result in results {
        needed[result.0 as usize] = true;
    }
    for at in (0..body.instrs.len()).rev() {
        if needed[at] {
            body.instrs[at].operands().for_each(|val| needed[val.0 as usize] = true);
        }
    }
    needed
}

fn pruned(body: &Body, results: &[Val]) -> (Body, Vec<Val>) {
    let needed = needed(body, results);
    let mut map = vec![Val(0); body.instrs.len()];
    let mut out = Body::new();
    for (at, &instr) in body.instrs.iter().enumerate().filter(|&(at, _)| needed[at]) {
        out.instrs.push(instr.map(|val| map[val.0 as usize]));
        map[at] = Val(out.instrs.len() as u32 - 1);
    }
    (out, results.iter().map(|val| map[val.0 as usize]).collect())
}

fn unary(make: &mut Make, op: Un, x: Val) -> Val {
    match op {
        Un::Neg
        | Un::Abs
        | Un::Sqrt
        | Un::Floor
        | Un::Ceil
        | Un::Trunc
        | Un::RoundEven
        | Un::Not
        | Un::TruncToInt
        | Un::NearestToInt
        | Un::ToFloat
        | Un::Bits
        | Un::FromBits
        | Un::BoolToFloat
        | Un::BoolToInt
        | Un::ThroughF16
        | Un::Widen(..)
        // What is left of these has no kernel, and whoever makes code of them says so.
        | Un::To(_) => make.un(op, x),
        Un::Exp => exponential::exp(make, x),
        Un::Sigmoid => exponential::sigmoid(make, x),
        Un::Log => logarithm::log(make, x),
        Un::Log2 => logarithm::log2(make, x),
        Un::Log10 => logarithm::log10(make, x),
        Un::Rsqrt => {
            let (one, root) = (make.f32(1.0), make.un(Un::Sqrt, x));
            make.div(one, root)
        }
        Un::Tanh => saturating::tanh(make, x),
        Un::Erf => saturating::erf(make, x),
        Un::Sin => circular::sin(make, x),
        Un::Cos => circular::cos(make, x),
        Un::Round => round(make, x),
        Un::Sign => sign(make, x),
        Un::SaturateToInt => saturate(make, x),
    }
}

fn binary(make: &mut Make, op: Bin, x: Val, y: Val, lane: Lane) -> Val {
    match op {
        Bin::Add
        | Bin::Sub
        | Bin::Mul
        | Bin::Div
        | Bin::MaxSecond
        | Bin::MinSecond
        | Bin::And
        | Bin::Or
        | Bin::Xor
        | Bin::Shl
        | Bin::ShrSigned
        | Bin::ShrUnsigned
        | Bin::JoinLow
        | Bin::JoinFloat
        | Bin::TruncDiv => make.bin(op, x, y),
        Bin::Scale => {
            let n = make.nearest(y, 1.0);
            make.scale(x, n)
        }
        Bin::Max if lane == Lane::F32 => max(make, x, y),
        Bin::Min if lane == Lane::F32 => min(make, x, y),
        Bin::Max => make.bin(Bin::MaxSecond, x, y),
        Bin::Min => make.bin(Bin::MinSecond, x, y),
        Bin::Pow => exponential::pow(make, x, y),
        Bin::Mod => remainder::modulo(make, x, y),
        Bin::FloorMod => remainder::floor_mod(make, x, y),
        Bin::FloorDiv => remainder::floor_div(make, x, y),
    }
}

/// Halves away from zero: what is added is the greatest float below a half, so that nothing below a half comes to one.
fn round(make: &mut Make, x: Val) -> Val {
    let below_half = make.f32(0.5f32.next_down());
    let signed = make.with_sign(below_half, x);
    let sum = make.add(x, signed);
    make.un(Un::Trunc, sum)
}

fn sign(make: &mut Make, x: Val) -> Val {
    let (zero, one, minus) = (make.f32(0.0), make.f32(1.0), make.f32(-1.0));
    let (above, below) = (make.cmp(Cmp::Gt, x, zero), make.cmp(Cmp::Lt, x, zero));
    let down = make.select(below, minus, zero);
    make.select(above, one, down)
}

/// What is too small becomes the least integer by itself.
fn saturate(make: &mut Make, x: Val) -> Val {
    let (limit, greatest, zero) = (make.f32(2f32.powi(31)), make.i32(i32::MAX), make.i32(0));
    let whole = make.un(Un::TruncToInt, x);
    let (large, number) = (make.cmp(Cmp::Ge, x, limit), make.cmp(Cmp::Eq, x, x));
    let whole = make.select(large, greatest, whole);
    make.select(number, whole, zero)
}

/// The machine's maximum taken both ways differs only where one is NaN (then one of the two is NaN) and of zeros (then one is
/// +0 if any is): "and" of the sign bits and "or" of the others is right for all.
fn max(make: &mut Make, x: Val, y: Val) -> Val {
    if let Some((constant, other)) = make.one_constant(x, y) {
        let second = make.bin(Bin::MaxSecond, constant.0, other);
        return match constant.1.to_bits() {
            // -0 becomes +0, anything else stays.
            0 => make.add(second, constant.0),
            _ => second,
        };
    }
    let (a, b) = (make.bin(Bin::MaxSecond, x, y), make.bin(Bin::MaxSecond, y, x));
    let (both, either, rest) = (make.bin(Bin::And, a, b), make.bin(Bin::Or, a, b), make.f32(f32::from_bits(i32::MAX as u32)));
    let either = make.bin(Bin::And, either, rest);
    make.bin(Bin::Or, both, either)
}

/// As [`max`]; here the signs are joined by "or" as well.
fn min(make: &mut Make, x: Val, y: Val) -> Val {
    if let Some((constant, other)) = make.one_constant(x, y).filter(|(constant, _)| constant.1.to_bits() != 1 << 31) {
        return make.bin(Bin::MinSecond, constant.0, other);
    }
    let (a, b) = (make.bin(Bin::MinSecond, x, y), make.bin(Bin::MinSecond, y, x));
    make.bin(Bin::Or, a, b)
}
