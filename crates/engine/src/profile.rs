//! `relayc profile`: reports the time of each group of a compiled program, relative to the limits of the machine.
//!
//! Two limits bound a group: the multiply-adds of the registers, and the bandwidth of the memory level that holds its data. The
//! nearer one is its bottleneck. Both are measured in the same run. Work and traffic of a group are counted from its kernels
//! (`plan`), not from the machine's method, so Winograd's method may exceed the first limit.

mod artifact;
mod subgraphs;

pub(crate) use subgraphs::SubgraphRows;
pub use subgraphs::{SubgraphsProfile, of_parts};

use super::compile::{Compiled, Isa, Settings, bytes};
use super::measure::{MachineLimits, isa_name};
use super::step_times::StepTimes;
use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_driver::bind::Bound;
use relayc_driver::bind::tensors_in;
use relayc_driver::emit;
use relayc_exec::plan::{self, Step, Traffic, traffic};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The limit that a group is nearer to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Limit {
    Compute,
    Memory,
}

impl Limit {
    fn name(self) -> &'static str {
        match self {
            Limit::Compute => "compute",
            Limit::Memory => "memory",
        }
    }
}

/// A group of operators with all its steps.
#[derive(Clone, Debug)]
pub struct Row {
    /// The variable that the text binds it to, such as `%3`.
    pub(crate) name: Option<String>,
    /// The node of the imported model.
    pub(crate) node: Option<String>,
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// The operators that it computes.
    pub(crate) ops: String,
    /// The kernel of its longest step, with the reason for it.
    pub(crate) kernel: String,
    pub(crate) why: String,
    /// Sum of its steps' median times, in milliseconds.
    pub ms: f64,
    pub(crate) counts: Traffic,
    pub(crate) steps: Vec<(String, f64)>,
}

/// A group's rates, absolute and relative to the machine's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    pub(crate) gflops: f64,
    pub(crate) gbs: f64,
    /// Fractions of the arithmetic peak, and of the bandwidth of the memory level.
    pub(crate) of_peak: f64,
    pub(crate) of_bandwidth: f64,
    pub(crate) level: &'static str,
}

impl Rates {
    pub(crate) fn of(row: &Row, probed: &MachineLimits) -> Rates {
        // No clock tells less than a nanosecond.
        let ms = row.ms.max(1e-6);
        let (gflops, gbs) = (row.counts.ops as f64 / ms / 1e6, row.counts.bytes as f64 / ms / 1e6);
        let level = probed.level(row.counts.bytes);
        Rates {
            gflops,
            gbs,
            of_peak: gflops / probed.gflops,
            of_bandwidth: level.map_or(f64::NAN, |level| gbs / level.read_gbs),
            level: level.map_or("", |level| level.name),
        }
    }

    pub(crate) fn bound(&self) -> Limit {
        if self.of_peak >= self.of_bandwidth { Limit::Compute } else { Limit::Memory }
    }

    /// The fraction of the nearer limit.
    pub(crate) fn nearest(&self) -> f64 {
        self.of_peak.max(self.of_bandwidth)
    }
}

/// The median time of each step of a run, in milliseconds; none of a step that is done once. Errors: what an operator traps with.
fn times(compiled: &Compiled, bound: &[Bound], measure: Duration) -> Result<Vec<Option<f64>>, Box<Diagnostic>> {
    let mut session = compiled.session()?;
    let inputs: Vec<Cow<[u8]>> = tensors_in(bound).into_iter().map(bytes).collect();
    let mut outputs = compiled.outputs();
    let (mut times, start) = (StepTimes::default(), Instant::now());
    while times.runs < 4 || start.elapsed() < measure {
        times.measure(|before| compiled.run_session(&mut session, &inputs, &mut outputs, Some(before)))?;
        if compiled.program.plan.steps.iter().all(|step| step.once) {
            break;
        }
    }
    Ok(times.medians())
}

/// A row for each group that a run computes, in order. Errors: those of [`times`].
pub fn profile(compiled: &Compiled, bound: &[Bound], measure: Duration, sources: &Sources) -> Result<Vec<Row>, Box<Diagnostic>> {
    Ok(rows(compiled, &times(compiled, bound, measure)?, sources))
}

/// The rows of a program, given the median time of each step.
fn rows(compiled: &Compiled, times: &[Option<f64>], sources: &Sources) -> Vec<Row> {
    let plan = &compiled.program.plan;
    let mut rows = vec![];
    let mut at = 0;
    // Steps between groups, such as copies to outputs, are groups of their own.
    let end = plan.steps.len();
    for group in plan.groups.iter().map(|group| group.steps.clone()).chain(std::iter::once(end..end)) {
        rows.extend((at..group.start).filter_map(|step| row(compiled, times, step..step + 1, sources)));
        rows.extend(row(compiled, times, group.clone(), sources));
        at = at.max(group.end);
    }
    rows
}

