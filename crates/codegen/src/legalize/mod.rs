//! Legalizes a body: rewrites it into primitive instructions, which a machine computes in one step or two.
//!
//! Results keep the bounds that [`UnaryOp`] and [`BinaryOp`] state, for every input, including zeros, infinities, NaN and subnormals. No
//! subnormal is flushed. The code is straight-line, so all lanes do the same whatever they hold, and nothing traps.
//!
//! Constants come from minimax fits (Lawson's reweighted least squares). Coefficients were rounded one after another, refitting
//! the rest each time. Absent: registers and machine instructions.

mod builder;
mod circular;
mod exponential;
mod hyperbolic;
mod inverse;
mod logarithm;
mod remainder;
mod saturating;
pub mod widths;

#[cfg(test)]
pub(crate) mod tests;

use builder::BodyBuilder;
use half::{bf16, f16};
use relayc_ir::kernel::{BinaryOp, Body, Cmp, Instr, ScalarType, UnaryOp, Val};

/// Rewrites `body` into primitive instructions, drops those that no value of `results` needs, and returns the new `results`.
///
/// `reads` gives the scalar type of each read. [`BinaryOp::Scale`] stays only if `scale` is set, because the machine has it.
pub(crate) fn legalize(body: &Body, reads: &[ScalarType], results: &[Val], scale: bool) -> (Body, Vec<Val>) {
    legalize_typed(body, &body.lanes(reads), results, scale)
}

/// Like [`legalize`], with the scalar type of every value in `lanes`.
pub(crate) fn legalize_typed(body: &Body, lanes: &[ScalarType], results: &[Val], scale: bool) -> (Body, Vec<Val>) {
    let mut make = BodyBuilder::new(scale);
    let mut map: Vec<Val> = Vec::with_capacity(body.instrs.len());
    let (needed, halves) = (needed(body, results), halves(body));
    for (at, &instr) in body.instrs.iter().enumerate() {
        let val = match instr {
            // Never looked at again.
            _ if !needed[at] => Val(0),
            Instr::Unary(UnaryOp::ThroughF16, a) if halves[a.0 as usize].0 => map[a.0 as usize],
            Instr::Unary(UnaryOp::ThroughBF16, a) if halves[a.0 as usize].1 => map[a.0 as usize],
            Instr::Unary(UnaryOp::TruncToInt, a) => {
                let whole = match make.instr(map[a.0 as usize]) {
                    Instr::Unary(UnaryOp::Trunc, x) => x,
                    _ => map[a.0 as usize],
                };
                make.un(UnaryOp::TruncToInt, whole)
            }
            Instr::Unary(op, a) => unary(&mut make, op, map[a.0 as usize]),
            Instr::Binary(op, a, b) => binary(&mut make, op, map[a.0 as usize], map[b.0 as usize], lanes[a.0 as usize]),
            _ => make.push(instr.map(|val| map[val.0 as usize])),
        };
        map.push(val);
    }
    let results: Vec<Val> = results.iter().map(|val| map[val.0 as usize]).collect();
    pruned(&make.finish(), &results)
}

/// A body of an epilogue without the rounding of the sum itself to a 16-bit float, where what is made of it is rounded anyway.
///
/// A sum may be off by half a unit of the last place (reliability 5, class R), which is what its rounding adds.
pub(crate) fn rounded_later(body: &Body, result: Val) -> (Body, Val) {
    let mut later = Body::new();
    let mut map: Vec<Val> = Vec::with_capacity(body.instrs.len());
    for &instr in &body.instrs {
        map.push(match instr {
            // Also where the sum was rounded before.
            Instr::Unary(UnaryOp::ThroughF16 | UnaryOp::ThroughBF16, a)
                if later.instrs[map[a.0 as usize].0 as usize] == Instr::Read(0) =>
            {
                map[a.0 as usize]
            }
            _ => later.push(instr.map(|val| map[val.0 as usize])),
        });
    }
    let of_result = map[result.0 as usize];
    match halves(&later)[of_result.0 as usize] == halves(body)[result.0 as usize] {
        true => (later, of_result),
        false => (body.clone(), result),
    }
}

