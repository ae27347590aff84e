//! Programs: a plan with its code and packed weights, and sessions with the memory of runs.
//!
//! A [`CompiledPlan`] is immutable and may be shared by sessions in any threads. A [`PlanSession`] owns the arena and all state that a
//! run changes. The same inputs give the same bytes for any number of threads, because no sum is split.

use super::assemble::Assembled;
use super::chain::{self, Chain};
use super::constants::{self, Constants, Keep};
use super::index;
use super::launch::{Launch, MoveCall, Packed, REGION_NS};
use super::routine;
use super::shared::{self, kernels::SharedKernel};
use crate::plan::{Buffer, BufferId, CallId, ConstId, Place, Plan, Scratch, Step, Work};
use relayc_base::Idx;
use relayc_base::diag::Diagnostic;
use relayc_codegen::contraction::{Compiled, Source};
use relayc_codegen::memory::Code;
use relayc_codegen::nest::NestCode;
use relayc_codegen::pool::{Pool, part};
use relayc_codegen::region::Region;
use relayc_ir::kernel::{Reason, View};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_runtime::margins::Margins;
use relayc_runtime::split::Piece;
use relayc_runtime::step;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;
use std::sync::Arc;

/// Computes operators without kernels.
pub trait Fallback: Sync {
    /// Evaluates a call on its operands: tensors, or the fields of a tuple. Returns the fields of the result.
    fn call(&self, call: CallId, operands: Vec<(bool, Vec<Tensor>)>) -> Result<Vec<Tensor>, Box<Diagnostic>>;

    /// The error of a call for an index out of range of an axis of this length.
    fn outside(&self, call: CallId, index: i128, length: u64) -> Box<Diagnostic>;
}

/// Why a plan did not become a program.
#[derive(Debug)]
pub enum LoadError {
    /// The system gave no memory.
    Memory(std::io::Error),
    /// An operator that is computed once failed.
    Failed(Box<Diagnostic>),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            LoadError::Memory(error) => write!(f, "no memory: {error}"),
            LoadError::Failed(diagnostic) => f.write_str(&diagnostic.message),
        }
    }
}

/// A compiled plan.
pub struct CompiledPlan {
    pub plan: Plan,
    pub(super) code: Code,
    /// For each step, the code that has its kernel, if it is another program's.
    borrowed: Vec<Option<Code>>,
    pub(super) launches: Vec<Launch>,
    /// The reason for each step's kernel.
    pub reasons: Vec<Arc<Reason>>,
    pub(super) constants: Constants,
    /// Memory of values that are computed once.
    pub(super) kept: Region,
    /// The weights that this program has packed.
    packed: Arc<Region>,
}

/// Where the values that are computed once come from.
pub enum Once<'a> {
    /// The program's own code, and evaluations where it has none.
    Computed(&'a dyn Fallback),
    /// A program of [`Plan::of_loading`] that has computed them.
    Taken(Box<CompiledPlan>),
}

impl CompiledPlan {
    /// Maps the code, computes or takes the values that are computed once, and packs weights.
    ///
    /// Each of the `constants` is freed once packed, unless it is to be kept or has another owner. Weights that other programs have
    /// packed alike are `shared`, and those that are packed here become so; loading waits for them.
    pub fn load(
        assembled: Assembled,
        constants: FxHashMap<ConstId, Tensor>,
        keep: Keep,
        shared: Option<&shared::Shared>,
        once: Once,
    ) -> Result<CompiledPlan, LoadError> {
        let Assembled { plan, bytes, mut launches, reasons, borrowed, emitted, mut packed_len, .. } = assembled;
        let mut weights = shared.map(|shared| shared.weights.open());
        if let Some(weights) = &mut weights {
            packed_len = weights.find(&plan, &constants, &mut launches);
        }
        let code = Code::from_bytes(&bytes).map_err(LoadError::Memory)?;
        // It may be more than what packing needs.
        drop(bytes);
        let (kept, fallback) = match once {
            Once::Computed(fallback) => (Region::new(plan.kept_bytes as usize).map_err(LoadError::Memory)?, Some(fallback)),
            Once::Taken(other) => (other.kept, None),
        };
        let packed = Arc::new(Region::new(4 * packed_len).map_err(LoadError::Memory)?);
        let constants = Constants::new(&plan, &launches, constants, keep);
        let mut program = CompiledPlan { plan, code, borrowed, launches, reasons, constants, kept, packed };
        let of_once = program.plan.steps.iter().zip(&program.plan.scratch).filter(|(step, _)| step.once);
        let scratch = of_once.map(|(_, scratch)| scratch.shared + scratch.own).max().unwrap_or(0);
        let scratch = Region::new(scratch as usize).map_err(LoadError::Memory)?;
        program.once(&scratch, fallback).map_err(LoadError::Failed)?;
        if let Some(weights) = weights {
            weights.add(&program.packed);
        }
        if let Some(shared) = shared {
            shared.fragments.end();
            shared.kernels.add(emitted.into_iter().filter_map(|(at, weights, wishes)| {
                let Work::Kernel(kernel) = &program.plan.steps[at].work else { return None };
                let (launch, reason, code) = (&program.launches[at], &program.reasons[at], &program.code);
                let shared = SharedKernel { launch: launch.clone(), reason: reason.clone(), code: code.clone() };
                Some((kernel.clone(), (weights, wishes), shared))
            }));
        }
        Ok(program)
    }

