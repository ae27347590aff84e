//! Traces the intermediate values of a run: `relayc run --save-steps`, `--watch` and `--check-nan`.
//!
//! A step is a value that the text binds to a variable, or a call in it ([`names`]). The interpreter traces every step; the
//! compiled engine (`relayc-engine`) traces the results of its fused groups, and the watched steps. A loop or a function computes
//! a step many times, and each time counts. Values are shared with the run or copied when they are computed, so later changes by
//! the run have no effect on them.
//!
//! The keys of an archive are `@main/%3`; `@main/%3#0`, `@main/%3#1`, … for a step computed more than once; `@main/%3.0` for a
//! tuple's fields. Functions, references and values of data types are not tensors, and are left out.

pub mod finite;
mod names;
mod summary;

pub use finite::is_finite;
pub(crate) use names::Names;
pub(crate) use names::Step;
pub(crate) use summary::summary;

use super::Program;
use super::bind::Bound;
use super::run::{self, Entry, Limits};
use relayc_base::diag::{Diagnostic, codes};
use relayc_interp::{Value, ValueObserver};
use relayc_ir::tensor::Tensor;
use relayc_ir::{ExprId, Module};
use relayc_weights::Named;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The traces that the user wants.
#[derive(Clone, Default, Debug)]
pub struct StepSelection {
    /// Whether to keep every step.
    pub save: bool,
    /// The names of steps to show.
    pub watch: Vec<String>,
    /// Whether the first operator that gives NaN or infinity ends the run.
    pub check: bool,
}

impl StepSelection {
    pub fn anything(&self) -> bool {
        self.save || self.check || !self.watch.is_empty()
    }
}

/// Prints a line.
pub(crate) type PrintLine = Box<dyn Fn(&str) + Send + Sync>;

/// Traces the steps of a run.
pub struct Steps {
    names: Names,
    save: bool,
    /// Whether each step is watched, by its number.
    watched: Vec<bool>,
    check: bool,
    /// The memory limit for all kept steps together, in bytes.
    max_bytes: u64,
    say: PrintLine,
    seen: Mutex<Seen>,
}

/// The trace so far.
#[derive(Default)]
struct Seen {
    /// The step, the number of its earlier computations, the path of fields to the tensor, and the tensor.
    saved: Vec<(usize, usize, String, Tensor)>,
    bytes: u64,
    /// How often each step has been computed.
    n_times: Vec<usize>,
    /// Whether the interpreter runs only for the watched steps that the compiled program did not show.
    only_unseen: bool,
    left: Vec<usize>,
}

