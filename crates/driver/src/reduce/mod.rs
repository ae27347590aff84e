//! `relayc reduce`: finds the smallest program for which a test still holds.
//!
//! A [`Property`] decides, usually a command that is given the program. Every candidate is an edit of the smallest program so far
//! ([`edit`]), printed, read back and inferred before the test sees it. Candidates without types, texts tried before and programs
//! that are not smaller ([`size`]) cost no run. Large edits that halve the program come first, then single ones, until none helps
//! ([`search`]). Nothing is random: the same program and the same test give the same result.
//!
//! If the parameters have values, a new parameter gets the value that it replaces, computed by the interpreter. A tensor that
//! shrinks keeps its first elements along each axis.

mod edit;
mod search;
mod size;

pub use size::Size;

use super::bind::{Bound, Slot, leaves};
use super::run::{self, Limits, to_bound};
use super::show::{self, Options};
use super::{Phase, Program, check_text};
use edit::{Edit, Edited};
use relayc_base::Span;
use relayc_base::diag::{Diagnostic, codes};
use relayc_interp::{Value, ValueObserver};
use relayc_ir::print::print;
use relayc_ir::types::Types;
use relayc_ir::{ExprId, Module};
use relayc_ops as ops;
use relayc_weights::Named;
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A program to try.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub text: String,
    /// The values of its parameters by name, if any are given.
    pub values: Option<Named>,
}

/// Decides whether a candidate keeps the sought property.
pub trait Property {
    /// Whether the candidate keeps it. Errors: why the test cannot decide.
    fn holds(&mut self, candidate: &Candidate) -> Result<bool, Diagnostic>;

    /// What the last test did, in lines, for a message about it.
    fn told(&self) -> Vec<String> {
        vec![]
    }

    /// Called with each new smallest candidate, to save it. Errors: why it cannot be saved.
    fn kept(&mut self, candidate: &Candidate, counts: &Counts, size: &Size) -> Result<(), Diagnostic>;

    /// Whether the user asked to stop.
    fn stopped(&self) -> bool;
}

/// Counters of a reduction.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Runs of the test.
    pub runs: usize,
    /// Candidates without a run: without types, not smaller, or seen before.
    pub spared: usize,
    /// Candidates that were kept.
    pub(crate) kept: usize,
}

/// The limits of a reduction.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The number of runs of the test.
    pub max_runs: usize,
    /// The time in which the interpreter computes the values of new parameters; values computed by then are used.
    pub timeout: Duration,
}

/// Why a reduction ends early.
enum Stop {
    Asked,
    MaxRuns,
    Failed(Diagnostic),
}

/// The result of a reduction.
pub struct Outcome {
    pub smallest: Candidate,
    pub size: Size,
    pub counts: Counts,
    /// Whether every edit was tried.
    pub done: bool,
}

/// A reduction under way.
struct Reducer<'a> {
    entry: &'a str,
    test: &'a mut dyn Property,
    bounds: Bounds,
    program: Program,
    smallest: Candidate,
    size: Size,
    /// The hashes of candidates that were tried.
    tried: FxHashSet<u64>,
    counts: Counts,
    /// The values that the smallest program computes, by place; computed on first use.
    computed: Option<FxHashMap<Span, Value>>,
}

/// Makes a program smaller. `program` is a checked text without errors that defines the entry; `values` are those of its
/// parameters. Errors: E0735 if the test does not hold for the original program; errors of the test.
pub fn reduce(
    program: Program,
    entry: &str,
    values: Option<Named>,
    bounds: Bounds,
    test: &mut dyn Property,
) -> Result<Outcome, Diagnostic> {
    let slots = run::entry(&program.module, entry)?.slots;
    // As every candidate is printed, so that none is larger for types that nobody wrote.
    let types = program.module.types.clone();
    let Some((program, text)) = checked(&program.module, entry) else {
        return Err(Diagnostic::new(codes::E0901, "the program as it is printed does not read back")
            .note("this is a bug in relayc, not in your program"));
    };
    let values = values.map(|values| renamed(values, &names(&slots, &types), &program, entry));
    let size = Size::of(&program.module, &text);
    let smallest = Candidate { text, values };
    let mut reducer = Reducer {
        entry,
        test,
        bounds,
        program,
        tried: FxHashSet::from_iter([hash(&smallest)]),
        smallest,
        size,
        counts: Counts::default(),
        computed: None,
    };
    reducer.counts.runs = 1;
    let holds = reducer.test.holds(&reducer.smallest)?;
    if !holds && !reducer.test.stopped() {
        let error = Diagnostic::new(codes::E0735, "the command does not do with the whole program what it is to do");
        let error = reducer.test.told().into_iter().fold(error, Diagnostic::note);
        return Err(error
            .note("a program is reduced as long as the command succeeds (exit code 0) with it")
            .help("`--exit N` and `--stderr TEXT` look for something else; `sh -c '! relayc …'` turns success around"));
    }
    let end = reducer.search();
    let Reducer { smallest, size, counts, .. } = reducer;
    match end {
        Err(Stop::Failed(diagnostic)) => Err(diagnostic),
        Err(Stop::Asked | Stop::MaxRuns) => Ok(Outcome { smallest, size, counts, done: false }),
        Ok(()) => Ok(Outcome { smallest, size, counts, done: true }),
    }
}

