//! Times of a compiled program, and of the machine it runs on.

use super::bind::Bound;
use super::compile::{Compiled, Settings, leaves};
use super::parts::Prepared;
use crate::base::Sources;
use crate::diag::Diagnostic;
use crate::jit::asm::Isa;
use crate::jit::cpu::Cpu;
use crate::jit::pool::Pool;
use crate::jit::probe::{Probe, set_sizes};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// The name that `RELAYC_ISA` has for it.
pub fn isa_name(isa: Isa) -> &'static str {
    match isa {
        Isa::Avx2 => "avx2",
        Isa::Avx512 => "avx512",
    }
}

/// What the machine can do, measured.
#[derive(Clone, Copy, Default, Debug)]
pub struct Probed {
    /// Multiply-adds in registers, all threads together.
    pub gflops: f64,
    /// Bytes read from memory, all threads together.
    pub read_gbs: f64,
}

/// Measures the machine, with the instruction set and the threads of a program.
pub fn probe(settings: &Settings) -> Probed {
    let Ok(probe) = Probe::new(settings.isa) else { return Probed::default() };
    let pool = Pool::new(settings.threads);
    let start = Instant::now();
    let clock = || start.elapsed();
    let [.., (_, memory)] = set_sizes(Cpu::get());
    Probed { gflops: probe.flops(&pool, &clock).best / 1e9, read_gbs: probe.read(&pool, memory, &clock).best / 1e9 }
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
            let inputs: Vec<Vec<u8>> = leaves(bound).iter().map(|tensor| tensor.to_le_bytes()).collect();
            let mut outputs = compiled.outputs();
            timed(warmup, measure, || compiled.run_session(&mut session, &inputs, &mut outputs, &mut |_, _| Ok(())))
        }
        Prepared::Parts(parts) => timed(warmup, measure, || parts.run(bound).map(drop)),
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

/// A step of a program and its time.
pub struct Row {
    /// The operators it computes.
    pub ops: String,
    /// `line:column` of the call.
    pub origin: String,
    pub kernel: String,
    /// The median, in milliseconds.
    pub ms: f64,
    pub flops: Option<u64>,
    /// Bytes of its operands and results.
    pub bytes: u64,
}

/// The median time of each step. Errors: what an operator traps with.
pub fn profile(compiled: &Compiled, bound: &[Bound], measure: Duration, sources: &Sources) -> Result<Vec<Row>, Box<Diagnostic>> {
    let mut session = compiled.session()?;
    let inputs: Vec<Vec<u8>> = leaves(bound).iter().map(|tensor| tensor.to_le_bytes()).collect();
    let mut outputs = compiled.outputs();
    let plan = &compiled.program.plan;
    let mut times: Vec<Vec<f64>> = vec![vec![]; plan.steps.len()];
    let start = Instant::now();
    while times.iter().all(|times| times.len() < 4) || start.elapsed() < measure {
        let mut running: Option<(usize, Instant)> = None;
        compiled.run_session(&mut session, &inputs, &mut outputs, &mut |next, _| {
            let now = Instant::now();
            if let Some((step, begun)) = running.replace((next, now)) {
                times[step].push((now - begun).as_secs_f64() * 1e3);
            }
            Ok(())
        })?;
        if plan.steps.iter().all(|step| step.once) {
            break;
        }
    }
    let row = |(at, times): (usize, &mut Vec<f64>)| {
        times.sort_by(f64::total_cmp);
        let step = &plan.steps[at];
        let origin =
            sources.line_col(compiled.span(step.origin)).map_or(String::new(), |(line, column)| format!("{line}:{column}"));
        let ops = if step.ops.is_empty() { "zero".to_owned() } else { step.ops.join("+") };
        Row {
            ops,
            origin,
            kernel: compiled.program.describe(at),
            ms: times[times.len() / 2],
            flops: compiled.program.flops(at),
            bytes: step.args.iter().map(|&id| plan.buffers[id].bytes()).sum(),
        }
    };
    Ok(times.iter_mut().enumerate().filter(|(_, times)| !times.is_empty()).map(row).collect())
}

/// What a program needs of memory, beside the most that the process has had of it.
fn memory(compiled: &Compiled, peak: Option<u64>) -> String {
    let (program, plan) = (&compiled.program, &compiled.program.plan);
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / (1 << 20) as f64);
    let (kept, arena, live) = (program.kept_bytes(), plan.arena_bytes, plan.live_bytes);
    let of_live = if live > 0 { format!(", {:.2} of it", arena as f64 / live as f64) } else { String::new() };
    let mut words = format!(
        "memory: weights as kept {}, arena {} (the largest set of live tensors {}{of_live}), scratch {}",
        mib(kept),
        mib(arena),
        mib(live),
        mib(compiled.scratch_bytes()),
    );
    if let Some(peak) = peak {
        let beside = mib(peak.saturating_sub(kept + arena));
        let _ = write!(words, "; peak of the process {}, {beside} beside weights and arena", mib(peak));
    }
    words
}

/// The rows in order, and what they sum to. `peak` is the most memory that the process has had.
pub fn table(rows: &[Row], compiled: &Compiled, probed: &Probed, peak: Option<u64>) -> String {
    let mut out = String::new();
    let total: f64 = rows.iter().map(|row| row.ms).sum();
    let _ = writeln!(
        out,
        "{:>8} {:>5} {:>8} {:>6} {:>7}  {:<9} {:<48} operators",
        "ms", "%", "GFLOP/s", "% peak", "GB/s", "line", "kernel"
    );
    for row in rows {
        let gflops = row.flops.map(|flops| flops as f64 / row.ms / 1e6);
        let of_peak = gflops.map(|gflops| format!("{:.0}", gflops / probed.gflops * 100.0)).unwrap_or_default();
        let gflops = gflops.map(|gflops| format!("{gflops:.1}")).unwrap_or_default();
        let gbs = row.bytes as f64 / row.ms / 1e6;
        let share = row.ms / total * 100.0;
        let _ = writeln!(
            out,
            "{:>8.4} {share:>5.1} {gflops:>8} {of_peak:>6} {gbs:>7.1}  {:<9} {:<48} {}",
            row.ms, row.origin, row.kernel, row.ops
        );
    }
    let _ = writeln!(
        out,
        "{total:>8.4} ms in all; machine: {:.1} GFLOP/s, {:.1} GB/s; code {} KiB",
        probed.gflops,
        probed.read_gbs,
        compiled.program.code_bytes() >> 10,
    );
    let _ = writeln!(out, "{}", memory(compiled, peak));
    let names = compiled.program.fallbacks();
    if !names.is_empty() {
        let _ = writeln!(out, "without a kernel: {}", names.join(", "));
    }
    out
}
