//! Random numbers from a key, by the Threefry generator: those of `crates/ops/src/random.rs`, once more because artifacts hold this
//! crate and nothing else.

use super::number::{Number, int, widened};
use super::operands::Operands;
use super::words::Words;

/// What is drawn. Operand 0 is the key; then come other operands, the key for the next call, and what is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Random {
    /// Bits: numbers of 64 of them.
    Generate { n: usize },
    /// Two keys.
    Split,
    /// Numbers from operand 1 to below operand 2, F64 if wide, else F32.
    Uniform { n: usize, is_wide: bool },
    /// Numbers around operand 1 that lie as far from it as operand 2 says, by the transform of Box and Muller.
    Normal { n: usize, is_wide: bool },
    /// Indices into each row of operand 1, each as likely as its share of the row.
    Multinomial { n_rows: usize, n_shares: usize, n_samples: usize, share: (usize, Number) },
}

/// How many numbers a line draws.
const PART: usize = 4096;

/// A generator's state: four words of the hash's key, two of the path, two of a counter, and the bit of the next split.
#[derive(Clone, Copy)]
struct Key([u64; 10]);

impl Random {
    pub(super) fn write(&self, word: &mut impl FnMut(u64)) {
        let mut all = |numbers: &[usize]| numbers.iter().for_each(|&number| word(number as u64));
        match *self {
            Random::Generate { n } => all(&[0, n]),
            Random::Split => all(&[1]),
            Random::Uniform { n, is_wide } => all(&[2, n, is_wide.into()]),
            Random::Normal { n, is_wide } => all(&[3, n, is_wide.into()]),
            Random::Multinomial { n_rows, n_shares, n_samples, share } => {
                all(&[4, n_rows, n_shares, n_samples]);
                Number::words(share).into_iter().for_each(word);
            }
        }
    }

    pub(super) fn read(words: &mut Words) -> Random {
        match words.word() {
            0 => Random::Generate { n: words.number() },
            1 => Random::Split,
            2 => Random::Uniform { n: words.number(), is_wide: words.word() != 0 },
            3 => Random::Normal { n: words.number(), is_wide: words.word() != 0 },
            _ => {
                let [n_rows, n_shares, n_samples] = core::array::from_fn(|_| words.number());
                Random::Multinomial { n_rows, n_shares, n_samples, share: Number::read(words) }
            }
        }
    }

    /// Line 0 also writes the key for the next call.
    pub(super) fn n_lines(&self) -> usize {
        let n = match *self {
            Random::Generate { n } | Random::Uniform { n, .. } | Random::Normal { n, .. } => n.div_ceil(PART),
            Random::Split => 1,
            Random::Multinomial { n_rows, .. } => n_rows,
        };
        n.max(1)
    }

    /// The sums of a row's shares.
    pub(super) fn scratch_bytes(&self) -> u64 {
        if let Random::Multinomial { n_shares, .. } = self { 4 * *n_shares as u64 } else { 0 }
    }

