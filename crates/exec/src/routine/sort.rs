//! Sorts lines by integer keys that have the order of the elements, followed by the position.
//!
//! So equal elements keep their order, and no comparison reads the data again.

use super::{Bytes, RoutineContext};
use relayc_ir::kernel::Sort;
use relayc_ir::tensor::{Element, with_dtype};
use relayc_ir::types::{DType, DTypeCode};

/// Bytes of an element with its position.
pub(super) fn key_bytes(dtype: DType) -> u64 {
    if is_short(dtype) { 8 } else { 16 }
}

/// Whether an element fits 32 bits.
fn is_short(dtype: DType) -> bool {
    dtype.bits <= 32
}

pub(super) fn run(sort: &Sort, args: &[Bytes], means: &RoutineContext) {
    let known = with_dtype!(sort.dtype, |T| means.lines(sort.lines.count(), &|line, scratch| {
        let n = sort.lines.length as usize;
        // SAFETY: the scratch memory of this thread has room for as many keys, at a multiple of a cache line.
        unsafe {
            match is_short(sort.dtype) {
                true => of_line::<T, u64>(sort, args, line, std::slice::from_raw_parts_mut(scratch.cast(), n)),
                false => of_line::<T, u128>(sort, args, line, std::slice::from_raw_parts_mut(scratch.cast(), n)),
            }
        }
    }));
    debug_assert!(known.is_some(), "the plan has tensors of this dtype");
}

/// An element's sort key, and its position in its line.
trait Key: Ord + Copy {
    fn new(order: u64, at: usize) -> Self;
    fn at(self) -> usize;
}

impl Key for u64 {
    fn new(order: u64, at: usize) -> u64 {
        order << 32 | at as u64
    }

    fn at(self) -> usize {
        (self & u64::from(u32::MAX)) as usize
    }
}

impl Key for u128 {
    fn new(order: u64, at: usize) -> u128 {
        u128::from(order) << 64 | at as u128
    }

    fn at(self) -> usize {
        self as u64 as usize
    }
}

/// A number that orders elements, within the bits of the element's width.
fn order<T: Element>(x: T) -> u64 {
    // What is negative goes from its greatest bits down, what is not lies above.
    let of_bits = |bits: u64, sign: u64| if bits & sign != 0 { !bits & (sign << 1).wrapping_sub(1) } else { bits | sign };
    match (T::IS_FLOAT, is_short(T::DTYPE)) {
        (true, _) if x.to_f64().is_nan() => {
            if is_short(T::DTYPE) {
                u64::from(u32::MAX)
            } else {
                u64::MAX
            }
        }
        // Of two zeros there is one.
        (true, true) => of_bits(u64::from((x.to_f64() as f32 + 0.0).to_bits()), 1 << 31),
        (true, false) => of_bits((x.to_f64() + 0.0).to_bits(), 1 << 63),
        (false, short) => {
            let signed = T::DTYPE.code == DTypeCode::Int;
            let half = if short { 1i128 << 31 } else { 1 << 63 };
            (x.to_int() + if signed { half } else { 0 }) as u64
        }
    }
}

fn of_line<T: Element, K: Key>(sort: &Sort, args: &[Bytes], line: usize, keys: &mut [K]) {
    let (n, inner, take) = (sort.lines.length as usize, sort.lines.inner as usize, sort.take as usize);
    let (first, step) = (line / inner * n * inner + line % inner, inner);
    let all = if is_short(T::DTYPE) { u64::from(u32::MAX) } else { u64::MAX };
    for (at, key) in keys.iter_mut().enumerate() {
        let order = order::<T>(args[0].get(first + at * step));
        *key = K::new(if sort.descending { all - order } else { order }, at);
    }
    if take == 0 {
        return;
    }
    if take < n {
        keys.select_nth_unstable(take - 1);
    }
    let keys = &mut keys[..take];
    keys.sort_unstable();
    let to = line / inner * take * inner + line % inner;
    if sort.values {
        keys.iter()
            .enumerate()
            .for_each(|(place, key)| args[1].put::<T>(to + place * step, args[0].get(first + key.at() * step)));
    }
    if let Some(dtype) = sort.positions {
        let positions = args[1 + usize::from(sort.values)];
        let known = with_dtype!(dtype, |P| {
            let put = |(place, key): (usize, &K)| positions.put::<P>(to + place * step, P::from_int(key.at() as i128));
            keys.iter().enumerate().for_each(put)
        });
        debug_assert!(known.is_some(), "the plan has tensors of this dtype");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_ordered_as_they_are() {
        fn ascending<T: Element>(values: &[T]) {
            let orders: Vec<u64> = values.iter().map(|&x| order(x)).collect();
            assert!(orders.windows(2).all(|pair| pair[0] < pair[1]), "{values:?} {orders:?}");
        }
        ascending(&[
            f32::NEG_INFINITY,
            f32::MIN,
            -1.0,
            -f32::MIN_POSITIVE,
            -1e-45,
            0.0,
            1e-45,
            1.0,
            f32::MAX,
            f32::INFINITY,
            f32::NAN,
        ]);
        ascending(&[f64::NEG_INFINITY, -1e300, -1.0, -5e-324, 0.0, 5e-324, 1.0, f64::INFINITY, f64::NAN]);
        ascending(&[half::f16::NEG_INFINITY, half::f16::from_f32(-1.0), half::f16::ZERO, half::f16::INFINITY, half::f16::NAN]);
        ascending(&[i8::MIN, -1, 0, 1, i8::MAX]);
        ascending(&[i32::MIN, -1, 0, 1, i32::MAX]);
        ascending(&[i64::MIN, -1, 0, 1, i64::MAX]);
        ascending(&[0u8, 1, u8::MAX]);
        ascending(&[0u32, 1, 1 << 31, u32::MAX]);
        ascending(&[0u64, 1, 1 << 63, u64::MAX]);
        ascending(&[false, true]);
        assert_eq!((order(-0.0f32), order(-0.0f64)), (order(0.0f32), order(0.0f64)));
        assert_eq!(order(f32::NAN), order(-f32::NAN));
    }
}
