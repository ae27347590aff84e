//! Measures compiled programs, and the machine they run on.

use super::compile::{Settings, bytes};
use super::library::Error;
use super::open::OpenSession;
use super::subgraphs::Prepared;
use relayc_base::diag::Diagnostic;
use relayc_codegen::asm::Isa;
use relayc_codegen::cpu::Cpu;
use relayc_codegen::microbenchmark::{Microbenchmark, set_sizes};
use relayc_codegen::pool::Pool;
use relayc_driver::bind::Bound;
use relayc_driver::bind::tensors_in;
use relayc_sys as sys;
use std::borrow::Cow;
use std::time::{Duration, Instant};

/// The name of an instruction set in `RELAYC_ISA`.
pub fn isa_name(isa: Isa) -> &'static str {
    match isa {
        Isa::Avx2 => "avx2",
        Isa::Avx512 => "avx512",
    }
}

/// Measured limits of the machine.
#[derive(Clone, Default, Debug)]
pub struct MachineLimits {
    /// Arithmetic peak, all threads together.
    pub gflops: f64,
    /// Memory bandwidth of reads, all threads together.
    pub read_gbs: f64,
    /// Read bandwidth of each memory level, nearest first, and its number of bytes.
    pub(crate) levels: Vec<CacheLevel>,
}

/// A memory level, as all threads share it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheLevel {
    pub(crate) name: &'static str,
    pub(crate) bytes: u64,
    pub(crate) read_gbs: f64,
}

impl MachineLimits {
    /// The level that holds this many bytes.
    pub(crate) fn level(&self, bytes: u64) -> Option<&CacheLevel> {
        self.levels.iter().find(|level| bytes <= level.bytes).or(self.levels.last())
    }
}

/// Limit of the measurements of a figure that others contradict.
const MAX_REPEATS: usize = 5;

/// Measures the machine, with the instruction set and the threads of a program.
pub fn probe(settings: &Settings) -> MachineLimits {
    let Ok(probe) = Microbenchmark::new(settings.isa) else { return MachineLimits::default() };
    let (cpu, pool) = (Cpu::get(), Pool::new(settings.threads));
    let start = Instant::now();
    let clock = || start.elapsed();
    // The first two caches are each core's own.
    let cores = settings.threads.min(cpu.threads).max(1);
    let room = [cpu.l1d * cores, cpu.l2 * cores, cpu.l3, usize::MAX];
    let read = |set: usize| probe.read(&pool, set, &clock).best / 1e9;
    let flops = || probe.flops(&pool, &clock).best / 1e9;
    let sets = set_sizes(cpu).map(|(name, set)| (name, if matches!(name, "L1" | "L2") { set * cores } else { set }));
    let (sets, mut levels): (Vec<usize>, Vec<CacheLevel>) = sets
        .into_iter()
        .zip(room)
        .filter(|(_, room)| *room > 0)
        .map(|((name, set), room)| (set, CacheLevel { name, bytes: room as u64, read_gbs: read(set) }))
        .unzip();
    let mut gflops = flops();
    // While other programs have the processors, a figure may be far too low.
    for _ in 0..MAX_REPEATS {
        let slow: Vec<usize> = (1..levels.len()).filter(|&at| levels[at - 1].read_gbs < 0.8 * levels[at].read_gbs).collect();
        // A load of a vector is its bytes, and a multiply-add half as many operations.
        let is_slow = levels.first().is_some_and(|nearest| gflops < nearest.read_gbs / 8.0);
        if slow.is_empty() && !is_slow {
            break;
        }
        for at in slow {
            levels[at - 1].read_gbs = levels[at - 1].read_gbs.max(read(sets[at - 1]));
        }
        if is_slow {
            gflops = gflops.max(flops());
        }
    }
    MachineLimits { gflops, read_gbs: levels.last().map_or(f64::NAN, |memory| memory.read_gbs), levels }
}

/// Times of runs, in milliseconds.
pub struct Times {
    /// Ascending.
    sorted: Vec<f64>,
}

impl Times {
    /// Of times in any order.
    pub fn of(mut times: Vec<f64>) -> Times {
        times.sort_by(f64::total_cmp);
        Times { sorted: times }
    }

    /// The quantile of the times at `share`.
    pub fn at(&self, share: f64) -> f64 {
        let last = self.sorted.len().saturating_sub(1);
        self.sorted.get((share * last as f64).round() as usize).copied().unwrap_or(f64::NAN)
    }

    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// All times, ascending.
    pub fn into_sorted(self) -> Vec<f64> {
        self.sorted
    }
}

/// Warms a program up, then measures its runs. Errors: the trap of an operator.
pub fn latency(prepared: &Prepared, bound: &[Bound], warmup: Duration, measure: Duration) -> Result<Times, Box<Diagnostic>> {
    match prepared {
        Prepared::Whole(compiled) => {
            let mut session = compiled.session()?;
            let inputs: Vec<Cow<[u8]>> = tensors_in(bound).into_iter().map(bytes).collect();
            let mut outputs = compiled.outputs();
            timed(warmup, measure, || compiled.run_session(&mut session, &inputs, &mut outputs, None))
        }
        Prepared::Partial(partial) => timed(warmup, measure, || partial.carry_out(bound)),
    }
}

/// Times of one call of an open program: of finding or making the code of its size, and of its run.
pub struct CallTimes {
    pub at: Duration,
    pub run: Duration,
}

/// Calls an open program once. Errors: as [`OpenSession::at`], and the trap of an operator.
pub fn call(session: &mut OpenSession, bound: &[Bound]) -> Result<CallTimes, Error> {
    let tensors = tensors_in(bound);
    let shapes: Vec<Vec<u64>> = tensors.iter().map(|tensor| tensor.shape().iter().map(|&dim| dim as u64).collect()).collect();
    let shapes: Vec<&[u64]> = shapes.iter().map(Vec::as_slice).collect();
    let begin = Instant::now();
    let session = session.at(&shapes)?;
    let at = begin.elapsed();
    let inputs: Vec<Cow<[u8]>> = tensors.into_iter().map(bytes).collect();
    let inputs: Vec<&[u8]> = inputs.iter().map(AsRef::as_ref).collect();
    // Whole words, to which every dtype is aligned.
    let mut outputs: Vec<Vec<u64>> = session.outputs().iter().map(|port| vec![0; port.bytes.div_ceil(8)]).collect();
    let lengths: Vec<usize> = session.outputs().iter().map(|port| port.bytes).collect();
    let room = outputs.iter_mut().zip(lengths).map(|(words, bytes)| &mut sys::bytes_of_mut(words)[..bytes]);
    let mut room: Vec<&mut [u8]> = room.collect();
    let begin = Instant::now();
    session.run(&inputs, &mut room)?;
    Ok(CallTimes { at, run: begin.elapsed() })
}

/// Warms something up, then measures its runs, at least three. Errors: those of a run.
pub fn timed<E>(warmup: Duration, measure: Duration, mut run: impl FnMut() -> Result<(), E>) -> Result<Times, E> {
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
    Ok(Times::of(times))
}