/// Whether each value is a number of F16, and whether it is one of BF16, as far as the body shows it.
fn halves(body: &Body) -> Vec<(bool, bool)> {
    let mut halves: Vec<(bool, bool)> = Vec::with_capacity(body.instrs.len());
    for &instr in &body.instrs {
        let of = |val: Val| halves[val.0 as usize];
        let both = |a: Val, b: Val| (of(a).0 && of(b).0, of(a).1 && of(b).1);
        halves.push(match instr {
            Instr::Unary(UnaryOp::ThroughF16, a) => (true, of(a).1),
            Instr::Unary(UnaryOp::ThroughBF16, a) => (of(a).0, true),
            Instr::Unary(UnaryOp::Neg | UnaryOp::Abs, a) => of(a),
            Instr::Binary(BinaryOp::Max | BinaryOp::Min | BinaryOp::MaxSecond | BinaryOp::MinSecond, a, b) => both(a, b),
            Instr::Select(_, a, b) => both(a, b),
            Instr::Const(bits, ScalarType::F32) => {
                let value = f32::from_bits(bits as u32);
                (f16::from_f32(value).to_f32() == value, bf16::from_f32(value).to_f32() == value)
            }
            _ => (false, false),
        });
    }
    halves
}

/// The instructions that `results` depend on.
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

fn unary(make: &mut BodyBuilder, op: UnaryOp, x: Val) -> Val {
    match op {
        UnaryOp::Neg
        | UnaryOp::Abs
        | UnaryOp::Sqrt
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::Trunc
        | UnaryOp::RoundEven
        | UnaryOp::Not
        | UnaryOp::TruncToInt
        | UnaryOp::NearestToInt
        | UnaryOp::ToFloat
        | UnaryOp::Bits
        | UnaryOp::FromBits
        | UnaryOp::BoolToFloat
        | UnaryOp::BoolToInt
        | UnaryOp::ThroughF16
        | UnaryOp::Widen(..)
        // What is left of these has no kernel, and whoever makes code of them says so.
        | UnaryOp::To(_)
        | UnaryOp::ToExact(_) => make.un(op, x),
        UnaryOp::Exp => exponential::exp(make, x),
        UnaryOp::Sigmoid => exponential::sigmoid(make, x),
        UnaryOp::Log => logarithm::log(make, x),
        UnaryOp::Log2 => logarithm::log2(make, x),
        UnaryOp::Log10 => logarithm::log10(make, x),
        UnaryOp::Rsqrt => {
            let (one, root) = (make.f32(1.0), make.un(UnaryOp::Sqrt, x));
            make.div(one, root)
        }
        UnaryOp::Tanh => saturating::tanh(make, x),
        UnaryOp::Erf => saturating::erf(make, x),
        UnaryOp::Sin => circular::sin(make, x),
        UnaryOp::Cos => circular::cos(make, x),
        UnaryOp::Tan => circular::tan(make, x),
        UnaryOp::Asin => inverse::asin(make, x),
        UnaryOp::Acos => inverse::acos(make, x),
        UnaryOp::Atan => inverse::atan(make, x),
        UnaryOp::Sinh => hyperbolic::sinh(make, x),
        UnaryOp::Cosh => hyperbolic::cosh(make, x),
        UnaryOp::Asinh => hyperbolic::asinh(make, x),
        UnaryOp::Acosh => hyperbolic::acosh(make, x),
        UnaryOp::Atanh => hyperbolic::atanh(make, x),
        UnaryOp::Round => round(make, x),
        UnaryOp::Sign => sign(make, x),
        UnaryOp::SaturateToInt => saturate(make, x),
        UnaryOp::ThroughBF16 => through_bf16(make, x),
    }
}

fn binary(make: &mut BodyBuilder, op: BinaryOp, x: Val, y: Val, lane: ScalarType) -> Val {
    match op {
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::MaxSecond
        | BinaryOp::MinSecond
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Shl
        | BinaryOp::ShrSigned
        | BinaryOp::ShrUnsigned
        | BinaryOp::JoinLow
        | BinaryOp::JoinFloat
        | BinaryOp::TruncDiv => make.bin(op, x, y),
        BinaryOp::Scale => {
            let n = make.nearest(y, 1.0);
            make.scale(x, n)
        }
        BinaryOp::Max if lane == ScalarType::F32 => max(make, x, y),
        BinaryOp::Min if lane == ScalarType::F32 => min(make, x, y),
        BinaryOp::Max => make.bin(BinaryOp::MaxSecond, x, y),
        BinaryOp::Min => make.bin(BinaryOp::MinSecond, x, y),
        BinaryOp::Pow => exponential::pow(make, x, y),
        BinaryOp::Mod => remainder::modulo(make, x, y),
        BinaryOp::FloorMod => remainder::floor_mod(make, x, y),
        BinaryOp::FloorDiv => remainder::floor_div(make, x, y),
    }
}

