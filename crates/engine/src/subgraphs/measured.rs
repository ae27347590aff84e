//! Measures a partially compiled program: the time of a run, and of each compiled subgraph by steps.

use super::{PartialProgram, Ready, State};
use crate::compile::Compiled;
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_driver::bind::Bound;
use relayc_exec::program::PlanSession;
use relayc_ir::tensor::text::type_text;
use relayc_ir::types::Dim;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// A compiled subgraph for certain operand shapes, with its measurements.
pub(crate) struct SubgraphTimes {
    ready: Arc<Ready>,
    /// The place of its first operator.
    pub(crate) span: Span,
    /// The types of its operands.
    pub(crate) operands: Vec<String>,
    /// Number of calls in all runs.
    pub(crate) calls: u64,
    /// Median time of each step in milliseconds; `None` for a step that is done once.
    pub(crate) times: Vec<Option<f64>>,
}

impl SubgraphTimes {
    pub(crate) fn compiled(&self) -> &Compiled {
        &self.ready.compiled
    }
}

/// The measurements of a program.
pub struct Measured {
    /// Subgraphs in text order.
    pub(crate) subgraphs: Vec<SubgraphTimes>,
    pub(crate) runs: u64,
    /// Median time of a run in milliseconds.
    pub(crate) ms: f64,
}

impl Ready {
    /// Runs it and records the times of its steps.
    pub(super) fn run_measured(&self, session: &mut PlanSession, args: &[Bound]) -> Result<Bound, Box<Diagnostic>> {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.measure(|before| self.compiled.run_in(session, args, Some(before)))
    }
}

impl PartialProgram {
    /// Runs it once to trigger compilation, then repeatedly for a while. Errors: those of [`PartialProgram::run`].
    pub fn measure(&self, args: &[Bound], measure: Duration) -> Result<Measured, Box<Diagnostic>> {
        self.carry_out(args)?;
        self.how.measuring.store(true, Ordering::Relaxed);
        let times = self.timed(args, measure);
        self.how.measuring.store(false, Ordering::Relaxed);
        let mut times = times?;
        times.sort_by(f64::total_cmp);
        let ms = times.get(times.len() / 2).copied().unwrap_or(f64::NAN);
        let mut subgraphs = self.measured();
        subgraphs.sort_by(|a, b| (a.span.start, &a.operands).cmp(&(b.span.start, &b.operands)));
        Ok(Measured { subgraphs, runs: times.len() as u64, ms })
    }

    fn timed(&self, args: &[Bound], measure: Duration) -> Result<Vec<f64>, Box<Diagnostic>> {
        let (mut times, start) = (vec![], Instant::now());
        while times.len() < 4 || start.elapsed() < measure {
            let begin = Instant::now();
            self.carry_out(args)?;
            times.push(begin.elapsed().as_secs_f64() * 1e3);
        }
        Ok(times)
    }

    /// The subgraphs called while times were recorded, including nested ones.
    fn measured(&self) -> Vec<SubgraphTimes> {
        let (mut found, mut inner) = (vec![], vec![]);
        self.find_measured(&mut found, &mut inner);
        while let Some(partial) = inner.pop() {
            partial.find_measured(&mut found, &mut inner);
        }
        found
    }

    fn find_measured(&self, found: &mut Vec<SubgraphTimes>, inner: &mut Vec<Arc<PartialProgram>>) {
        for ((func, _), variant) in &self.cache().variants {
            match &variant.state {
                State::Partial(partial) => inner.push(partial.clone()),
                State::Compiled(ready) => {
                    let times = ready.times.lock().unwrap_or_else(PoisonError::into_inner);
                    if times.runs > 0 {
                        let members = self.subgraphs.get(func).map_or(&[][..], Vec::as_slice);
                        let span = super::span_of(&self.module, members);
                        let operands = operands(&ready.compiled);
                        let (calls, times) = (times.runs, times.medians());
                        found.push(SubgraphTimes { ready: ready.clone(), span, operands, calls, times });
                    }
                }
                State::Counted | State::Interpreted => {}
            }
        }
    }
}

/// The operand types of a subgraph.
fn operands(compiled: &Compiled) -> Vec<String> {
    let plan = &compiled.program.plan;
    let text = |&id: &_| {
        let buffer = &plan.buffers[id];
        let dims: Vec<Dim> = buffer.shape.iter().map(|&dim| Dim::known(dim as i64)).collect();
        type_text(&dims, buffer.dtype)
    };
    plan.inputs.iter().map(text).collect()
}
