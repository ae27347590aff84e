//! Compiles an entry function, and runs the result.

use super::choices::Choices;
use super::fault_injection::Fault;
use relayc_base::Span;
use relayc_base::diag::{Diagnostic, codes};
pub use relayc_codegen::asm::Isa;
use relayc_codegen::cpu::Cpu;
use relayc_codegen::memory;
pub use relayc_codegen::pool::MAX_THREADS;
use relayc_codegen::pool::Pool;
use relayc_driver::Program;
use relayc_driver::bind::Bound;
use relayc_driver::bind::tensors_in;
use relayc_driver::optimise::{self, PassPlan};
use relayc_driver::run::{Limits, no_entry, not_compiled, to_bound, to_value};
use relayc_driver::timings::{Stopwatch, Timings};
pub use relayc_exec::assemble::Assembled;
use relayc_exec::assemble::{NoCode, assemble};
use relayc_exec::constants::Keep;
pub use relayc_exec::listing::target_name;
use relayc_exec::plan::{self, Buffer, GroupPlans, KernelOptions, NotCompiled, Place, Plan, Structure};
use relayc_exec::program::{self as jit, LoadError, Once, PlanSession, TraceCallback};
use relayc_exec::shared::Shared;
use relayc_interp::{self as interp, Value};
use relayc_ir::kernel::Target;
use relayc_ir::tensor::size::has_memory;
use relayc_ir::tensor::{Data, Tensor};
use relayc_ir::types::{Ty, Types, checked_bytes, dims_of};
use relayc_ir::{ConstId, ExprId, FuncId, Module};
use relayc_ops as ops;
use relayc_ops::eval::{MAX_TENSOR_BYTES, Trap};
use relayc_sys as sys;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::sync::Arc;

/// Accuracy policy: how far a compiled program may differ from the sums as written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// Within 1e-4 of an output's largest magnitude on a whole network; uses Winograd's method for convolutions where it is
    /// faster.
    Fast,
    /// Sums as written.
    Strict,
}

impl Policy {
    /// The largest tile of Winograd's method; 0 disables it.
    fn tile(self) -> u64 {
        match self {
            Policy::Fast => 4,
            Policy::Strict => 0,
        }
    }
}

/// Why a system runs no compiled code, whatever its processor.
const NOT_PERMITTED: &str = "the system refuses executable memory";

/// Why this machine cannot run compiled code, whatever the program, if it cannot.
pub fn no_machine() -> &'static str {
    if memory::is_permitted() { "this machine has no AVX2 and FMA" } else { NOT_PERMITTED }
}

/// The target machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machine {
    /// This machine, including its caches.
    Native,
    /// A common machine with these instructions: gives the same code wherever it is made.
    Common(Isa),
}

impl Machine {
    /// The instruction set that is asked for; `None` for the best of this machine.
    pub fn isa(self) -> Option<Isa> {
        match self {
            Machine::Native => None,
            Machine::Common(isa) => Some(isa),
        }
    }
}

/// How a program is compiled.
#[derive(Clone, Debug)]
pub struct Settings {
    pub level: u8,
    pub isa: Isa,
    pub threads: usize,
    pub accuracy: Policy,
    pub machine: Machine,
    /// The strategies asked for.
    pub choices: Choices,
    /// The injected fault: none, unless the command line was asked for one.
    pub fault: Option<Fault>,
}

impl Settings {
    /// Settings for this machine, unless `RELAYC_ISA` says `avx2` or `avx512`; `None` without AVX2.
    ///
    /// Errors: another value of the variable, in words.
    pub fn native(level: u8, threads: usize) -> Result<Option<Settings>, String> {
        Settings::of(Machine::Native, level, threads)
    }

    /// Settings for a machine. Errors and `None`: like [`Settings::native`].
    pub fn of(machine: Machine, level: u8, threads: usize) -> Result<Option<Settings>, String> {
        let here = isas()?.last().copied();
        let isa = match machine {
            Machine::Native => here,
            Machine::Common(isa) => Some(isa),
        };
        Ok(isa.map(|isa| Settings {
            level,
            isa,
            threads,
            accuracy: Policy::Fast,
            machine,
            choices: Choices::default(),
            fault: None,
        }))
    }

