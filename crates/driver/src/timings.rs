//! Measures the time of each step from a file to a running program, for `--time-passes`.

use relayc_base::diag::Diagnostic;
use relayc_ir::Module;
use relayc_passes::{Observer, Pass};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// The steps in order; the times of repeated steps are summed.
#[derive(Clone, Default, Debug)]
pub struct Timings {
    parts: Vec<(&'static str, Duration)>,
}

impl Timings {
    /// Measures a step.
    pub fn time<T>(&mut self, part: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        self.add(part, start.elapsed());
        done
    }

    pub(crate) fn add(&mut self, part: &'static str, time: Duration) {
        match self.parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, sum)) => *sum += time,
            None => self.parts.push((part, time)),
        }
    }

    /// Joins the steps with later ones.
    pub fn then(&self, later: &Timings) -> Timings {
        let mut all = self.clone();
        later.parts.iter().for_each(|&(part, time)| all.add(part, time));
        all
    }

    /// A table of each step with its time and its fraction of the total.
    pub fn table(&self) -> String {
        let total: Duration = self.parts.iter().map(|(_, time)| *time).sum();
        let mut out = String::new();
        let width = self.parts.iter().map(|(part, _)| part.len()).max().unwrap_or(0).max(5);
        let rows = self.parts.iter().copied().chain([("total", total)]);
        for (part, time) in rows {
            let share = time.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE) * 100.0;
            let _ = writeln!(out, "{part:<width$} {:>10.3} ms {share:>5.1} %", time.as_secs_f64() * 1e3);
        }
        out
    }

    pub fn json(&self) -> Value {
        let part = |(part, time): &(&str, Duration)| json!({ "part": part, "ms": time.as_secs_f64() * 1e3 });
        self.parts.iter().map(part).collect()
    }
}

/// Measures each pass, and forwards to another observer.
pub struct Stopwatch<'a> {
    pub(crate) timings: &'a mut Timings,
    pub(crate) inner: &'a mut dyn Observer,
    begun: Instant,
}

impl<'a> Stopwatch<'a> {
    pub fn new(timings: &'a mut Timings, inner: &'a mut dyn Observer) -> Stopwatch<'a> {
        Stopwatch { timings, inner, begun: Instant::now() }
    }
}

impl Observer for Stopwatch<'_> {
    fn before(&mut self, pass: &Pass, module: &Module) {
        self.inner.before(pass, module);
        self.begun = Instant::now();
    }

    fn after(&mut self, pass: &Pass, module: &Module) -> Result<(), Box<Diagnostic>> {
        self.timings.add(pass.name, self.begun.elapsed());
        self.inner.after(pass, module)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_summed_in_order() {
        let mut timings = Timings::default();
        for (part, ms) in [("infer", 3), ("plan", 1), ("infer", 4)] {
            timings.add(part, Duration::from_millis(ms));
        }
        let rows = "infer      7.000 ms  87.5 %\nplan       1.000 ms  12.5 %\ntotal      8.000 ms 100.0 %\n";
        assert_eq!(timings.table(), rows);
        assert_eq!(timings.json(), json!([{ "part": "infer", "ms": 7.0 }, { "part": "plan", "ms": 1.0 }]));
        assert_eq!(timings.then(&timings).json(), json!([{ "part": "infer", "ms": 14.0 }, { "part": "plan", "ms": 2.0 }]));
        assert_eq!(timings.time("code", || 5), 5);
        assert!(timings.table().contains("code"));
    }
}
