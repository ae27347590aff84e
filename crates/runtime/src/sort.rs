//! Sorts lines by integer keys that have the order of the elements, followed by the position.
//!
//! So equal elements keep their order, and no comparison reads the data again. Elements are bits: a number of any dtype has a key of as
//! many bits. NaN is above every number, and -0 equals +0.

use super::number::Number;
use super::words::Words;

/// Takes the first `take` elements of each line in sorted order. A line is `length` elements, `inner` apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sort {
    pub n_lines: usize,
    pub length: usize,
    pub inner: usize,
    pub take: usize,
    pub descending: bool,
    /// Bytes of an element, and of a position, with what they mean.
    pub element: (usize, Number),
    pub position: (usize, Number),
}

/// The number of words of a sort.
const WORDS: usize = 11;

impl Sort {
    /// Bytes of scratch memory for each thread.
    pub fn scratch_bytes(&self) -> u64 {
        self.n_keys() as u64 * if self.element.0 <= 4 { 8 } else { 16 }
    }

    /// Number of keys that there are at a time. Where few are taken, twice as many: the second half is of those that may be among them.
    fn n_keys(&self) -> usize {
        self.take.saturating_mul(2).min(self.length)
    }

    /// The words that [`Sort::read`] reads.
    pub fn words(&self) -> [u64; WORDS] {
        let [n_lines, length, inner, take] = [self.n_lines, self.length, self.inner, self.take].map(|n| n as u64);
        let ([a, b, c], [d, e, f]) = (Number::words(self.element), Number::words(self.position));
        [n_lines, length, inner, take, self.descending.into(), a, b, c, d, e, f]
    }

    pub(crate) fn read(words: &mut Words) -> Sort {
        let [n_lines, length, inner, take] = core::array::from_fn(|_| words.number());
        let descending = words.word() != 0;
        Sort { n_lines, length, inner, take, descending, element: Number::read(words), position: Number::read(words) }
    }

    /// Sorts a line: writes elements and positions, each unless its address is null.
    ///
    /// # Safety
    /// The data has all lines, both results have room for them, and the scratch memory for [`Sort::scratch_bytes`], aligned to 16
    /// bytes. No other thread uses the line's results or this scratch memory.
    pub unsafe fn line(&self, line: usize, data: *const u8, values: *mut u8, positions: *mut u8, scratch: *mut u8) {
        // SAFETY: as the caller says.
        unsafe {
            match self.element.0 {
                1 => self.of_line::<u8, u64>(line, data, values, positions, scratch),
                2 => self.of_line::<u16, u64>(line, data, values, positions, scratch),
                4 => self.of_line::<u32, u64>(line, data, values, positions, scratch),
                _ => self.of_line::<u64, u128>(line, data, values, positions, scratch),
            }
        }
    }

    /// # Safety
    /// Like [`Sort::line`].
    unsafe fn of_line<B: Copy + Into<u64>, K: Key>(
        &self,
        line: usize,
        data: *const u8,
        values: *mut u8,
        positions: *mut u8,
        scratch: *mut u8,
    ) {
        // SAFETY: the caller promises room for so many keys.
        let keys: &mut [K] = unsafe { core::slice::from_raw_parts_mut(scratch.cast(), self.n_keys()) };
        let (n, inner, take) = (self.length, self.inner, self.take);
        let start = line / inner * n * inner + line % inner;
        let to = line / inner * take * inner + line % inner;
        let place = |at: usize| data.cast::<B>().wrapping_add(start.wrapping_add(at.wrapping_mul(inner)));
        // SAFETY: the element is one of the line.
        let element = |at: usize| unsafe { place(at).read_unaligned() };
        if take == 0 {
            return;
        }
        let key = |number: Number, at: usize| {
            let order = number.order(element(at).into(), 8 * size_of::<B>() as u32);
            K::new(if self.descending { K::MAX - order } else { order }, at)
        };
        // A loop for each kind of number, which asks for the kind no more.
        match self.element.1 {
            Number::Float(fraction) => first(keys, take, n, |at| key(Number::Float(fraction), at)),
            Number::Signed => first(keys, take, n, |at| key(Number::Signed, at)),
            number => first(keys, take, n, |at| key(number, at)),
        }
        let keys = &mut keys[..take];
        for (place, key) in keys.iter().enumerate() {
            let (to, at) = (to + place * inner, key.at());
            if !values.is_null() {
                // SAFETY: the place is one of this line's results.
                unsafe { values.cast::<B>().wrapping_add(to).write_unaligned(element(at)) };
            }
            if !positions.is_null() {
                // SAFETY: as above.
                unsafe { self.put(positions.wrapping_add(to * self.position.0), at as u64) };
            }
        }
    }

