//! Times of a compiled program, and of the machine it runs on.

use super::bind::Bound;
use super::compile::{Settings, bytes, leaves};
use super::parts::Prepared;
use crate::diag::Diagnostic;
use crate::jit::asm::Isa;
use crate::jit::cpu::Cpu;
use crate::jit::pool::Pool;
use crate::jit::probe::{Probe, set_sizes};
use std::borrow::Cow;
use std::time::{Duration, Instant};

/// The name that `RELAYC_ISA` has for it.
pub fn isa_name(isa: Isa) -> &'static str {
    match isa {
        Isa::Avx2 => "avx2",
        Isa::Avx512 => "avx512",
    }
}

/// What the machine can do, measured.
#[derive(Clone, Default, Debug)]
pub struct Probed {
    /// Multiply-adds in registers, all threads together.
    pub gflops: f64,
    /// Bytes read from memory, all threads together.
    pub read_gbs: f64,
    /// Bytes read from each level of memory, from the nearest on, and how many bytes that level holds.
    pub levels: Vec<Level>,
}

/// A level of memory, as far as all threads have it together.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    pub name: &'static str,
    pub bytes: u64,
    pub read_gbs: f64,
}

impl Probed {
    /// The level that holds so many bytes.
    pub fn level(&self, bytes: u64) -> Option<&Level> {
        self.levels.iter().find(|level| bytes <= level.bytes).or(self.levels.last())
    }
}

/// Measures the machine, with the instruction set and the threads of a program.
pub fn probe(settings: &Settings) -> Probed {
    let Ok(probe) = Probe::new(settings.isa) else { return Probed::default() };
    let (cpu, pool) = (Cpu::get(), Pool::new(settings.threads));
    let start = Instant::now();
    let clock = || start.elapsed();
    // The first two caches are each core's own.
    let cores = settings.threads.min(cpu.threads).max(1);
    let room = [cpu.l1d * cores, cpu.l2 * cores, cpu.l3, usize::MAX];
    let level = |((name, set), room): ((&'static str, usize), usize)| {
        let set = if matches!(name, "L1" | "L2") { set * cores } else { set };
        Level { name, bytes: room as u64, read_gbs: probe.read(&pool, set, &clock).best / 1e9 }
    };
    let gflops = probe.flops(&pool, &clock).best / 1e9;
    let levels: Vec<Level> = set_sizes(cpu).into_iter().zip(room).filter(|(_, room)| *room > 0).map(level).collect();
    Probed { gflops, read_gbs: levels.last().map_or(f64::NAN, |memory| memory.read_gbs), levels }
}

/// Times of runs, ascending, in milliseconds.
pub struct Times {
    sorted: Vec<f64>,
}

impl Times {
    /// The time below which a share of the runs lies.
    pub fn at(&self, share: f64) -> f64 {
        let last = self.sorted.len().saturating_sub(1);
        self.sorted.get((share * last as f64).round() as usize).copied().unwrap_or(f64::NAN)
    }

    pub fn count(&self) -> usize {
        self.sorted.len()
    }
}

/// Runs a program for a while, then again and measures. Errors: what an operator traps with.
pub fn latency(prepared: &Prepared, bound: &[Bound], warmup: Duration, measure: Duration) -> Result<Times, Box<Diagnostic>> {
    match prepared {
        Prepared::Whole(compiled) => {
            let mut session = compiled.session()?;
            let inputs: Vec<Cow<[u8]>> = leaves(bound).into_iter().map(bytes).collect();
            let mut outputs = compiled.outputs();
            timed(warmup, measure, || compiled.run_session(&mut session, &inputs, &mut outputs, &mut |_, _| Ok(())))
        }
        Prepared::Parts(parts) => timed(warmup, measure, || parts.carry_out(bound)),
    }
}

fn timed(
    warmup: Duration,
    measure: Duration,
    mut run: impl FnMut() -> Result<(), Box<Diagnostic>>,
) -> Result<Times, Box<Diagnostic>> {
    let start = Instant::now();
    loop {
        run()?;
        if start.elapsed() >= warmup {
            break;
        }
    }
    let (mut times, start) = (vec![], Instant::now());
    while times.len() < 3 || start.elapsed() < measure {
        let begin = Instant::now();
        run()?;
        times.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(Times { sorted: times })
}
