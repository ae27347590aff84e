//! A program that is not compiled as a whole: it branches, or has dimensions that only a run knows. Its dataflow is
//! (`passes/partition`), part by part; the interpreter runs what is left and calls the parts.
//!
//! * A part is compiled for the shapes it is called with, each set of them once, as a program of its own: `?` gets numbers, the
//!   passes of the level run on it. What comes of it is kept, [`MAX_VARIANTS`] at most and [`MAX_BYTES`] of memory; what was not
//!   used for the longest time goes first.
//! * *When it pays*: a part is interpreted until what it has computed is worth the compilation, both estimated ([`work`],
//!   [`price`]) and never measured, so that the same program with the same inputs gives the same bytes. So no program
//!   takes longer than it takes to interpret and to compile what is worth compiling.
//! * What is not compiled is interpreted, with the same limits, traps and places in the text, and [`Parts::words`] says why.
//!   Where shapes turn out to hang on data, the part is taken apart there once more ([`MAX_NESTING`]).

mod measured;
mod price;
mod said;
mod shown;

pub use measured::{Measured, Part};
pub use shown::{Region, regions};

use super::Program;
use super::bind::Bound;
use super::both::{self, Agreement};
use super::compile::{self, Compiled, Refused, Settings, leaves};
use super::optimise::{self, How};
use super::profile::StepTimes;
use super::run::{Limits, Outcome, no_entry, to_bound, to_value};
use super::specialise::to_shapes;
use super::steps::{self, Steps, Tap};
use super::timings::Timings;
use crate::base::Span;
use crate::diag::{Diagnostic, codes};
use crate::infer;
use crate::interp::{self, Engine, Interp, Taken, Value, Witness};
use crate::ir::{ExprId, FuncId, GlobalId, Module};
use crate::jit::constants::Keep;
use crate::jit::pool::Pool;
use crate::jit::program::Session;
use crate::ops;
use crate::passes::{self, ByData};
use crate::plan::{self, NotCompiled, Work};
use crate::types::Ty;
use price::{price, work};
use rustc_hash::FxHashMap;
use said::Said;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// When a part is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// Once it has computed as much as compiling it costs.
    ItPays,
    /// At its first call.
    Called,
    /// At its first call, and each of its calls is held to the interpreter.
    Compared,
}

/// A program that can be run.
pub enum Prepared {
    Whole(Box<Compiled>),
    Parts(Box<Parts>),
}

/// Compiles an entry of a program without errors: as a whole if its shapes are known, given those of the arguments that it will
/// have, or else in parts. Errors: why nothing of it can be compiled; E0803, and what a constant part of it traps with.
pub fn prepare(
    program: &Program,
    entry: &str,
    args: Option<&[Bound]>,
    settings: &Settings,
    limits: Limits,
    when: When,
) -> Result<Prepared, Refused> {
    let whole = match args {
        Some(args) => whole(program, entry, args, settings, limits.clone()),
        None => compile::compile(program, entry, settings, limits.clone()),
    };
    match whole {
        Ok(compiled) => Ok(Prepared::Whole(Box::new(compiled))),
        Err(Refused::Not(reason)) => {
            let parts = Parts::new(program.module.clone(), entry, settings, limits, when)?;
            if parts.parts.is_empty() { Err(Refused::Not(reason)) } else { Ok(Prepared::Parts(Box::new(parts))) }
        }
        Err(wrong) => Err(wrong),
    }
}

/// As [`prepare`], for who needs the program no more: if it is compiled as a whole for sure, its weights are taken
/// from it ([`compile::compile_taking`]).
pub fn prepare_taking(
    program: &mut Program,
    entry: &str,
    args: Option<&[Bound]>,
    settings: &Settings,
    limits: Limits,
    when: When,
) -> Result<Prepared, Refused> {
    if compile::is_compiled(&program.module, entry) {
        match compile::compile_taking(&mut program.module, entry, settings, limits.clone()) {
            Ok(compiled) => return Ok(Prepared::Whole(Box::new(compiled))),
            // What is left of it is the program optimised, which means the same.
            Err(Refused::Not(_)) => {}
            Err(wrong) => return Err(wrong),
        }
    }
    prepare(program, entry, args, settings, limits, when)
}