    /// # Safety
    /// There is room for a position.
    unsafe fn put(&self, to: *mut u8, at: u64) {
        let bits = match self.position {
            (_, Number::Bool) => u64::from(at != 0),
            (_, Number::Unsigned | Number::Signed) => at,
            (4, Number::Float(_)) => (at as f32).to_bits().into(),
            (8, Number::Float(_)) => (at as f64).to_bits(),
            (_, Number::Float(fraction)) => half(at, fraction),
        };
        // SAFETY: the caller promises it.
        unsafe {
            match self.position.0 {
                1 => to.write(bits as u8),
                2 => to.cast::<u16>().write_unaligned(bits as u16),
                4 => to.cast::<u32>().write_unaligned(bits as u32),
                _ => to.cast::<u64>().write_unaligned(bits),
            }
        }
    }
}

/// Moves the first `take` of `n` keys to the begin, in order. Those that are not among them are dropped as soon as that is known: there
/// are no more at a time than `keys` has room for, which is more than `take` unless that is all.
fn first<K: Key>(keys: &mut [K], take: usize, n: usize, key: impl Fn(usize) -> K) {
    let (mut n_kept, mut bound) = (0, K::LAST);
    for at in 0..n {
        let key = key(at);
        if key >= bound {
            continue;
        }
        keys[n_kept] = key;
        n_kept += 1;
        if n_kept == keys.len() && take < n_kept {
            keys.select_nth_unstable(take - 1);
            (n_kept, bound) = (take, keys[take - 1]);
        }
    }
    if take < n_kept {
        keys[..n_kept].select_nth_unstable(take - 1);
    }
    keys[..take].sort_unstable();
}

/// The 16 bits of the float nearest to a number, by its bits of fraction; of two, the even one.
fn half(n: u64, fraction: u32) -> u64 {
    let Some(exponent) = n.checked_ilog2() else { return 0 };
    let bias = (1u64 << (14 - fraction)) - 1;
    let infinity = (0x7fff >> fraction) << fraction;
    let significand = match exponent.checked_sub(fraction) {
        None | Some(0) => n << (fraction - exponent.min(fraction)),
        Some(shift) => {
            let (kept, rest, middle) = (n >> shift, n & ((1 << shift) - 1), 1 << (shift - 1));
            kept + u64::from(rest > middle || (rest == middle && kept & 1 == 1))
        }
    };
    // What rounds up to the next power of two carries into the exponent.
    (((u64::from(exponent) + bias) << fraction) + significand - (1 << fraction)).min(infinity)
}

impl Number {
    /// A number that orders elements of so many bits, within 32 or 64 bits.
    pub(crate) fn order(self, bits: u64, width: u32) -> u64 {
        let sign = 1u64 << (width - 1);
        match self {
            Number::Bool => u64::from(bits != 0),
            Number::Unsigned => bits,
            Number::Signed => bits ^ sign,
            Number::Float(fraction) => {
                let infinity = (sign - 1) >> fraction << fraction;
                // What is negative goes from its greatest bits down, what is not lies above; of two zeros there is one.
                // Without a jump, as no processor foresees the signs of a tensor.
                let (size, negative) = (bits & (sign - 1), bits >> (width - 1));
                let order = (bits ^ (sign | (negative.wrapping_neg() & (sign - 1)))) + (negative & u64::from(size == 0));
                let highest = if width <= 32 { u32::MAX.into() } else { u64::MAX };
                order | (u64::from(size > infinity).wrapping_neg() & highest)
            }
        }
    }
}

/// An element's sort key, and its position in its line.
pub(crate) trait Key: Ord + Copy {
    /// The greatest order.
    const MAX: u64;
    /// Behind every key.
    const LAST: Self;
    fn new(order: u64, at: usize) -> Self;
    fn at(self) -> usize;
}

impl Key for u64 {
    const MAX: u64 = u32::MAX as u64;
    const LAST: u64 = u64::MAX;

    fn new(order: u64, at: usize) -> u64 {
        order << 32 | at as u64
    }

    fn at(self) -> usize {
        (self & u64::from(u32::MAX)) as usize
    }
}

impl Key for u128 {
    const MAX: u64 = u64::MAX;
    const LAST: u128 = u128::MAX;

    fn new(order: u64, at: usize) -> u128 {
        u128::from(order) << 64 | at as u128
    }

