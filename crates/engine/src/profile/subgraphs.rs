//! The profile of a partially compiled program: each compiled subgraph with its place, operands, number of calls, and a row for
//! each group.

use super::{Needs, Row, groups, machine, probe, rows, table};
use crate::compile::Settings;
use crate::measure::{MachineLimits, isa_name};
use crate::subgraphs::{Measured, SubgraphTimes};
use relayc_base::Sources;
use relayc_base::text::{count, duration};
use relayc_driver::emit::place;
use serde_json::{Value, json};
use std::fmt::Write;

/// A subgraph and its rows; times are for one call.
pub struct SubgraphRows<'a> {
    pub(crate) part: &'a SubgraphTimes,
    pub rows: Vec<Row>,
}

/// The rows of every subgraph, in text order.
pub fn of_parts<'a>(measured: &'a Measured, sources: &Sources) -> Vec<SubgraphRows<'a>> {
    measured.subgraphs.iter().map(|part| SubgraphRows { part, rows: rows(part.compiled(), &part.times, sources) }).collect()
}

impl SubgraphRows<'_> {
    /// Time of a call, in milliseconds.
    fn ms(&self) -> f64 {
        self.rows.iter().map(|row| row.ms).sum()
    }
}

/// A profile with its context.
pub struct SubgraphsProfile<'a> {
    pub measured: &'a Measured,
    pub subgraphs: &'a [SubgraphRows<'a>],
    /// What is compiled and what is not, in words.
    pub words: String,
    pub settings: &'a Settings,
    pub probed: &'a MachineLimits,
    /// Peak memory of the process.
    pub peak: Option<u64>,
    pub sources: &'a Sources,
}

impl SubgraphsProfile<'_> {
    fn calls(&self, part: &SubgraphTimes) -> f64 {
        part.calls as f64 / self.measured.runs.max(1) as f64
    }

    fn needs(&self) -> Needs {
        self.subgraphs.iter().map(|of| Needs::of(of.part.compiled())).fold(Needs::default(), Needs::add)
    }

    /// Time of a run that is spent in subgraphs, in milliseconds.
    fn inside(&self) -> f64 {
        self.subgraphs.iter().map(|of| of.ms() * self.calls(of.part)).sum()
    }

    /// A table for each subgraph, then the time of a run.
    pub fn table(&self) -> String {
        let mut out = String::new();
        for (at, of) in self.subgraphs.iter().enumerate() {
            let calls = self.calls(of.part);
            let times = if calls.fract() == 0.0 { count(calls as usize, "call") } else { format!("{calls:.1} calls") };
            let _ = writeln!(
                out,
                "subgraph {} of {} at {}: {times} a run, {} each, on {}",
                at + 1,
                self.subgraphs.len(),
                place(self.sources, of.part.span),
                duration(of.ms()),
                if of.part.operands.is_empty() { "nothing".to_owned() } else { of.part.operands.join(", ") }
            );
            let _ = writeln!(out, "{}", table(&of.rows, self.probed));
        }
        let needs = self.needs();
        let _ = writeln!(
            out,
            "{} a run, {} of them in subgraphs; {}",
            duration(self.measured.ms),
            duration(self.inside()),
            machine(self.probed, &needs)
        );
        let _ = writeln!(out, "{}\n{}", needs.words(self.peak), self.words);
        out
    }

    /// The profile as JSON, `relayc.profile/2`: `subgraphs` with their groups replace `groups`.
    pub fn json(&self) -> Value {
        let subgraph = |of: &SubgraphRows| {
            let (line, column) = self.sources.line_col(of.part.span).unwrap_or((0, 0));
            json!({
                "line": line, "column": column, "operands": of.part.operands, "calls": self.calls(of.part), "ms": of.ms(),
                "groups": groups(&of.rows, self.probed), "fallbacks": of.part.compiled().program.fallbacks(),
            })
        };
        json!({
            "schema": "relayc.profile/2",
            "total_ms": self.measured.ms,
            "subgraphs_ms": self.inside(),
            "threads": self.settings.threads,
            "isa": isa_name(self.settings.isa),
            "subgraphs": self.subgraphs.iter().map(subgraph).collect::<Vec<_>>(),
            "memory": self.needs().json(self.peak),
            "probe": probe(self.probed),
        })
    }
}