/// Compiles an entry as a whole, with the shapes of these arguments where its types leave them open.
pub fn whole(program: &Program, entry: &str, args: &[Bound], settings: &Settings, limits: Limits) -> Result<Compiled, Refused> {
    let mut module = program.module.clone();
    let global = module.find_global(entry).ok_or_else(|| Refused::Wrong(Box::new(no_entry(&module, entry))))?;
    let func = module.globals[global].func;
    let shapes: Vec<&[usize]> = leaves(args).into_iter().map(|tensor| tensor.shape()).collect();
    if !to_shapes(&mut module, func, &shapes) {
        return Err(Refused::Not(NotCompiled::UnknownShape));
    }
    compile::compile_module(&mut module, entry, settings, limits, Keep::All)
}

impl Prepared {
    /// What it took from the file to here, if all of it is compiled.
    pub fn timings(&self) -> Option<&Timings> {
        match self {
            Prepared::Whole(compiled) => Some(&compiled.timings),
            Prepared::Parts(_) => None,
        }
    }

    /// Runs it once. Errors: what the interpreter would fail with.
    pub fn run(&self, args: &[Bound]) -> Result<Bound, Box<Diagnostic>> {
        self.outcome(args)?.data()
    }

    /// As [`Prepared::run`], whatever the result holds but functions and references.
    pub fn outcome(&self, args: &[Bound]) -> Result<Outcome, Box<Diagnostic>> {
        match self {
            Prepared::Whole(compiled) => compiled.run(args).map(Outcome::Data),
            Prepared::Parts(parts) => parts.outcome(args),
        }
    }

    /// What of it is compiled and what is not, for `-v`; empty where all of it is.
    pub fn words(&self) -> String {
        match self {
            Prepared::Whole(_) => match self.fallbacks()[..] {
                [] => String::new(),
                ref names => format!("without a kernel: {}", names.join(", ")),
            },
            Prepared::Parts(parts) => parts.words(),
        }
    }

    /// The operators without a kernel in what is compiled by now, each once.
    pub fn fallbacks(&self) -> Vec<&'static str> {
        match self {
            Prepared::Whole(compiled) => compiled.program.fallbacks(),
            Prepared::Parts(parts) => parts.fallbacks(),
        }
    }
}

/// As many variants of parts are kept.
pub const MAX_VARIANTS: usize = 256;

/// The code, packed weights and sessions of variants have so many bytes, or else there is one variant only.
pub const MAX_BYTES: u64 = 2 << 30;

/// How often a part is taken apart.
const MAX_NESTING: u32 = 3;

/// A program whose dataflow is compiled.
pub struct Parts {
    module: Module,
    lowered: interp::Program,
    entry: GlobalId,
    /// With what each computes.
    parts: FxHashMap<FuncId, Vec<ExprId>>,
    how: Manner,
    cache: Mutex<Cache>,
}

/// What holds for a program and the parts of its parts.
#[derive(Clone)]
struct Manner {
    settings: Settings,
    limits: Limits,
    when: When,
    nesting: u32,
    pool: Arc<Pool>,
    /// Whether the times of steps are kept.
    measuring: Arc<AtomicBool>,
    /// Who sees the steps of the runs.
    steps: Option<Arc<Steps>>,
}

impl Manner {
    fn new(settings: &Settings, limits: Limits, when: When) -> Manner {
        let (pool, measuring) = (Arc::new(Pool::new(settings.threads)), Arc::default());
        Manner { settings: settings.clone(), limits, when, nesting: 0, pool, measuring, steps: None }
    }
}