/// Rounds halves away from zero. It adds the greatest float below a half, so that nothing below a half rounds to one.
fn round(make: &mut BodyBuilder, x: Val) -> Val {
    let below_half = make.f32(0.5f32.next_down());
    let signed = make.with_sign(below_half, x);
    let sum = make.add(x, signed);
    make.un(UnaryOp::Trunc, sum)
}

fn sign(make: &mut BodyBuilder, x: Val) -> Val {
    let (zero, one, minus) = (make.f32(0.0), make.f32(1.0), make.f32(-1.0));
    let (above, below) = (make.cmp(Cmp::Gt, x, zero), make.cmp(Cmp::Lt, x, zero));
    let down = make.select(below, minus, zero);
    make.select(above, one, down)
}

/// Values that are too small become the least integer without further code.
fn saturate(make: &mut BodyBuilder, x: Val) -> Val {
    let (limit, greatest, zero) = (make.f32(2f32.powi(31)), make.i32(i32::MAX), make.i32(0));
    let whole = make.un(UnaryOp::TruncToInt, x);
    let (large, number) = (make.cmp(Cmp::Ge, x, limit), make.cmp(Cmp::Eq, x, x));
    let whole = make.select(large, greatest, whole);
    make.select(number, whole, zero)
}

/// Adds to the bits that are cut off a half less one, and one more where what stays is odd.
fn through_bf16(make: &mut BodyBuilder, x: Val) -> Val {
    let (bits, place, one) = (make.un(UnaryOp::Bits, x), make.i32(16), make.i32(1));
    let (half, kept) = (make.i32(0x7fff), make.i32(-0x1_0000));
    let shifted = make.bin(BinaryOp::ShrUnsigned, bits, place);
    let odd = make.and(shifted, one);
    let sum = make.add(bits, half);
    let sum = make.add(sum, odd);
    let cut = make.and(sum, kept);
    let (near, nan) = (make.un(UnaryOp::FromBits, cut), make.f32(f32::NAN));
    let number = make.cmp(Cmp::Eq, x, x);
    make.select(number, near, nan)
}

/// Takes the machine's maximum with operands in both orders and joins the results.
///
/// They differ only for NaN (then one of the two is NaN) and for zeros (then one is +0 if any is). "And" of the sign bits and
/// "or" of the others is right in all cases.
fn max(make: &mut BodyBuilder, x: Val, y: Val) -> Val {
    if let Some((constant, other)) = make.one_constant(x, y) {
        let second = make.bin(BinaryOp::MaxSecond, constant.0, other);
        return match constant.1.to_bits() {
            // -0 becomes +0, anything else stays.
            0 => make.add(second, constant.0),
            _ => second,
        };
    }
    let (a, b) = (make.bin(BinaryOp::MaxSecond, x, y), make.bin(BinaryOp::MaxSecond, y, x));
    let (both, either, rest) =
        (make.bin(BinaryOp::And, a, b), make.bin(BinaryOp::Or, a, b), make.f32(f32::from_bits(i32::MAX as u32)));
    let either = make.bin(BinaryOp::And, either, rest);
    make.bin(BinaryOp::Or, both, either)
}

/// Like [`max`]; the signs are also joined by "or".
fn min(make: &mut BodyBuilder, x: Val, y: Val) -> Val {
    if let Some((constant, other)) = make.one_constant(x, y).filter(|(constant, _)| constant.1.to_bits() != 1 << 31) {
        return make.bin(BinaryOp::MinSecond, constant.0, other);
    }
    let (a, b) = (make.bin(BinaryOp::MinSecond, x, y), make.bin(BinaryOp::MinSecond, y, x));
    make.bin(BinaryOp::Or, a, b)
}