    /// Requires that this machine can run the code. Errors: E0602.
    pub fn runs_here(&self) -> Result<(), Diagnostic> {
        if !memory::is_permitted() {
            return Err(Diagnostic::new(codes::E0602, NOT_PERMITTED)
                .help("`relayc run --engine interp` needs none; `--emit asm` shows the code"));
        }
        let isas = isas().unwrap_or_default();
        if isas.contains(&self.isa) {
            return Ok(());
        }
        let names: Vec<String> = isas.iter().map(|&isa| format!("`{}`", target_name(isa))).collect();
        let here = if names.is_empty() { "no target".to_owned() } else { names.join(" and ") };
        let message = format!("this machine does not have the instructions of `{}`", target_name(self.isa));
        Err(Diagnostic::new(codes::E0602, message)
            .note(format!("it runs {here}"))
            .help("`--target native` compiles for it; `--emit asm` shows code for another machine"))
    }

    /// What kernels may be made of.
    fn kernel_options(&self) -> KernelOptions {
        // Masks of bytes came with AVX-512.
        let byte_columns = if self.isa == Isa::Avx512 { 1 } else { self.isa.lanes() as u64 };
        KernelOptions { tile: self.accuracy.tile(), byte_columns, target: self.target(), followed: true }
    }

    pub(crate) fn target(&self) -> Target {
        match (self.machine, self.isa) {
            (Machine::Native, isa) => Cpu::get().target(isa, self.threads),
            (Machine::Common(_), Isa::Avx2) => Target { threads: self.threads, ..Target::AVX2 },
            (Machine::Common(_), Isa::Avx512) => Target { threads: self.threads, ..Target::AVX512 },
        }
    }
}

/// The instruction sets that may be used here, narrow first; none where the system refuses executable memory. Errors: an unusable value of `RELAYC_ISA`, in words.
pub(super) fn isas() -> Result<Vec<Isa>, String> {
    let isas = if memory::is_permitted() { Cpu::get().isas() } else { vec![] };
    let only = match std::env::var("RELAYC_ISA").as_deref() {
        Ok("avx2") => Isa::Avx2,
        Ok("avx512") => Isa::Avx512,
        Ok(other) => return Err(format!("RELAYC_ISA is `{other}`: expected `avx2` or `avx512`")),
        Err(_) => return Ok(isas),
    };
    let found: Vec<Isa> = isas.into_iter().filter(|&isa| isa == only).collect();
    if found.is_empty() && only == Isa::Avx512 {
        return Err("RELAYC_ISA is `avx512`, which this machine does not have".into());
    }
    Ok(found)
}

/// A compiled entry.
pub struct Compiled {
    pub program: Arc<jit::CompiledPlan>,
    /// That of all sizes, without their types, if runs evaluate nothing.
    module: Arc<Module>,
    ret: Ty,
    limits: Limits,
    threads: usize,
    /// Time from the file to the compiled program, by phase.
    pub(crate) timings: Timings,
}

/// Why nothing is compiled.
pub enum Refused {
    /// The interpreter runs the program; holds the reason.
    Not(NotCompiled),
    Wrong(Box<Diagnostic>),
}

impl Refused {
    /// The diagnostic for an entry: E0601 with the reason, or what is wrong.
    pub fn of_entry(self, entry: &str) -> Box<Diagnostic> {
        match self {
            Refused::Not(reason) => Box::new(not_compiled(entry, reason.text())),
            Refused::Wrong(diagnostic) => diagnostic,
        }
    }
}

/// The pass configuration for an entry.
pub(crate) fn how(entry: &str, settings: &Settings) -> PassPlan {
    PassPlan {
        entry: Some(entry.to_owned()),
        byte_products: settings.target().byte_products,
        ..PassPlan::level(settings.level, target_of(settings.isa))
    }
}