/// The part, and the shapes of its arguments one after the other, each with its rank before it.
type Key = (FuncId, Vec<usize>);

#[derive(Default)]
struct Cache {
    variants: FxHashMap<Key, Variant>,
    /// Counts calls of parts.
    now: u64,
    bytes: u64,
    said: Said,
}

/// A part with arguments of certain shapes.
struct Variant {
    state: State,
    /// What its interpreted calls have cost so far, and what one costs, and what compiling it costs.
    spent: u64,
    work: u64,
    price: u64,
    used: u64,
    bytes: u64,
}

#[derive(Clone)]
enum State {
    Counted,
    Interpreted,
    Compiled(Arc<Ready>),
    /// Taken apart once more.
    Parts(Arc<Parts>),
}

/// Compiled code and the memory of its runs, of which there are as many as run at one time.
struct Ready {
    compiled: Compiled,
    /// What its results behind the first are.
    taps: Vec<Tap>,
    sessions: Mutex<Vec<Session>>,
    /// The times of its calls, while they are measured.
    times: Mutex<StepTimes>,
}

impl Ready {
    /// Of its code, its weights, and a session.
    fn bytes(&self) -> u64 {
        let program = &self.compiled.program;
        program.kept_bytes() + program.code_bytes() as u64 + program.plan.arena_bytes
    }
}

impl Parts {
    pub(super) fn new(module: Module, entry: &str, settings: &Settings, limits: Limits, when: When) -> Result<Parts, Refused> {
        Parts::taken_apart(module, entry, Manner::new(settings, limits, when))
    }

    fn taken_apart(mut module: Module, entry: &str, manner: Manner) -> Result<Parts, Refused> {
        let settings = &manner.settings;
        let how = How { passes: passes::before_partition(settings.level), ..compile::how(entry, settings) };
        optimise::optimise(&mut module, &how, &mut ()).map_err(|error| Refused::Wrong(Box::new(error)))?;
        Parts::of(module, entry, manner, ByData::Member).map_err(Refused::Wrong)
    }

    /// For runs whose steps are seen: no pass changes a value between parts, and parts are compiled at their first call.
    pub(super) fn seen(
        mut module: Module,
        entry: &str,
        settings: &Settings,
        limits: Limits,
        steps: Arc<Steps>,
    ) -> Result<Parts, Refused> {
        let bug = |words: String| Refused::Wrong(Box::new(Diagnostic::new(codes::E0901, words)));
        let how = How::named(steps::PLAIN, optimise::Target::of(settings.isa)).map_err(bug)?;
        let how = How { entry: Some(entry.to_owned()), ..how };
        optimise::optimise(&mut module, &how, &mut ()).map_err(|error| Refused::Wrong(Box::new(error)))?;
        let manner = Manner { steps: Some(steps), ..Manner::new(settings, limits, When::Called) };
        Parts::of(module, entry, manner, ByData::Member).map_err(Refused::Wrong)
    }

    /// Takes a typed module apart. Errors: E0901, if that broke it.
    fn of(mut module: Module, entry: &str, how: Manner, by_data: ByData) -> Result<Parts, Box<Diagnostic>> {
        let parts = passes::partition(&mut module, ops::table(), by_data);
        if let Some(error) = infer::reinfer(&mut module, ops::table()).into_iter().find(Diagnostic::is_error) {
            let message = format!("the pass `partition` broke the program: {}", error.message);
            return Err(Box::new(Diagnostic::new(codes::E0901, message).note("this is a bug in relayc, not in your program")));
        }
        let entry = module.find_global(entry).ok_or_else(|| no_entry(&module, entry))?;
        let lowered = interp::lower(&module);
        Ok(Parts { module, lowered, entry, parts: parts.into_iter().collect(), how, cache: Mutex::default() })
    }

    /// Runs it once. Errors: what the interpreter fails with; E0508 where a part is to be compared and differs.
    pub fn run(&self, args: &[Bound]) -> Result<Bound, Box<Diagnostic>> {
        self.outcome(args)?.data()
    }

