//! `relayc profile`: the time of each group of a compiled program, beside the limits of the machine.
//!
//! A group is nearer to one of two limits: the multiply-adds that registers can take, or the bytes that come from the level of
//! memory that holds what it moves. Both are measured in the same run. What a group computes and moves is counted from its
//! kernels (`plan`), not from what the machine makes of them, so Winograd's method may go over the first limit.

mod parts;

pub use parts::{PartRows, PartsProfile, of_parts};

use super::bind::Bound;
use super::compile::{Compiled, Settings, bytes, leaves};
use super::emit;
use super::measure::{Probed, isa_name};
use crate::base::Sources;
use crate::diag::Diagnostic;
use crate::jit::program::Follow;
use crate::plan::{self, Step, Traffic, traffic};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Which limit a group is nearer to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
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

/// A group of operators, its steps together.
#[derive(Clone, Debug)]
pub struct Row {
    /// The variable that the text binds it to, `%3`.
    pub name: Option<String>,
    /// The node of the model that the text was imported from.
    pub node: Option<String>,
    pub line: usize,
    pub column: usize,
    /// The operators it computes.
    pub ops: String,
    /// The kernel of its longest step, and why that was chosen.
    pub kernel: String,
    pub why: String,
    /// The medians of its steps, in milliseconds.
    pub ms: f64,
    pub counts: Traffic,
    pub steps: Vec<(String, f64)>,
}

/// A group's rates, and how near they come to the machine's.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    pub gflops: f64,
    pub gbs: f64,
    /// Shares of the peak of multiply-adds, and of the bandwidth of the level that holds it.
    pub of_peak: f64,
    pub of_bandwidth: f64,
    pub level: &'static str,
}

impl Rates {
    pub fn of(row: &Row, probed: &Probed) -> Rates {
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

    pub fn bound(&self) -> Limit {
        if self.of_peak >= self.of_bandwidth { Limit::Compute } else { Limit::Memory }
    }

    /// How near the limit is that is nearer.
    pub fn nearest(&self) -> f64 {
        self.of_peak.max(self.of_bandwidth)
    }
}

/// The times of the steps of runs, in milliseconds.
pub struct StepTimes {
    /// Half the digits are more than the clock has.
    of: Vec<Vec<f32>>,
    pub runs: u64,
    /// The times of one run of so many are kept.
    one_of: u64,
}

/// Of each step at most so many times are kept, from all over the runs: a small program has 100,000 of them in a second, which
/// would take more memory than all else of it.
const MAX_TIMES: usize = 1 << 10;

impl Default for StepTimes {
    fn default() -> StepTimes {
        StepTimes { of: vec![], runs: 0, one_of: 1 }
    }
}

impl StepTimes {
    /// Runs something once that tells before each step, and when all are done.
    pub fn measure<T>(&mut self, run: impl FnOnce(Follow) -> Result<T, Box<Diagnostic>>) -> Result<T, Box<Diagnostic>> {
        let kept = self.runs.is_multiple_of(self.one_of);
        self.runs += 1;
        let mut running: Option<(usize, Instant)> = None;
        let result = run(&mut |next, _| {
            let now = Instant::now();
            if let Some((step, begun)) = running.replace((next, now)).filter(|_| kept) {
                self.of.resize_with(self.of.len().max(step + 1), Vec::new);
                self.of[step].push(((now - begun).as_secs_f64() * 1e3) as f32);
            }
            Ok(())
        });
        if self.of.iter().any(|times| times.len() >= MAX_TIMES) {
            self.one_of *= 2;
            for times in &mut self.of {
                *times = times.iter().copied().step_by(2).collect();
            }
        }
        result
    }

    /// The median time of each step; none of a step that is done once.
    pub fn medians(&self) -> Vec<Option<f64>> {
        let median = |times: &Vec<f32>| {
            let mut times = times.clone();
            times.sort_by(f32::total_cmp);
            times.get(times.len() / 2).copied().map(f64::from)
        };
        self.of.iter().map(median).collect()
    }
}

/// The median time of each step of a run, in milliseconds; none of a step that is done once. Errors: what an operator traps with.
fn times(compiled: &Compiled, bound: &[Bound], measure: Duration) -> Result<Vec<Option<f64>>, Box<Diagnostic>> {
    let mut session = compiled.session()?;
    let inputs: Vec<Cow<[u8]>> = leaves(bound).into_iter().map(bytes).collect();
    let mut outputs = compiled.outputs();
    let (mut times, start) = (StepTimes::default(), Instant::now());
    while times.runs < 4 || start.elapsed() < measure {
        times.measure(|before| compiled.run_session(&mut session, &inputs, &mut outputs, before))?;
        if compiled.program.plan.steps.iter().all(|step| step.once) {
            break;
        }
    }
    Ok(times.medians())
}

/// A row for each group that a run computes, in order. Errors: as [`times`].
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

/// The operators of a group, each once; what only prepares them is named where there is nothing else.
fn ops<'a>(steps: impl Iterator<Item = &'a Step> + Clone) -> String {
    let mut names: Vec<&str> = vec![];
    for name in steps.clone().flat_map(|step| &step.ops).filter(|name| **name != "copy") {
        if !names.contains(name) {
            names.push(name);
        }
    }
    if names.is_empty() { steps.last().map_or(String::new(), plan::ops_text) } else { names.join("+") }
}

