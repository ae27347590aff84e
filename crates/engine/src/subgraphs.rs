//! Partial compilation, for programs that branch or have dynamic dimensions. Their dataflow is compiled by subgraphs
//! (`passes/partition`); the interpreter runs the rest and calls the subgraphs.
//!
//! * *Specialization*: a subgraph is compiled once for each set of shapes it is called with, as a program of its own: `?` gets
//!   numbers, and the passes of the level run on it. The results are cached, at most [`MAX_VARIANTS`] and [`MAX_BYTES`] of
//!   memory, and evicted least recently used first.
//! * *When it pays*: a subgraph is interpreted until its accumulated work is worth the compilation. Both are estimated
//!   ([`work`], [`price`]) and never measured, so that the same program with the same inputs gives the same bytes. So no
//!   program takes longer than its interpretation plus the compilations that pay.
//! * *The rest* is interpreted with the same limits, traps and places in the text, and [`PartialProgram::summary`] states the reason. A
//!   subgraph with data-dependent shapes is partitioned again at that point, at most [`MAX_NESTING`] times.

mod listing;
mod measured;
mod partitioned;
mod price;
mod record;

pub(crate) use listing::subgraphs;
pub(crate) use measured::Measured;
pub(crate) use measured::SubgraphTimes;
pub(crate) use partitioned::Partitioned;

use super::compile::{self, Compiled, Refused, Settings};
use super::cross_check::{self, Agreement};
use super::external::Externals;
use super::step_times::StepTimes;
use super::tap::{self, Tap};
use price::{price, work};
use record::Record;
use relayc_base::Span;
use relayc_base::diag::{Diagnostic, codes};
use relayc_codegen::pool::Pool;
use relayc_driver::Program;
use relayc_driver::bind::Bound;
use relayc_driver::bind::tensors_in;
use relayc_driver::optimise::{self, PassPlan};
use relayc_driver::run::{self, Limits, Outcome, no_entry, to_bound, to_value};
use relayc_driver::sized::sized;
use relayc_driver::specialise::to_shapes;
use relayc_driver::steps::Steps;
use relayc_driver::timings::Timings;
use relayc_exec::constants::Keep;
use relayc_exec::plan::{self, NotCompiled, Work};
use relayc_exec::program::PlanSession;
use relayc_interp::{self as interp, Engine, EngineResult, Interp, Value, ValueObserver};
use relayc_ir::types::Ty;
use relayc_ir::{ExprId, FuncId, GlobalId, Module};
use relayc_ops as ops;
use relayc_passes::DataDependent;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// When a subgraph is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompileTrigger {
    /// Once its accumulated work exceeds the cost of compilation.
    ItPays,
    /// At its first call.
    Called,
    /// At its first call; each of its calls is cross-checked with the interpreter.
    Compared,
}

/// A program that is ready to run.
pub enum Prepared {
    Whole(Box<Compiled>),
    Partial(Box<PartialProgram>),
}

/// Compiles an entry of an error-free program: as a whole if the given arguments make its shapes known, otherwise by subgraphs.
///
/// Errors: why nothing of it can be compiled; E0803, and the trap of a constant part.
pub fn prepare(
    program: &Program,
    entry: &str,
    args: Option<&[Bound]>,
    settings: &Settings,
    limits: Limits,
    when: CompileTrigger,
) -> Result<Prepared, Refused> {
    let whole = match args {
        Some(args) => whole(program, entry, args, settings, limits.clone()),
        None => compile::compile(program, entry, settings, limits.clone()),
    };
    match whole {
        Ok(compiled) => Ok(Prepared::Whole(Box::new(compiled))),
        Err(Refused::Not(reason)) => {
            let sized = with_sizes(program, entry, args).map_err(Refused::Wrong)?;
            let partial = PartialProgram::new(sized, entry, settings, limits, when)?;
            if partial.subgraphs.is_empty() { Err(Refused::Not(reason)) } else { Ok(Prepared::Partial(Box::new(partial))) }
        }
        Err(wrong) => Err(wrong),
    }
}

