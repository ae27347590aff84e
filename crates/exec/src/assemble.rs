//! Assembles a plan: the code and the launch of each step, and the reason for its kernel. Nothing is run.
//!
//! This needs no machine that can run the code, so code for another machine can be shown. [`super::program`] adds memory and
//! runs it. A caller may ask for the strategy of a step ([`Wish`]). Absent: the meaning of the code's lines ([`super::listing`]).

use super::routine;
use crate::plan::{self, Move, Place, Plan, Scratch, Step, Work};
use relayc_codegen::asm::{Asm, AsmError, Isa, Mark};
use relayc_codegen::contraction::{Compiled, Weights};
use relayc_codegen::nest::{self, NestCode};
use relayc_codegen::region::Region;
use relayc_ir::kernel::{Alternative, Kernel, Nest, Reason, Rejection, Routine, Target};
use rustc_hash::FxHashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Weights in the memory of the program that has packed them.
#[derive(Clone, Debug)]
pub struct PackedWeights {
    pub(crate) region: Arc<Region>,
    /// Position of the first element.
    pub(crate) at: usize,
}

impl PackedWeights {
    pub(crate) fn start(&self) -> *const f32 {
        (self.region.start() as *const f32).wrapping_add(self.at)
    }
}

/// Location of the packed weights of a contraction.
#[derive(Clone, Debug)]
pub enum Packed {
    /// At an element of the program's packed weights.
    Kept(usize),
    /// Among those that another program has packed.
    Shared(PackedWeights),
    /// The contraction reads them unpacked.
    AsKept,
    /// In the session's memory, packed anew in each run.
    Scratch,
}

/// A move in bytes; contiguous elements move together.
#[derive(Clone, Debug)]
pub struct MoveCall {
    /// First byte and step of each dimension, of the source and of the destination.
    pub(crate) offsets: [i64; 2],
    pub(crate) steps: [Vec<i64>; 2],
    pub(crate) dims: Vec<i64>,
    pub(crate) together: usize,
}

impl MoveCall {
    fn of(moved: &Move) -> MoveCall {
        let width = moved.width as i64;
        let together = match (moved.from.1.last(), moved.to.1.last()) {
            (Some(1), Some(1)) => moved.dims.last().map_or(1, |&dim| dim as usize),
            _ => 1,
        };
        let rank = moved.dims.len() - usize::from(together > 1);
        let sides = [&moved.from, &moved.to];
        MoveCall {
            offsets: sides.map(|(offset, _)| offset * width),
            steps: sides.map(|(_, strides)| strides[..rank].iter().map(|stride| stride * width).collect()),
            dims: moved.dims[..rank].iter().map(|&dim| dim as i64).collect(),
            together: together * moved.width,
        }
    }
}

/// How a step is launched.
#[derive(Clone, Debug)]
pub enum Launch {
    Fill,
    Move(MoveCall),
    Positions,
    Fallback,
    Guard,
    Routine(Routine),
    Nest(NestCode),
    Contraction(Arc<Compiled>, Packed),
}

impl Launch {
    /// Number of tasks for `threads` threads, if the work is split beforehand.
    pub(crate) fn shares(&self, threads: usize) -> usize {
        match self {
            Launch::Contraction(code, _) if !is_small(code) => threads.max(1),
            Launch::Routine(routine) => routine::shares(routine, threads),
            _ => 1,
        }
    }

    /// Scratch memory in the arena for `threads` threads.
    fn scratch(&self, threads: usize) -> Scratch {
        if let Launch::Routine(routine) = self {
            let own = routine::scratch_bytes(routine).next_multiple_of(LINE as u64);
            return Scratch { shared: 0, own, threads: self.shares(threads) as u64, at: 0 };
        }
        let Launch::Contraction(code, packed) = self else { return Scratch::default() };
        let shared = if matches!(packed, Packed::Scratch) { packed_bytes(code) as u64 } else { 0 };
        let own = (4 * code.scratch_len()).next_multiple_of(LINE) as u64;
        Scratch { shared, own, threads: self.shares(threads) as u64, at: 0 }
    }
}

/// Bytes of a cache line; packed weights and scratch memory are padded to whole lines.
const LINE: usize = 64;

fn packed_bytes(code: &Compiled) -> usize {
    code.packed_bytes().next_multiple_of(LINE)
}

/// Extra cost of work that is shared among threads.
pub(crate) const REGION_NS: f64 = 3000.0;

/// Whether a contraction is too small for more than one thread, at 60 GFLOP/s and 40 GB/s of weights. Even slow cores reach
/// these from their second-level cache.
fn is_small(code: &Compiled) -> bool {
    // Weights that are read as they come may be used for one product each.
    let weights = if code.reads_unpacked() { code.weight_bytes() * code.flops() / 2 } else { code.packed_bytes() as u64 };
    (code.flops() as f64 / 60.0).max(weights as f64 / 40.0) <= REGION_NS
}

