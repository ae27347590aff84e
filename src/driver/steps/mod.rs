//! What a run computes on its way: `relayc run --save-steps`, `--watch` and `--check-nan`.
//!
//! A step is a value that the text binds to a variable, or a call in it ([`names`]). The interpreter shows every one; the compiled
//! engine the results of its fused groups, and of what is watched ([`tap`]). A loop or a function computes a step many times: each
//! time counts. Values are shared with the run or copied when they are computed, so what the run does later changes none.
//!
//! The keys of an archive are `@main/%3`, of a step that was computed more than once `@main/%3#0`, `@main/%3#1`, …, of a tuple's
//! fields `@main/%3.0`. Functions, references and values of data types are no tensors, and are left out.

mod finite;
mod names;
mod summary;
mod tap;

pub use finite::is_finite;
pub use names::{Names, Step};
pub use summary::summary;

use super::Program;
use super::bind::Bound;
use super::compile::{Compiled, Refused, Settings, leaves};
use super::follow::Groups;
use super::parts::Parts;
use super::run::{self, Entry, Limits, to_value};
use super::specialise::to_shapes;
use crate::diag::{Diagnostic, codes};
use crate::formats::Named;
use crate::interp::{Value, Witness};
use crate::ir::{ExprId, Module};
use crate::jit::program::Session;
use crate::plan::NotCompiled;
use crate::tensor::Tensor;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) use tap::{PLAIN, compile};

/// What is to be seen of a run.
#[derive(Clone, Default, Debug)]
pub struct Wanted {
    /// Whether every step is kept.
    pub save: bool,
    /// The names of steps that are shown.
    pub watch: Vec<String>,
    /// Whether the first operator that gives NaN or infinity ends the run.
    pub check: bool,
}

impl Wanted {
    pub fn anything(&self) -> bool {
        self.save || self.check || !self.watch.is_empty()
    }
}

/// Says a line.
pub type Say = Box<dyn Fn(&str) + Send + Sync>;

/// Sees the steps of a run.
pub struct Steps {
    names: Names,
    save: bool,
    /// By number.
    watched: Vec<bool>,
    check: bool,
    /// The most bytes that all steps together may have.
    max_bytes: u64,
    say: Say,
    seen: Mutex<Seen>,
}

/// What has been seen so far.
#[derive(Default)]
struct Seen {
    /// The step, how often it had been computed before, the fields on the way to the tensor.
    saved: Vec<(usize, usize, String, Tensor)>,
    bytes: u64,
    /// How often each step has been computed.
    n_times: Vec<usize>,
    /// Whether the interpreter runs only for the watched steps that the compiled program did not show.
    only_unseen: bool,
    left: Vec<usize>,
}

/// A step that is a result of a compiled program.
#[derive(Clone, Copy, Debug)]
pub struct Tap {
    step: usize,
    /// Which field of it, if it is a tuple.
    field: Option<usize>,
    /// Whether it is a result of a group only because it was asked for.
    apart: bool,
}