/// Like [`prepare`], with functions that outside compilers made. They are called by the interpreter, between subgraphs.
pub fn prepare_with(
    program: &Program,
    entry: &str,
    args: Option<&[Bound]>,
    settings: &Settings,
    limits: Limits,
    when: CompileTrigger,
    externals: Externals,
) -> Result<Prepared, Refused> {
    if externals.is_empty() {
        return prepare(program, entry, args, settings, limits, when);
    }
    let sized = with_sizes(program, entry, args).map_err(Refused::Wrong)?;
    let how = Context { externals: Arc::new(externals), ..Context::new(settings, limits, when) };
    PartialProgram::partitioned(sized, entry, how).map(|partial| Prepared::Partial(Box::new(partial)))
}

/// The module of a program with the sizes of the arguments, which tell what no operand of a subgraph may. Errors: those of
/// [`sized`].
pub fn with_sizes(program: &Program, entry: &str, args: Option<&[Bound]>) -> Result<Module, Box<Diagnostic>> {
    let found = run::entry(&program.module, entry).ok();
    let sized = found.zip(args).map_or(Ok(None), |(found, args)| sized(&program.module, found.callee(&program.module), args));
    Ok(sized?.unwrap_or_else(|| program.module.clone()))
}

/// Like [`prepare`], but consumes the program: if it is certain to be compiled as a whole, its weights are taken
/// ([`compile::compile_taking`]).
pub fn prepare_taking(
    program: &mut Program,
    entry: &str,
    args: Option<&[Bound]>,
    settings: &Settings,
    limits: Limits,
    when: CompileTrigger,
    externals: Externals,
) -> Result<Prepared, Refused> {
    if externals.is_empty() && compile::is_compiled(&program.module, entry) {
        match compile::compile_taking(&mut program.module, entry, settings, limits.clone()) {
            Ok(compiled) => return Ok(Prepared::Whole(Box::new(compiled))),
            // What is left of it is the program optimised, which means the same.
            Err(Refused::Not(_)) => {}
            Err(wrong) => return Err(wrong),
        }
    }
    prepare_with(program, entry, args, settings, limits, when, externals)
}

/// Compiles an entry as a whole, with the shapes of these arguments for its dynamic dimensions.
pub(crate) fn whole(
    program: &Program,
    entry: &str,
    args: &[Bound],
    settings: &Settings,
    limits: Limits,
) -> Result<Compiled, Refused> {
    let mut module = program.module.clone();
    let global = module.find_global(entry).ok_or_else(|| Refused::Wrong(Box::new(no_entry(&module, entry))))?;
    let func = module.globals[global].func;
    let shapes: Vec<&[usize]> = tensors_in(args).into_iter().map(|tensor| tensor.shape()).collect();
    if to_shapes(&mut module, func, &shapes).is_err() {
        return Err(Refused::Not(NotCompiled::UnknownShape));
    }
    compile::compile_module(&mut module, entry, settings, limits, Keep::All)
}

impl Prepared {
    /// Time from the file to here, if all of it is compiled.
    pub fn timings(&self) -> Option<&Timings> {
        match self {
            Prepared::Whole(compiled) => Some(&compiled.timings),
            Prepared::Partial(_) => None,
        }
    }

    /// Runs it once. Errors: those of the interpreter.
    pub fn run(&self, args: &[Bound]) -> Result<Bound, Box<Diagnostic>> {
        self.outcome(args)?.data()
    }

    /// Like [`Prepared::run`], for any result without functions and references.
    pub fn outcome(&self, args: &[Bound]) -> Result<Outcome, Box<Diagnostic>> {
        match self {
            Prepared::Whole(compiled) => compiled.run(args).map(Outcome::Data),
            Prepared::Partial(partial) => partial.outcome(args),
        }
    }

    /// Reports what is compiled and what is not, for `-v`; empty if all of it is.
    pub fn summary(&self) -> String {
        match self {
            Prepared::Whole(_) => match self.fallbacks()[..] {
                [] => String::new(),
                ref names => format!("without a kernel: {}", names.join(", ")),
            },
            Prepared::Partial(partial) => partial.summary(),
        }
    }