/// Optimizes a module and plans its entry. The module becomes the optimized one.
#[cfg(test)]
pub(crate) fn plan_of(module: &mut Module, entry: &str, settings: &Settings) -> Result<Plan, Refused> {
    plan_timed(module, &how(entry, settings), settings, Known::of(&GroupPlans::default()), &mut Timings::default())
}

/// What is known before a program is planned: the plans of groups of other sizes, and the structure that all sizes have.
#[derive(Clone, Copy)]
struct Known<'a> {
    groups: &'a GroupPlans,
    structure: Option<&'a Structure>,
}

#[cfg(test)]
impl<'a> Known<'a> {
    fn of(groups: &'a GroupPlans) -> Known<'a> {
        Known { groups, structure: None }
    }
}

fn plan_timed(
    module: &mut Module,
    passes: &PassPlan,
    settings: &Settings,
    known: Known,
    timings: &mut Timings,
) -> Result<Plan, Refused> {
    let optimised = optimise::optimise(module, passes, &mut Stopwatch::new(timings, &mut ()));
    optimised.map_err(|error| Refused::Wrong(Box::new(error)))?;
    let entry = passes.entry.as_deref().unwrap_or_default();
    timings.time("plan", || planned(module, entry, settings, &[], known))
}

fn planned(module: &Module, entry: &str, settings: &Settings, refusals: &[ExprId], known: Known) -> Result<Plan, Refused> {
    let Some(global) = module.find_global(entry) else { return Err(Refused::Wrong(Box::new(no_entry(module, entry)))) };
    let func = module.globals[global].func;
    require_possible(module, func).map_err(Refused::Wrong)?;
    let own = match known.structure {
        Some(_) => None,
        None => Some(Structure::of(module, func, known.groups).map_err(Refused::Not)?),
    };
    let structure = known.structure.or(own.as_ref()).expect("one of them is there");
    // Runs of sizes are not followed.
    let options = KernelOptions { followed: known.structure.is_none(), ..settings.kernel_options() };
    let plan = plan::plan(module, ops::table(), func, structure, refusals, options, known.groups);
    let mut plan = plan.map_err(Refused::Not)?;
    if let Some(fault) = settings.fault {
        fault.put_into(&mut plan);
    }
    Ok(plan)
}

/// Refusals of a group after which it is left to its evaluation: of joined steps, of contractions with what follows, of contractions
/// alone, of loop nests.
const MOST_REFUSALS: usize = 4;

/// Optimizes a module, which becomes the optimized one, and emits the code of its entry.
pub fn assembled(
    module: &mut Module,
    entry: &str,
    settings: &Settings,
    limits: &Limits,
    timings: &mut Timings,
) -> Result<Assembled, Refused> {
    assembled_to(module, &how(entry, settings), settings, limits, None, timings)
}

/// Like [`assembled`], by other passes; `shared` as in [`compile_to`].
fn assembled_to(
    module: &mut Module,
    passes: &PassPlan,
    settings: &Settings,
    limits: &Limits,
    shared: Option<OfSizes>,
    timings: &mut Timings,
) -> Result<Assembled, Refused> {
    let entry = passes.entry.as_deref().unwrap_or_default();
    let own = GroupPlans::default();
    let known = Known {
        groups: shared.map_or(&own, |sizes| &sizes.shared.groups),
        structure: shared.and_then(|sizes| Some(sizes.open?.1)),
    };
    let shared = shared.map(|sizes| sizes.shared);
    let mut plan = plan_timed(module, passes, settings, known, timings)?;
    let mut refusals = vec![];
    loop {
        check_sizes(&plan, module, limits).map_err(Refused::Wrong)?;
        let origins: Vec<ExprId> = plan.steps.iter().map(|step| step.origin).collect();
        let wishes = settings.choices.wishes(module, &plan, settings.isa, shared.is_some());
        match timings.time("code", || assemble(plan, settings.isa, &settings.target(), shared, &wishes)) {
            // What the machine has no code for gets other code, then is left to its evaluation.
            Err(NoCode::Step(step)) if refusals.iter().filter(|&&refused| refused == origins[step]).count() < MOST_REFUSALS => {
                refusals.push(origins[step]);
                plan = timings.time("plan", || planned(module, entry, settings, &refusals, known))?;
            }
            Err(error) => return Err(not_loaded(&error.to_string())),
            Ok(made) => {
                settings.choices.check(module, &made, settings.isa, shared.is_some()).map_err(Refused::Wrong)?;
                return Ok(made);
            }
        }
    }
}

fn not_loaded(why: &str) -> Refused {
    let diagnostic = Diagnostic::new(codes::E0901, format!("the compiled program could not be loaded: {why}"));
    Refused::Wrong(Box::new(diagnostic))
}

/// Compiles an entry of an error-free program, whose weights are constants by now.
pub fn compile(program: &Program, entry: &str, settings: &Settings, limits: Limits) -> Result<Compiled, Refused> {
    // Tensors are shared, so the copy is one of the expressions only, and of the weights that a pass changes.
    compile_module(&mut program.module.clone(), entry, settings, limits, Keep::All)
}

/// Like [`compile`], but consumes the module.
///
/// No weight is in memory twice: passes change it in place, and each is freed once packed. The module is empty afterwards; if
/// compilation is refused, it is optimized and still computes the same. Freed values cannot be cross-checked ([`super::cross_check`]).
pub fn compile_taking(module: &mut Module, entry: &str, settings: &Settings, limits: Limits) -> Result<Compiled, Refused> {
    compile_module(module, entry, settings, limits, Keep::Read)
}

/// Whether an entry is certain to be compiled, so that the program is not needed for interpretation.
pub(crate) fn is_compiled(module: &Module, entry: &str) -> bool {
    module.find_global(entry).is_some_and(|global| plan::is_dataflow(module, module.globals[global].func))
}

/// Like [`compile`], for a typed module without errors, which it consumes.
pub(super) fn compile_module(
    module: &mut Module,
    entry: &str,
    settings: &Settings,
    limits: Limits,
    keep: Keep,
) -> Result<Compiled, Refused> {
    compile_to(module, &how(entry, settings), settings, limits, keep, None)
}

/// What the sizes of a program share.
#[derive(Clone, Copy)]
pub(super) struct OfSizes<'a> {
    pub(super) shared: &'a Shared,
    /// The module at hand before its sizes were known, and its structure, if they are the same for all sizes.
    pub(super) open: Option<(&'a Arc<Module>, &'a Structure)>,
}

