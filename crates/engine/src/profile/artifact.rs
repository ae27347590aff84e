//! The profile of an artifact: a row for each step. Its listing says what a step computes, and where that is in its source.

use super::{Needs, Profile, Row};
use crate::artifact::{Ready, failed, step_lines};
use crate::compile::Isa;
use crate::measure::MachineLimits;
use crate::step_times::StepTimes;
use relayc_base::diag::Diagnostic;
use relayc_base::{Sources, Span};
use relayc_codegen::cpu::level_of;
use relayc_driver::bind::{Bound, tensors_in};
use relayc_driver::emit;
use std::time::{Duration, Instant};

/// The rows of an artifact, and how it ran.
pub struct ArtifactProfile {
    pub rows: Vec<Row>,
    pub isa: Isa,
    pub threads: usize,
    needs: Needs,
}

impl ArtifactProfile {
    /// The profile, given the peak memory of the process.
    pub fn with<'a>(&self, rows: &'a [Row], probed: &'a MachineLimits, peak: Option<u64>) -> Profile<'a> {
        Profile { rows, threads: self.threads, isa: self.isa, probed, needs: self.needs, fallbacks: vec![], peak }
    }
}

impl Ready {
    /// Measures the steps of runs. Errors: those of [`Ready::run`].
    pub fn profile(
        &self,
        args: &[Bound],
        threads: usize,
        isa: Option<Isa>,
        measure: Duration,
    ) -> Result<ArtifactProfile, Diagnostic> {
        let mut session = self.session(args, threads, isa)?;
        for (at, tensor) in tensors_in(args).into_iter().enumerate() {
            session.input(at).copy_from_slice(&tensor.to_le_bytes());
        }
        let (mut times, start) = (StepTimes::default(), Instant::now());
        while times.runs < 4 || start.elapsed() < measure {
            let ran = times.measure_steps(|begins| {
                let ran = session.run(|step| {
                    begins(Some(step));
                    true
                });
                begins(None);
                ran
            });
            ran.map_err(|failure| failed(&failure))?;
        }
        let (isa, size) = (session.isa(), session.size());
        let level = u64::from(level_of(isa));
        let mut sources = Sources::new();
        let file = sources.add("source", self.description.source.as_str());
        let target = self.description.targets.iter().find(|target| target.level == level);
        let Some((target, program)) = target.and_then(|target| Some((target, target.programs.get(size)?))) else {
            return Ok(ArtifactProfile { rows: vec![], isa, threads: session.n_threads(), needs: Needs::default() });
        };
        let row = |(line, ms): (crate::artifact::StepLine, Option<f64>)| {
            let is_there = !line.text.is_empty() && self.description.source.get(line.text.clone()).is_some();
            let span = if is_there { Span::new(file, line.text.start, line.text.end) } else { Span::NONE };
            let (ms, how) = (ms?, line.how.to_owned());
            let (line_number, column) = sources.line_col(span).unwrap_or((0, 0));
            Some(Row {
                name: emit::bound_name(&sources, span).map(str::to_owned),
                node: emit::imported_from(&sources, span).map(str::to_owned),
                line: line_number,
                column,
                ops: line.ops.to_owned(),
                kernel: how.clone(),
                why: String::new(),
                ms,
                counts: line.traffic,
                steps: vec![(how, ms)],
            })
        };
        let needs = Needs {
            weights: target.weight_bytes + target.at_load_bytes,
            arena: program.arena_bytes,
            scratch: program.thread_scratch_bytes,
            code: program.code_bytes,
            ..Needs::default()
        };
        let rows = step_lines(program).zip(times.medians()).filter_map(row).collect();
        Ok(ArtifactProfile { rows, isa, threads: session.n_threads(), needs })
    }
}