    /// The operators without a kernel in the code compiled by now, each once.
    pub fn fallbacks(&self) -> Vec<&'static str> {
        match self {
            Prepared::Whole(compiled) => compiled.program.fallbacks(),
            Prepared::Partial(partial) => partial.fallbacks(),
        }
    }
}

/// Maximum number of cached variants of subgraphs.
pub const MAX_VARIANTS: usize = 256;

/// Maximum total bytes of code, packed weights and sessions of cached variants; a single variant may exceed it.
pub(crate) const MAX_BYTES: u64 = 2 << 30;

/// Maximum depth of repeated partitioning.
const MAX_NESTING: u32 = 3;

/// A program with compiled dataflow.
pub struct PartialProgram {
    module: Module,
    lowered: interp::LoweredModule,
    entry: GlobalId,
    /// The subgraphs, with the expressions of each.
    subgraphs: FxHashMap<FuncId, Vec<ExprId>>,
    how: Context,
    cache: Mutex<Cache>,
}

/// The context of a program and its nested subgraphs.
#[derive(Clone)]
struct Context {
    settings: Settings,
    limits: Limits,
    when: CompileTrigger,
    nesting: u32,
    pool: Arc<Pool>,
    /// Whether the times of steps are recorded.
    measuring: Arc<AtomicBool>,
    /// The observer of the runs' steps.
    steps: Option<Arc<Steps>>,
    /// The functions that outside compilers made.
    externals: Arc<Externals>,
}

impl Context {
    fn new(settings: &Settings, limits: Limits, when: CompileTrigger) -> Context {
        let (pool, measuring) = (Arc::new(Pool::new(settings.threads)), Arc::default());
        let settings = Settings { choices: settings.choices.of_part(), ..settings.clone() };
        let externals = Arc::default();
        Context { settings, limits, when, nesting: 0, pool, measuring, steps: None, externals }
    }
}

/// A subgraph and the shapes of its arguments in order, each preceded by its rank.
type Key = (FuncId, Vec<usize>);

#[derive(Default)]
struct Cache {
    variants: FxHashMap<Key, Variant>,
    /// Counter of calls of subgraphs.
    now: u64,
    bytes: u64,
    said: Record,
}

/// A subgraph with arguments of certain shapes.
struct Variant {
    state: State,
    /// Accumulated cost of its interpreted calls, cost of one call, and cost of compiling it.
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
    /// Partitioned again.
    Partial(Arc<PartialProgram>),
}

/// Compiled code and the memory of its runs, one for each concurrent run.
struct Ready {
    compiled: Compiled,
    /// Meaning of its results after the first.
    taps: Vec<Tap>,
    sessions: Mutex<Vec<PlanSession>>,
    /// Times of its calls, while they are measured.
    times: Mutex<StepTimes>,
}

impl Ready {
    /// Bytes of its code, its weights, and a session.
    fn bytes(&self) -> u64 {
        let program = &self.compiled.program;
        program.kept_bytes() + program.code_bytes() as u64 + program.plan.arena_bytes
    }
}

impl PartialProgram {
    /// A module's entry in subgraphs, of which there may be none. Errors: E0706, E0901.
    pub fn new(
        module: Module,
        entry: &str,
        settings: &Settings,
        limits: Limits,
        when: CompileTrigger,
    ) -> Result<PartialProgram, Refused> {
        PartialProgram::partitioned(module, entry, Context::new(settings, limits, when))
    }

    fn partitioned(module: Module, entry: &str, manner: Context) -> Result<PartialProgram, Refused> {
        Ok(PartialProgram::over(Partitioned::of(module, entry, &manner.settings)?, manner))
    }

    fn over(partitioned: Partitioned, how: Context) -> PartialProgram {
        let Partitioned { module, lowered, entry, subgraphs } = partitioned;
        PartialProgram { module, lowered, entry, subgraphs, how, cache: Mutex::default() }
    }