/// Groups of the same operators together: how many there are, and their time, the longest first.
pub fn totals(rows: &[Row]) -> Vec<(&str, usize, f64)> {
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

/// A profile and what it is of.
pub struct Profile<'a> {
    pub rows: &'a [Row],
    pub compiled: &'a Compiled,
    pub settings: &'a Settings,
    pub probed: &'a Probed,
    /// The most memory that the process has had.
    pub peak: Option<u64>,
}

impl Profile<'_> {
    fn total(&self) -> f64 {
        self.rows.iter().map(|row| row.ms).sum()
    }

    /// The rows in order, what they sum to, and the totals of each operator.
    pub fn table(&self) -> String {
        let total = self.total();
        let mut out = table(self.rows, self.probed);
        let _ = writeln!(out, "\n{:>8} {:>5} {:>6}  operators", "ms", "%", "groups");
        for (ops, count, ms) in totals(self.rows) {
            let _ = writeln!(out, "{ms:>8.4} {:>5.1} {count:>6}  {ops}", ms / total * 100.0);
        }
        let needs = Needs::of(self.compiled);
        let _ = writeln!(out, "\n{total:.4} ms in all; {}\n{}", machine(self.probed, &needs), needs.words(self.peak));
        let names = self.compiled.program.fallbacks();
        if !names.is_empty() {
            let _ = writeln!(out, "without a kernel: {}", names.join(", "));
        }
        out
    }

    /// As JSON, `relayc.profile/1`.
    pub fn json(&self) -> Value {
        let total = self.total();
        let totals = totals(self.rows);
        let operators = totals.iter().map(|(ops, groups, ms)| {
            json!({ "operators": ops.split('+').collect::<Vec<_>>(), "groups": groups, "ms": ms, "share": ms / total })
        });
        json!({
            "schema": "relayc.profile/1",
            "total_ms": total,
            "threads": self.settings.threads,
            "isa": isa_name(self.settings.isa),
            "groups": groups(self.rows, self.probed),
            "operators": operators.collect::<Vec<_>>(),
            "fallbacks": self.compiled.program.fallbacks(),
            "memory": Needs::of(self.compiled).json(self.peak),
            "probe": probe(self.probed),
        })
    }
}

/// Rows in order, under their heads.
fn table(rows: &[Row], probed: &Probed) -> String {
    let (mut out, total) = (String::new(), rows.iter().map(|row| row.ms).sum::<f64>());
    let _ = writeln!(
        out,
        "{:>8} {:>5} {:>8} {:>7} {:>6}  {:<7}  {:<6} {:<7} {:<44} operators",
        "ms", "%", "GFLOP/s", "GB/s", "% peak", "bound", "name", "line", "kernel"
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
            "{:>8.4} {:>5.1} {gflops:>8} {:>7.1} {:>6.0}  {bound:<7}  {:<6} {:<7} {:<44} {}",
            row.ms,
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

fn groups(rows: &[Row], probed: &Probed) -> Vec<Value> {
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

fn machine(probed: &Probed, needs: &Needs) -> String {
    let levels: Vec<String> = probed.levels.iter().map(|level| format!("{} {:.1}", level.name, level.read_gbs)).collect();
    format!("machine: {:.1} GFLOP/s, GB/s read from {}; code {} KiB", probed.gflops, levels.join(", "), needs.code >> 10)
}

fn probe(probed: &Probed) -> Value {
    let levels = probed.levels.iter().map(|level| json!({ "name": level.name, "read_gbs": level.read_gbs }));
    json!({ "gflops": probed.gflops, "read_gbs": probed.read_gbs, "levels": levels.collect::<Vec<_>>() })
}

/// What programs need of memory, in bytes. Scratch memory of kernels lies in the arena; it counts as needed while its step runs.
#[derive(Clone, Copy, Default, Debug)]
struct Needs {
    weights: u64,
    arena: u64,
    /// What tensors need of the arena at one time, and with them the scratch memory of kernels.
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

    /// Of programs that are in memory beside each other.
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

    /// In words, beside the most that the process has had.
    fn words(&self, peak: Option<u64>) -> String {
        let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / (1 << 20) as f64);
        let &Needs { weights, arena, live, needed, .. } = self;
        let ratio = if needed > 0 { format!(", {:.2} of that", arena as f64 / needed as f64) } else { String::new() };
        let mut words = format!(
            "memory: weights as kept {}, arena {} (at one time tensors need {} of it, with kernels' scratch {}{ratio})",
            mib(weights),
            mib(arena),
            mib(live),
            mib(needed),
        );
        if let Some(peak) = peak {
            let beside = mib(peak.saturating_sub(weights + arena));
            let _ = write!(words, "; peak of the process {}, {beside} beside weights and arena", mib(peak));
        }
        words
    }

    fn json(&self, peak: Option<u64>) -> Value {
        json!({
            "arena_bytes": self.arena, "live_bytes": self.live, "needed_bytes": self.needed, "weights_bytes": self.weights,
            "scratch_bytes": self.scratch, "code_bytes": self.code, "peak_bytes": peak,
        })
    }
}
