//! What the processor can do, asked of the processor itself.
//!
//! Which of its instruction sets to use is the caller's choice; nothing here reads files or the environment.

use super::ahead::mapped::level_of;
use super::ahead::runtime::processor::runs;
use super::asm::Isa;
use crate::kernel::Target;
use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::sync::OnceLock;

/// The instruction sets, caches and cores that kernels are chosen by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cpu {
    /// AVX2, FMA and F16C, and the system saves their registers.
    pub avx2: bool,
    /// AVX-512 F, DQ, BW and VL, and the system saves their registers.
    pub avx512: bool,
    /// Sums of four products of bytes, as EVEX instructions.
    pub vnni: bool,
    /// Sums of two products of bfloat16.
    pub bf16: bool,
    /// Bytes of the first-level data cache and the second level of one core.
    pub l1d: usize,
    pub l2: usize,
    /// Bytes of the third level, however many cores share it; 0 if there is none.
    pub l3: usize,
    /// Multiply-adds of 512 bits that a core begins in a cycle.
    pub fmas_512: usize,
    /// Bytes a cycle from the second cache.
    pub l2_rate: usize,
    /// How many threads may run at once, as the system lets this process use them.
    pub threads: usize,
}

impl Cpu {
    /// This machine's, found once.
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
        Target { lanes: isa.lanes(), registers: isa.regs(), l1: self.l1d, l2: self.l2, threads, fmas, l2_bytes: self.l2_rate }
    }

    pub fn has(&self, isa: Isa) -> bool {
        match isa {
            Isa::Avx2 => self.avx2,
            Isa::Avx512 => self.avx512,
        }
    }

    /// The widest instruction set there is; none on processors before AVX2, which have no kernels.
    pub fn best(&self) -> Option<Isa> {
        [Isa::Avx512, Isa::Avx2].into_iter().find(|isa| self.has(*isa))
    }

    /// What the processor calls itself.
    pub fn name() -> String {
        let leaves = 0x8000_0002..=0x8000_0004;
        if __cpuid(0x8000_0000).eax < *leaves.end() {
            return String::from_utf8_lossy(&vendor()).into_owned();
        }
        let words = leaves.map(__cpuid).flat_map(|found| [found.eax, found.ebx, found.ecx, found.edx]);
        let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).take_while(|&byte| byte != 0).collect();
        String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<&str>>().join(" ")
    }

    /// Every instruction set there is, narrow first.
    pub fn isas(&self) -> Vec<Isa> {
        [Isa::Avx2, Isa::Avx512].into_iter().filter(|isa| self.has(*isa)).collect()
    }
}

/// No bit says it: Intel's server cores begin two and its others one, AMD's cores one up to Zen 4 and two from Zen 5 on.
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

struct Cache {
    level: u32,
    bytes: usize,
}

/// The caches that hold data. Intel describes them in leaf 4, AMD in leaf 0x8000001d in the same words.
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