    /// # Safety
    /// The operands hold all lines, and the scratch memory has [`Random::scratch_bytes`] at a multiple of 4. Nobody else uses the results
    /// of this line.
    pub(super) unsafe fn line(&self, line: usize, operands: &Operands, scratch: *mut u8) {
        // SAFETY: as the caller says.
        let key = Key(unsafe { operands[0].cast::<[u64; 10]>().read_unaligned() });
        let part = |n: usize| line * PART..n.min((line + 1) * PART);
        // SAFETY: as the caller says.
        unsafe {
            let next = |to: usize, key: Key| {
                if line == 0 {
                    operands[to].cast::<[u64; 10]>().write_unaligned(key.0);
                }
            };
            match *self {
                Random::Generate { n } => {
                    next(1, key.after(n));
                    let mut bits = Bits::of(key, n);
                    part(n).for_each(|at| operands[2].cast::<u64>().wrapping_add(at).write_unaligned(bits.at(at)));
                }
                Random::Split => {
                    let (left, right) = key.split();
                    next(1, left);
                    next(2, right);
                }
                Random::Uniform { n, is_wide: false } => {
                    next(3, key.after(n));
                    let [low, high] = [1, 2].map(|at| operands[at].cast::<f32>().read_unaligned());
                    let (mut bits, width) = (Bits::of(key, n), high - low);
                    for at in part(n) {
                        operands[4].cast::<f32>().wrapping_add(at).write_unaligned(bits.single(at) * width + low);
                    }
                }
                Random::Uniform { n, is_wide: true } => {
                    next(3, key.after(n));
                    let [low, high] = [1, 2].map(|at| operands[at].cast::<f64>().read_unaligned());
                    let (mut bits, width) = (Bits::of(key, n), high - low);
                    for at in part(n) {
                        operands[4].cast::<f64>().wrapping_add(at).write_unaligned(bits.double(at) * width + low);
                    }
                }
                Random::Normal { n, is_wide: false } => {
                    next(3, key.after(2 * n));
                    let [mean, scale] = [1, 2].map(|at| operands[at].cast::<f32>().read_unaligned());
                    let [mut radii, mut angles] = [Bits::of(key, 2 * n), Bits::of(key, 2 * n)];
                    for at in part(n) {
                        let radius = square_root((-2.0 * logarithm((1.0 - radii.single(at)).into()) as f32).into()) as f32;
                        let sine = sine((core::f32::consts::TAU * angles.single(n + at)).into()) as f32;
                        operands[4].cast::<f32>().wrapping_add(at).write_unaligned(radius * sine * scale + mean);
                    }
                }
                Random::Normal { n, is_wide: true } => {
                    next(3, key.after(2 * n));
                    let [mean, scale] = [1, 2].map(|at| operands[at].cast::<f64>().read_unaligned());
                    let [mut radii, mut angles] = [Bits::of(key, 2 * n), Bits::of(key, 2 * n)];
                    for at in part(n) {
                        let radius = square_root(-2.0 * logarithm(1.0 - radii.double(at)));
                        let sine = sine(core::f64::consts::TAU * angles.double(n + at));
                        operands[4].cast::<f64>().wrapping_add(at).write_unaligned(radius * sine * scale + mean);
                    }
                }
                Random::Multinomial { n_rows, n_shares, n_samples, share } => {
                    let n = n_rows * n_samples;
                    next(2, key.after(n));
                    // Without rows there is a line for the key.
                    if line >= n_rows {
                        return;
                    }
                    let shares = |at: usize| positive(operands[1], line * n_shares + at, share);
                    let whole = (0..n_shares).map(shares).fold(0.0, |sum, share| sum + share);
                    let sums = core::slice::from_raw_parts_mut(scratch.cast::<f32>(), n_shares);
                    let mut sum = 0.0;
                    for (at, to) in sums.iter_mut().enumerate() {
                        sum += shares(at) / whole;
                        *to = sum;
                    }
                    let mut bits = Bits::of(key, n);
                    for at in line * n_samples..(line + 1) * n_samples {
                        let index = first_above(sums, bits.single(at));
                        operands[3].cast::<i32>().wrapping_add(at).write_unaligned(index);
                    }
                }
            }
        }
    }
}

/// A share, which is 0 if negative.
///
/// # Safety
/// It is there.
unsafe fn positive(shares: *const u8, at: usize, (width, number): (usize, Number)) -> f32 {
    let at = shares.wrapping_add(at * width);
    // SAFETY: as the caller says.
    let share = unsafe {
        match number {
            Number::Float(23) => at.cast::<f32>().read_unaligned(),
            Number::Float(52) => at.cast::<f64>().read_unaligned() as f32,
            Number::Float(fraction) => widened(at.cast::<u16>().read_unaligned(), fraction),
            _ => int(at, (width, number)) as f32,
        }
    };
    if share > 0.0 || share.is_nan() { share } else { 0.0 }
}

/// The index of the smallest distance above 0, where those that are not above count as 1: the first of several.
fn first_above(sums: &[f32], u: f32) -> i32 {
    let distance = |sum: f32| if sum - u > 0.0 { sum - u } else { 1.0 };
    let mut best = (0, sums.first().map_or(1.0, |&sum| distance(sum)));
    for (at, &sum) in sums.iter().enumerate().skip(1) {
        if distance(sum) < best.1 {
            best = (at as i32, distance(sum));
        }
    }
    best.0
}

