//! Detects whether the processor has the instructions of an x86-64 level, and the system saves their registers.

use core::arch::asm;
use core::arch::x86_64::{__cpuid, __cpuid_count};

/// Level 3 is AVX2, FMA and F16C; level 4 also AVX-512 F, DQ, BW and VL. These are the parts of the levels in the System V
/// ABI's AMD64 supplement that code uses.
pub fn runs(level: u32) -> bool {
    let has = |word: u32, bits: u32| word & bits == bits;
    const FMA_OSXSAVE_AVX_F16C: u32 = 1 << 12 | 1 << 27 | 1 << 28 | 1 << 29;
    if __cpuid(0).eax < 7 || !has(__cpuid(1).ecx, FMA_OSXSAVE_AVX_F16C) {
        return false;
    }
    let saved: u32;
    // SAFETY: there is xgetbv where the system uses xsave, which was asked above.
    unsafe { asm!("xgetbv", in("ecx") 0, out("eax") saved, out("edx") _, options(nomem, nostack)) };
    let seven = __cpuid_count(7, 0).ebx;
    const AVX2: u32 = 1 << 5;
    const AVX512_F_DQ_BW_VL: u32 = 1 << 16 | 1 << 17 | 1 << 30 | 1 << 31;
    match level {
        3 => has(saved, 0b110) && has(seven, AVX2),
        4 => has(saved, 0b1110_0110) && has(seven, AVX2 | AVX512_F_DQ_BW_VL),
        _ => false,
    }
}