    /// Prepares observed runs: no pass changes a value between subgraphs, and subgraphs are compiled at their first call.
    pub(super) fn seen(
        mut module: Module,
        entry: &str,
        settings: &Settings,
        limits: Limits,
        steps: Arc<Steps>,
    ) -> Result<PartialProgram, Refused> {
        let bug = |words: String| Refused::Wrong(Box::new(Diagnostic::new(codes::E0901, words)));
        let how = PassPlan::named(tap::PLAIN, compile::target_of(settings.isa)).map_err(|error| bug(error.message))?;
        let how = PassPlan { entry: Some(entry.to_owned()), ..how };
        optimise::optimise(&mut module, &how, &mut ()).map_err(|error| Refused::Wrong(Box::new(error)))?;
        let manner = Context { steps: Some(steps), ..Context::new(settings, limits, CompileTrigger::Called) };
        PartialProgram::of(module, entry, manner, DataDependent::Member).map_err(Refused::Wrong)
    }

    /// Partitions a typed module. Errors: E0901, if that broke it.
    fn of(module: Module, entry: &str, how: Context, by_data: DataDependent) -> Result<PartialProgram, Box<Diagnostic>> {
        Ok(PartialProgram::over(Partitioned::typed(module, entry, by_data)?, how))
    }

    /// Runs it once. Errors: those of the interpreter; E0508 if a cross-checked subgraph differs.
    pub fn run(&self, args: &[Bound]) -> Result<Bound, Box<Diagnostic>> {
        self.outcome(args)?.data()
    }

    /// Like [`PartialProgram::run`], for any result without functions and references.
    pub(crate) fn outcome(&self, args: &[Bound]) -> Result<Outcome, Box<Diagnostic>> {
        let ret = self.module.funcs[self.module.globals[self.entry].func].ret.unwrap_or(Ty::ERROR);
        Outcome::of(self.result(args)?, &self.module, ret).map_err(Box::new)
    }

    /// Like [`PartialProgram::run`], but drops the result, which may hold anything.
    pub fn carry_out(&self, args: &[Bound]) -> Result<(), Box<Diagnostic>> {
        self.result(args).map(drop)
    }

    fn result(&self, args: &[Bound]) -> Result<Value, Box<Diagnostic>> {
        self.value(args.iter().cloned().map(to_value).collect())
    }