/// Like [`compile_module`], by other passes, and with what is shared with other sizes of the program. A module that is the same for
/// all sizes is left as it is if runs evaluate nothing.
pub(super) fn compile_to(
    module: &mut Module,
    passes: &PassPlan,
    settings: &Settings,
    limits: Limits,
    keep: Keep,
    shared: Option<OfSizes>,
) -> Result<Compiled, Refused> {
    let mut timings = Timings::default();
    let entry = passes.entry.as_deref().unwrap_or_default();
    let assembled = assembled_to(module, passes, settings, &limits, shared, &mut timings)?;
    if keep == Keep::Read {
        // What has read, checked, optimised and planned the program is done, and the most memory is needed from here on.
        sys::give_back_code();
    }
    let constants = constants(module, &assembled.plan, keep);
    let eval = Eval { module, limits: &limits };
    let (shared, open) = (shared.map(|sizes| sizes.shared), shared.and_then(|sizes| Some(sizes.open?.0)));
    match timings.time("packing", || jit::CompiledPlan::load(assembled, constants, keep, shared, Once::Computed(&eval))) {
        Ok(loaded) => {
            if keep == Keep::Read {
                sys::give_back_free_memory();
            }
            let module = match open {
                Some(open) if !loaded.plan.evaluates() => open.clone(),
                _ => Arc::new(std::mem::take(module)),
            };
            let global = module.find_global(entry).expect("it was planned");
            let ret = module.funcs[module.globals[global].func].ret.unwrap_or(Ty::ERROR);
            Ok(Compiled { program: Arc::new(loaded), module, ret, limits, threads: settings.threads, timings })
        }
        Err(LoadError::Failed(diagnostic)) => Err(Refused::Wrong(diagnostic)),
        Err(error) => Err(not_loaded(&error.to_string())),
    }
}

