//! A plan as code that nobody has run: what each step is launched by, why, and where its code lies.
//!
//! Needs no machine that could run it, so that the code for another one can be shown; [`super::program`] gives it memory and
//! runs it. Deliberately not here: what the code's lines mean ([`super::listing`]).

use super::asm::{Asm, AsmError, Isa, Mark};
use super::contract::Compiled;
use super::nest::{self, NestCode};
use super::routine;
use crate::kernel::{Kernel, Reason, Routine, Target};
use crate::plan::{self, Move, Place, Plan, Scratch, Step, Work};
use std::fmt;
use std::ops::Range;

/// Packed weights of a contraction.
#[derive(Clone, Copy, Debug)]
pub enum Packed {
    /// At an element of the program's packed weights.
    Kept(usize),
    /// They are read as they come.
    AsKept,
    /// In the session's memory, packed anew each run.
    Scratch,
}

/// A move in bytes; what lies together on both sides moves together.
#[derive(Debug)]
pub struct Moved {
    /// The first byte, and the step of each dimension, of where it comes from and of where it goes.
    pub offsets: [i64; 2],
    pub steps: [Vec<i64>; 2],
    pub dims: Vec<i64>,
    pub together: usize,
}

impl Moved {
    fn of(moved: &Move) -> Moved {
        let width = moved.width as i64;
        let together = match (moved.from.1.last(), moved.to.1.last()) {
            (Some(1), Some(1)) => moved.dims.last().map_or(1, |&dim| dim as usize),
            _ => 1,
        };
        let rank = moved.dims.len() - usize::from(together > 1);
        let sides = [&moved.from, &moved.to];
        Moved {
            offsets: sides.map(|(offset, _)| offset * width),
            steps: sides.map(|(_, strides)| strides[..rank].iter().map(|stride| stride * width).collect()),
            dims: moved.dims[..rank].iter().map(|&dim| dim as i64).collect(),
            together: together * moved.width,
        }
    }
}

/// What a step has become.
#[derive(Debug)]
pub enum Launch {
    Fill,
    Move(Moved),
    Positions,
    Fallback,
    Guard,
    Routine(Routine),
    Nest(NestCode),
    Contract(Box<Compiled>, Packed),
}

impl Launch {
    /// How many shares its work is cut into for so many threads, if it is cut beforehand.
    pub fn shares(&self, threads: usize) -> usize {
        match self {
            Launch::Contract(code, _) if !is_small(code) => threads.max(1),
            Launch::Routine(routine) => routine::shares(routine, threads),
            _ => 1,
        }
    }

    /// What it needs of the arena for itself, run by so many threads.
    fn scratch(&self, threads: usize) -> Scratch {
        if let Launch::Routine(routine) = self {
            let own = routine::scratch_bytes(routine).next_multiple_of(LINE as u64);
            return Scratch { shared: 0, own, threads: self.shares(threads) as u64, at: 0 };
        }
        let Launch::Contract(code, packed) = self else { return Scratch::default() };
        let shared = if matches!(packed, Packed::Scratch) { packed_bytes(code) as u64 } else { 0 };
        let own = (4 * code.scratch_len()).next_multiple_of(LINE) as u64;
        Scratch { shared, own, threads: self.shares(threads) as u64, at: 0 }
    }
}

/// Bytes of a cache line, of which packed weights and scratch memory have whole ones.
const LINE: usize = 64;

fn packed_bytes(code: &Compiled) -> usize {
    (4 * code.packed_len()).next_multiple_of(LINE)
}

/// Work that is shared among threads costs this much more.
pub const REGION_NS: f64 = 3000.0;

/// Whether a sum of products is too little for more than one thread: at 60 GFLOP/s and 40 GB/s of weights, which cores reach from their
/// second level of cache even where they are slow.
fn is_small(code: &Compiled) -> bool {
    // Weights that are read as they come may be used for one product each.
    let weights = if code.is_packed() { code.packed_len() as u64 } else { code.flops() / 2 };
    (code.flops() as f64 / 60.0).max(4.0 * weights as f64 / 40.0) <= REGION_NS
}