/// The names of the tensors of parameters, in order.
fn names(slots: &[Slot], types: &Types) -> Vec<String> {
    let leaves = slots.iter().flat_map(|slot| leaves::leaves(&slot.name, slot.ty, types).unwrap_or_default());
    leaves.map(|leaf| leaf.name).collect()
}

/// Renames values to the parameters' names in the program's text, where each name is unique.
fn renamed(values: Named, before: &[String], program: &Program, entry: &str) -> Named {
    let slots = run::entry(&program.module, entry).map_or(vec![], |entry| entry.slots);
    let after = names(&slots, &program.module.types);
    let place = |name: &String| before.iter().position(|before| before == name);
    values
        .into_iter()
        .map(|(name, tensor)| (place(&name).and_then(|at| after.get(at).cloned()).unwrap_or(name), tensor))
        .collect()
}

/// The name of a candidate in messages.
const NAME: &str = "candidate.relay";

fn text_of(module: &Module) -> String {
    print(module, ops::table(), Options { types: false, meta: true, exact: true, dim_names: show::names_sizes(module) })
}

/// Hashes a candidate, equally on every machine.
fn hash(candidate: &Candidate) -> u64 {
    let mut hasher = DefaultHasher::new();
    candidate.text.hash(&mut hasher);
    for (name, tensor) in candidate.values.iter().flatten() {
        name.hash(&mut hasher);
        tensor.shape().hash(&mut hasher);
        tensor.to_le_bytes().hash(&mut hasher);
    }
    hasher.finish()
}

/// Whether a candidate must be smaller to be kept, or only different.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Smaller,
    Anything,
}

impl Reducer<'_> {
    /// Tries an edit; true if the test holds, which makes the candidate the smallest program.
    fn attempt(&mut self, edit: &Edit, wanted: Wanted) -> Result<bool, Stop> {
        if self.test.stopped() {
            return Err(Stop::Asked);
        }
        let spared = |this: &mut Self| {
            this.counts.spared += 1;
            Ok(false)
        };
        let Some(edited) = edit::apply(&self.program.module, self.entry, edit) else { return spared(self) };
        let Some((program, text)) = checked(&edited.module, self.entry) else { return spared(self) };
        let size = Size::of(&program.module, &text);
        if wanted == Wanted::Smaller && size >= self.size {
            return spared(self);
        }
        let Some(values) = self.values_for(&program, &edited) else { return spared(self) };
        let candidate = Candidate { text, values };
        if !self.tried.insert(hash(&candidate)) {
            return spared(self);
        }
        if self.counts.runs >= self.bounds.max_runs {
            return Err(Stop::MaxRuns);
        }
        self.counts.runs += 1;
        let holds = self.test.holds(&candidate).map_err(Stop::Failed)?;
        // What was cut short says nothing.
        if self.test.stopped() {
            return Err(Stop::Asked);
        }
        if !holds {
            return Ok(false);
        }
        self.counts.kept += 1;
        self.test.kept(&candidate, &self.counts, &size).map_err(Stop::Failed)?;
        (self.program, self.smallest, self.size, self.computed) = (program, candidate, size, None);
        Ok(true)
    }

    /// The values of a candidate's parameters, if any are given. `None` if one cannot be computed.
    fn values_for(&mut self, program: &Program, edited: &Edited) -> Option<Option<Named>> {
        if self.smallest.values.is_none() {
            return Some(None);
        }
        let mut known: FxHashMap<String, relayc_ir::tensor::Tensor> = FxHashMap::default();
        for (name, stands_for) in &edited.fresh {
            let span = self.program.module.exprs[*stands_for].span;
            let value = self.computed().get(&span)?.clone();
            known.extend(leaves::flatten(name, &to_bound(value).ok()?));
        }
        let old = self.smallest.values.as_deref().unwrap_or_default();
        known.extend(old.iter().cloned());
        let slots = run::entry(&program.module, self.entry).ok()?.slots;
        // In the text they may be called otherwise.
        let own = run::entry(&edited.module, self.entry).ok()?.slots;
        let mut values = vec![];
        for (slot, own) in slots.iter().zip(&own) {
            for leaf in leaves::leaves(&slot.name, slot.ty, &program.module.types).ok()? {
                // A parameter without a value had none before.
                let path = leaf.name.strip_prefix(&slot.name).unwrap_or_default();
                let Some(tensor) = known.get(&format!("{}{path}", own.name)) else { continue };
                let mut tensor = tensor.clone();
                if tensor.rank() != leaf.dims.len() {
                    return None;
                }
                for (axis, dim) in leaf.dims.iter().enumerate() {
                    let Some(n) = dim.value().and_then(|dim| usize::try_from(dim).ok()) else { continue };
                    if n > tensor.shape()[axis] {
                        return None;
                    }
                    if n < tensor.shape()[axis] {
                        tensor = tensor.take_range(axis, 0, 1, n);
                    }
                }
                values.push((leaf.name, tensor));
            }
        }
        Some(Some(values))
    }

    /// The values that the smallest program computes, by their places in its text; of several at one place the last.
    fn computed(&mut self) -> &FxHashMap<Span, Value> {
        let Reducer { program, smallest, entry, bounds, .. } = self;
        self.computed.get_or_insert_with(|| {
            let limits = Limits { deadline: Instant::now().checked_add(bounds.timeout), ..Limits::default() };
            computed(program, entry, smallest.values.as_deref().unwrap_or_default(), limits)
        })
    }
}