/// The natural logarithm of a number from 2^-60 to 1, to the last place or the one before.
fn logarithm(x: f64) -> f64 {
    // ln 2 without its last bits, so that its products with exponents are exact, and the rest.
    const HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
    const LOW: f64 = 1.908_214_929_270_587_7e-10;
    // A mantissa from about 0.7 to 1.4.
    let bits = x.to_bits().wrapping_sub(0x3fe6_a09e_667f_3bcd);
    let exponent = (bits as i64 >> 52) as f64;
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)).wrapping_add(0x3fe6_a09e_667f_3bcd));
    // ln m = 2 artanh((m - 1) / (m + 1)), by Taylor's series.
    let difference = mantissa - 1.0;
    let s = difference / (mantissa + 1.0);
    let square = s * s;
    let series = (1..12).rev().fold(0.0, |sum, k| (sum + 2.0 / f64::from(2 * k + 1)) * square);
    // 2 s is the difference less its product with s, which is rounded where it is small.
    exponent * HIGH + (difference - (s * (difference - series) - exponent * LOW))
}

/// The sine of an angle from 0 to a whole turn.
fn sine(x: f64) -> f64 {
    // A right angle in three parts; multiples of the first two are exact.
    const HIGH: f64 = f64::from_bits(0x3ff9_21fb_5000_0000);
    const LOW: f64 = f64::from_bits(0x3e51_10b4_6000_0000);
    const LOWEST: f64 = f64::from_bits(0x3c91_a626_3314_5c07);
    let n = (x * core::f64::consts::FRAC_2_PI + 0.5) as i64;
    let turns = n as f64;
    let r = x - turns * HIGH - turns * LOW - turns * LOWEST;
    let square = r * r;
    let series = |first: f64, from: i64| {
        // Taylor's series, cut where a term no longer reaches the last place.
        let term = |k: i64| -1.0 / ((2 * k + from) * (2 * k + from - 1)) as f64;
        (1..12).rev().fold(1.0, |sum, k| 1.0 + sum * square * term(k)) * first
    };
    let size = if n % 2 == 0 { series(r, 1) } else { series(1.0, 0) };
    if n % 4 < 2 { size } else { -size }
}

/// The square root, which the language of the runtime lacks.
fn square_root(x: f64) -> f64 {
    let root;
    // SAFETY: it only computes a number.
    unsafe { core::arch::asm!("sqrtsd {}, {}", out(xmm_reg) root, in(xmm_reg) x, options(pure, nomem, nostack)) };
    root
}

/// The numbers that a key gives.
struct Bits {
    state: Key,
    /// How many of them are in whole blocks.
    whole: usize,
    block: Option<(usize, [u64; 4])>,
}

impl Bits {
    fn of(key: Key, n: usize) -> Bits {
        Bits { state: key.with_room(n as u64), whole: n / 4 * 4, block: None }
    }

    /// Block `i` of four is the hash of the counter's words, each plus `i`; in the last one, which is not whole, only the counter goes on.
    fn at(&mut self, at: usize) -> u64 {
        let number = at / 4;
        let words = match self.block {
            Some((known, words)) if known == number => words,
            _ => {
                let (key, mut counter) = self.state.parts();
                if at < self.whole {
                    counter = counter.map(|word| word.wrapping_add(number as u64));
                } else {
                    counter[3] = counter[3].wrapping_add(self.whole as u64);
                }
                threefry(key, counter)
            }
        };
        self.block = Some((number, words));
        words[at % 4]
    }

    /// A number from 0 to below 1: the random bits are the mantissa of one from 1 to below 2.
    fn single(&mut self, at: usize) -> f32 {
        f32::from_bits(((self.at(at) as u32) >> 9) | (127 << 23)) - 1.0
    }

    fn double(&mut self, at: usize) -> f64 {
        f64::from_bits((self.at(at) >> 12) | (1023 << 52)) - 1.0
    }
}