/// The constants that a plan reads, taken from the module unless it is to keep them.
pub(super) fn constants(module: &mut Module, plan: &Plan, keep: Keep) -> FxHashMap<ConstId, Tensor> {
    let mut constants = FxHashMap::default();
    for buffer in plan.buffers.iter() {
        if let Place::Const(id) = buffer.place {
            constants.entry(id).or_insert_with(|| match keep {
                Keep::All => module.consts[id].clone(),
                Keep::Read => std::mem::replace(&mut module.consts[id], Tensor::scalar(false)),
            });
        }
    }
    constants
}

/// Checks before planning that a tensor can hold every operator's result, stored or not. Errors: E0803 for the first that is too
/// large.
fn require_possible(module: &Module, func: FuncId) -> Result<(), Box<Diagnostic>> {
    let types: FxHashSet<Ty> = module.expr_tys.iter().flatten().copied().collect();
    let large: FxHashMap<Ty, (Vec<i64>, u64)> =
        types.into_iter().filter_map(|ty| Some((ty, too_large_in(module, ty)?))).collect();
    if large.is_empty() {
        return Ok(());
    }
    for expr in module.post_order(&[module.funcs[func].body]) {
        if let Some((dims, bytes)) = large.get(&module.ty(expr))
            && module.called_op(expr).is_some()
        {
            return Err(interp::failure(module, ops::table(), expr, Trap::over_limit(dims, *bytes, MAX_TENSOR_BYTES)));
        }
    }
    Ok(())
}

/// The first tensor of a type that is too large: its shape and bytes.
fn too_large_in(module: &Module, ty: Ty) -> Option<(Vec<i64>, u64)> {
    module.types.as_tuple(ty).unwrap_or(&[ty]).iter().find_map(|&field| {
        let (shape, dtype) = module.types.as_tensor(field)?;
        let dims = dims_of(shape)?;
        let bytes = checked_bytes(&dims, dtype).unwrap_or(u64::MAX);
        (bytes > MAX_TENSOR_BYTES).then_some((dims, bytes))
    })
}

/// Checks the result size of every step against the limit. Errors: E0803 for the first that exceeds it.
fn check_sizes(plan: &Plan, module: &Module, limits: &Limits) -> Result<(), Box<Diagnostic>> {
    let results = plan.steps.iter().flat_map(|step| {
        let written = step.args.iter().zip(step.writes.iter()).filter(|&(_, &written)| written);
        written.map(|(&id, _)| (step.origin, &plan.buffers[id]))
    });
    let mut too_large = results.filter(|(_, buffer)| buffer.bytes() > limits.max_tensor_bytes);
    too_large.next().map_or(Ok(()), |(origin, buffer)| {
        let trap = Trap::over_limit(&buffer.shape, buffer.bytes(), limits.max_tensor_bytes);
        Err(interp::failure(module, ops::table(), origin, trap))
    })
}

impl Compiled {
    /// Runs it once. Errors: the trap of an operator.
    pub fn run(&self, args: &[Bound]) -> Result<Bound, Box<Diagnostic>> {
        self.run_in(&mut self.session()?, args, None)
    }