fn row(compiled: &Compiled, times: &[Option<f64>], steps: Range<usize>, sources: &Sources) -> Option<Row> {
    let plan = &compiled.program.plan;
    let timed: Vec<(usize, f64)> = steps.filter_map(|step| Some((step, (*times.get(step)?)?))).collect();
    let &(longest, _) = timed.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let span = compiled.span(plan.steps[longest].origin);
    let (line, column) = sources.line_col(span).unwrap_or((0, 0));
    let counts = timed.iter().map(|&(step, _)| traffic(plan, &plan.steps[step]));
    let reasons = &compiled.program.reasons;
    Some(Row {
        name: emit::bound_name(sources, span).map(str::to_owned),
        node: emit::imported_from(sources, span).map(str::to_owned),
        line,
        column,
        ops: ops(timed.iter().map(|&(step, _)| &plan.steps[step])),
        kernel: reasons[longest].name.clone(),
        why: reasons[longest].why.clone(),
        ms: timed.iter().map(|(_, ms)| ms).sum(),
        counts: counts.fold(Traffic::default(), |a, b| Traffic { bytes: a.bytes + b.bytes, ops: a.ops + b.ops }),
        steps: timed.iter().map(|&(step, ms)| (reasons[step].name.clone(), ms)).collect(),
    })
}

/// The operators of a group, each once; steps that only prepare operands are named if there are no others.
fn ops<'a>(steps: impl Iterator<Item = &'a Step> + Clone) -> String {
    let mut names: Vec<&str> = vec![];
    for name in steps.clone().flat_map(|step| step.ops.iter()).filter(|name| **name != "copy") {
        if !names.contains(name) {
            names.push(name);
        }
    }
    if names.is_empty() { steps.last().map_or(String::new(), plan::ops_text) } else { names.join("+") }
}

/// Groups with equal operators combined: their number and time, longest first.
pub(crate) fn totals(rows: &[Row]) -> Vec<(&str, usize, f64)> {
    let mut totals: Vec<(&str, usize, f64)> = vec![];
    for row in rows {
        match totals.iter_mut().find(|(ops, ..)| *ops == row.ops) {
            Some((_, count, ms)) => (*count, *ms) = (*count + 1, *ms + row.ms),
            None => totals.push((&row.ops, 1, row.ms)),
        }
    }
    totals.sort_by(|a, b| b.2.total_cmp(&a.2));
    totals
}

/// A profile with its context.
pub struct Profile<'a> {
    rows: &'a [Row],
    threads: usize,
    isa: Isa,
    probed: &'a MachineLimits,
    needs: Needs,
    /// Operators without a kernel.
    fallbacks: Vec<&'static str>,
    /// Peak memory of the process.
    peak: Option<u64>,
}

impl<'a> Profile<'a> {
    /// The profile of a program, given its rows and the peak memory of the process.
    pub fn of(
        rows: &'a [Row],
        compiled: &Compiled,
        settings: &Settings,
        probed: &'a MachineLimits,
        peak: Option<u64>,
    ) -> Profile<'a> {
        let &Settings { threads, isa, .. } = settings;
        Profile { rows, threads, isa, probed, needs: Needs::of(compiled), fallbacks: compiled.program.fallbacks(), peak }
    }

    fn total(&self) -> f64 {
        self.rows.iter().map(|row| row.ms).sum()
    }

    /// The rows in order, their sum, and the totals of each operator.
    pub fn table(&self) -> String {
        let total = self.total();
        let mut out = table(self.rows, self.probed);
        let (unit, scale) = unit(total);
        let _ = writeln!(out, "\n{unit:>8} {:>5} {:>6}  operators", "%", "groups");
        for (ops, count, ms) in totals(self.rows) {
            let _ = writeln!(out, "{:>8.3} {:>5.1} {count:>6}  {ops}", ms * scale, ms / total * 100.0);
        }
        let (machine, needs) = (machine(self.probed, &self.needs), self.needs.words(self.peak));
        let _ = writeln!(out, "\n{:.3} {unit} in all; {machine}\n{needs}", total * scale);
        if !self.fallbacks.is_empty() {
            let _ = writeln!(out, "without a kernel: {}", self.fallbacks.join(", "));
        }
        out
    }

    /// The profile as JSON, `relayc.profile/2`.
    pub fn json(&self) -> Value {
        let total = self.total();
        let totals = totals(self.rows);
        let operators = totals.iter().map(|(ops, groups, ms)| {
            json!({ "operators": ops.split('+').collect::<Vec<_>>(), "groups": groups, "ms": ms, "share": ms / total })
        });
        json!({
            "schema": "relayc.profile/2",
            "total_ms": total,
            "threads": self.threads,
            "isa": isa_name(self.isa),
            "groups": groups(self.rows, self.probed),
            "operators": operators.collect::<Vec<_>>(),
            "fallbacks": self.fallbacks,
            "memory": self.needs.json(self.peak),
            "probe": probe(self.probed),
        })
    }
}

/// The unit of the times of a table, and how many of it a millisecond has.
fn unit(total_ms: f64) -> (&'static str, f64) {
    if total_ms < 1.0 { ("µs", 1e3) } else { ("ms", 1.0) }
}