impl Steps {
    /// Prepares the trace of a checked program, before anything is bound or rewritten. Errors: E0706 for an unknown step.
    pub fn new(program: &Program, wanted: &StepSelection, max_bytes: u64, say: PrintLine) -> Result<Steps, Vec<Diagnostic>> {
        let names = Names::of(&program.module, &program.sources);
        let mut watched = vec![false; names.steps.len()];
        let mut wrong = vec![];
        for name in &wanted.watch {
            match names.find(name.trim()) {
                Ok(found) => found.into_iter().for_each(|at| watched[at] = true),
                Err(error) => wrong.push(error),
            }
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let seen = Mutex::new(Seen { n_times: vec![0; names.steps.len()], ..Seen::default() });
        Ok(Steps { names, save: wanted.save, watched, check: wanted.check, max_bytes, say, seen })
    }

    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Whether it keeps every step.
    pub fn saves(&self) -> bool {
        self.save
    }

    /// Whether the first operator that gives NaN or infinity ends the run.
    pub fn checks(&self) -> bool {
        self.check
    }

    pub fn is_watched(&self, step: usize) -> bool {
        self.watched[step]
    }

    pub fn wants_values(&self) -> bool {
        self.save || self.watched.contains(&true)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a computed step. `apart` marks one computed outside its fused group.
    pub fn record(&self, step: usize, tensors: &[(String, Tensor)], apart: bool) {
        let watched = self.is_watched(step);
        if !watched && !self.save {
            return;
        }
        let mut seen = self.seen();
        if seen.only_unseen && !seen.left.contains(&step) {
            return;
        }
        let time = seen.n_times[step];
        seen.n_times[step] += 1;
        for (path, tensor) in tensors {
            if watched {
                let again = if time > 0 { format!(", computed {} times by now", time + 1) } else { String::new() };
                let apart = if apart { "\n    inside of a fused group, which ends here for this run to show it" } else { "" };
                let Step { key, place, .. } = &self.names.steps[step];
                (self.say)(&format!("{key}{path} at {place}{again}: {}{apart}\n", summary(tensor)));
            }
            if self.save {
                seen.bytes = seen.bytes.saturating_add(tensor.len() as u64 * tensor.dtype().bytes());
                if seen.bytes <= self.max_bytes {
                    seen.saved.push((step, time, path.clone(), tensor.clone()));
                }
            }
        }
        if watched && tensors.is_empty() {
            let Step { key, place, .. } = &self.names.steps[step];
            (self.say)(&format!("{key} at {place}: a value that holds no tensor to show\n"));
        }
    }

    /// Limits the trace to watched steps that have not been computed yet; returns whether there are any.
    pub fn leave_unseen(&self) -> bool {
        let mut seen = self.seen();
        let left = (0..self.watched.len()).filter(|&step| self.watched[step] && seen.n_times[step] == 0);
        seen.left = left.collect();
        seen.only_unseen = true;
        !seen.left.is_empty()
    }

    /// Traces every step again.
    pub fn take_up(&self) {
        self.seen().only_unseen = false;
    }

    /// Reports the watched steps that were never computed, at the end of a run.
    pub fn say_unseen(&self) {
        let seen = self.seen();
        for (step, Step { key, place, .. }) in self.names.steps.iter().enumerate() {
            if self.watched[step] && seen.n_times[step] == 0 {
                (self.say)(&format!("{key} at {place}: not computed in this run\n"));
            }
        }
    }

    /// The kept values, by key and in the order of computation. Errors: E0803 if they exceed the memory limit.
    pub fn saved(&self) -> Result<Named, Diagnostic> {
        let seen = self.seen();
        if seen.bytes > self.max_bytes {
            let message = format!("the steps have {} bytes together, the limit is {}", seen.bytes, self.max_bytes);
            return Err(
                Diagnostic::new(codes::E0803, message).help("`--watch %3` shows single ones; `--max-memory` sets the limit")
            );
        }
        let named = |(step, time, path, tensor): &(usize, usize, String, Tensor)| {
            let again = if seen.n_times[*step] > 1 { format!("#{time}") } else { String::new() };
            (format!("{}{again}{path}", self.names.steps[*step].key), tensor.clone())
        };
        Ok(seen.saved.iter().map(named).collect())
    }
}

/// The tensors of a value, each with its path of fields; values other than data have none.
pub fn tensors_of(value: &Value, path: &str) -> Vec<(String, Tensor)> {
    let named = |(fields, tensor): (Vec<usize>, &Tensor)| {
        let fields: String = fields.iter().map(|field| format!(".{field}")).collect();
        (format!("{path}{fields}"), tensor.clone())
    };
    value.tensors().unwrap_or_default().into_iter().map(named).collect()
}

impl ValueObserver for Steps {
    fn value(&self, module: &Module, expr: ExprId, value: &Value) {
        if !self.wants_values() {
            return;
        }
        if let Some(step) = self.names.of_expr(module, expr) {
            self.record(step, &tensors_of(value, ""), false);
        }
    }

    fn call(&self, module: &Module, call: ExprId, operands: &[&Value], result: &Value) -> Result<(), Box<Diagnostic>> {
        if !self.check {
            return Ok(());
        }
        let results: Vec<Tensor> = tensors_of(result, "").into_iter().map(|(_, tensor)| tensor).collect();
        let operands: Vec<Tensor> = operands.iter().flat_map(|value| tensors_of(value, "")).map(|(_, tensor)| tensor).collect();
        finite::check(module, call, &operands.iter().collect::<Vec<_>>(), &results.iter().collect::<Vec<_>>())
    }
}

/// Runs an entry on the interpreter. Errors: the failure of the run, and E0509.
pub fn interpret(program: &Program, entry: &Entry, args: Vec<Bound>, limits: Limits, steps: &Steps) -> Result<Bound, Diagnostic> {
    run::interpret_seen(program, entry, args, limits, Some(steps))
}
