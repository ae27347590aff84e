//! Detects the processor's features, caches and cores by asking the processor itself.
//!
//! The caller chooses the instruction set. Absent: files and the environment.

use super::asm::Isa;
use relayc_ir::kernel::{ByteProducts, Target};
use relayc_runtime::processor::runs;
use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::sync::OnceLock;

/// Instruction sets, caches and cores, by which kernels are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cpu {
    /// AVX2, FMA and F16C, and the system saves their registers.
    pub avx2: bool,
    /// AVX-512 F, DQ, BW and VL, and the system saves their registers.
    pub avx512: bool,
    /// Dot products of four bytes, as EVEX instructions.
    pub vnni: bool,
    /// Dot products of two bfloat16.
    pub bf16: bool,
    /// Bytes of the first-level data cache and of the second-level cache of one core.
    pub l1d: usize,
    pub l2: usize,
    /// Bytes of the third-level cache, however many cores share it; 0 without one.
    pub l3: usize,
    /// 512-bit multiply-adds that a core starts in a cycle.
    pub(crate) fmas_512: usize,
    /// Bytes a cycle from the second-level cache.
    pub(crate) l2_rate: usize,
    /// Number of threads that may run at once, as the system allows this process.
    pub threads: usize,
}

impl Cpu {
    /// This machine's features, detected once.
    pub fn get() -> &'static Cpu {
        static CPU: OnceLock<Cpu> = OnceLock::new();
        CPU.get_or_init(Cpu::detect)
    }

    fn detect() -> Cpu {
        let (avx2, avx512) = (runs(level_of(Isa::Avx2)), runs(level_of(Isa::Avx512)));
        let caches = caches();
        let bytes =
            |level: u32, default: usize| caches.iter().find(|cache| cache.level == level).map_or(default, |cache| cache.bytes);
        Cpu {
            avx2,
            avx512,
            vnni: avx512 && is_x86_feature_detected!("avx512vnni"),
            bf16: avx512 && is_x86_feature_detected!("avx512bf16"),
            l1d: bytes(1, 32 << 10),
            l2: bytes(2, 512 << 10),
            l3: bytes(3, 0),
            fmas_512: fmas_512(),
            l2_rate: if &vendor() == b"GenuineIntel" { 48 } else { 32 },
            threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
        }
    }

    /// The machine as the choice of kernels sees it.
    pub fn target(&self, isa: Isa, threads: usize) -> Target {
        let fmas = if isa == Isa::Avx512 { self.fmas_512 } else { 2 };
        let byte_products = if isa == Isa::Avx512 && self.vnni { ByteProducts::Words } else { ByteProducts::Pairs };
        let (lanes, registers) = (isa.lanes(), isa.regs());
        Target { lanes, registers, l1: self.l1d, l2: self.l2, threads, fmas, l2_bytes: self.l2_rate, byte_products }
    }

    pub fn has(&self, isa: Isa) -> bool {
        match isa {
            Isa::Avx2 => self.avx2,
            Isa::Avx512 => self.avx512,
        }
    }

    /// The widest instruction set of this machine; `None` on processors before AVX2, for which there are no kernels.
    pub fn best(&self) -> Option<Isa> {
        [Isa::Avx512, Isa::Avx2].into_iter().find(|isa| self.has(*isa))
    }

    /// The processor's own name.
    pub fn name() -> String {
        let leaves = 0x8000_0002..=0x8000_0004;
        if __cpuid(0x8000_0000).eax < *leaves.end() {
            return String::from_utf8_lossy(&vendor()).into_owned();
        }
        let words = leaves.map(__cpuid).flat_map(|found| [found.eax, found.ebx, found.ecx, found.edx]);
        let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).take_while(|&byte| byte != 0).collect();
        String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<&str>>().join(" ")
    }

    /// Every instruction set of this machine, narrow first.
    pub fn isas(&self) -> Vec<Isa> {
        [Isa::Avx2, Isa::Avx512].into_iter().filter(|isa| self.has(*isa)).collect()
    }
}

/// No feature bit states it. Intel's server cores start two and its other cores one; AMD's cores start one up to Zen 4 and two
/// from Zen 5 on.
fn fmas_512() -> usize {
    let signature = __cpuid(1).eax;
    let (family, model) = ((signature >> 8 & 15) + (signature >> 20 & 255), signature >> 4 & 15 | signature >> 12 & 240);
    const AMX: u32 = 1 << 24;
    let two = match &vendor() {
        b"GenuineIntel" => {
            matches!(model, 0x55 | 0x6a | 0x6c | 0x8f | 0xcf | 0xad | 0xae)
                || __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & AMX != 0
        }
        b"AuthenticAMD" => family >= 0x1a,
        _ => false,
    };
    1 + usize::from(two)
}
/// The x86-64 level that corresponds to an instruction set.
pub const fn level_of(isa: Isa) -> u32 {
    match isa {
        Isa::Avx2 => 3,
        Isa::Avx512 => 4,
    }
}

struct Cache {
    level: u32,
    bytes: usize,
}

/// The data caches. Intel describes them in leaf 4; AMD uses the same format in leaf 0x8000001d.
fn caches() -> Vec<Cache> {
    let leaf = match &vendor() {
        b"AuthenticAMD" | b"HygonGenuine" if __cpuid(0x8000_0000).eax >= 0x8000_001d => 0x8000_001d,
        _ if __cpuid(0).eax >= 4 => 4,
        _ => return Vec::new(),
    };
    let mut caches = Vec::new();
    // The list ends with kind 0; no processor has more than a handful.
    for index in 0..16 {
        let found = __cpuid_count(leaf, index);
        let kind = found.eax & 31;
        if kind == 0 {
            break;
        }
        // Line size, partitions, ways and sets are stored less one.
        let factors = [found.ebx & 0xfff, found.ebx >> 12 & 0x3ff, found.ebx >> 22, found.ecx];
        let bytes = factors.into_iter().fold(1usize, |bytes, factor| bytes.saturating_mul(factor as usize + 1));
        const INSTRUCTIONS: u32 = 2;
        if kind != INSTRUCTIONS {
            caches.push(Cache { level: found.eax >> 5 & 7, bytes });
        }
    }
    caches
}

fn vendor() -> [u8; 12] {
    let found = __cpuid(0);
    let mut name = [0; 12];
    for (part, word) in name.chunks_exact_mut(4).zip([found.ebx, found.edx, found.ecx]) {
        part.copy_from_slice(&word.to_le_bytes());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_plausible() {
        let cpu = Cpu::get();
        assert!((4 << 10..1 << 20).contains(&cpu.l1d), "{cpu:?}");
        assert!((64 << 10..1 << 30).contains(&cpu.l2), "{cpu:?}");
        assert!(cpu.threads > 0 && (!cpu.avx512 || cpu.avx2));
        assert_eq!(cpu.best(), cpu.isas().last().copied());
    }
}