    fn at(self) -> usize {
        self as u64 as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_ordered_as_they_are() {
        let ascending = |order: Number, width: u32, bits: &[u64]| {
            let keys: Vec<u64> = bits.iter().map(|&bits| order.order(bits, width)).collect();
            assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{bits:x?} {keys:x?}");
        };
        let f32s =
            [f32::NEG_INFINITY, f32::MIN, -1.0, -f32::MIN_POSITIVE, -1e-45, 0.0, 1e-45, 1.0, f32::MAX, f32::INFINITY, f32::NAN];
        ascending(Number::Float(23), 32, &f32s.map(|x| x.to_bits().into()));
        let f64s = [f64::NEG_INFINITY, -1e300, -1.0, -5e-324, 0.0, 5e-324, 1.0, f64::INFINITY, f64::NAN];
        ascending(Number::Float(52), 64, &f64s.map(f64::to_bits));
        // float16: -inf, -1, the least below 0, 0, the least above, 1, inf, NaN; and bfloat16.
        ascending(Number::Float(10), 16, &[0xfc00, 0xbc00, 0x8001, 0, 1, 0x3c00, 0x7c00, 0x7e00]);
        ascending(Number::Float(7), 16, &[0xff80, 0xbf80, 0x8001, 0, 1, 0x3f80, 0x7f80, 0x7fc0]);
        ascending(Number::Signed, 8, &[0x80, 0xff, 0, 1, 0x7f]);
        ascending(Number::Signed, 32, &[1 << 31, 0xffff_ffff, 0, 1, (1 << 31) - 1]);
        ascending(Number::Signed, 64, &[1 << 63, u64::MAX, 0, 1, (1 << 63) - 1]);
        ascending(Number::Unsigned, 64, &[0, 1, 1 << 63, u64::MAX]);
        ascending(Number::Bool, 8, &[0, 1]);
        assert_eq!(Number::Bool.order(2, 8), Number::Bool.order(1, 8));
        for (fraction, width) in [(7, 16), (10, 16), (23, 32), (52, 64)] {
            let order = |bits: u64| Number::Float(fraction).order(bits, width);
            let sign = 1 << (width - 1);
            assert_eq!(order(sign), order(0));
            // Both NaNs.
            assert_eq!(order(sign - 1), order(sign | (sign - 1)));
        }
    }

    #[test]
    fn the_first_of_a_line_are_those_of_the_sorted_line() {
        let lines: [fn(i32) -> i32; 4] = [|at| at, |at| -at, |_| 7, |at| at * 37 % 23 - 11];
        for (line, n) in lines.iter().flat_map(|line| (1..24).map(move |n| (line, n))) {
            let data: Vec<i32> = (0..n).map(line).collect();
            for (take, descending) in (0..=data.len()).flat_map(|take| [(take, false), (take, true)]) {
                let (element, position) = ((4, Number::Signed), (4, Number::Signed));
                let sort = Sort { n_lines: 1, length: data.len(), inner: 1, take, descending, element, position };
                let mut expected: Vec<i32> = (0..n).collect();
                expected.sort_by_key(|&at| if descending { -data[at as usize] } else { data[at as usize] });
                let (mut found, mut values) = (vec![0i32; take], vec![0i32; take]);
                let mut scratch = vec![0u128; sort.scratch_bytes().div_ceil(16) as usize];
                let [at, values_at] = [&mut found, &mut values].map(|numbers| numbers.as_mut_ptr().cast());
                // SAFETY: there is one line, and room for the first of it and for the keys.
                unsafe { sort.line(0, data.as_ptr().cast(), values_at, at, scratch.as_mut_ptr().cast()) };
                assert_eq!(found, expected[..take], "{take} of {data:?}");
                assert!(values.iter().zip(&found).all(|(value, &at)| *value == data[at as usize]));
            }
        }
    }

    #[test]
    fn words_are_read_as_they_were_written() {
        let (element, position) = ((8, Number::Float(52)), (2, Number::Signed));
        let sort = Sort { n_lines: 6, length: 5, inner: 3, take: 2, descending: true, element, position };
        let words = sort.words();
        // SAFETY: as many words are read as were written.
        assert_eq!(Sort::read(&mut unsafe { Words::at(words.as_ptr().cast(), 0) }), sort);
    }

    #[test]
    fn positions_are_rounded_to_halves() {
        // float16: 1, 2047, 2049 and 2051 between two, 65519 below and 65520 above what becomes infinite.
        let halves = [(0, 0), (1, 0x3c00), (2047, 0x67ff), (2049, 0x6800), (2051, 0x6802), (65519, 0x7bff), (65520, 0x7c00)];
        halves.into_iter().for_each(|(n, bits)| assert_eq!(half(n, 10), bits, "{n}"));
        // bfloat16: the upper half of a float32.
        let brains = [(1, 0x3f80), (255, 0x437f), (257, 0x4380), (259, 0x4382), (511, 0x4400), (1 << 20, 0x4980)];
        brains.into_iter().for_each(|(n, bits)| assert_eq!(half(n, 7), bits, "{n}"));
    }
}