impl Steps {
    /// For a run of a checked program, before anything is bound or rewritten. Errors: E0706 for a name that no step has.
    pub fn new(program: &Program, wanted: &Wanted, max_bytes: u64, say: Say) -> Result<Steps, Vec<Diagnostic>> {
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

    fn is_watched(&self, step: usize) -> bool {
        self.watched[step]
    }

    fn wants_values(&self) -> bool {
        self.save || self.watched.contains(&true)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A step was computed. `apart` says that it was computed apart from its group.
    fn record(&self, step: usize, tensors: &[(String, Tensor)], apart: bool) {
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

    /// From now on only the watched steps count that have not been computed; whether there are any.
    fn leave_unseen(&self) -> bool {
        let mut seen = self.seen();
        let left = (0..self.watched.len()).filter(|&step| self.watched[step] && seen.n_times[step] == 0);
        seen.left = left.collect();
        seen.only_unseen = true;
        !seen.left.is_empty()
    }

    /// Every step counts again.
    fn take_up(&self) {
        self.seen().only_unseen = false;
    }

    /// Says which watched steps were never computed, for the end of a run.
    pub fn say_unseen(&self) {
        let seen = self.seen();
        for (step, Step { key, place, .. }) in self.names.steps.iter().enumerate() {
            if self.watched[step] && seen.n_times[step] == 0 {
                (self.say)(&format!("{key} at {place}: not computed in this run\n"));
            }
        }
    }

    /// The values that were kept, by key and in the order in which they were computed. Errors: E0803 where they were too many.
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

    /// Runs a compiled program whose further results are steps; its own result. Errors: what the run fails with, and E0509.
    pub(super) fn run(
        &self,
        compiled: &Compiled,
        taps: &[Tap],
        session: &mut Session,
        args: &[Bound],
    ) -> Result<Bound, Box<Diagnostic>> {
        let module = compiled.module();
        let mut groups = Groups::of(&compiled.program.plan);
        let result = compiled.run_in(session, args, &mut |step, memory| {
            if !self.check {
                return Ok(());
            }
            groups.before(step, memory, &mut |group, operands, memory| {
                // What lies nowhere is part of a later group's kernel, and is seen there.
                let (Some(operands), Some(result)) = (operands, super::follow::read(&group.result, memory)) else {
                    return Ok(());
                };
                let operands: Vec<&Tensor> =
                    operands.iter().flat_map(|operand| operand.tensors()).map(|near| &near.value).collect();
                let results: Vec<&Tensor> = result.tensors().into_iter().map(|near| &near.value).collect();
                finite::check(module, group.call, &operands, &results)
            })
        })?;
        match result {
            Bound::Tuple(mut results) if !taps.is_empty() => {
                let values = results.split_off(1);
                self.record_all(taps, values);
                Ok(results.swap_remove(0))
            }
            result => Ok(result),
        }
    }

    /// The results that are steps; the fields of a tuple are one step.
    fn record_all(&self, taps: &[Tap], values: Vec<Bound>) {
        let mut values = taps.iter().zip(values).peekable();
        while let Some((tap, value)) = values.next() {
            let path = |tap: &Tap| tap.field.map_or(String::new(), |field| format!(".{field}"));
            let mut tensors = tensors_of(&to_value(value), &path(tap));
            while let Some((next, value)) = values.next_if(|(next, _)| next.step == tap.step && next.field > tap.field) {
                tensors.extend(tensors_of(&to_value(value), &path(next)));
            }
            self.record(tap.step, &tensors, tap.apart);
        }
    }
}

/// The tensors of a value, each with the fields on the way to it; none of what is no data.
fn tensors_of(value: &Value, path: &str) -> Vec<(String, Tensor)> {
    let named = |(fields, tensor): (Vec<usize>, &Tensor)| {
        let fields: String = fields.iter().map(|field| format!(".{field}")).collect();
        (format!("{path}{fields}"), tensor.clone())
    };
    value.tensors().unwrap_or_default().into_iter().map(named).collect()
}

impl Witness for Steps {
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

/// Runs an entry on the interpreter. Errors: what the run fails with, and E0509.
pub fn interpret(program: &Program, entry: &Entry, args: Vec<Bound>, limits: Limits, steps: &Steps) -> Result<Bound, Diagnostic> {
    run::interpret_seen(program, entry, args, limits, Some(steps))
}

/// Compiles an entry and runs it: as a whole, or the dataflow in it. Errors: why nothing of it is compiled; what the run fails with,
/// and E0509.
pub fn compiled(
    program: &Program,
    entry: &str,
    args: &[Bound],
    settings: &Settings,
    limits: Limits,
    steps: &Arc<Steps>,
) -> Result<Bound, Refused> {
    let mut module = program.module.clone();
    let global = module.find_global(entry).ok_or(Refused::Not(NotCompiled::ControlFlow))?;
    let func = module.globals[global].func;
    let shapes: Vec<&[usize]> = leaves(args).into_iter().map(|tensor| tensor.shape()).collect();
    let whole = match to_shapes(&mut module, func, &shapes) {
        true => tap::compile(&mut module, entry, settings, limits.clone(), steps),
        false => Err(Refused::Not(NotCompiled::UnknownShape)),
    };
    let result = match whole {
        Ok((compiled, taps)) => {
            let mut session = compiled.session().map_err(Refused::Wrong)?;
            steps.run(&compiled, &taps, &mut session, args).map_err(Refused::Wrong)?
        }
        Err(Refused::Not(reason)) => {
            let parts = Parts::seen(program.module.clone(), entry, settings, limits.clone(), steps.clone())?;
            if parts.is_empty() {
                return Err(Refused::Not(reason));
            }
            parts.run(args).map_err(Refused::Wrong)?
        }
        Err(wrong) => return Err(wrong),
    };
    let finite = |values: &[Bound]| leaves(values).into_iter().all(is_finite);
    let check = steps.check && finite(args) && !finite(std::slice::from_ref(&result));
    if steps.leave_unseen() || check {
        // A call that was inlined has no value of its own, and NaN may come about where the compiled program holds no value.
        let wrong = |error| Refused::Wrong(Box::new(error));
        let found = run::entry(&program.module, entry).map_err(wrong)?;
        let interpreted = interpret(program, &found, args.to_vec(), limits, steps);
        steps.take_up();
        interpreted.map_err(wrong)?;
    }
    Ok(result)
}