/// Rows in order, under their heads.
fn table(rows: &[Row], probed: &MachineLimits) -> String {
    let (mut out, total) = (String::new(), rows.iter().map(|row| row.ms).sum::<f64>());
    let (unit, scale) = unit(total);
    let _ = writeln!(
        out,
        "{unit:>8} {:>5} {:>8} {:>7} {:>6}  {:<7}  {:<6} {:<7} {:<44} operators",
        "%", "GFLOP/s", "GB/s", "% peak", "bound", "name", "line", "kernel"
    );
    for row in rows {
        let rates = Rates::of(row, probed);
        let gflops = if row.counts.ops == 0 { String::new() } else { format!("{:.1}", rates.gflops) };
        let bound = match rates.bound() {
            Limit::Compute => "compute".to_owned(),
            Limit::Memory => rates.level.to_owned(),
        };
        let _ = writeln!(
            out,
            "{:>8.3} {:>5.1} {gflops:>8} {:>7.1} {:>6.0}  {bound:<7}  {:<6} {:<7} {:<44} {}",
            row.ms * scale,
            row.ms / total * 100.0,
            rates.gbs,
            rates.nearest() * 100.0,
            row.name.as_deref().unwrap_or(""),
            format!("{}:{}", row.line, row.column),
            row.kernel,
            row.ops.clone() + &row.node.as_ref().map_or(String::new(), |node| format!("  from {node}"))
        );
    }
    out
}

fn groups(rows: &[Row], probed: &MachineLimits) -> Vec<Value> {
    let total: f64 = rows.iter().map(|row| row.ms).sum();
    let group = |row: &Row| {
        let rates = Rates::of(row, probed);
        let steps: Vec<Value> = row.steps.iter().map(|(kernel, ms)| json!({ "kernel": kernel, "ms": ms })).collect();
        json!({
            "name": row.name, "node": row.node, "line": row.line, "column": row.column, "operators": row.ops.split('+').collect::<Vec<_>>(),
            "kernel": row.kernel, "why": row.why, "ms": row.ms, "share": row.ms / total,
            "flops": row.counts.ops, "bytes": row.counts.bytes, "gflops": rates.gflops, "gbs": rates.gbs,
            "of_peak": rates.of_peak, "of_bandwidth": rates.of_bandwidth, "level": rates.level,
            "bound": rates.bound().name(), "steps": steps,
        })
    };
    rows.iter().map(group).collect()
}

fn machine(probed: &MachineLimits, needs: &Needs) -> String {
    let levels: Vec<String> = probed.levels.iter().map(|level| format!("{} {:.1}", level.name, level.read_gbs)).collect();
    format!("machine: {:.1} GFLOP/s, GB/s read from {}; code {} KiB", probed.gflops, levels.join(", "), needs.code >> 10)
}

fn probe(probed: &MachineLimits) -> Value {
    let levels = probed.levels.iter().map(|level| json!({ "name": level.name, "read_gbs": level.read_gbs }));
    json!({ "gflops": probed.gflops, "read_gbs": probed.read_gbs, "levels": levels.collect::<Vec<_>>() })
}

/// Memory needs of programs in bytes. Scratch memory of kernels is in the arena and counts while its step runs.
#[derive(Clone, Copy, Default, Debug)]
struct Needs {
    weights: u64,
    arena: u64,
    /// Peak of live tensors in the arena, and the same with kernels' scratch memory. An artifact does not say it: 0.
    live: u64,
    needed: u64,
    scratch: u64,
    code: u64,
}

impl Needs {
    fn of(compiled: &Compiled) -> Needs {
        let (program, plan) = (&compiled.program, &compiled.program.plan);
        Needs {
            weights: program.kept_bytes(),
            arena: plan.arena_bytes,
            live: plan.live_bytes,
            needed: plan.needed_bytes,
            scratch: program.scratch_bytes(),
            code: program.code_bytes() as u64,
        }
    }

    /// The needs of programs that are in memory together.
    fn add(self, other: Needs) -> Needs {
        Needs {
            weights: self.weights + other.weights,
            arena: self.arena + other.arena,
            live: self.live + other.live,
            needed: self.needed + other.needed,
            scratch: self.scratch.max(other.scratch),
            code: self.code + other.code,
        }
    }

    /// Describes the needs, with the peak memory of the process.
    fn words(&self, peak: Option<u64>) -> String {
        let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / (1 << 20) as f64);
        let &Needs { weights, arena, live, needed, .. } = self;
        let ratio = if needed > 0 { format!(", {:.2} of that", arena as f64 / needed as f64) } else { String::new() };
        let mut words = format!("memory: weights as kept {}, arena {}", mib(weights), mib(arena));
        let _ = write!(words, " (at one time tensors need {} of it, with kernels' scratch {}{ratio})", mib(live), mib(needed));
        if let Some(peak) = peak {
            let beside = mib(peak.saturating_sub(weights + arena));
            let _ = write!(words, "; peak of the process {}, {beside} beside weights and arena", mib(peak));
        }
        words
    }

    fn json(&self, peak: Option<u64>) -> Value {
        json!({
            "arena_bytes": self.arena, "live_bytes": self.live, "needed_bytes": self.needed, "weight_bytes": self.weights,
            "scratch_bytes": self.scratch, "code_bytes": self.code, "peak_bytes": peak,
        })
    }
}
