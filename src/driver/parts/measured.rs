//! The times of a program in parts: how long a run takes, and of it each region that is compiled, step by step.

use super::{Parts, Ready, State};
use crate::base::Span;
use crate::diag::Diagnostic;
use crate::driver::bind::Bound;
use crate::driver::compile::Compiled;
use crate::jit::program::Session;
use crate::tensor::text::type_text;
use crate::types::Dim;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// A compiled region with the shapes of its operands, and what was measured of it.
pub struct Part {
    ready: Arc<Ready>,
    /// Where its first operator stands.
    pub span: Span,
    /// The types of its operands.
    pub operands: Vec<String>,
    /// How often it was called in all runs.
    pub calls: u64,
    /// The median time of each step, in milliseconds; none of a step that is done once.
    pub times: Vec<Option<f64>>,
}

impl Part {
    pub fn compiled(&self) -> &Compiled {
        &self.ready.compiled
    }
}

/// What was measured of a program.
pub struct Measured {
    /// In the order of the text.
    pub parts: Vec<Part>,
    pub runs: u64,
    /// The median time of a run, in milliseconds.
    pub ms: f64,
}

impl Ready {
    /// Runs it, and keeps the times of its steps.
    pub(super) fn run_measured(&self, session: &mut Session, args: &[Bound]) -> Result<Bound, Box<Diagnostic>> {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.measure(|before| self.compiled.run_in(session, args, before))
    }
}

impl Parts {
    /// Runs it once, so that what is to be compiled is, then again and again for a while. Errors: as [`Parts::run`].
    pub fn measure(&self, args: &[Bound], measure: Duration) -> Result<Measured, Box<Diagnostic>> {
        self.carry_out(args)?;
        self.how.measuring.store(true, Ordering::Relaxed);
        let times = self.timed(args, measure);
        self.how.measuring.store(false, Ordering::Relaxed);
        let mut times = times?;
        times.sort_by(f64::total_cmp);
        let ms = times.get(times.len() / 2).copied().unwrap_or(f64::NAN);
        let mut parts = self.measured();
        parts.sort_by(|a, b| (a.span.start, &a.operands).cmp(&(b.span.start, &b.operands)));
        Ok(Measured { parts, runs: times.len() as u64, ms })
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

    /// The regions that were called while times were kept, also those inside of parts that were taken apart once more.
    fn measured(&self) -> Vec<Part> {
        let (mut found, mut inner) = (vec![], vec![]);
        self.find_measured(&mut found, &mut inner);
        while let Some(parts) = inner.pop() {
            parts.find_measured(&mut found, &mut inner);
        }
        found
    }

    fn find_measured(&self, found: &mut Vec<Part>, inner: &mut Vec<Arc<Parts>>) {
        for ((func, _), variant) in &self.cache().variants {
            match &variant.state {
                State::Parts(parts) => inner.push(parts.clone()),
                State::Compiled(ready) => {
                    let times = ready.times.lock().unwrap_or_else(PoisonError::into_inner);
                    if times.runs > 0 {
                        let members = self.parts.get(func).map_or(&[][..], Vec::as_slice);
                        let span = super::span_of(&self.module, members);
                        let operands = operands(&ready.compiled);
                        let (calls, times) = (times.runs, times.medians());
                        found.push(Part { ready: ready.clone(), span, operands, calls, times });
                    }
                }
                State::Counted | State::Interpreted => {}
            }
        }
    }
}

/// The types of what a region takes.
fn operands(compiled: &Compiled) -> Vec<String> {
    let plan = &compiled.program.plan;
    let text = |&id: &_| {
        let buffer = &plan.buffers[id];
        let dims: Vec<Dim> = buffer.shape.iter().map(|&dim| Dim::known(dim as i64)).collect();
        type_text(&dims, buffer.dtype)
    };
    plan.inputs.iter().map(text).collect()
}
