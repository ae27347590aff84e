//! Assembles a plan: the code and the launch of each step, and the reason for its kernel. Nothing is run.
//!
//! This needs no machine that can run the code, so code for another machine can be shown. [`super::program`] adds memory and
//! runs it. A caller may ask for the strategy of a step ([`Wish`]). Absent: the meaning of the code's lines ([`super::listing`]).

use super::launch::{Launch, MoveCall, Packed, Wish, packed_bytes};
use super::routine;
use crate::plan::{self, BufferId, Place, Plan, Step, Work};
use crate::shared::Shared;
use crate::shared::kernels::SharedKernel;
use relayc_codegen::asm::{Asm, AsmError, Isa, Mark};
use relayc_codegen::contraction::{Compiled, Weights};
use relayc_codegen::memory::Code;
use relayc_codegen::nest::{self, NestCode};
use relayc_ir::kernel::{Alternative, Kernel, Nest, Reason, Rejection, Target};
use rustc_hash::FxHashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

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
    pub reasons: Vec<Arc<Reason>>,
    pub ranges: Vec<Range<usize>>,
    /// For each step, the code that has its kernel, if it is another program's.
    pub(crate) borrowed: Vec<Option<Code>>,
    /// The kernels that others may share: step, what its weights are, and who asked for what.
    pub(crate) emitted: Vec<(usize, Weights, Vec<Wish>)>,
    /// Number of elements of packed weights.
    pub(crate) packed_len: usize,
}

/// Emits the code of every step, and assigns each its scratch memory in the plan's arena. Equal kernels have their code once: a
/// network repeats its layers. What other sizes of the program have packed and emitted is `shared`. Each step gets the first of its
/// `wishes` that is possible; steps beyond their end have none.
///
/// Errors: the step without code, and the plan, which is to be made without it.
pub fn assemble(
    mut plan: Plan,
    isa: Isa,
    target: &Target,
    shared: Option<&Shared>,
    wishes: &[Vec<Wish>],
) -> Result<Assembled, NoCode> {
    // Nobody reads why the code of a size is as it is, but wishes name what there is to choose from.
    let explains = shared.is_none() || !wishes.is_empty();
    let mut asm = Asm::new(isa).with(shared.map(|shared| shared.fragments.clone())).explaining(explains);
    let mut all = Assembled {
        plan: Plan::default(),
        bytes: vec![],
        pool_start: 0,
        marks: vec![],
        launches: vec![],
        reasons: vec![],
        ranges: vec![],
        borrowed: vec![],
        emitted: vec![],
        packed_len: 0,
    };
    let mut emitted: FxHashMap<(&Kernel, Weights, &[Wish]), usize> = FxHashMap::default();
    // The same by the address of the kernel, which equal groups share: a kernel is large to compare.
    let mut repeated: FxHashMap<(*const Kernel, Weights, &[Wish]), usize> = FxHashMap::default();
    for (at, step) in plan.steps.iter().enumerate() {
        let (start, kernel) = (asm.here(), kernel(&plan, step, shared.is_some()));
        let wishes = wishes.get(at).map_or(&[][..], Vec::as_slice);
        let key = kernel.map(|(kernel, weights)| (kernel, weights, wishes));
        let same = key.map(|(kernel, weights, wishes)| (std::ptr::from_ref(kernel), weights, wishes));
        let known = same.and_then(|same| repeated.get(&same)).or_else(|| emitted.get(&key?));
        if let Some(&equal) = known {
            repeated.extend(same.map(|same| (same, equal)));
            all.again(equal);
            continue;
        }
        repeated.extend(same.map(|same| (same, at)));
        emitted.extend(key.map(|key| (key, at)));
        if let (Some((kernel, weights, wishes)), Some(shared)) = (key, shared) {
            if let Some(known) = shared.kernels.find(kernel, weights, wishes) {
                all.borrow(known);
                continue;
            }
            all.emitted.push((at, weights, wishes.to_vec()));
        }
        let (launch, reason) = all.step(step, kernel, wishes, target, &mut asm).ok_or(NoCode::Step(at))?;
        all.add(launch, Arc::new(reason), start..asm.here(), None);
    }
    all.pool_start = asm.pool_start();
    all.marks = asm.marks().to_vec();
    all.bytes = asm.finish().map_err(NoCode::Asm)?;
    all.packed_len = place_weights(&plan, &mut all.launches);
    plan.scratch = all.launches.iter().map(|launch| launch.scratch(target.threads)).collect();
    plan::arrange(&mut plan);
    all.plan = plan;
    Ok(all)
}