/// Why there is no code.
#[derive(Debug)]
pub enum NoCode {
    /// A step without code for this machine.
    Step(usize),
    Asm(AsmError),
}

impl fmt::Display for NoCode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            NoCode::Step(step) => write!(f, "step {step} of the plan has no code"),
            NoCode::Asm(error) => error.fmt(f),
        }
    }
}

/// A strategy that a caller asks for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Wish {
    /// Its name, or the first words of it.
    pub name: String,
    /// Who asks for it, in words.
    pub why: String,
}

/// The name of the strategy that computes a contraction as a loop nest.
const NEST: &str = "nest";

/// A plan with its code.
#[derive(Debug)]
pub struct Assembled {
    pub plan: Plan,
    /// Code, then the constants it reads.
    pub bytes: Vec<u8>,
    /// Offset of the constants.
    pub pool_start: usize,
    /// Comments on positions of the code.
    pub(crate) marks: Vec<Mark>,
    pub launches: Vec<Launch>,
    /// For each step, the reason for its kernel, and the range of its code, which steps with equal kernels share.
    pub reasons: Vec<Reason>,
    pub ranges: Vec<Range<usize>>,
    /// Number of elements of packed weights.
    pub(crate) packed_len: usize,
}

/// Emits the code of every step, and assigns each its scratch memory in the plan's arena. Equal kernels have their code once: a
/// network repeats its layers. `share` says whether other sizes of the program share its packed weights. Each step gets the first
/// of its `wishes` that is possible; steps beyond their end have none.
///
/// Errors: the step without code, and the plan, which is to be made without it.
pub fn assemble(mut plan: Plan, isa: Isa, target: &Target, share: bool, wishes: &[Vec<Wish>]) -> Result<Assembled, NoCode> {
    let mut asm = Asm::new(isa);
    let mut all = Assembled {
        plan: Plan::default(),
        bytes: vec![],
        pool_start: 0,
        marks: vec![],
        launches: vec![],
        reasons: vec![],
        ranges: vec![],
        packed_len: 0,
    };
    let mut emitted: FxHashMap<(&Kernel, Weights, &[Wish]), usize> = FxHashMap::default();
    for (at, step) in plan.steps.iter().enumerate() {
        let (start, kernel) = (asm.here(), kernel(&plan, step, share));
        let wishes = wishes.get(at).map_or(&[][..], Vec::as_slice);
        let equal = kernel.and_then(|(kernel, weights)| emitted.get(&(kernel, weights, wishes)).copied());
        let (launch, reason, range) = match equal {
            Some(equal) => (all.again(equal), all.reasons[equal].clone(), all.ranges[equal].clone()),
            None => {
                let (launch, reason) = all.step(step, kernel, wishes, target, &mut asm).ok_or(NoCode::Step(at))?;
                emitted.extend(kernel.map(|(kernel, weights)| ((kernel, weights, wishes), at)));
                (launch, reason, start..asm.here())
            }
        };
        all.launches.push(launch);
        all.reasons.push(reason);
        all.ranges.push(range);
    }
    all.pool_start = asm.pool_start();
    all.marks = asm.marks().to_vec();
    all.bytes = asm.finish().map_err(NoCode::Asm)?;
    plan.scratch = all.launches.iter().map(|launch| launch.scratch(target.threads)).collect();
    plan::arrange(&mut plan);
    all.plan = plan;
    Ok(all)
}

/// The code of a kernel.
enum KernelCode {
    Nest(NestCode),
    Contraction(Compiled),
}

/// Emits the code of a kernel by the first wish that is possible, else by the model's choice.
fn wished(kernel: &Kernel, weights: Weights, wishes: &[Wish], target: &Target, asm: &mut Asm) -> Option<(KernelCode, Reason)> {
    if wishes.is_empty() {
        return emit(kernel, weights, None, target, asm);
    }
    // Which strategies there are, the model's choice tells.
    let (_, model) = emit(kernel, weights, None, target, &mut Asm::new(asm.isa()))?;
    let granted = wishes.iter().find_map(|wish| Some((wish, model.find(&wish.name)?)));
    let Some((wish, name)) = granted else { return emit(kernel, weights, None, target, asm) };
    let (code, reason) = emit(kernel, weights, Some(name), target, asm)?;
    let forced = reason.strategy == name;
    let why = if forced { wish.why.clone() } else { reason.why };
    Some((code, Reason { forced, why, ..reason }))
}