/// Why there is no code.
#[derive(Debug)]
pub enum NoCode {
    /// A step that the machine has no code for.
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

/// A plan with its code.
#[derive(Debug)]
pub struct Assembled {
    pub plan: Plan,
    pub isa: Isa,
    /// Code, then the constants it reads.
    pub bytes: Vec<u8>,
    /// Where the constants begin.
    pub pool_start: usize,
    /// What begins where in the code.
    pub marks: Vec<Mark>,
    pub launches: Vec<Launch>,
    /// For each step, why it is computed the way it is, and where its code lies.
    pub reasons: Vec<Reason>,
    pub ranges: Vec<Range<usize>>,
    /// Elements of packed weights.
    pub packed_len: usize,
}

/// Emits the code of every step, and gives each its scratch memory in the plan's arena. Errors: the step that has none, and the
/// plan, to be made without it.
pub fn assemble(mut plan: Plan, isa: Isa, target: &Target) -> Result<Assembled, NoCode> {
    let mut asm = Asm::new(isa);
    let mut all = Assembled {
        plan: Plan::default(),
        isa,
        bytes: vec![],
        pool_start: 0,
        marks: vec![],
        launches: vec![],
        reasons: vec![],
        ranges: vec![],
        packed_len: 0,
    };
    for (at, step) in plan.steps.iter().enumerate() {
        let start = asm.here();
        let (launch, reason) = all.step(&plan, step, target, &mut asm).ok_or(NoCode::Step(at))?;
        all.launches.push(launch);
        all.reasons.push(reason);
        all.ranges.push(start..asm.here());
    }
    all.pool_start = asm.pool_start();
    all.marks = asm.marks().to_vec();
    all.bytes = asm.finish().map_err(NoCode::Asm)?;
    plan.scratch = all.launches.iter().map(|launch| launch.scratch(target.threads)).collect();
    plan::arrange(&mut plan);
    all.plan = plan;
    Ok(all)
}

impl Assembled {
    fn step(&mut self, plan: &Plan, step: &Step, target: &Target, asm: &mut Asm) -> Option<(Launch, Reason)> {
        Some(match &step.work {
            Work::Fill(fill) => {
                let why = format!("{} stretches that windows read beside the tensor", fill.stretches.len());
                (Launch::Fill, Reason::only(if fill.bits == 0 { "zeros" } else { "margins" }, why))
            }
            Work::Move(moved) => {
                (Launch::Move(Moved::of(moved)), Reason::only("move", "elements that no lane holds are copied as they are"))
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
            Work::Kernel(Kernel::Nest(kernel)) => {
                let code = nest::compile(asm, kernel)?;
                let reason = code.reason.clone();
                (Launch::Nest(code), reason)
            }
            Work::Kernel(kernel) => {
                let contract = kernel.contract()?;
                let constant = matches!(plan.buffers[step.args[contract.weight.0]].place, Place::Const(_) | Place::Kept(_));
                let (mut code, reason) = Compiled::of(kernel, constant, target, asm)?;
                let packed = self.packed(constant, &mut code);
                (Launch::Contract(Box::new(code), packed), reason)
            }
        })
    }

    /// Where the packed weights of a step will lie; whether they are constants.
    fn packed(&mut self, constant: bool, code: &mut Compiled) -> Packed {
        let bytes = packed_bytes(code);
        if !code.is_packed() {
            Packed::AsKept
        } else if constant {
            self.packed_len += bytes / 4;
            Packed::Kept(self.packed_len - bytes / 4)
        } else {
            code.prepare_pieces();
            Packed::Scratch
        }
    }

    /// What computes a step, in words.
    pub fn describe(&self, step: usize) -> &str {
        &self.reasons[step].name
    }
}
