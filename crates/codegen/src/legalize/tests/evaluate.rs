//! Evaluates primitive bodies in Rust, many lanes at a time: a second statement of what the machine code must compute.

use relayc_ir::kernel::{BinaryOp, Body, Cmp, Instr, ScalarType, UnaryOp};

/// Lanes as bits; a Bool is all ones or all zeros.
pub(crate) type Lanes<const N: usize> = [u32; N];

/// The values of all instructions; `reads` and `folded` hold the inputs of those instructions.
pub(crate) fn evaluate<const N: usize>(
    body: &Body,
    reads: &[(Lanes<N>, ScalarType)],
    folded: (&[Lanes<N>], &[ScalarType]),
    count: f32,
) -> Vec<Lanes<N>> {
    let lanes = body.lanes_of(&reads.iter().map(|read| read.1).collect::<Vec<_>>(), folded.1);
    let mut values: Vec<Lanes<N>> = Vec::with_capacity(body.instrs.len());
    for instr in &body.instrs {
        let value = match *instr {
            Instr::Read(read) => reads[usize::from(read)].0,
            Instr::Gather(..) => unreachable!("who calls this reads what is picked"),
            Instr::Reduced(fold) => folded.0[usize::from(fold)],
            Instr::Count => [count.to_bits(); N],
            Instr::Const(bits, _) => [bits as u32; N],
            Instr::ReadHalf(..) => unreachable!("lanes of 64 bits have another reference"),
            Instr::Unary(op, a) => unary(op, &values[a.0 as usize], lanes[a.0 as usize]),
            Instr::Binary(op, a, b) => binary(op, &values[a.0 as usize], &values[b.0 as usize], lanes[a.0 as usize]),
            Instr::Fma(a, b, c) => {
                let (a, b, c) = (&values[a.0 as usize], &values[b.0 as usize], &values[c.0 as usize]);
                std::array::from_fn(|i| float(a[i]).mul_add(float(b[i]), float(c[i])).to_bits())
            }
            Instr::Cmp(op, a, b) => compare(op, &values[a.0 as usize], &values[b.0 as usize], lanes[a.0 as usize]),
            Instr::Select(a, b, c) => {
                let (a, b, c) = (&values[a.0 as usize], &values[b.0 as usize], &values[c.0 as usize]);
                std::array::from_fn(|i| if a[i] != 0 { b[i] } else { c[i] })
            }
        };
        values.push(value);
    }
    values
}

fn float(bits: u32) -> f32 {
    f32::from_bits(bits)
}

fn map<const N: usize>(x: &Lanes<N>, f: impl Fn(u32) -> u32) -> Lanes<N> {
    std::array::from_fn(|i| f(x[i]))
}

fn map_f<const N: usize>(x: &Lanes<N>, f: impl Fn(f32) -> f32) -> Lanes<N> {
    map(x, |bits| f(float(bits)).to_bits())
}

fn zip<const N: usize>(x: &Lanes<N>, y: &Lanes<N>, f: impl Fn(u32, u32) -> u32) -> Lanes<N> {
    std::array::from_fn(|i| f(x[i], y[i]))
}

fn zip_f<const N: usize>(x: &Lanes<N>, y: &Lanes<N>, f: impl Fn(f32, f32) -> f32) -> Lanes<N> {
    zip(x, y, |a, b| f(float(a), float(b)).to_bits())
}

/// Converts to an integer; values out of range become the least integer.
fn to_int(x: f32) -> u32 {
    if x >= -(2f32.powi(31)) && x < 2f32.powi(31) { x as i32 as u32 } else { 1 << 31 }
}

