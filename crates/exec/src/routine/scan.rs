//! Scans as the runtime's, which artifacts run too.

use super::{Bytes, RoutineContext, number};
use relayc_codegen::pool::part;
use relayc_ir::kernel::Scan;
use relayc_runtime::scan;

/// The scan of a kernel.
pub(crate) fn of_kernel(kernel: &Scan) -> scan::Scan {
    scan::Scan {
        n_lines: kernel.lines.count() as usize,
        length: kernel.lines.length as usize,
        inner: kernel.lines.inner as usize,
        product: kernel.product,
        exclusive: kernel.exclusive,
        from: number(kernel.from),
        to: number(kernel.to),
    }
}

pub(super) fn run(kernel: &Scan, args: &[Bytes], means: &RoutineContext) {
    let scan = of_kernel(kernel);
    let n = scan.n_lines * scan.length;
    let (data, result) = (args[0].holding(n * scan.from.0), args[1].holding(n * scan.to.0));
    means.pool.run(means.shares, &|_, shares| {
        let (data, result) = (data, result);
        for share in shares {
            // SAFETY: the tensors have room for all lines, and this is the only task of these.
            unsafe { scan.lines(part(scan.n_lines, share, means.shares), data.start, result.start) };
        }
    });
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};
    use relayc_base::random::SplitMix64;
    use relayc_runtime::number::{narrowed, widened};

    #[test]
    fn the_runtime_rounds_16_bit_floats_as_operators_do() {
        for bits in 0..=u16::MAX {
            let [half, brain] = [10, 7].map(|fraction| widened(bits, fraction));
            assert_eq!([half.is_nan(), brain.is_nan()], [f16::from_bits(bits).is_nan(), bf16::from_bits(bits).is_nan()]);
            assert!(half.is_nan() || half.to_bits() == f16::from_bits(bits).to_f32().to_bits(), "{bits:x}");
            assert!(brain.is_nan() || brain.to_bits() == bf16::from_bits(bits).to_f32().to_bits(), "{bits:x}");
        }
        let mut random = SplitMix64::new(1, "floats");
        // Every value of both, what lies halfway to the next one, its neighbours, and any float.
        let near = (0..=u16::MAX).flat_map(|bits| {
            let (half, brain) = (widened(bits, 10).to_bits(), u32::from(bits) << 16);
            [
                half,
                half | 1 << 12,
                (half | 1 << 12) + 1,
                (half | 1 << 12) - 1,
                brain,
                brain | 0x8000,
                brain | 0x8001,
                brain | 0x7fff,
            ]
        });
        for bits in near.chain((0..200_000).map(|_| random.next_u64() as u32)) {
            let x = f32::from_bits(bits);
            let expected = [f16::from_f32(x).to_bits(), bf16::from_f32(x).to_bits()];
            assert_eq!([10, 7].map(|fraction| narrowed(x, fraction)), expected, "{x:e}, {bits:x}");
        }
    }
}