    /// Runs it once with any values. The constructors and functions in them are those of the module. Errors: those of the
    /// interpreter.
    pub fn value(&self, args: Vec<Value>) -> Result<Value, Box<Diagnostic>> {
        let mut interp = Interp::with_engine(&self.module, ops::table(), &self.lowered, self.how.limits.clone(), self);
        interp = interp.seen_by(self.how.steps.as_deref().map(|steps| steps as &dyn ValueObserver));
        interp.call_global(self.entry, args)
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks up or compiles the variant for a call. The first caller compiles it; others wait.
    fn state(&self, func: FuncId, args: &[Bound]) -> Result<State, Box<Diagnostic>> {
        let tensors = tensors_in(args);
        let shapes: Vec<&[usize]> = tensors.iter().map(|tensor| tensor.shape()).collect();
        let key = (func, shapes.iter().flat_map(|shape| [shape.len()].into_iter().chain(shape.iter().copied())).collect());
        let mut cache = self.cache();
        cache.now += 1;
        let now = cache.now;
        let variant = cache.variants.entry(key.clone()).or_insert_with(|| {
            let largest = tensors.iter().map(|tensor| tensor.len()).max().unwrap_or(1) as u64;
            let members = self.subgraphs.get(&func).map_or(&[][..], Vec::as_slice);
            let (work, price) = (work(&self.module, members, largest), price(members));
            Variant { state: State::Counted, spent: 0, work, price, used: now, bytes: 0 }
        });
        variant.used = now;
        if !matches!(variant.state, State::Counted) {
            return Ok(variant.state.clone());
        }
        variant.spent = variant.spent.saturating_add(variant.work);
        if self.how.when == CompileTrigger::ItPays && variant.spent < variant.price {
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

    /// Compiles a subgraph. Errors: E0901; other obstacles are recorded, and it is interpreted.
    fn made(&self, func: FuncId, shapes: &[&[usize]], said: &mut Record) -> Result<State, Box<Diagnostic>> {
        let Some(mut module) = self.module.extract(func) else { return Ok(refused(said, "it branches")) };
        let main = module.globals.iter().next().map_or(func, |global| global.func);
        if to_shapes(&mut module, main, shapes).is_err() {
            return Ok(refused(said, "its operands have shapes that contradict its types"));
        }
        let Context { settings, limits, .. } = &self.how;
        let mut own = module.clone();
        let made = match &self.how.steps {
            Some(steps) => tap::compile(&mut own, ENTRY, settings, limits.clone(), steps),
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
                let how = Context { nesting: self.how.nesting + 1, ..self.how.clone() };
                let partial = PartialProgram::of(module, ENTRY, how, DataDependent::Outside)?;
                if partial.subgraphs.is_empty() {
                    return Ok(refused(said, NotCompiled::UnknownShape.text()));
                }
                Ok(State::Partial(Arc::new(partial)))
            }
            Err(Refused::Not(reason)) => Ok(refused(said, reason.text())),
            Err(Refused::Wrong(bug)) if bug.code == codes::E0901 => Err(bug),
            // It fails when it is run as well, if it is; there it is said where.
            Err(Refused::Wrong(diagnostic)) => Ok(refused(said, &diagnostic.message)),
        }
    }

    fn compute(&self, ready: &Ready, args: &[Bound]) -> Result<Bound, Box<Diagnostic>> {
        let sessions = || ready.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = sessions().pop();
        let mut session = idle.map_or_else(|| ready.compiled.session_on(self.how.pool.clone()), Ok)?;
        let result = match (&self.how.steps, self.how.measuring.load(Ordering::Relaxed)) {
            _ if self.how.when == CompileTrigger::Compared => self.compared(&ready.compiled, &mut session, args),
            (Some(steps), _) => tap::run(steps, &ready.compiled, &ready.taps, &mut session, args),
            (None, false) => ready.compiled.run_in(&mut session, args, None),
            (None, true) => ready.run_measured(&mut session, args),
        };
        sessions().push(session);
        result
    }

    /// Runs a subgraph, and compares its groups with the interpreter.
    fn compared(&self, compiled: &Compiled, session: &mut PlanSession, args: &[Bound]) -> Result<Bound, Box<Diagnostic>> {
        let (found, result) = cross_check::run_in(compiled, session, args)?;
        let agreement = &mut self.cache().said.agreement;
        agreement.groups += found.groups;
        agreement.worst = agreement.worst.max(found.worst);
        Ok(result)
    }

    /// Calls a function that an outside compiler made, and checks it if subgraphs are compared.
    fn external(&self, number: usize, args: &[Value]) -> Result<Bound, Box<Diagnostic>> {
        let args: Vec<Bound> = args.iter().cloned().map(to_bound).collect::<Result<_, _>>()?;
        let result = self.how.externals.call(number, &args)?;
        if self.how.when == CompileTrigger::Compared {
            self.how.externals.check(number, &args, &result, &self.how.limits)?;
            self.cache().said.agreement.groups += 1;
        }
        Ok(result)
    }

    /// Whether nothing in it could be compiled.
    pub(super) fn is_empty(&self) -> bool {
        self.subgraphs.is_empty()
    }

    /// The operators without a kernel in the code compiled by now, each once.
    pub fn fallbacks(&self) -> Vec<&'static str> {
        self.said().without_kernel
    }

    /// Number of variants compiled since the program was prepared.
    pub fn n_compiled(&self) -> usize {
        self.said().compiled
    }

    /// Number of cached variants.
    pub fn n_kept(&self) -> usize {
        self.cache().variants.len()
    }

    /// Number of groups cross-checked, and the largest error relative to the allowed one.
    pub fn agreement(&self) -> Agreement {
        self.said().agreement
    }

    /// Events here and in nested subgraphs.
    fn said(&self) -> Record {
        let cache = self.cache();
        let mut said = cache.said.clone();
        let waiting = cache.variants.values().filter(|variant| matches!(variant.state, State::Counted)).count();
        for _ in 0..waiting {
            said.refuse("too little to compute");
        }
        let inner: Vec<Arc<PartialProgram>> = cache
            .variants
            .values()
            .filter_map(|variant| match &variant.state {
                State::Partial(partial) => Some(partial.clone()),
                _ => None,
            })
            .collect();
        drop(cache);
        // As deep as parts are taken apart.
        for partial in inner {
            said.add(partial.said());
        }
        said
    }

    /// Reports what was compiled and what was not, for `-v`.
    pub fn summary(&self) -> String {
        self.said().summary()
    }
}

/// The place of the first expression that has one.
fn span_of(module: &Module, members: &[ExprId]) -> Span {
    let spans = members.iter().map(|&member| module.exprs[member].span).filter(|span| !span.is_none());
    spans.min_by_key(|span| (span.file, span.start)).unwrap_or(Span::NONE)
}

/// The state of a variant that is not compiled.
fn refused(said: &mut Record, why: &str) -> State {
    said.refuse(why);
    State::Interpreted
}

/// The entry function of a subgraph's own module.
pub(crate) const ENTRY: &str = "main";

impl Engine for PartialProgram {
    fn call(&self, func: FuncId, args: &[Value]) -> Result<EngineResult, Box<Diagnostic>> {
        if let Some(number) = self.how.externals.number(&self.module, func) {
            return self.external(number, args).map(|result| EngineResult::Value(to_value(result)));
        }
        if !self.subgraphs.contains_key(&func) {
            return Ok(EngineResult::No);
        }
        let args: Vec<Bound> = args.iter().cloned().map(to_bound).collect::<Result<_, _>>()?;
        Ok(match self.state(func, &args)? {
            State::Counted | State::Interpreted => EngineResult::Interpret,
            State::Compiled(ready) => EngineResult::Value(to_value(self.compute(&ready, &args)?)),
            State::Partial(partial) => EngineResult::Value(partial.value(args.into_iter().map(to_value).collect())?),
        })
    }
}

impl Cache {
    /// Evicts the least recently used variants until the rest is within the limits.
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
    use relayc_driver::check_text;
    use relayc_driver::optimise::UNTIL;
    use relayc_ir::tensor::Tensor;

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
            let partial = PartialProgram::new(program.module, "main", &settings(), Limits::default(), CompileTrigger::Compared);
            let partial = partial.unwrap_or_else(|_| panic!("it has subgraphs"));
            partial.run(&args).expect("it agrees");
            assert_eq!(partial.agreement().groups, 1);
            partial
        };
        let ready_of = |partial: &PartialProgram| {
            let found = partial.cache().variants.values().find_map(|variant| match &variant.state {
                State::Compiled(ready) => Some(ready.compiled.program.clone()),
                _ => None,
            });
            found.expect("it is compiled")
        };
        // Another program in its place.
        let (partial, other) = (run("add"), ready_of(&run("subtract")));
        for variant in partial.cache().variants.values_mut() {
            if let State::Compiled(ready) = &mut variant.state {
                let ready = Arc::get_mut(ready).expect("nothing runs");
                ready.compiled.program = other.clone();
                ready.sessions = Mutex::default();
            }
        }
        let found = partial.run(&args).expect_err("one adds, the other subtracts");
        assert_eq!(found.code, codes::E0508);
        assert_eq!(found.message, "the group of `add`, `nn.relu` does not give what the interpreter gives");
        let text = text("add");
        let shown: Vec<&str> =
            found.labels.iter().map(|label| &text[label.span.start as usize..label.span.end as usize]).collect();
        assert_eq!(shown, ["nn.relu(add(%x, %y))", "add(%x, %y)"]);
    }
}