fn unary<const N: usize>(op: UnaryOp, x: &Lanes<N>, lane: ScalarType) -> Lanes<N> {
    let is_float = lane == ScalarType::F32;
    match op {
        UnaryOp::Neg if is_float => map(x, |bits| bits ^ 1 << 31),
        UnaryOp::Neg => map(x, u32::wrapping_neg),
        UnaryOp::Abs if is_float => map(x, |bits| bits & !(1 << 31)),
        UnaryOp::Abs => map(x, |bits| (bits as i32).wrapping_abs() as u32),
        UnaryOp::Sqrt => map_f(x, f32::sqrt),
        UnaryOp::Floor => map_f(x, f32::floor),
        UnaryOp::Ceil => map_f(x, f32::ceil),
        UnaryOp::Trunc => map_f(x, f32::trunc),
        UnaryOp::RoundEven => map_f(x, f32::round_ties_even),
        UnaryOp::Not => map(x, |bits| !bits),
        UnaryOp::TruncToInt => map(x, |bits| to_int(float(bits).trunc())),
        UnaryOp::NearestToInt => map(x, |bits| to_int(float(bits).round_ties_even())),
        UnaryOp::ToFloat => map(x, |bits| (bits as i32 as f32).to_bits()),
        UnaryOp::Bits | UnaryOp::FromBits => *x,
        UnaryOp::BoolToFloat => map(x, |bits| bits & 1f32.to_bits()),
        UnaryOp::BoolToInt => map(x, |bits| bits & 1),
        _ => unreachable!("{op:?} is not primitive"),
    }
}

fn binary<const N: usize>(op: BinaryOp, x: &Lanes<N>, y: &Lanes<N>, lane: ScalarType) -> Lanes<N> {
    let is_float = lane == ScalarType::F32;
    match op {
        BinaryOp::Add if is_float => zip_f(x, y, |a, b| a + b),
        BinaryOp::Sub if is_float => zip_f(x, y, |a, b| a - b),
        BinaryOp::Mul if is_float => zip_f(x, y, |a, b| a * b),
        BinaryOp::Div => zip_f(x, y, |a, b| a / b),
        BinaryOp::MaxSecond if is_float => zip_f(x, y, |a, b| if a > b { a } else { b }),
        BinaryOp::MinSecond if is_float => zip_f(x, y, |a, b| if a < b { a } else { b }),
        BinaryOp::Add => zip(x, y, u32::wrapping_add),
        BinaryOp::Sub => zip(x, y, u32::wrapping_sub),
        BinaryOp::Mul => zip(x, y, u32::wrapping_mul),
        BinaryOp::MaxSecond => zip(x, y, |a, b| (a as i32).max(b as i32) as u32),
        BinaryOp::MinSecond => zip(x, y, |a, b| (a as i32).min(b as i32) as u32),
        BinaryOp::And => zip(x, y, |a, b| a & b),
        BinaryOp::Or => zip(x, y, |a, b| a | b),
        BinaryOp::Xor => zip(x, y, |a, b| a ^ b),
        BinaryOp::Shl => zip(x, y, |a, b| a << (b & 31)),
        BinaryOp::ShrSigned => zip(x, y, |a, b| ((a as i32) >> (b & 31)) as u32),
        BinaryOp::ShrUnsigned => zip(x, y, |a, b| a >> (b & 31)),
        BinaryOp::Scale => zip_f(x, y, |a, b| (f64::from(a) * f64::from(b).exp2()) as f32),
        _ => unreachable!("{op:?} is not primitive"),
    }
}

fn compare<const N: usize>(op: Cmp, x: &Lanes<N>, y: &Lanes<N>, lane: ScalarType) -> Lanes<N> {
    let mask = |holds: bool| if holds { u32::MAX } else { 0 };
    if lane == ScalarType::F32 {
        return zip(x, y, |a, b| {
            let (a, b) = (float(a), float(b));
            mask(match op {
                Cmp::Eq => a == b,
                Cmp::Ne => a != b,
                Cmp::Lt => a < b,
                Cmp::Le => a <= b,
                Cmp::Gt => a > b,
                Cmp::Ge => a >= b,
            })
        });
    }
    zip(x, y, |a, b| {
        let (a, b) = (a as i32, b as i32);
        mask(match op {
            Cmp::Eq => a == b,
            Cmp::Ne => a != b,
            Cmp::Lt => a < b,
            Cmp::Le => a <= b,
            Cmp::Gt => a > b,
            Cmp::Ge => a >= b,
        })
    })
}