    /// Like [`Compiled::run`], in a session of the program; `before` as in [`Compiled::run_session`].
    pub fn run_in(
        &self,
        session: &mut PlanSession,
        args: &[Bound],
        before: Option<TraceCallback>,
    ) -> Result<Bound, Box<Diagnostic>> {
        let inputs: Vec<Cow<[u8]>> = tensors_in(args).into_iter().map(bytes).collect();
        let plan = &self.program.plan;
        let bytes = plan.outputs.iter().map(|&id| plan.buffers[id].bytes()).fold(0, u64::saturating_add);
        ask_for(bytes)?;
        let mut outputs: Vec<Output> = plan.outputs.iter().map(|&id| Output::of(&plan.buffers[id])).collect();
        self.run_session(session, &inputs, &mut outputs, before)?;
        let mut tensors = plan.outputs.iter().zip(outputs).map(|(&id, output)| output.into_tensor(&plan.buffers[id]));
        Ok(nested(self.ret, &self.module.types, &mut tensors))
    }

    /// Allocates the memory and the threads of runs.
    pub fn session(&self) -> Result<PlanSession, Box<Diagnostic>> {
        self.require_memory()?;
        PlanSession::new(self.program.clone(), self.threads).map_err(too_large)
    }

    /// Requires that the tensors of a run are within the limit together: those in the arena, inputs and outputs. Errors: E0803.
    fn require_memory(&self) -> Result<(), Box<Diagnostic>> {
        let plan = &self.program.plan;
        let ends = plan.inputs.iter().chain(&plan.outputs).map(|&id| plan.buffers[id].bytes());
        let bytes = ends.fold(plan.arena_bytes, u64::saturating_add);
        if bytes <= self.limits.max_live_bytes {
            return Ok(());
        }
        Err(Box::new(Trap::over_memory(bytes, 0, self.limits.max_live_bytes).into()))
    }

    /// A session that runs in the workspaces it enters, with as many threads as these have.
    pub(crate) fn session_without_memory(&self) -> PlanSession {
        PlanSession::without_memory(self.program.clone(), self.threads)
    }

    /// Like [`Compiled::session`], on a shared thread pool.
    pub fn session_on(&self, pool: Arc<Pool>) -> Result<PlanSession, Box<Diagnostic>> {
        self.require_memory()?;
        PlanSession::on(self.program.clone(), pool).map_err(too_large)
    }

    /// The program as it was compiled, with its groups.
    pub(crate) fn module(&self) -> &Module {
        &self.module
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Computes operators without a kernel.
    pub(super) fn fallback(&self) -> impl jit::Fallback + '_ {
        Eval { module: &self.module, limits: &self.limits }
    }

    /// The place of an expression in the text.
    pub(crate) fn span(&self, expr: ExprId) -> Span {
        self.module.exprs[expr].span
    }

    /// Runs a session on bytes; calls `before`, if it is there, with the memory before each step, and after the last. Without it threads
    /// may run several steps without waiting for each other.
    ///
    /// Errors: the trap of an operator, an error of `before`, E0805 after the time limit.
    pub fn run_session(
        &self,
        session: &mut PlanSession,
        inputs: &[impl AsRef<[u8]>],
        outputs: &mut [impl AsMut<[u8]>],
        before: Option<TraceCallback>,
    ) -> Result<(), Box<Diagnostic>> {
        let inputs: Vec<&[u8]> = inputs.iter().map(AsRef::as_ref).collect();
        let mut outputs: Vec<&mut [u8]> = outputs.iter_mut().map(AsMut::as_mut).collect();
        let Some(before) = before else {
            return session.run(&inputs, &mut outputs, &self.fallback(), |step| self.in_time(step));
        };
        session.run_followed(&inputs, &mut outputs, &self.fallback(), &mut |step, memory| {
            self.in_time(step)?;
            before(step, memory)?;
            // What was done there may have taken its time, and is no longer what is under way.
            self.in_time(step)
        })
    }

    /// Fails with E0805 before a step that comes after the time limit, or after an interruption.
    pub(super) fn in_time(&self, step: usize) -> Result<(), Box<Diagnostic>> {
        match self.program.plan.steps.get(step) {
            Some(next) => interp::check_deadline(&self.module, ops::table(), next.origin, &self.limits),
            None => Ok(()),
        }
    }