/// Places packed weights one after the other, those of steps that pack the same weights alike once: the turns of a loop. Returns the
/// number of elements of all.
fn place_weights(plan: &Plan, launches: &mut [Launch]) -> usize {
    let mut len = 0;
    let mut known: FxHashMap<BufferId, Vec<(Arc<Compiled>, usize)>> = FxHashMap::default();
    for (step, launch) in plan.steps.iter().zip(launches) {
        let Launch::Contraction(code, Packed::Kept(at)) = launch else { continue };
        let Some(contract) = step.work.contract() else { continue };
        let known = known.entry(step.args[contract.weight.0]).or_default();
        let alike = |other: &Arc<Compiled>| {
            let layout = code.weight_layout();
            Arc::ptr_eq(other, code) || layout.is_some() && layout == other.weight_layout()
        };
        *at = known.iter().find(|(other, _)| alike(other)).map_or(len, |(_, place)| *place);
        if *at == len {
            len += packed_bytes(code) / 4;
            known.push((code.clone(), *at));
        }
    }
    len
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
    let nest = if asm.explains() { kernel.as_nest() } else { None };
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
    fn add(&mut self, launch: Launch, reason: Arc<Reason>, range: Range<usize>, borrowed: Option<Code>) {
        self.launches.push(launch);
        self.reasons.push(reason);
        self.ranges.push(range);
        self.borrowed.push(borrowed);
    }

    /// Adds a step whose kernel equals that of an earlier one.
    fn again(&mut self, equal: usize) {
        let launch = Assembled::with_own_weights(self.launches[equal].clone());
        self.add(launch, self.reasons[equal].clone(), self.ranges[equal].clone(), self.borrowed[equal].clone());
    }

    /// Adds a step whose kernel another program has.
    fn borrow(&mut self, known: SharedKernel) {
        let launch = Assembled::with_own_weights(known.launch);
        self.add(launch, known.reason, 0..0, Some(known.code));
    }

    /// The same launch with packed weights of its own.
    fn with_own_weights(launch: Launch) -> Launch {
        match launch {
            Launch::Contraction(code, packed) => {
                let packed = Assembled::packed(matches!(packed, Packed::Kept(_) | Packed::Shared(_)), &code);
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
                let why = format!("{} elements that windows read beside the tensor", fill.margins(1).n_elements());
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
                (Assembled::launch(code, weights), reason)
            }
        })
    }

    /// The launch of a kernel's code.
    fn launch(code: KernelCode, weights: Weights) -> Launch {
        match code {
            KernelCode::Nest(code) => Launch::Nest(Arc::new(code)),
            KernelCode::Contraction(mut code) => {
                if weights == Weights::Computed && code.is_packed() {
                    code.prepare_pieces();
                }
                let packed = Assembled::packed(weights != Weights::Computed, &code);
                Launch::Contraction(Arc::new(code), packed)
            }
        }
    }

    /// The kind of a step's packed weights; `constant` weights are kept.
    fn packed(constant: bool, code: &Compiled) -> Packed {
        match () {
            () if !code.is_packed() => Packed::AsKept,
            // Their place is known when all steps are.
            () if constant => Packed::Kept(0),
            () => Packed::Scratch,
        }
    }

    /// Describes the kernel of a step in words.
    pub fn describe(&self, step: usize) -> &str {
        &self.reasons[step].name
    }
}