    /// Runs the steps with constant operands, if a fallback is given, and packs constant weights, each before it is needed.
    fn once(&mut self, scratch: &Region, fallback: Option<&dyn Fallback>) -> Result<(), Box<Diagnostic>> {
        let is_packed = |launch: &Launch| matches!(launch, Launch::Contraction(_, Packed::Kept(_)));
        if !self.plan.steps.iter().any(|step| step.once) && !self.launches.iter().any(is_packed) {
            return Ok(());
        }
        let addresses = self.addresses(None, &[], &mut []);
        let pool = Pool::new(1);
        let mut packed = FxHashSet::default();
        for at in constants::order(&self.plan, &self.launches) {
            let (step, launch) = (&self.plan.steps[at], &self.launches[at]);
            let args: Vec<*mut u8> = step.args.iter().map(|&id| addresses[id.index()]).collect();
            if let (Launch::Contraction(code, Packed::Kept(at)), Some(kernel)) = (launch, step.work.contract())
                && packed.insert(*at)
            {
                let (id, address) = (step.args[kernel.weight.0], args[kernel.weight.0]);
                let len = code.packed_bytes().div_ceil(4);
                // SAFETY: the region holds the packed weights of all steps, each at its own place, and nothing else names it now.
                let room = unsafe { std::slice::from_raw_parts_mut((self.packed.start() as *mut f32).add(*at), len) };
                let bytes = self.plan.buffers[id].bytes() as usize;
                let leaves = !step.once && self.constants.is_last(id);
                let (constants, kept) = (&mut self.constants, &mut self.kept);
                let mut source = Leaving { address, bytes, leaves, id, place: &self.plan.buffers[id].place, constants, kept };
                let fits = code.pack_from(&mut source, room);
                debug_assert!(fits, "the plan's views lie in their buffers");
            }
            if let Some(fallback) = fallback.filter(|_| step.once) {
                let of = Scratch { at: 0, ..self.plan.scratch[at] };
                let scratch = scratch_in(scratch.start(), of, std::ptr::null_mut());
                self.launch(at, &args, &split(launch, 1), &Means { scratch, fallback, pool: &pool })?;
            }
            // `addresses` still has those of what goes; by its definition no step that loading has still to do reads them.
            for id in self.constants.done(step) {
                let buffer = &self.plan.buffers[id];
                if let Place::Kept(offset) = buffer.place {
                    self.kept.release(offset as usize, buffer.bytes() as usize);
                }
            }
        }
        Ok(())
    }

    /// The elements of a buffer as f32 bytes; a caller's buffer may be unaligned.
    fn source(&self, buffer: BufferId, address: *const u8) -> &[[u8; 4]] {
        let elements = self.plan.buffers[buffer].bytes() as usize / 4;
        // SAFETY: `addresses` gave the address of this buffer, which has so many elements of four bytes.
        unsafe { slice_at(address as *const [u8; 4], elements) }
    }