    /// Allocates buffers for the outputs.
    pub fn outputs(&self) -> Vec<Vec<u8>> {
        let plan = &self.program.plan;
        plan.outputs.iter().map(|&id| vec![0; plan.buffers[id].bytes() as usize]).collect()
    }
}

/// Asks the system for memory that is made at once. Errors: E0803.
pub(crate) fn ask_for(bytes: u64) -> Result<(), Box<Diagnostic>> {
    if has_memory(bytes) { Ok(()) } else { Err(Box::new(Trap::no_memory(bytes).into())) }
}

pub(crate) fn too_large(error: LoadError) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(codes::E0803, format!("the tensors of the program are too large: {error}")))
}

/// The elements of a tensor as a run takes them, without a copy if they already have that layout.
pub fn bytes(tensor: &Tensor) -> Cow<'_, [u8]> {
    match tensor.data() {
        _ if cfg!(target_endian = "big") => Cow::Owned(tensor.to_le_bytes()),
        Data::F32(array) => Cow::Borrowed(sys::bytes_of(array)),
        Data::F64(array) => Cow::Borrowed(sys::bytes_of(array)),
        Data::I32(array) => Cow::Borrowed(sys::bytes_of(array)),
        Data::I64(array) => Cow::Borrowed(sys::bytes_of(array)),
        Data::U8(array) => Cow::Borrowed(sys::bytes_of(array)),
        _ => Cow::Owned(tensor.to_le_bytes()),
    }
}

/// As [`bytes`], to be written; `None` where the elements have another layout.
fn bytes_mut(tensor: &mut Tensor) -> Option<&mut [u8]> {
    match tensor.data_mut() {
        _ if cfg!(target_endian = "big") => None,
        Data::F32(array) => Some(sys::bytes_of_mut(array.elements_mut())),
        Data::F64(array) => Some(sys::bytes_of_mut(array.elements_mut())),
        Data::I32(array) => Some(sys::bytes_of_mut(array.elements_mut())),
        Data::I64(array) => Some(sys::bytes_of_mut(array.elements_mut())),
        Data::U8(array) => Some(sys::bytes_of_mut(array.elements_mut())),
        _ => None,
    }
}

/// The memory of an output: a tensor where a run can write its elements, so that they need no copy.
enum Output {
    Tensor(Tensor),
    Bytes(Vec<u8>),
}

impl Output {
    fn of(buffer: &Buffer) -> Output {
        let bytes = || Output::Bytes(vec![0; buffer.bytes() as usize]);
        let Some(mut tensor) = Tensor::full(buffer.dtype, &shape(buffer), 0.0) else { return bytes() };
        if bytes_mut(&mut tensor).is_some() { Output::Tensor(tensor) } else { bytes() }
    }

    fn into_tensor(self, buffer: &Buffer) -> Tensor {
        let read = |bytes: &[u8]| Tensor::from_le_bytes(buffer.dtype, &shape(buffer), bytes);
        match self {
            Output::Tensor(tensor) => tensor,
            Output::Bytes(bytes) => read(&bytes).expect("an output holds what its type says"),
        }
    }
}

impl AsMut<[u8]> for Output {
    fn as_mut(&mut self) -> &mut [u8] {
        match self {
            Output::Tensor(tensor) => bytes_mut(tensor).expect("it was one to be written"),
            Output::Bytes(bytes) => bytes,
        }
    }
}

fn shape(buffer: &Buffer) -> Vec<usize> {
    buffer.shape.iter().map(|&dim| dim as usize).collect()
}

/// The optimization target of this machine. Errors: an environment that asks for an unavailable machine, in words.
pub fn native_target() -> Result<optimise::Target, String> {
    Ok(Settings::native(0, 1)?.map_or(optimise::Target::V3, |settings| target_of(settings.isa)))
}

/// The optimization target for an instruction set.
pub(crate) fn target_of(isa: Isa) -> optimise::Target {
    match isa {
        Isa::Avx2 => optimise::Target::V3,
        Isa::Avx512 => optimise::Target::V4,
    }
}

