//! Scans: combines each element of a line with all elements before it.

use super::{Bytes, RoutineContext};
use relayc_ir::kernel::Scan;
use relayc_ir::tensor::{Element, with_dtype};
use relayc_ir::types::DType;

pub(super) fn run(scan: &Scan, args: &[Bytes], means: &RoutineContext) {
    let known = with_dtype!(scan.to, |T| {
        means.lines(scan.lines.count(), &|line, _| match (T::IS_FLOAT, scan.from == scan.to, scan.to == DType::F64) {
            (false, false, _) => of_line::<T, i64>(scan, args, line, |at| args[0].int(scan.from, at) as i64),
            (false, true, _) => of_line::<T, i64>(scan, args, line, |at| i64::of(args[0].get::<T>(at))),
            (true, _, false) => of_line::<T, f32>(scan, args, line, |at| f32::of(args[0].get::<T>(at))),
            (true, _, true) => of_line::<T, f64>(scan, args, line, |at| f64::of(args[0].get::<T>(at))),
        })
    });
    debug_assert!(known.is_some(), "the plan has tensors of these dtypes");
}

/// The type in which a scan sums. Integers wrap; the low bits are right in any type that is as wide.
trait Number: Copy {
    const ZERO: Self;
    const ONE: Self;
    fn of<F: Element>(x: F) -> Self;
    fn to<T: Element>(self) -> T;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

impl Number for i64 {
    const ZERO: i64 = 0;
    const ONE: i64 = 1;

    fn of<F: Element>(x: F) -> i64 {
        x.to_int() as i64
    }

    fn to<T: Element>(self) -> T {
        T::from_int(self.into())
    }

    fn plus(self, other: i64) -> i64 {
        self.wrapping_add(other)
    }

    fn times(self, other: i64) -> i64 {
        self.wrapping_mul(other)
    }
}

impl Number for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;

    fn of<F: Element>(x: F) -> f32 {
        x.to_f64() as f32
    }

    fn to<T: Element>(self) -> T {
        T::from_f64(self.into())
    }

    fn plus(self, other: f32) -> f32 {
        self + other
    }

    fn times(self, other: f32) -> f32 {
        self * other
    }
}

impl Number for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;

    fn of<F: Element>(x: F) -> f64 {
        x.to_f64()
    }

    fn to<T: Element>(self) -> T {
        T::from_f64(self)
    }

    fn plus(self, other: f64) -> f64 {
        self + other
    }

    fn times(self, other: f64) -> f64 {
        self * other
    }
}

fn of_line<T: Element, N: Number>(scan: &Scan, args: &[Bytes], line: usize, read: impl Fn(usize) -> N) {
    let (n, inner) = (scan.lines.length as usize, scan.lines.inner as usize);
    let first = line / inner * n * inner + line % inner;
    let joined = |before: N, x: N| if scan.product { before.times(x) } else { before.plus(x) };
    let mut before = scan.exclusive.then_some(if scan.product { N::ONE } else { N::ZERO });
    for at in 0..n {
        let x = read(first + at * inner);
        // Without one before it the first element is as it is: a sum with +0 would lose the sign of -0.
        let with = before.map_or(x, |before| joined(before, x));
        args[1].put::<T>(first + at * inner, if scan.exclusive { before.unwrap_or(x) } else { with }.to());
        before = Some(with);
    }
}
