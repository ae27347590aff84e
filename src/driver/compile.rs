//! Compiling an entry function, and running what comes of it.

use super::Program;
use super::bind::Bound;
use super::fault::Fault;
use super::optimise::{self, How};
use super::run::{Limits, no_entry, to_bound, to_value};
use super::timings::{Stopwatch, Timings};
use crate::base::Span;
use crate::diag::{Diagnostic, codes};
use crate::interp::{self, Value};
use crate::ir::{ConstId, ExprId, Module};
pub use crate::jit::asm::Isa;
pub use crate::jit::assemble::Assembled;
use crate::jit::assemble::{NoCode, assemble};
use crate::jit::constants::Keep;
use crate::jit::cpu::Cpu;
pub use crate::jit::listing::target_name;
pub use crate::jit::pool::MAX_THREADS;
use crate::jit::pool::Pool;
use crate::jit::program::{self as jit, Follow, LoadError, Session};
use crate::kernel::Target;
use crate::ops::{self, eval::Trap};
use crate::plan::{self, NotCompiled, Place, Plan};
use crate::sys;
use crate::tensor::{Data, Tensor};
use crate::types::{Ty, Types};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::Arc;

/// How far a compiled program may be from the sums as they are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// Within 1e-4 of an output's largest magnitude on a whole network: convolutions by Winograd's method where that is faster.
    Fast,
    /// Sums as they are written.
    Strict,
}

impl Policy {
    /// The largest tile of Winograd's method; 0 for none.
    fn tile(self) -> u64 {
        match self {
            Policy::Fast => 4,
            Policy::Strict => 0,
        }
    }
}

/// What is said where nothing is compiled, whatever the program.
pub const NO_MACHINE: &str = "this machine has no AVX2 and FMA";

/// The machine that is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machine {
    /// This one, its caches and all.
    Native,
    /// One with these instructions as they are common: the same code wherever it is made.
    Common(Isa),
}

/// How a program is compiled.
#[derive(Clone, Debug)]
pub struct Settings {
    pub level: u8,
    pub isa: Isa,
    pub threads: usize,
    pub accuracy: Policy,
    pub machine: Machine,
    /// What is to be wrong on purpose: nothing, unless the command line was asked for it.
    pub fault: Option<Fault>,
}

impl Settings {
    /// The machine as it is, unless `RELAYC_ISA` says `avx2` or `avx512`; `None` for a machine without AVX2, which nothing is compiled
    /// for. Errors: what the variable says otherwise, in words.
    pub fn native(level: u8, threads: usize) -> Result<Option<Settings>, String> {
        Settings::of(Machine::Native, level, threads)
    }

    /// For a machine. Errors and `None`: as [`Settings::native`].
    pub fn of(machine: Machine, level: u8, threads: usize) -> Result<Option<Settings>, String> {
        let here = isas()?.last().copied();
        let isa = match machine {
            Machine::Native => here,
            Machine::Common(isa) => Some(isa),
        };
        Ok(isa.map(|isa| Settings { level, isa, threads, accuracy: Policy::Fast, machine, fault: None }))
    }