/// The checked program of a changed module, and its text; `None` if it is invalid.
fn checked(module: &Module, entry: &str) -> Option<(Program, String)> {
    // Types of results follow, unless a function calls itself.
    for all in [true, false] {
        let mut module = module.clone();
        let global = module.find_global(entry)?;
        let own = module.globals[global].func;
        module.funcs[own].ret = None;
        if all {
            for func in module.funcs.ids().collect::<Vec<_>>() {
                module.funcs[func].ret = None;
            }
            let params: FxHashSet<_> = module.funcs.iter().flat_map(|func| func.params.clone()).collect();
            for var in module.vars.ids().collect::<Vec<_>>() {
                if !params.contains(&var) {
                    module.vars[var].ty = None;
                }
            }
        }
        let text = text_of(&module);
        let program = check_text(NAME, &text, Phase::Main);
        if !program.has_errors() && run::entry(&program.module, entry).is_ok() {
            return Some((program, text));
        }
    }
    None
}

/// Keeps the values that a run computes.
#[derive(Default)]
struct Keeper(Mutex<FxHashMap<Span, Value>>);

impl ValueObserver for Keeper {
    fn value(&self, module: &Module, expr: ExprId, value: &Value) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(module.exprs[expr].span, value.clone());
    }

    fn call(&self, _: &Module, _: ExprId, _: &[&Value], _: &Value) -> Result<(), Box<Diagnostic>> {
        Ok(())
    }
}

/// The values that the interpreter computes before it ends or fails; none if a parameter has no value.
fn computed(
    program: &Program,
    entry: &str,
    values: &[(String, relayc_ir::tensor::Tensor)],
    limits: Limits,
) -> FxHashMap<Span, Value> {
    let keeper = Keeper::default();
    let Ok(entry) = run::entry(&program.module, entry) else { return FxHashMap::default() };
    let types = &program.module.types;
    let value = |slot: &Slot| -> Option<Bound> {
        let leaves = leaves::leaves(&slot.name, slot.ty, types).ok()?;
        let find = |name: &str| values.iter().find(|(known, _)| known == name).map(|(_, tensor)| tensor.clone());
        let tensors: Option<Vec<_>> = leaves.iter().map(|leaf| find(&leaf.name)).collect();
        Some(leaves::assemble(slot.ty, types, &mut tensors?.into_iter()))
    };
    let args: Option<Vec<Bound>> = entry.slots.iter().map(value).collect();
    if let Some(args) = args {
        // A program that fails is as good as any: what it had computed is known.
        let _ = run::interpret_seen(program, &entry, args, limits, Some(&keeper));
    }
    keeper.0.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
