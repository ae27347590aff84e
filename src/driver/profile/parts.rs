//! The profile of a program in parts: for each region that is compiled where it stands, what it was called with, how often, and a
//! row for each of its groups.

use super::{Needs, Row, groups, machine, probe, rows, table};
use crate::base::Sources;
use crate::base::text::count;
use crate::driver::compile::Settings;
use crate::driver::emit::place;
use crate::driver::measure::{Probed, isa_name};
use crate::driver::parts::{Measured, Part};
use serde_json::{Value, json};
use std::fmt::Write;

/// A region and its rows; their times are those of a call.
pub struct PartRows<'a> {
    pub part: &'a Part,
    pub rows: Vec<Row>,
}

/// The rows of every region, in the order of the text.
pub fn of_parts<'a>(measured: &'a Measured, sources: &Sources) -> Vec<PartRows<'a>> {
    measured.parts.iter().map(|part| PartRows { part, rows: rows(part.compiled(), &part.times, sources) }).collect()
}

impl PartRows<'_> {
    /// Of a call, in milliseconds.
    fn ms(&self) -> f64 {
        self.rows.iter().map(|row| row.ms).sum()
    }
}

/// A profile and what it is of.
pub struct PartsProfile<'a> {
    pub measured: &'a Measured,
    pub parts: &'a [PartRows<'a>],
    /// What is compiled and what is not.
    pub words: String,
    pub settings: &'a Settings,
    pub probed: &'a Probed,
    /// The most memory that the process has had.
    pub peak: Option<u64>,
    pub sources: &'a Sources,
}

impl PartsProfile<'_> {
    fn calls(&self, part: &Part) -> f64 {
        part.calls as f64 / self.measured.runs.max(1) as f64
    }

    fn needs(&self) -> Needs {
        self.parts.iter().map(|of| Needs::of(of.part.compiled())).fold(Needs::default(), Needs::add)
    }

    /// The time of a run that is spent in regions, in milliseconds.
    fn inside(&self) -> f64 {
        self.parts.iter().map(|of| of.ms() * self.calls(of.part)).sum()
    }

    /// A table for each region, then what a run takes.
    pub fn table(&self) -> String {
        let mut out = String::new();
        for (at, of) in self.parts.iter().enumerate() {
            let calls = self.calls(of.part);
            let times = if calls.fract() == 0.0 { count(calls as usize, "call") } else { format!("{calls:.1} calls") };
            let _ = writeln!(
                out,
                "region {} of {} at {}: {times} a run, {:.4} ms each, on {}",
                at + 1,
                self.parts.len(),
                place(self.sources, of.part.span),
                of.ms(),
                if of.part.operands.is_empty() { "nothing".to_owned() } else { of.part.operands.join(", ") }
            );
            let _ = writeln!(out, "{}", table(&of.rows, self.probed));
        }
        let needs = self.needs();
        let _ = writeln!(
            out,
            "{:.4} ms a run, {:.4} of them in regions; {}",
            self.measured.ms,
            self.inside(),
            machine(self.probed, &needs)
        );
        let _ = writeln!(out, "{}\n{}", needs.words(self.peak), self.words);
        out
    }

    /// As JSON, `relayc.profile/1`: in place of `groups` there are `regions` with some each.
    pub fn json(&self) -> Value {
        let region = |of: &PartRows| {
            let (line, column) = self.sources.line_col(of.part.span).unwrap_or((0, 0));
            json!({
                "line": line, "column": column, "operands": of.part.operands, "calls": self.calls(of.part), "ms": of.ms(),
                "groups": groups(&of.rows, self.probed), "fallbacks": of.part.compiled().program.fallbacks(),
            })
        };
        json!({
            "schema": "relayc.profile/1",
            "total_ms": self.measured.ms,
            "regions_ms": self.inside(),
            "threads": self.settings.threads,
            "isa": isa_name(self.settings.isa),
            "regions": self.parts.iter().map(region).collect::<Vec<_>>(),
            "memory": self.needs().json(self.peak),
            "probe": probe(self.probed),
        })
    }
}