/// Combines tensors to a value of a type, whose nesting was bounded when it was checked.
pub(crate) fn nested(ty: Ty, types: &Types, tensors: &mut dyn Iterator<Item = Tensor>) -> Bound {
    match types.as_tuple(ty) {
        Some(fields) => Bound::Tuple(fields.iter().map(|&field| nested(field, types, tensors)).collect()),
        None => Bound::Tensor(tensors.next().expect("as many outputs as leaves")),
    }
}

/// Evaluates operators without a kernel.
pub(super) struct Eval<'a> {
    pub(crate) module: &'a Module,
    pub(crate) limits: &'a Limits,
}

impl jit::Fallback for Eval<'_> {
    fn call(&self, call: ExprId, operands: Vec<(bool, Vec<Tensor>)>) -> Result<Vec<Tensor>, Box<Diagnostic>> {
        let value = |(tuple, tensors): (bool, Vec<Tensor>)| match tuple {
            true => to_value(Bound::Tuple(tensors.into_iter().map(Bound::Tensor).collect())),
            false => to_value(Bound::Tensor(tensors.into_iter().next().expect("an operand is a tensor"))),
        };
        let args: Vec<Value> = operands.into_iter().map(value).collect();
        let result = interp::call_operator(self.module, ops::table(), call, &args, self.limits)?;
        Ok(tensors_in(&[to_bound(result).map_err(Box::new)?]).into_iter().cloned().collect())
    }

    fn outside(&self, call: ExprId, index: i128, length: u64) -> Box<Diagnostic> {
        interp::trapped(self.module, ops::table(), call, ops::outside(index, length as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_driver::check_text;
    use relayc_driver::optimise::UNTIL;

    /// Layers that repeat, with what plans depend on: windows over padding, attention, indices, a divisor, an evaluation, constants.
    const LAYERS: &str = "def @main(%x: Tensor[(ROWS, 32), float32], %i: Tensor[(ROWS), int32], %w: Tensor[(32, 32), float32]) {
        %0 = nn.relu(nn.dense(%x, %w, units=None));
        %1 = nn.relu(nn.dense(%0, %w, units=None));
        %2 = nn.softmax(multiply(nn.dense(%1, %0, units=None), 0.25f));
        %3 = add(nn.dense(%2, transpose(%0, axes=[1, 0]), units=None), %1);
        %4 = nn.softmax(multiply(nn.dense(%3, %1, units=None), 0.25f));
        %5 = add(nn.dense(%4, transpose(%1, axes=[1, 0]), units=None), %3);
        %6 = take(%5, floor_divide(%i, %i), axis=0);
        %7 = take(%6, floor_divide(%i, %i), axis=0);
        %8 = reshape(%7, newshape=[1, 1, -1, 32]);
        %9 = nn.max_pool2d(nn.max_pool2d(%8, pool_size=[3, 3], padding=[1, 1, 1, 1]), pool_size=[3, 3], padding=[1, 1, 1, 1]);
        (%9, sort(sort(%7)), concatenate((%3, %5)))
    }";

    #[test]
    fn a_plan_does_not_depend_on_the_groups_that_are_kept() {
        let settings = Settings::native(3, 1).expect("no other is asked for").expect("a machine with AVX2");
        let groups = GroupPlans::default();
        let plan = |rows: usize, groups: &GroupPlans| {
            let mut program = check_text("x", &LAYERS.replace("ROWS", &rows.to_string()), UNTIL);
            let plan =
                plan_timed(&mut program.module, &how("main", &settings), &settings, Known::of(groups), &mut Timings::default());
            format!("{:#?}", plan.unwrap_or_else(|_| panic!("{rows} rows are planned")))
        };
        for rows in [4, 5, 4, 1, 5, 1, 4] {
            assert!(plan(rows, &groups) == plan(rows, &GroupPlans::default()), "{rows} rows");
        }
    }
}