impl Key {
    fn parts(self) -> ([u64; 4], [u64; 4]) {
        let [a, b, c, d, path, more_path, high, counter, ..] = self.0;
        ([a, b, c, d], [path, more_path, high, counter])
    }

    /// The key for the call after one that draws `n` numbers.
    fn after(self, n: usize) -> Key {
        let mut state = self.with_room(n as u64);
        state.0[6] = 0;
        state.0[7] = state.0[7].wrapping_add(n.next_multiple_of(4) as u64);
        state
    }

    /// Itself, or a key that follows from it and whose counter has room for `n` numbers.
    fn with_room(self, n: u64) -> Key {
        let [a, b, c, d, path, more_path, _, counter, next, more_next] = self.0;
        if counter < u64::MAX.wrapping_sub(n) {
            return self;
        }
        if (next, more_next) == (0, 0) {
            let [a, b, c, d] = threefry([a, b, c, d], [u64::MAX; 4]);
            return Key([a, b, c, d, 0, 0, 0, 0, 1 << 63, 0]);
        }
        let [after, more_after] = next_step(next, more_next);
        Key([a, b, c, d, path | next, more_path | more_next, 0, 0, after, more_after])
    }

    fn split(self) -> (Key, Key) {
        let [a, b, c, d, path, more_path, high, counter, next, more_next] = self.0;
        if (next, more_next) == (0, 0) {
            let (key, hashed) = self.parts();
            let [a, b, c, d] = threefry(key, hashed);
            let of = |path| Key([a, b, c, d, path, 0, 0, 0, 1 << 62, 0]);
            return (of(0), of(1 << 63));
        }
        let [after, more_after] = next_step(next, more_next);
        let of = |path, more_path| Key([a, b, c, d, path, more_path, high, counter, after, more_after]);
        (of(path, more_path), of(path | next, more_path | more_next))
    }
}

/// The bit of the path that comes after this one.
fn next_step(high: u64, low: u64) -> [u64; 2] {
    match high {
        0 => [0, low >> 1],
        1 => [0, 1 << 63],
        _ => [high >> 1, 0],
    }
}

/// The hash: 20 rounds of Threefry with four words, as TVM computes it.
fn threefry(key: [u64; 4], mut words: [u64; 4]) -> [u64; 4] {
    const ROTATIONS: [[u32; 2]; 8] = [[14, 16], [52, 57], [23, 40], [5, 37], [25, 33], [46, 12], [58, 22], [32, 32]];
    let parity = key.iter().fold(0x1BD1_1BDA_A9FC_1A22, |parity, word| parity ^ word);
    let [k0, k1, k2, k3] = key;
    let full = [k0, k1, k2, k3, parity];
    for round in 0..20 {
        if round % 4 == 0 {
            let step = round / 4;
            words.iter_mut().enumerate().for_each(|(i, word)| *word = word.wrapping_add(full[(step + i) % 5]));
            words[3] = words[3].wrapping_add(step as u64);
        }
        let [a, b, c, d] = words;
        let [left, right] = ROTATIONS[round % 8];
        let (x, y) = (a.wrapping_add(b), c.wrapping_add(d));
        let (twice_x, twice_y) = (x.wrapping_add(b), y.wrapping_add(d));
        words = [x, twice_y ^ d.rotate_left(right), y, twice_x ^ b.rotate_left(left)];
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{logarithm, sine, square_root};

    #[test]
    fn functions_are_those_of_numbers() {
        for at in 1..100_000 {
            let x = f64::from(at) / 100_000.0;
            for x in [x, x * x * x * x, 1.0 - x * f64::EPSILON * 64.0] {
                let (found, expected) = (logarithm(x), x.ln());
                assert!(
                    (found - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(),
                    "ln({x}) is {found:e}, not {expected:e}"
                );
            }
            let angle = x * core::f64::consts::TAU;
            let (found, expected) = (sine(angle), angle.sin());
            assert!(
                (found - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(),
                "sin({angle}) is {found:e}, not {expected:e}"
            );
            assert_eq!(square_root(x), x.sqrt());
        }
        assert_eq!([logarithm(1.0), sine(0.0), square_root(0.0)], [0.0; 3]);
    }
}