    /// As [`Parts::run`], whatever the result holds but functions and references.
    pub fn outcome(&self, args: &[Bound]) -> Result<Outcome, Box<Diagnostic>> {
        let ret = self.module.funcs[self.module.globals[self.entry].func].ret.unwrap_or(Ty::ERROR);
        Outcome::of(self.result(args)?, &self.module, ret).map_err(Box::new)
    }

    /// As [`Parts::run`], for who wants no result: it may hold anything.
    pub fn carry_out(&self, args: &[Bound]) -> Result<(), Box<Diagnostic>> {
        self.result(args).map(drop)
    }

    fn result(&self, args: &[Bound]) -> Result<Value, Box<Diagnostic>> {
        self.value(args.iter().cloned().map(to_value).collect())
    }

    fn value(&self, args: Vec<Value>) -> Result<Value, Box<Diagnostic>> {
        let mut interp = Interp::with_engine(&self.module, ops::table(), &self.lowered, self.how.limits.clone(), self);
        interp = interp.seen_by(self.how.steps.as_deref().map(|steps| steps as &dyn Witness));
        interp.call_global(self.entry, args)
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to be done for a call of a part. A variant is compiled by whoever needs it first; others wait.
    fn state(&self, func: FuncId, args: &[Bound]) -> Result<State, Box<Diagnostic>> {
        let tensors = leaves(args);
        let shapes: Vec<&[usize]> = tensors.iter().map(|tensor| tensor.shape()).collect();
        let key = (func, shapes.iter().flat_map(|shape| [shape.len()].into_iter().chain(shape.iter().copied())).collect());
        let mut cache = self.cache();
        cache.now += 1;
        let now = cache.now;
        let variant = cache.variants.entry(key.clone()).or_insert_with(|| {
            let largest = tensors.iter().map(|tensor| tensor.len()).max().unwrap_or(1) as u64;
            let members = self.parts.get(&func).map_or(&[][..], Vec::as_slice);
            let (work, price) = (work(&self.module, members, largest), price(members));
            Variant { state: State::Counted, spent: 0, work, price, used: now, bytes: 0 }
        });
        variant.used = now;
        if !matches!(variant.state, State::Counted) {
            return Ok(variant.state.clone());
        }
        variant.spent = variant.spent.saturating_add(variant.work);
        if self.how.when == When::ItPays && variant.spent < variant.price {
            return Ok(State::Interpreted);
        }
        let state = self.made(func, &shapes, &mut cache.said)?;
        let bytes = match &state {
            State::Compiled(ready) => ready.bytes(),
            _ => 0,
        };
        cache.bytes += bytes;
        if let Some(variant) = cache.variants.get_mut(&key) {
            (variant.state, variant.bytes) = (state.clone(), bytes);
        }
        cache.shrink(&key);
        Ok(state)
    }

    /// Compiles a part. Errors: E0901; what else keeps it from being compiled is said, and it is interpreted.
    fn made(&self, func: FuncId, shapes: &[&[usize]], said: &mut Said) -> Result<State, Box<Diagnostic>> {
        let Some(mut module) = self.module.extract(func) else { return Ok(refused(said, "it branches")) };
        let main = module.globals.iter().next().map_or(func, |global| global.func);
        if !to_shapes(&mut module, main, shapes) {
            return Ok(refused(said, "its operands have shapes that contradict its types"));
        }
        let Manner { settings, limits, .. } = &self.how;
        let mut own = module.clone();
        let made = match &self.how.steps {
            Some(steps) => steps::compile(&mut own, ENTRY, settings, limits.clone(), steps),
            None => compile::compile_module(&mut own, ENTRY, settings, limits.clone(), Keep::All).map(|made| (made, vec![])),
        };
        match made {
            Ok((compiled, taps)) => {
                let names = compiled.program.fallbacks();
                let is_kernel = |step: &plan::Step| matches!(step.work, Work::Kernel(_) | Work::Move(_) | Work::Routine(..));
                if !compiled.program.plan.steps.iter().any(is_kernel) && !names.is_empty() {
                    return Ok(refused(said, &format!("none of its operators has a kernel: {}", names.join(", "))));
                }
                said.compiled += 1;
                said.fall_back(&names);
                Ok(State::Compiled(Arc::new(Ready { compiled, taps, sessions: Mutex::default(), times: Mutex::default() })))
            }
            Err(Refused::Not(NotCompiled::UnknownShape)) if self.how.nesting < MAX_NESTING => {
                let how = Manner { nesting: self.how.nesting + 1, ..self.how.clone() };
                let parts = Parts::of(module, ENTRY, how, ByData::Outside)?;
                if parts.parts.is_empty() {
                    return Ok(refused(said, NotCompiled::UnknownShape.words()));
                }
                Ok(State::Parts(Arc::new(parts)))
            }
            Err(Refused::Not(reason)) => Ok(refused(said, reason.words())),
            Err(Refused::Wrong(bug)) if bug.code == codes::E0901 => Err(bug),
            // It fails when it is run as well, if it is; there it is said where.
            Err(Refused::Wrong(diagnostic)) => Ok(refused(said, &diagnostic.message)),
        }
    }

    fn compute(&self, ready: &Ready, args: &[Bound]) -> Result<Bound, Box<Diagnostic>> {
        if self.how.when == When::Compared {
            let found = both::run(&ready.compiled, args)?;
            let agreement = &mut self.cache().said.agreement;
            agreement.groups += found.groups;
            agreement.worst = agreement.worst.max(found.worst);
        }
        let sessions = || ready.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = sessions().pop();
        let mut session = idle.map_or_else(|| ready.compiled.session_on(self.how.pool.clone()), Ok)?;
        let result = match (&self.how.steps, self.how.measuring.load(Ordering::Relaxed)) {
            (Some(steps), _) => steps.run(&ready.compiled, &ready.taps, &mut session, args),
            (None, false) => ready.compiled.run_in(&mut session, args, &mut |_, _| Ok(())),
            (None, true) => ready.run_measured(&mut session, args),
        };
        sessions().push(session);
        result
    }

    /// Whether there is nothing in it that could be compiled.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The operators without a kernel in what is compiled by now, each once.
    pub fn fallbacks(&self) -> Vec<&'static str> {
        self.said().without_kernel
    }