    /// The address of each buffer; null for buffers that do not exist yet or any more.
    fn addresses(&self, arena: Option<&Region>, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Vec<*mut u8> {
        let mut of = |(id, buffer): (BufferId, &Buffer)| match buffer.place {
            Place::Input(at) => inputs.get(at).map_or(std::ptr::null_mut(), |bytes| bytes.as_ptr() as *mut u8),
            Place::Output(at) => outputs.get_mut(at).map_or(std::ptr::null_mut(), |bytes| bytes.as_mut_ptr()),
            Place::Const(_) | Place::Table(_) => self.constants.address(id),
            Place::Kept(offset) => self.kept.start().wrapping_add(offset as usize),
            Place::Arena(offset) => arena.map_or(std::ptr::null_mut(), |arena| arena.start().wrapping_add(offset as usize)),
        };
        self.plan.buffers.iter_ids().map(&mut of).collect()
    }

    /// The address of weights that were packed before the first run; null for others.
    pub(super) fn packed_weights(&self, packed: &Packed) -> *const f32 {
        match packed {
            Packed::Kept(at) => (self.packed.start() as *const f32).wrapping_add(*at),
            Packed::Shared(weights) => weights.start(),
            Packed::AsKept | Packed::Scratch => std::ptr::null(),
        }
    }

    fn launch(&self, at: usize, args: &[*mut u8], pieces: &[Vec<Piece>], means: &Means) -> Result<(), Box<Diagnostic>> {
        let &Means { scratch, fallback, pool } = means;
        let (step, launch) = (&self.plan.steps[at], &self.launches[at]);
        let code_of_step = self.borrowed[at].as_ref().unwrap_or(&self.code);
        match (launch, &step.work) {
            (Launch::Fill, Work::Fill(fill)) => {
                let margins = fill.margins(self.plan.buffers[step.args[0]].dtype.bits.div_ceil(8).into());
                let threads = if is_shared_fill(&margins) { pool.n_threads() } else { 1 };
                let at = Shared(args[0].cast_const());
                pool.run(threads, &|_, shares| {
                    for share in shares {
                        // SAFETY: the rows lie in the buffer, and are different in each share.
                        unsafe { margins.fill(at.get().cast_mut(), part(margins.n_rows(), share, threads)) };
                    }
                });
            }
            (Launch::Move(MoveCall { offsets, steps, dims, together }), _) => {
                let [from, to] = [0, 1].map(|side| args[side].wrapping_offset(offsets[side] as isize));
                // SAFETY: the plan's accesses lie in their buffers, which are two.
                unsafe { step::move_elements(from, to, *together, dims, [&steps[0], &steps[1]]) };
            }
            (Launch::Positions, Work::Positions(positions)) => {
                let buffers = [0, 1].map(|at| &self.plan.buffers[step.args[at]]);
                // SAFETY: the addresses are those of the two buffers, of which the second holds I32.
                let (from, to) = unsafe {
                    let from = slice_at(args[0] as *const u8, buffers[0].bytes() as usize);
                    (from, std::slice::from_raw_parts_mut(args[1].cast::<i32>(), buffers[1].elements as usize))
                };
                index::positions(positions, buffers[0].dtype, from, to)
                    .map_err(|(index, length)| fallback.outside(positions.call, index, length))?;
            }
            (Launch::Fallback, Work::Fallback(call)) => self.call(step, call, args, fallback)?,
            (Launch::Routine(work), Work::Routine(_, call)) => {
                let own = |share: usize| scratch.own(share);
                let means = routine::RoutineContext { pool, shares: launch.shares(pool.n_threads()), scratch: &own };
                let bytes = |at: usize| self.plan.buffers[step.args[at]].bytes() as usize;
                // SAFETY: the addresses are those of the buffers, which have so many bytes; results are buffers of their own.
                let args_of = |at: usize| unsafe { routine::Bytes::new(args[at], bytes(at)) };
                if routine::run(work, step.args.len(), &args_of, &means).is_err() {
                    self.call(step, call, args, fallback)?;
                }
            }
            (Launch::Guard, Work::Guard(guard)) => {
                // SAFETY: argument 0 is a bool, which is a byte of its buffer.
                if unsafe { args[0].read() } != 0 {
                    fallback.call(
                        guard.call,
                        guard.operands.iter().map(|(dtype, shape)| (false, vec![zeros(*dtype, shape)])).collect(),
                    )?;
                }
            }
            (Launch::Nest(nest), _) => {
                // SAFETY: the code at the entry is the function that `nest` says it is.
                let function = unsafe { code_of_step.function::<NestFunction>(nest.entry) }.expect("the entry is in the code");
                let args = Shared(args.as_ptr());
                let threads = pool.n_threads();
                if threads == 1 || !is_shared(nest) {
                    // SAFETY: the plan's accesses lie in their buffers.
                    unsafe { function.get()(args.get(), 0, nest.n_items) };
                } else {
                    pool.run(threads, &|_, shares| {
                        for share in shares {
                            let items = part(nest.n_items, share, threads);
                            // SAFETY: as above; items are independent of each other.
                            unsafe { function.get()(args.get(), items.start, items.end) };
                        }
                    });
                }
            }
            (Launch::Contraction(code, packed), work) => {
                let weights = match packed {
                    Packed::AsKept => std::ptr::null(),
                    Packed::Kept(_) | Packed::Shared(_) => self.packed_weights(packed),
                    Packed::Scratch => {
                        let kernel = work.contract().expect("what packs weights is one contraction");
                        let source = self.source(step.args[kernel.weight.0], args[kernel.weight.0]);
                        let start = scratch.start as *mut f32;
                        let (to, n_pieces) = (Shared(start.cast_const()), code.n_pieces());
                        pool.run(pieces.len(), &|_, shares| {
                            for piece in shares.flat_map(|share| part(n_pieces, share, pieces.len())) {
                                // SAFETY: the session's scratch has room for it, and each piece is packed by one thread.
                                unsafe { code.pack_piece(source, to.get().cast_mut(), piece) };
                            }
                        });
                        start
                    }
                };
                let code_start = Shared(code_of_step.bytes().as_ptr());
                let (args, weights) = (Shared(args.as_ptr()), Shared(weights));
                let (sum, n_args) = (code.sum(), step.args.len());
                pool.run(pieces.len(), &|_, shares| {
                    // SAFETY: `args` are the step's, which outlive the region.
                    let args = unsafe { std::slice::from_raw_parts(args.get(), n_args) };
                    for share in shares {
                        let own = scratch.own(share);
                        for piece in &pieces[share] {
                            // SAFETY: the code is that of this step, the buffers are as large as the plan says, no two pieces
                            // write the same element, and no two shares have the same scratch memory.
                            unsafe { sum.run(code_start.get(), args, weights.get().cast(), own, piece) };
                        }
                    }
                });
            }
            _ => unreachable!("a launch is made from its step"),
        }
        Ok(())
    }

    /// Computes a share of a chain, whose steps have these arguments.
    ///
    /// # Safety
    /// The addresses are those of the buffers, and nothing but other shares of the chain uses them meanwhile.
    unsafe fn launch_share(&self, chain: &Chain, share: usize, n_shares: usize, args: &[Vec<*mut u8>]) {
        for at in chain.steps.clone().filter(|&at| !self.plan.steps[at].once) {
            let (args, code) = (&args[at], self.borrowed[at].as_ref().unwrap_or(&self.code));
            match &self.launches[at] {
                Launch::Nest(nest) => {
                    // SAFETY: the code at the entry is the function that `nest` says it is.
                    let function = unsafe { code.function::<NestFunction>(nest.entry) }.expect("the entry is in the code");
                    let items = part(nest.n_items, share, n_shares);
                    // SAFETY: the plan's accesses lie in their buffers.
                    unsafe { function.get()(args.as_ptr(), items.start, items.end) };
                }
                Launch::Contraction(sum, packed) => {
                    let (start, weights, piece) = (code.bytes().as_ptr(), self.packed_weights(packed), chain.piece(at, share));
                    // SAFETY: the code is that of this step, which needs no scratch memory; the buffers are as large as the plan says.
                    unsafe { sum.sum().run(start, args, weights.cast(), std::ptr::null_mut(), piece) };
                }
                _ => unreachable!("a chain has nests and contractions"),
            }
        }
    }

    /// Evaluates an operator: reads operands from their buffers, writes results into theirs.
    fn call(
        &self,
        step: &Step,
        call: &crate::plan::Fallback,
        args: &[*mut u8],
        fallback: &dyn Fallback,
    ) -> Result<(), Box<Diagnostic>> {
        let bytes = |at: usize| {
            let buffer = &self.plan.buffers[step.args[at]];
            // SAFETY: the address is that of the buffer, which has so many bytes.
            unsafe { slice_at(args[at] as *const u8, buffer.bytes() as usize) }
        };
        let tensor = |&at: &usize| {
            let buffer = &self.plan.buffers[step.args[at]];
            if let Some(constant) = self.constants.tensor(step.args[at]) {
                return constant.clone();
            }
            let shape: Vec<usize> = buffer.shape.iter().map(|&dim| dim as usize).collect();
            Tensor::from_le_bytes(buffer.dtype, &shape, bytes(at)).expect("a buffer holds what its type says")
        };
        let operands = call.operands.iter().map(|(tuple, places)| (*tuple, places.iter().map(tensor).collect())).collect();
        let results = fallback.call(call.call, operands)?;
        for (&at, result) in call.results.iter().zip(results) {
            let from = result.to_le_bytes();
            let n = from.len().min(self.plan.buffers[step.args[at]].bytes() as usize);
            // SAFETY: the buffer has at least so many bytes.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), args[at], n) };
        }
        Ok(())
    }

    /// The names of operators without a kernel, each once.
    pub fn fallbacks(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = vec![];
        for step in self.plan.steps.iter().filter(|step| matches!(step.work, Work::Fallback(_))) {
            for name in step.ops.iter() {
                if !names.contains(name) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// Bytes of weights in memory: packed, computed once, or unpacked if they are read that way.
    pub fn kept_bytes(&self) -> u64 {
        let gone = |(id, buffer): (BufferId, &Buffer)| match buffer.place {
            Place::Kept(_) if self.constants.is_gone(id) => buffer.bytes(),
            _ => 0,
        };
        let gone: u64 = self.plan.buffers.iter_ids().map(gone).sum();
        self.packed.bytes() as u64 + self.plan.kept_bytes.saturating_sub(gone) + self.constants.bytes()
    }

    /// Maximum number of bytes of a step's scratch memory in the arena.
    pub fn scratch_bytes(&self) -> u64 {
        self.plan.scratch.iter().map(Scratch::bytes).max().unwrap_or(0)
    }

    /// Bytes after the arena, for threads beyond those that the plan was made for.
    fn beyond_bytes(&self, threads: usize) -> u64 {
        let own = |scratch: &Scratch| (threads as u64).saturating_sub(scratch.threads) * scratch.own;
        let of_launch = |(scratch, launch): (&Scratch, &Launch)| if launch.shares(threads) > 1 { own(scratch) } else { 0 };
        self.plan.scratch.iter().zip(&self.launches).map(of_launch).max().unwrap_or(0)
    }

    pub fn code_bytes(&self) -> usize {
        self.code.bytes().len()
    }
}

/// Weights that are freed while they are packed, if nothing else reads them.
struct Leaving<'a> {
    address: *const u8,
    bytes: usize,
    leaves: bool,
    id: BufferId,
    place: &'a Place,
    constants: &'a mut Constants,
    kept: &'a mut Region,
}

impl<const N: usize> Source<[u8; N]> for Leaving<'_> {
    fn elements(&self) -> &[[u8; N]] {
        // SAFETY: `addresses` gave the address of this buffer, which has so many bytes; none of them changes while they are
        // borrowed.
        unsafe { slice_at(self.address as *const [u8; N], self.bytes / N) }
    }

    fn done(&mut self, n: usize) {
        match *self.place {
            _ if !self.leaves => {}
            Place::Kept(offset) => self.kept.release(offset as usize, N * n),
            _ => self.constants.give_back(self.id, n),
        }
    }
}

/// The elements at an address; a buffer without elements may have none.
///
/// # Safety
/// Like [`std::slice::from_raw_parts`], if there are elements.
unsafe fn slice_at<'a, T>(address: *const T, n: usize) -> &'a [T] {
    // SAFETY: the caller promises it.
    if n == 0 { &[] } else { unsafe { std::slice::from_raw_parts(address, n) } }
}

/// An all-zero tensor.
pub(super) fn zeros(dtype: DType, shape: &[u64]) -> Tensor {
    let shape: Vec<usize> = shape.iter().map(|&dim| dim as usize).collect();
    Tensor::full(dtype, &shape, 0.0).expect("the dtype of a tensor")
}

/// The context of a step's execution.
struct Means<'a> {
    scratch: step::Scratch,
    fallback: &'a dyn Fallback,
    pool: &'a Pool,
}

/// The scratch memory of a step in an arena; `beyond` is that of threads without any in the arena.
fn scratch_in(arena: *mut u8, of: Scratch, beyond: *mut u8) -> step::Scratch {
    let [at, shared, own, threads] = [of.at, of.shared, of.own, of.threads].map(|number| number as usize);
    step::Scratch { start: arena.wrapping_add(at), shared, own, threads, beyond }
}

/// Arguments: `args, begin, end`, the items of a nest.
type NestFunction = unsafe extern "sysv64" fn(*const *mut u8, usize, usize);

/// Whether a nest's work exceeds the cost of a parallel region.
pub(super) fn is_shared(nest: &NestCode) -> bool {
    nest.n_items as f64 * nest.item_cost_ns > REGION_NS
}

/// Whether filling margins takes longer than a parallel region.
pub(super) fn is_shared_fill(margins: &Margins) -> bool {
    /// Nanoseconds of a row, and bytes that are written in one.
    const ROW_NS: f64 = 5.0;
    const BYTES: f64 = 16.0;
    margins.n_rows() as f64 * ROW_NS + (margins.n_elements() * margins.width) as f64 / BYTES > REGION_NS
}

/// An address that all threads of a region may use.
#[derive(Clone, Copy)]
struct Shared<T>(*const T);

// SAFETY: what is written through it is split among the threads by their items.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn get(&self) -> *const T {
        self.0
    }
}

