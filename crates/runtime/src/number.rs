//! What the bits of an element mean, and arithmetic on 16-bit floats, which the language of the runtime lacks.

use super::integer::index;
use super::words::Words;

/// What the bits of an element mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    Bool,
    Unsigned,
    Signed,
    /// A float with this many bits in its fraction.
    Float(u32),
}

impl Number {
    /// The words of an element: its bytes, and what they mean.
    pub(crate) fn words((width, number): (usize, Number)) -> [u64; 3] {
        match number {
            Number::Bool => [width as u64, 0, 0],
            Number::Unsigned => [width as u64, 1, 0],
            Number::Signed => [width as u64, 2, 0],
            Number::Float(fraction) => [width as u64, 3, fraction.into()],
        }
    }

    pub(crate) fn read(words: &mut Words) -> (usize, Number) {
        let (width, number, fraction) = (words.number(), words.word(), words.word() as u32);
        let number = match number {
            0 => Number::Bool,
            1 => Number::Unsigned,
            2 => Number::Signed,
            _ => Number::Float(fraction),
        };
        (width, number)
    }
}

/// An integer or a bool.
///
/// # Safety
/// `at` has so many readable bytes.
pub(crate) unsafe fn int(at: *const u8, (width, number): (usize, Number)) -> i128 {
    // SAFETY: as the caller says.
    let x = unsafe { index(at, width, number == Number::Signed) };
    if number == Number::Bool { (x != 0).into() } else { x }
}

/// The value of a 16-bit float with so many bits in its fraction: 10, or 7.
pub fn widened(bits: u16, fraction: u32) -> f32 {
    let (sign, rest) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff));
    if fraction == 7 {
        return f32::from_bits(sign | rest << 16);
    }
    // The exponents differ in their bias by 112.
    const UP: f32 = f32::from_bits((127 + 112) << 23);
    let size = match rest {
        0x7c00.. => f32::INFINITY.to_bits() | (rest & 0x3ff) << 13,
        rest => (f32::from_bits(rest << 13) * UP).to_bits(),
    };
    f32::from_bits(sign | size)
}

/// The nearest 16-bit float with so many bits in its fraction; of two, the even one.
pub fn narrowed(x: f32, fraction: u32) -> u16 {
    let (bits, shift) = (x.to_bits(), 23 - fraction);
    let (sign, size) = ((bits >> 16) as u16 & 0x8000, bits & 0x7fff_ffff);
    let infinity = (0x7fff >> fraction << fraction) as u16;
    let rounded = |size: u32| ((size + (1 << (shift - 1)) - 1 + (size >> shift & 1)) >> shift) as u16;
    sign | match size {
        // A quiet one, with what fits of its bits.
        _ if x.is_nan() => infinity | 1 << (fraction - 1) | (size >> shift) as u16 & ((1 << fraction) - 1),
        _ if fraction == 7 => rounded(size),
        // 65536 and more.
        0x4780_0000.. => infinity,
        // Below 2^-14 the last bit stands for 2^-24, as that of 0.5 in float32 does.
        ..0x3880_0000 => (f32::from_bits(size) + 0.5).to_bits() as u16,
        size => rounded(size - (112 << 23)),
    }
}