    /// How many variants of parts have been compiled since the program was prepared.
    pub fn n_compiled(&self) -> usize {
        self.said().compiled
    }

    /// How many variants of parts are kept.
    pub fn n_kept(&self) -> usize {
        self.cache().variants.len()
    }

    /// How many groups have been compared, and the largest error in what is allowed.
    pub fn agreement(&self) -> Agreement {
        self.said().agreement
    }

    /// What happened here and in the parts of parts.
    fn said(&self) -> Said {
        let cache = self.cache();
        let mut said = cache.said.clone();
        let waiting = cache.variants.values().filter(|variant| matches!(variant.state, State::Counted)).count();
        for _ in 0..waiting {
            said.refuse("too little to compute");
        }
        let inner: Vec<Arc<Parts>> = cache
            .variants
            .values()
            .filter_map(|variant| match &variant.state {
                State::Parts(parts) => Some(parts.clone()),
                _ => None,
            })
            .collect();
        drop(cache);
        // As deep as parts are taken apart.
        for parts in inner {
            said.add(parts.said());
        }
        said
    }

    /// What was compiled and what was not, for `-v`.
    pub fn words(&self) -> String {
        self.said().words()
    }
}

/// Where the first of some expressions stands that stands anywhere.
fn span_of(module: &Module, members: &[ExprId]) -> Span {
    let spans = members.iter().map(|&member| module.exprs[member].span).filter(|span| !span.is_none());
    spans.min_by_key(|span| (span.file, span.start)).unwrap_or(Span::NONE)
}