/// A trace callback: sees the memory before each step, and after the last.
pub type TraceCallback<'a> = &'a mut dyn FnMut(usize, &Memory) -> Result<(), Box<Diagnostic>>;

/// The buffers of a run between two of its steps.
pub struct Memory<'a> {
    program: &'a CompiledPlan,
    addresses: &'a [*mut u8],
}

impl Memory<'_> {
    /// A tensor read from a buffer; `None` for a constant that the program has freed.
    pub fn tensor(&self, id: BufferId, view: &View) -> Option<Tensor> {
        if self.program.constants.is_gone(id) {
            return None;
        }
        let buffer = &self.program.plan.buffers[id];
        let address = self.addresses[id.index()] as *const u8;
        // SAFETY: the address is that of the buffer, which has so many bytes, and no step runs.
        let bytes = unsafe { slice_at(address, buffer.bytes() as usize) };
        let width = usize::from(buffer.dtype.bits.div_ceil(8));
        let mut found = Vec::with_capacity(view.elements() as usize * width);
        let mut index = vec![0u64; view.rank()];
        for _ in 0..view.elements() {
            let at: i64 = index.iter().zip(&view.strides).map(|(&index, &stride)| index as i64 * stride).sum();
            let at = (view.offset + at) as usize * width;
            found.extend_from_slice(&bytes[at..at + width]);
            for axis in (0..index.len()).rev() {
                index[axis] += 1;
                if index[axis] < view.dims[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
        let shape: Vec<usize> = view.dims.iter().map(|&dim| dim as usize).collect();
        Some(Tensor::from_le_bytes(buffer.dtype, &shape, &found).expect("a buffer holds what its type says"))
    }
}

/// The memory and the threads of runs. Sessions of several programs may use it one after the other.
pub struct Workspace {
    memory: Region,
    /// Bytes of address space that it takes at least, and bytes of it that some session needs.
    reserved: usize,
    needed: usize,
    pool: Arc<Pool>,
}

/// Bytes of address space for the sessions of many sizes. Pages that no run has touched are no memory, and a session whose
/// workspace did not move finds all its addresses as they were.
const RESERVED: usize = 1 << 30;

impl Workspace {
    /// A workspace that gets its memory from the session that uses it.
    fn new(pool: Arc<Pool>) -> Workspace {
        Workspace { memory: Region::default(), reserved: 0, needed: 0, pool }
    }

    /// A workspace for the sessions of many sizes.
    pub fn for_sizes(pool: Arc<Pool>) -> Workspace {
        Workspace { reserved: RESERVED, ..Workspace::new(pool) }
    }

    /// Number of bytes that the largest session needs.
    pub fn bytes(&self) -> usize {
        self.needed
    }

    /// Grows to at least this many bytes, and at least to twice what it has.
    #[inline]
    fn grow(&mut self, bytes: usize) -> Result<(), LoadError> {
        if self.memory.bytes() < bytes {
            self.replace(bytes)?;
        }
        self.needed = self.needed.max(bytes);
        Ok(())
    }

    #[cold]
    fn replace(&mut self, bytes: usize) -> Result<(), LoadError> {
        let room = bytes.max(2 * self.memory.bytes()).max(self.reserved);
        // The old memory goes first: between runs it holds nothing.
        self.memory = Region::default();
        self.memory = Region::new(room).or_else(|_| Region::new(bytes)).map_err(LoadError::Memory)?;
        Ok(())
    }
}

/// State that consecutive runs reuse.
pub struct PlanSession {
    program: Arc<CompiledPlan>,
    /// Absent while another session has it.
    workspace: Option<Workspace>,
    /// Bytes of memory that a run needs.
    bytes: usize,
    /// Start of the memory that the addresses are in.
    start: *mut u8,
    /// The pieces of each thread, for each step; steps with the same code share them.
    pieces: Vec<Arc<[Vec<Piece>]>>,
    chains: Vec<Chain>,
    /// The address of each buffer and of each step's arguments, and the positions to which a run writes those of inputs and
    /// outputs.
    addresses: Vec<*mut u8>,
    args: Vec<Vec<*mut u8>>,
    ports: Vec<Port>,
}

// SAFETY: the addresses are of the session's own memory and of the program's, which it keeps.
unsafe impl Send for PlanSession {}
// SAFETY: as above; a run needs the session for itself.
unsafe impl Sync for PlanSession {}

/// A buffer of the caller, and the arguments, by step, that refer to it.
struct Port {
    place: Place,
    buffer: BufferId,
    users: Vec<(usize, usize)>,
}

/// The pieces of each thread.
fn split(launch: &Launch, threads: usize) -> Vec<Vec<Piece>> {
    match launch {
        Launch::Contraction(code, _) => code.split(launch.shares(threads)),
        _ => vec![],
    }
}

impl PlanSession {
    pub fn new(program: Arc<CompiledPlan>, threads: usize) -> Result<PlanSession, LoadError> {
        PlanSession::on(program, Arc::new(Pool::new(threads)))
    }

    /// A session on a shared thread pool; its runs wait for those of others.
    pub fn on(program: Arc<CompiledPlan>, pool: Arc<Pool>) -> Result<PlanSession, LoadError> {
        let mut session = PlanSession::without_memory(program, pool.n_threads());
        session.enter(&mut Some(Workspace::new(pool)))?;
        Ok(session)
    }

    /// A session that runs with this many threads once it has a workspace ([`PlanSession::enter`]).
    pub fn without_memory(program: Arc<CompiledPlan>, threads: usize) -> PlanSession {
        let memory = Region::default();
        let mut known: FxHashMap<Option<*const Compiled>, Arc<[Vec<Piece>]>> = FxHashMap::default();
        let of = |launch: &Launch| {
            let code = match launch {
                Launch::Contraction(code, _) => Some(Arc::as_ptr(code)),
                _ => None,
            };
            known.entry(code).or_insert_with(|| split(launch, threads).into()).clone()
        };
        let pieces = program.launches.iter().map(of).collect();
        let chains = chain::find(&program.plan, &program.launches, threads);
        let addresses = program.addresses(Some(&memory), &[], &mut []);
        let of = |step: &Step| step.args.iter().map(|&id| addresses[id.index()]).collect();
        let args = program.plan.steps.iter().map(of).collect();
        let port = |(buffer, of): (BufferId, &Buffer)| match &of.place {
            place @ (Place::Input(_) | Place::Output(_)) => Some(Port { place: place.clone(), buffer, users: vec![] }),
            _ => None,
        };
        let mut ports: Vec<Port> = program.plan.buffers.iter_ids().filter_map(port).collect();
        for (at, step) in program.plan.steps.iter().enumerate() {
            for (arg, &id) in step.args.iter().enumerate() {
                // They are in the order of the buffers.
                if let Ok(port) = ports.binary_search_by_key(&id, |port| port.buffer) {
                    ports[port].users.push((at, arg));
                }
            }
        }
        let bytes = (program.plan.arena_bytes + program.beyond_bytes(threads)) as usize;
        PlanSession { workspace: None, bytes, start: memory.start(), pieces, chains, addresses, args, ports, program }
    }

    /// Takes a workspace with as many threads as the session, whose memory grows to what a run needs. Errors: the system gives
    /// none; the workspace is then left where it was, without memory.
    #[inline]
    pub fn enter(&mut self, workspace: &mut Option<Workspace>) -> Result<(), LoadError> {
        let Some(taken) = workspace else { return Ok(()) };
        taken.grow(self.bytes)?;
        if taken.memory.start() != self.start {
            self.move_to(&taken.memory);
        }
        self.workspace = workspace.take();
        Ok(())
    }

    #[cold]
    fn move_to(&mut self, memory: &Region) {
        self.start = memory.start();
        self.addresses = self.program.addresses(Some(memory), &[], &mut []);
        for (args, step) in self.args.iter_mut().zip(&self.program.plan.steps) {
            args.iter_mut().zip(&step.args).for_each(|(arg, id)| *arg = self.addresses[id.index()]);
        }
    }

    /// Its workspace, if it has one.
    pub fn workspace(&self) -> Option<&Workspace> {
        self.workspace.as_ref()
    }

    /// Gives up its workspace.
    #[inline]
    pub fn leave(&mut self) -> Option<Workspace> {
        self.workspace.take()
    }

    /// Runs the plan from the leaves of its inputs to those of its outputs, each with as many bytes as its type states. Calls
    /// `before` before each step, or before several of which no thread waits for another.
    ///
    /// Errors: the trap of an operator without a kernel; an error of `before`, which ends the run.
    pub fn run(
        &mut self,
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]],
        fallback: &dyn Fallback,
        before: impl Fn(usize) -> Result<(), Box<Diagnostic>>,
    ) -> Result<(), Box<Diagnostic>> {
        self.bind(inputs, outputs);
        let pool = &self.in_workspace().pool;
        let mut next = 0;
        for chain in &self.chains {
            (next..chain.steps.start).try_for_each(|at| before(at).and_then(|()| self.step(at, fallback)))?;
            before(chain.steps.start)?;
            let (args, n_shares) = (Shared(&raw const self.args), pool.n_threads());
            pool.run(n_shares, &|_, shares| {
                for share in shares {
                    // SAFETY: the arguments outlive the region; no share writes what another one accesses.
                    unsafe { self.program.launch_share(chain, share, n_shares, &*args.get()) };
                }
            });
            next = chain.steps.end;
        }
        (next..self.args.len()).try_for_each(|at| before(at).and_then(|()| self.step(at, fallback)))
    }

    /// Like [`PlanSession::run`]; calls `before` with the memory before each step, and after the last.
    pub fn run_followed(
        &mut self,
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]],
        fallback: &dyn Fallback,
        before: TraceCallback,
    ) -> Result<(), Box<Diagnostic>> {
        self.bind(inputs, outputs);
        let memory = Memory { program: &self.program, addresses: &self.addresses };
        for (at, step) in self.program.plan.steps.iter().enumerate() {
            if !step.once {
                before(at, &memory)?;
                self.step(at, fallback)?;
            }
        }
        before(self.args.len(), &memory)
    }

    /// Takes the addresses of inputs and outputs.
    fn bind(&mut self, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) {
        let plan = &self.program.plan;
        let fits =
            |ids: &[BufferId], at: usize, len: usize| ids.get(at).is_some_and(|&id| plan.buffers[id].bytes() as usize == len);
        let right = plan.inputs.len() == inputs.len()
            && plan.outputs.len() == outputs.len()
            && inputs.iter().enumerate().all(|(at, bytes)| fits(&plan.inputs, at, bytes.len()))
            && outputs.iter().enumerate().all(|(at, bytes)| fits(&plan.outputs, at, bytes.len()));
        assert!(right, "inputs and outputs are as many and as large as the plan says");
        for port in &self.ports {
            let address = match port.place {
                Place::Input(at) => inputs[at].as_ptr() as *mut u8,
                Place::Output(at) => outputs[at].as_mut_ptr(),
                _ => unreachable!("a port is an input or an output"),
            };
            self.addresses[port.buffer.index()] = address;
            for &(step, arg) in &port.users {
                self.args[step][arg] = address;
            }
        }
    }

    fn in_workspace(&self) -> &Workspace {
        self.workspace.as_ref().expect("a session has a workspace when it runs")
    }

    /// Runs a step that is not run once.
    fn step(&self, at: usize, fallback: &dyn Fallback) -> Result<(), Box<Diagnostic>> {
        let (program, Workspace { memory, pool, .. }) = (&*self.program, self.in_workspace());
        if program.plan.steps[at].once {
            return Ok(());
        }
        let arena = memory.start();
        let scratch = scratch_in(arena, program.plan.scratch[at], arena.wrapping_add(program.plan.arena_bytes as usize));
        program.launch(at, &self.args[at], &self.pieces[at], &Means { scratch, fallback, pool })
    }

    pub fn program(&self) -> &CompiledPlan {
        &self.program
    }
}