    /// Requires that this machine can run it. Errors: E0602.
    pub fn runs_here(&self) -> Result<(), Diagnostic> {
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

    pub fn target(&self) -> Target {
        match (self.machine, self.isa) {
            (Machine::Native, isa) => Cpu::get().target(isa, self.threads),
            (Machine::Common(_), Isa::Avx2) => Target { threads: self.threads, ..Target::AVX2 },
            (Machine::Common(_), Isa::Avx512) => Target { threads: self.threads, ..Target::AVX512 },
        }
    }
}

/// The instruction sets that may be used here, narrow first. Errors: what `RELAYC_ISA` says that it cannot, in words.
pub(super) fn isas() -> Result<Vec<Isa>, String> {
    let isas = Cpu::get().isas();
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
    pub program: Arc<jit::Program>,
    module: Module,
    ret: Ty,
    limits: Limits,
    threads: usize,
    /// What it took from the file to here.
    pub timings: Timings,
}

/// Why there is nothing compiled.
pub enum Refused {
    /// The interpreter runs it; the reason in words.
    Not(NotCompiled),
    Wrong(Box<Diagnostic>),
}

/// The passes for an entry.
pub fn how(entry: &str, settings: &Settings) -> How {
    How { entry: Some(entry.to_owned()), ..How::level(settings.level, optimise::Target::of(settings.isa)) }
}

/// Optimises a module and plans its entry. The module becomes the optimised one.
pub fn plan_of(module: &mut Module, entry: &str, settings: &Settings) -> Result<Plan, Refused> {
    plan_timed(module, entry, settings, &mut Timings::default())
}

fn plan_timed(module: &mut Module, entry: &str, settings: &Settings, timings: &mut Timings) -> Result<Plan, Refused> {
    let optimised = optimise::optimise(module, &how(entry, settings), &mut Stopwatch::new(timings, &mut ()));
    optimised.map_err(|error| Refused::Wrong(Box::new(error)))?;
    timings.time("plan", || planned(module, entry, settings, &[]))
}

fn planned(module: &Module, entry: &str, settings: &Settings, refusals: &[ExprId]) -> Result<Plan, Refused> {
    let Some(global) = module.find_global(entry) else { return Err(Refused::Wrong(Box::new(no_entry(module, entry)))) };
    let func = module.globals[global].func;
    let mut plan = plan::plan(module, ops::table(), func, refusals, settings.accuracy.tile()).map_err(Refused::Not)?;
    if let Some(fault) = settings.fault {
        fault.put_into(&mut plan);
    }
    Ok(plan)
}

/// Optimises a module, which becomes the optimised one, and emits the code of its entry.
pub fn assembled(
    module: &mut Module,
    entry: &str,
    settings: &Settings,
    limits: &Limits,
    timings: &mut Timings,
) -> Result<Assembled, Refused> {
    let mut plan = plan_timed(module, entry, settings, timings)?;
    let mut refusals = vec![];
    loop {
        check_sizes(&plan, module, limits).map_err(Refused::Wrong)?;
        let origins: Vec<ExprId> = plan.steps.iter().map(|step| step.origin).collect();
        match timings.time("code", || assemble(plan, settings.isa, &settings.target())) {
            // What the machine has no code for gets other code, then is left to its evaluation.
            Err(NoCode::Step(step)) if refusals.iter().filter(|&&refused| refused == origins[step]).count() < 2 => {
                refusals.push(origins[step]);
                plan = timings.time("plan", || planned(module, entry, settings, &refusals))?;
            }
            made => return made.map_err(|error| not_loaded(&error.to_string())),
        }
    }
}

fn not_loaded(why: &str) -> Refused {
    let diagnostic = Diagnostic::new(codes::E0901, format!("the compiled program could not be loaded: {why}"));
    Refused::Wrong(Box::new(diagnostic))
}

/// Compiles an entry of a program without errors, whose weights are constants by now.
pub fn compile(program: &Program, entry: &str, settings: &Settings, limits: Limits) -> Result<Compiled, Refused> {
    // Tensors are shared, so the copy is one of the expressions only, and of the weights that a pass changes.
    compile_module(&mut program.module.clone(), entry, settings, limits, Keep::All)
}

/// As [`compile`], for who needs the module no more: no weight is in memory twice, as passes change it where it is, and each goes
/// when it is packed. Nothing of the module is left then, unless it is refused: then it is optimised, its answers the same. What
/// has gone cannot be compared ([`super::both`]).
pub fn compile_taking(module: &mut Module, entry: &str, settings: &Settings, limits: Limits) -> Result<Compiled, Refused> {
    compile_module(module, entry, settings, limits, Keep::Read)
}

/// Whether an entry is compiled for sure, so that the program is not needed to interpret it.
pub fn is_compiled(module: &Module, entry: &str) -> bool {
    module.find_global(entry).is_some_and(|global| plan::is_dataflow(module, module.globals[global].func))
}

/// As [`compile`], for a typed module without errors, which is taken.
pub(super) fn compile_module(
    module: &mut Module,
    entry: &str,
    settings: &Settings,
    limits: Limits,
    keep: Keep,
) -> Result<Compiled, Refused> {
    let mut timings = Timings::default();
    let assembled = assembled(module, entry, settings, &limits, &mut timings)?;
    if keep == Keep::Read {
        // What has read, checked, optimised and planned the program is done, and the most memory is needed from here on.
        sys::give_back_code();
    }
    let constants = constants(module, &assembled.plan, keep);
    let eval = Eval { module, limits: &limits };
    match timings.time("packing", || jit::Program::load(assembled, constants, keep, &eval)) {
        Ok(loaded) => {
            if keep == Keep::Read {
                sys::give_back_free_memory();
            }
            let module = std::mem::take(module);
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

/// Requires the result of every step to be within the limit. Errors: E0803 at the first that is not.
fn check_sizes(plan: &Plan, module: &Module, limits: &Limits) -> Result<(), Box<Diagnostic>> {
    let results = plan.steps.iter().flat_map(|step| {
        let written = step.args.iter().zip(&step.writes).filter(|&(_, &written)| written);
        written.map(|(&id, _)| (step.origin, &plan.buffers[id]))
    });
    let mut too_large = results.filter(|(_, buffer)| buffer.bytes() > limits.max_tensor_bytes);
    too_large.next().map_or(Ok(()), |(origin, buffer)| {
        let trap = Trap::over_limit(&buffer.shape, buffer.bytes(), limits.max_tensor_bytes);
        Err(interp::failure(module, ops::table(), origin, trap))
    })
}

impl Compiled {
    /// Runs it once. Errors: what an operator traps with.
    pub fn run(&self, args: &[Bound]) -> Result<Bound, Box<Diagnostic>> {
        self.run_in(&mut self.session()?, args, &mut |_, _| Ok(()))
    }

    /// As [`Compiled::run`], in a session of the program; `before` as in [`Compiled::run_session`].
    pub fn run_in(&self, session: &mut Session, args: &[Bound], before: Follow) -> Result<Bound, Box<Diagnostic>> {
        let inputs: Vec<Cow<[u8]>> = leaves(args).into_iter().map(bytes).collect();
        let mut outputs = self.outputs();
        self.run_session(session, &inputs, &mut outputs, before)?;
        let plan = &self.program.plan;
        let mut tensors = plan.outputs.iter().zip(&outputs).map(|(&id, bytes)| {
            let buffer = &plan.buffers[id];
            let shape: Vec<usize> = buffer.shape.iter().map(|&dim| dim as usize).collect();
            Tensor::from_le_bytes(buffer.dtype, &shape, bytes).expect("an output holds what its type says")
        });
        Ok(nested(self.ret, &self.module.types, &mut tensors))
    }

    /// The memory and the threads of runs.
    pub fn session(&self) -> Result<Session, Box<Diagnostic>> {
        Session::new(self.program.clone(), self.threads).map_err(too_large)
    }

    /// As [`Compiled::session`], on threads that others use too.
    pub fn session_on(&self, pool: Arc<Pool>) -> Result<Session, Box<Diagnostic>> {
        Session::on(self.program.clone(), pool).map_err(too_large)
    }

    /// The program as it was compiled, groups and all.
    pub fn module(&self) -> &Module {
        &self.module
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What computes the operators that have no kernel.
    pub(super) fn fallback(&self) -> impl jit::Fallback + '_ {
        Eval { module: &self.module, limits: &self.limits }
    }

    /// Where an expression of the program stands.
    pub fn span(&self, expr: ExprId) -> Span {
        self.module.exprs[expr].span
    }

    /// Runs a session on bytes; `before` sees the memory before each step, and when all are done. Errors: what an operator
    /// traps with, what `before` fails with, E0805 when the time is over.
    pub fn run_session(
        &self,
        session: &mut Session,
        inputs: &[impl AsRef<[u8]>],
        outputs: &mut [impl AsMut<[u8]>],
        before: Follow,
    ) -> Result<(), Box<Diagnostic>> {
        let inputs: Vec<&[u8]> = inputs.iter().map(AsRef::as_ref).collect();
        let mut outputs: Vec<&mut [u8]> = outputs.iter_mut().map(AsMut::as_mut).collect();
        let steps = &self.program.plan.steps;
        session.run_followed(&inputs, &mut outputs, &self.fallback(), &mut |step, memory| {
            let in_time = || match steps.get(step) {
                Some(next) => interp::check_deadline(&self.module, ops::table(), next.origin, &self.limits),
                None => Ok(()),
            };
            in_time()?;
            before(step, memory)?;
            // What was done there may have taken its time, and is no longer what is under way.
            in_time()
        })
    }

    /// Room for the outputs.
    pub fn outputs(&self) -> Vec<Vec<u8>> {
        let plan = &self.program.plan;
        plan.outputs.iter().map(|&id| vec![0; plan.buffers[id].bytes() as usize]).collect()
    }
}

fn too_large(error: LoadError) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(codes::E0803, format!("the tensors of the program are too large: {error}")))
}

/// The elements of a tensor as a run takes them, without a copy where they lie like that already.
pub fn bytes(tensor: &Tensor) -> Cow<'_, [u8]> {
    let lying = match &tensor.data {
        Data::F32(array) => array.as_slice().map(sys::bytes_of),
        Data::F64(array) => array.as_slice().map(sys::bytes_of),
        Data::I32(array) => array.as_slice().map(sys::bytes_of),
        Data::I64(array) => array.as_slice().map(sys::bytes_of),
        Data::U8(array) => array.as_slice().map(sys::bytes_of),
        _ => None,
    };
    let lying = lying.filter(|_| cfg!(target_endian = "little"));
    lying.map_or_else(|| Cow::Owned(tensor.to_le_bytes()), Cow::Borrowed)
}

/// The tensors of values, in order.
pub fn leaves(values: &[Bound]) -> Vec<&Tensor> {
    let (mut leaves, mut stack) = (vec![], values.iter().rev().collect::<Vec<_>>());
    while let Some(value) = stack.pop() {
        match value {
            Bound::Tensor(tensor) => leaves.push(tensor),
            Bound::Tuple(fields) => stack.extend(fields.iter().rev()),
        }
    }
    leaves
}

/// Tensors as a value of a type, whose nesting was bounded when it was written.
fn nested(ty: Ty, types: &Types, tensors: &mut dyn Iterator<Item = Tensor>) -> Bound {
    match types.as_tuple(ty) {
        Some(fields) => Bound::Tuple(fields.iter().map(|&field| nested(field, types, tensors)).collect()),
        None => Bound::Tensor(tensors.next().expect("as many outputs as leaves")),
    }
}

/// Operators without kernels, by their evaluation.
pub(super) struct Eval<'a> {
    pub module: &'a Module,
    pub limits: &'a Limits,
}

impl jit::Fallback for Eval<'_> {
    fn call(&self, call: ExprId, operands: Vec<(bool, Vec<Tensor>)>) -> Result<Vec<Tensor>, Box<Diagnostic>> {
        let value = |(tuple, tensors): (bool, Vec<Tensor>)| match tuple {
            true => to_value(Bound::Tuple(tensors.into_iter().map(Bound::Tensor).collect())),
            false => to_value(Bound::Tensor(tensors.into_iter().next().expect("an operand is a tensor"))),
        };
        let args: Vec<Value> = operands.into_iter().map(value).collect();
        let result = interp::call_operator(self.module, ops::table(), call, &args, self.limits)?;
        Ok(leaves(&[to_bound(result).map_err(Box::new)?]).into_iter().cloned().collect())
    }

    fn outside(&self, call: ExprId, index: i128, length: u64) -> Box<Diagnostic> {
        interp::trapped(self.module, ops::table(), call, ops::outside(index, length as usize))
    }
}