/// What becomes of a variant that is not compiled.
fn refused(said: &mut Said, why: &str) -> State {
    said.refuse(why);
    State::Interpreted
}

/// The function that a part is in the module of its own.
const ENTRY: &str = "main";

impl Engine for Parts {
    fn call(&self, func: FuncId, args: &[Value]) -> Result<Taken, Box<Diagnostic>> {
        if !self.parts.contains_key(&func) {
            return Ok(Taken::No);
        }
        let args: Vec<Bound> = args.iter().cloned().map(to_bound).collect::<Result<_, _>>()?;
        Ok(match self.state(func, &args)? {
            State::Counted | State::Interpreted => Taken::Interpret,
            State::Compiled(ready) => Taken::Value(to_value(self.compute(&ready, &args)?)),
            State::Parts(parts) => Taken::Value(parts.value(args.into_iter().map(to_value).collect())?),
        })
    }
}

impl Cache {
    /// Lets go of what was not used for the longest time, until the rest is small enough.
    fn shrink(&mut self, keep: &Key) {
        while self.variants.len() > 1 && (self.variants.len() > MAX_VARIANTS || self.bytes > MAX_BYTES) {
            let others = self.variants.iter().filter(|(key, _)| *key != keep);
            let Some(oldest) = others.min_by_key(|(_, variant)| variant.used).map(|(key, _)| key.clone()) else { break };
            self.bytes -= self.variants.remove(&oldest).map_or(0, |variant| variant.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::check_text;
    use crate::driver::optimise::UNTIL;
    use crate::tensor::Tensor;

    fn settings() -> Settings {
        Settings::native(3, 1).expect("no variable says otherwise").expect("a machine with AVX2")
    }

    #[test]
    fn the_part_that_differs_is_named_with_its_lines() {
        let text = |op: &str| {
            format!(
                "def @main(%c: bool, %x: Tensor[(2), float32], %y: Tensor[(2), float32]) {{
                   if (%c) {{ nn.relu({op}(%x, %y)) }} else {{ %x }}
                 }}"
            )
        };
        let tensor = |x: f32| Bound::Tensor(Tensor::from_vec(&[2], vec![x, 1.0]));
        let args = [Bound::Tensor(Tensor::scalar(true)), tensor(3.0), tensor(2.0)];
        let run = |op: &str| {
            let program = check_text("x", &text(op), UNTIL);
            let parts = Parts::new(program.module, "main", &settings(), Limits::default(), When::Compared);
            let parts = parts.unwrap_or_else(|_| panic!("it has parts"));
            parts.run(&args).expect("it agrees");
            assert_eq!(parts.agreement().groups, 1);
            parts
        };
        let ready_of = |parts: &Parts| {
            let found = parts.cache().variants.values().find_map(|variant| match &variant.state {
                State::Compiled(ready) => Some(ready.compiled.program.clone()),
                _ => None,
            });
            found.expect("it is compiled")
        };
        // Another program in its place.
        let (parts, other) = (run("add"), ready_of(&run("subtract")));
        for variant in parts.cache().variants.values_mut() {
            if let State::Compiled(ready) = &mut variant.state {
                let ready = Arc::get_mut(ready).expect("nothing runs");
                ready.compiled.program = other.clone();
            }
        }
        let found = parts.run(&args).expect_err("one adds, the other subtracts");
        assert_eq!(found.code, codes::E0508);
        assert_eq!(found.message, "the group of `add`, `nn.relu` does not give what the interpreter gives");
        let text = text("add");
        let shown: Vec<&str> =
            found.labels.iter().map(|label| &text[label.span.start as usize..label.span.end as usize]).collect();
        assert_eq!(shown, ["nn.relu(add(%x, %y))", "add(%x, %y)"]);
    }
}