/// Emits the code of a kernel, by the `wanted` strategy if it is possible.
fn emit(kernel: &Kernel, weights: Weights, wanted: Option<&str>, target: &Target, asm: &mut Asm) -> Option<(KernelCode, Reason)> {
    if let Kernel::Nest(nest) = kernel {
        let code = nest::compile(asm, nest, wanted).or_else(|| nest::compile(asm, nest, None))?;
        let reason = code.reason.clone();
        return Some((KernelCode::Nest(code), reason));
    }
    let nest = kernel.as_nest();
    if wanted == Some(NEST)
        && let Some(nest) = &nest
        && let Some(found) = contraction_as_nest(kernel, weights, nest, target, asm)
    {
        return Some(found);
    }
    let (code, mut reason) = Compiled::of(kernel, weights, wanted, target, asm)?;
    let estimate = nest.and_then(|nest| nest::estimate(&nest, asm.isa()));
    reason.alternatives.extend(estimate.map(|ns| Alternative { name: NEST.into(), rejection: Rejection::Ns(ns) }));
    Some((KernelCode::Contraction(code), reason))
}

/// Emits the code of a contraction as a loop nest, beside whose strategy are those of the contraction.
fn contraction_as_nest(
    kernel: &Kernel,
    weights: Weights,
    nest: &Nest,
    target: &Target,
    asm: &mut Asm,
) -> Option<(KernelCode, Reason)> {
    let (_, other) = Compiled::of(kernel, weights, None, target, &mut Asm::new(asm.isa()))?;
    let code = nest::compile(asm, nest, None)?;
    let model = other.ns.map(|ns| Alternative { name: other.strategy, rejection: Rejection::Ns(ns) });
    let alternatives = model.into_iter().chain(other.alternatives).collect();
    let reason = Reason { strategy: NEST.into(), alternatives, ..code.reason.clone() };
    Some((KernelCode::Nest(code), reason))
}

/// The kernel of a step, and what its weights are: what its code depends on.
fn kernel<'a>(plan: &'a Plan, step: &'a Step, share: bool) -> Option<(&'a Kernel, Weights)> {
    let Work::Kernel(kernel) = &step.work else { return None };
    let weights = |id| match plan.buffers[id].place {
        Place::Const(_) | Place::Kept(_) if share => Weights::Shared,
        Place::Const(_) | Place::Kept(_) => Weights::Own,
        _ => Weights::Computed,
    };
    Some((kernel, kernel.contract().map_or(Weights::Computed, |contract| weights(step.args[contract.weight.0]))))
}

impl Assembled {
    /// The launch of a step whose kernel equals that of an earlier one, with weights of its own.
    fn again(&mut self, equal: usize) -> Launch {
        match self.launches[equal].clone() {
            Launch::Contraction(code, packed) => {
                let packed = self.packed(matches!(packed, Packed::Kept(_)), &code);
                Launch::Contraction(code, packed)
            }
            launch => launch,
        }
    }

    fn step(
        &mut self,
        step: &Step,
        kernel: Option<(&Kernel, Weights)>,
        wishes: &[Wish],
        target: &Target,
        asm: &mut Asm,
    ) -> Option<(Launch, Reason)> {
        Some(match &step.work {
            Work::Fill(fill) => {
                let why = format!("{} stretches that windows read beside the tensor", fill.stretches.len());
                (Launch::Fill, Reason::only(if fill.bits == 0 { "zeros" } else { "margins" }, why))
            }
            Work::Move(moved) => {
                (Launch::Move(MoveCall::of(moved)), Reason::only("move", "elements that no lane holds are copied as they are"))
            }
            Work::Positions(_) => {
                (Launch::Positions, Reason::only("positions", "indices are brought into their axes before they are used"))
            }
            Work::Guard(_) => (Launch::Guard, Reason::only("guard", "the operator fails for some operands whatever is in them")),
            Work::Routine(work, _) => {
                let (name, why) = routine::words(work);
                (Launch::Routine(work.clone()), Reason::only(name, why))
            }
            Work::Fallback(call) => (Launch::Fallback, Reason::only("evaluation", call.why.words())),
            Work::Kernel(_) => {
                let (kernel, weights) = kernel?;
                let (code, reason) = wished(kernel, weights, wishes, target, asm)?;
                (self.launch(code, weights), reason)
            }
        })
    }

    /// The launch of a kernel's code.
    fn launch(&mut self, code: KernelCode, weights: Weights) -> Launch {
        match code {
            KernelCode::Nest(code) => Launch::Nest(code),
            KernelCode::Contraction(mut code) => {
                if weights == Weights::Computed && code.is_packed() {
                    code.prepare_pieces();
                }
                let packed = self.packed(weights != Weights::Computed, &code);
                Launch::Contraction(Arc::new(code), packed)
            }
        }
    }

    /// Assigns the location of a step's packed weights; `constant` weights are kept.
    fn packed(&mut self, constant: bool, code: &Compiled) -> Packed {
        let bytes = packed_bytes(code);
        if !code.is_packed() {
            Packed::AsKept
        } else if constant {
            self.packed_len += bytes / 4;
            Packed::Kept(self.packed_len - bytes / 4)
        } else {
            Packed::Scratch
        }
    }

    /// Describes the kernel of a step in words.
    pub fn describe(&self, step: usize) -> &str {
        &self.reasons[step].name
    }
}
