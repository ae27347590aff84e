//! The steps of a program, and their tasks.

use super::contraction::{self, Sum};
use super::fault::Fault;
use super::integer::index;
use super::layout::{MAX_RANK, kind, outside, weights};
use super::lines;
use super::margins::Margins;
use super::operands;
use super::pack::Packing;
use super::pool::Pool;
use super::region::Task;
use super::requantize::{Operands, Requantize, Wrong};
use super::scan::Scan;
use super::scatter::{self, Outside, Scatter};
use super::sort::Sort;
use super::split::{Piece, part};
use super::system::Heap;
use super::words::Words;

/// Arguments: `args, begin, end`, the items of a loop nest.
type Nest = unsafe extern "sysv64" fn(*const *mut u8, usize, usize);

/// Addresses of buffers by number.
type Args<'a> = &'a [*mut u8];

/// The context that all steps share.
#[derive(Clone, Copy)]
pub(crate) struct StepContext {
    pub(crate) image: *const u8,
    /// The code of the target.
    pub(crate) code: *const u8,
    pub(crate) arena: *mut u8,
    /// Scratch memory of threads without any in the arena.
    pub(crate) beyond: *mut u8,
}

/// The scratch memory of a step: the shared part, followed by that of each thread that has some in the arena.
#[derive(Clone, Copy)]
pub struct Scratch {
    pub start: *mut u8,
    /// Bytes of the shared part, and of each thread.
    pub shared: usize,
    pub own: usize,
    pub threads: usize,
    /// Scratch memory of the other threads.
    pub beyond: *mut u8,
}

// SAFETY: each share has a stretch of its own, and what all see is written before they begin.
unsafe impl Send for Scratch {}
// SAFETY: as above.
unsafe impl Sync for Scratch {}

impl Scratch {
    fn read(words: &mut Words, means: &StepContext) -> Scratch {
        let start = means.arena.wrapping_add(words.number());
        Scratch { start, shared: words.number(), own: words.number(), threads: words.number(), beyond: means.beyond }
    }

    /// The scratch memory of a task, by the number of the thread that it was made for.
    pub fn own(&self, thread: usize) -> *mut u8 {
        match thread.checked_sub(self.threads) {
            None => self.start.wrapping_add(self.shared + thread * self.own),
            Some(more) => self.beyond.wrapping_add(more * self.own),
        }
    }
}

/// A step, ready to run.
#[derive(Clone, Copy)]
#[allow(clippy::large_enum_variant, reason = "nothing is boxed here: there is no allocator, and steps are few")]
pub(crate) enum Step<'a> {
    Nothing,
    Fill { at: *mut u8, margins: Margins<'a>, alone: bool },
    Move { from: *mut u8, to: *mut u8, together: usize, dims: &'a [i64], steps: [&'a [i64]; 2] },
    Positions(Positions<'a>),
    Guard { at: *mut u8, code: u32, message: [u64; 2] },
    Nest { entry: Nest, args: Args<'a>, n_items: usize, alone: bool },
    Contraction(ContractionCall<'a>),
    Sort(SortCall),
    Scan { scan: Scan, data: *mut u8, result: *mut u8, alone: bool },
    Requantize(RequantizeCall),
    Scatter(ScatterCall<'a>),
    Lines(LinesCall),
}

/// A sort with its buffers; a result that nothing takes has no address.
#[derive(Clone, Copy)]
pub(crate) struct SortCall {
    sort: Sort,
    data: *mut u8,
    values: *mut u8,
    positions: *mut u8,
    scratch: Scratch,
    alone: bool,
}

/// A requantization with its buffers, and the code and the text of each failure.
#[derive(Clone, Copy)]
pub(crate) struct RequantizeCall {
    work: Requantize,
    operands: Operands,
    messages: [(u32, [u64; 2]); 2],
    scratch: Scratch,
    alone: bool,
}

/// A scatter with its buffers, and the error for an index outside of each axis, like those of [`Positions`].
#[derive(Clone, Copy)]
pub(crate) struct ScatterCall<'a> {
    work: Scatter<'a>,
    operands: scatter::Operands,
    axes: &'a [i64],
}

/// Work in lines with its buffers; operands that it does not have have no address.
#[derive(Clone, Copy)]
pub(crate) struct LinesCall {
    work: lines::Work,
    /// The errors for wrong operands: a code, and the texts before and after a number.
    messages: [(u32, [u64; 4]); lines::MESSAGES],
    operands: operands::Operands,
    scratch: Scratch,
    alone: bool,
}

/// Converts integers to positions inside axes.
#[derive(Clone, Copy)]
pub(crate) struct Positions<'a> {
    from: *mut u8,
    to: *mut u8,
    /// Bytes of an index, and whether it is signed.
    width: usize,
    signed: bool,
    outside: u64,
    /// Number of indices along each axis.
    part: usize,
    n: usize,
    /// For each axis its length, and the error for an index out of range: a code, and the texts before and after the index.
    axes: &'a [i64],
}

/// Number of words of an axis.
const AXIS: usize = 6;

/// A contraction with its threads' tasks.
#[derive(Clone, Copy)]
pub(crate) struct ContractionCall<'a> {
    args: Args<'a>,
    scratch: Scratch,
    sum: Sum<'a>,
    weights: Weights<'a>,
    /// Start of each thread's pieces, and the end of the last one's.
    shares: &'a [u32],
    pieces: &'a [Piece],
}

#[derive(Clone, Copy)]
enum Weights<'a> {
    At(*const u8),
    EachRun(*mut u8, Packing<'a>),
}

impl<'a> Step<'a> {
    /// Reads a step; `packed` are the weights that the instance has packed. `None` without memory.
    pub(crate) fn read(
        words: &mut Words<'a>,
        means: &StepContext,
        buffers: &[*mut u8],
        packed: &[*const u8],
        pool: &Pool,
        heap: &mut Heap,
    ) -> Option<Step<'a>> {
        let buffer = |words: &mut Words| buffers[words.number()];
        // One more than the number of a buffer, or 0 for none.
        let optional = |words: &mut Words| words.number().checked_sub(1).map_or(core::ptr::null_mut(), |number| buffers[number]);
        Some(match words.word() {
            kind::FILL => {
                let (at, alone) = (buffer(words), words.word() != 0);
                let (width, bits, piece) = (words.number(), words.word(), words.number());
                Step::Fill { at, alone, margins: Margins { width, bits, piece, axes: words.list().as_chunks().0 } }
            }
            kind::MOVE => {
                let (from, to) = (buffer(words), buffer(words));
                let from = from.wrapping_offset(words.signed() as isize);
                let to = to.wrapping_offset(words.signed() as isize);
                Step::Move { from, to, together: words.number(), dims: words.list(), steps: [words.list(), words.list()] }
            }
            kind::POSITIONS => Step::Positions(Positions {
                from: buffer(words),
                to: buffer(words),
                width: words.number(),
                signed: words.word() != 0,
                outside: words.word(),
                part: words.number(),
                n: words.number(),
                axes: words.list(),
            }),
            kind::GUARD => Step::Guard { at: buffer(words), code: words.word() as u32, message: [words.word(), words.word()] },
            kind::NEST => {
                let entry = means.code.wrapping_add(words.number());
                // SAFETY: the image says that such a function is there.
                let entry: Nest = unsafe { core::mem::transmute(entry) };
                let (n_items, alone) = (words.number(), words.word() != 0);
                Step::Nest { entry, n_items, alone, args: args(words, buffers, heap)? }
            }
            kind::CONTRACT => Step::Contraction(ContractionCall::read(words, means, buffers, packed, pool, heap)?),
            kind::SORT => {
                let [data, values, positions] = core::array::from_fn(|_| optional(words));
                let (alone, scratch) = (words.word() != 0, Scratch::read(words, means));
                Step::Sort(SortCall { sort: Sort::read(words), data, values, positions, scratch, alone })
            }
            kind::SCAN => {
                let (data, result, alone) = (buffer(words), buffer(words), words.word() != 0);
                Step::Scan { scan: Scan::read(words), data, result, alone }
            }
            kind::REQUANTIZE => {
                let operands = core::array::from_fn(|_| buffer(words));
                let (alone, scratch) = (words.word() != 0, Scratch::read(words, means));
                let mut message = || (words.word() as u32, [words.word(), words.word()]);
                let messages = [message(), message()];
                Step::Requantize(RequantizeCall { work: Requantize::read(words), operands, messages, scratch, alone })
            }
            kind::SCATTER => {
                let operands = core::array::from_fn(|_| buffer(words));
                Step::Scatter(ScatterCall { operands, axes: words.list(), work: Scatter::read(words) })
            }
            kind::LINES => {
                let operands = core::array::from_fn(|_| optional(words));
                let (alone, scratch) = (words.word() != 0, Scratch::read(words, means));
                let messages = core::array::from_fn(|_| (words.word() as u32, core::array::from_fn(|_| words.word())));
                Step::Lines(LinesCall { work: lines::Work::read(words), messages, operands, scratch, alone })
            }
            _ => Step::Nothing,
        })
    }

    /// Runs it. Errors: the failure of the operator.
    ///
    /// # Safety
    /// The buffers are those of the program, with its inputs; nobody else uses them meanwhile.
    pub(crate) unsafe fn run(&self, means: &StepContext, pool: &Pool) -> Result<(), Fault> {
        match self {
            Step::Nothing => {}
            Step::Fill { at, margins, alone } => {
                let n_shares = if *alone { 1 } else { pool.n_threads() };
                let call = Apart((*at, margins));
                let share = |number| {
                    let (at, margins) = call.get();
                    // SAFETY: the rows lie in the buffer, and are different in each share.
                    unsafe { margins.fill(*at, part(margins.n_rows(), number, n_shares)) };
                };
                // SAFETY: no step runs inside of another.
                unsafe { pool.run(n_shares, &share) };
            }
            Step::Move { from, to, together, dims, steps } => {
                // SAFETY: the places lie in the two buffers.
                unsafe { move_elements(*from, *to, *together, dims, *steps) };
            }
            // SAFETY: the buffers hold what the image says.
            Step::Positions(positions) => unsafe { positions.run()? },
            Step::Guard { at, code, message } => {
                // SAFETY: the buffer holds a bool, which is a byte.
                if unsafe { at.read() } != 0 {
                    return Err(Fault { code: *code, before: *message, index: None, behind: [0; 2] });
                }
            }
            Step::Nest { entry, args, n_items, alone } => {
                let n_shares = if *alone { 1 } else { pool.n_threads().min(*n_items) };
                if n_shares <= 1 {
                    // SAFETY: the code's accesses lie in its buffers.
                    unsafe { entry(args.as_ptr(), 0, *n_items) };
                } else {
                    let args = Apart(args);
                    let share = |number| {
                        let items = part(*n_items, number, n_shares);
                        // SAFETY: as above; items are independent of each other.
                        unsafe { entry(args.get().as_ptr(), items.start, items.end) };
                    };
                    // SAFETY: no step runs inside of another.
                    unsafe { pool.run(n_shares, &share) };
                }
            }
            // SAFETY: as this function.
            Step::Contraction(contract) => unsafe { contract.run(means, pool) },
            // SAFETY: as this function.
            Step::Sort(call) => unsafe { call.run(pool) },
            Step::Scan { scan, data, result, alone } => {
                let n_shares = if *alone { 1 } else { pool.n_threads().clamp(1, scan.n_lines.max(1)) };
                let call = Apart((scan, *data, *result));
                let share = |number| {
                    let (scan, data, result) = call.get();
                    // SAFETY: the buffers hold the lines, which are different in each share.
                    unsafe { scan.lines(part(scan.n_lines, number, n_shares), *data, *result) };
                };
                // SAFETY: no step runs inside of another.
                unsafe { pool.run(n_shares, &share) };
            }
            // SAFETY: as this function.
            Step::Requantize(call) => unsafe { call.run(pool)? },
            Step::Scatter(ScatterCall { work, operands, axes }) => {
                // SAFETY: the buffers hold the operands.
                unsafe { work.run(operands) }.map_err(|Outside { axis, index }| outside(&axes[axis * AXIS..][..AXIS], index))?;
            }
            // SAFETY: as this function.
            Step::Lines(call) => unsafe { call.run(pool)? },
        }
        Ok(())
    }
}

impl<'a> ContractionCall<'a> {
    fn read(
        words: &mut Words<'a>,
        means: &StepContext,
        buffers: &[*mut u8],
        packed: &[*const u8],
        pool: &Pool,
        heap: &mut Heap,
    ) -> Option<ContractionCall<'a>> {
        let args = args(words, buffers, heap)?;
        let alone = words.word() != 0;
        let scratch = Scratch::read(words, means);
        let weights = match words.word() {
            weights::PACKED => Weights::At(means.image.wrapping_add(words.number())),
            weights::EACH_RUN => Weights::EachRun(buffers[words.number()], Packing::read(words)),
            weights::AT_LOAD => Weights::At(packed[words.number()]),
            _ => Weights::At(core::ptr::null()),
        };
        let work = contraction::work(words);
        // SAFETY: the words name places of their own image.
        let sum = Sum::read(words, unsafe { Words::at(means.image, 0) });
        let threads = if alone { 1 } else { pool.n_threads() };
        let mut n = 0;
        work.split(threads, |_, _| n += 1);
        let pieces = heap.take(n, Piece::NONE)?;
        let shares = heap.take(threads + 1, n as u32)?;
        shares[0] = 0;
        let (mut at, mut of) = (0, 0);
        work.split(threads, |thread, piece| {
            while of < thread {
                of += 1;
                shares[of] = at as u32;
            }
            pieces[at] = piece;
            at += 1;
        });
        Some(ContractionCall { args, scratch, sum, weights, shares, pieces })
    }

    /// # Safety
    /// Like [`Step::run`].
    unsafe fn run(&self, means: &StepContext, pool: &Pool) {
        let shared = Apart((self, means));
        let n_shares = self.shares.len() - 1;
        // SAFETY: no step runs inside of another.
        let each = |share: Task| unsafe { pool.run(n_shares, share) };
        if let Weights::EachRun(source, packing) = self.weights {
            // SAFETY: the scratch memory has room for them; as above.
            unsafe { pack(&packing, source, self.scratch.start, pool, n_shares) };
        }
        each(&|number| {
            let (this, means) = shared.get();
            let packed = match this.weights {
                Weights::At(packed) => packed,
                Weights::EachRun(..) => this.scratch.start,
            };
            let own = this.scratch.own(number);
            for piece in &this.pieces[this.shares[number] as usize..this.shares[number + 1] as usize] {
                // SAFETY: no two pieces write the same element, and no two shares have the same scratch memory.
                unsafe { this.sum.run(means.code, this.args, packed, own, piece) };
            }
        });
    }
}

impl SortCall {
    /// # Safety
    /// Like [`Step::run`].
    unsafe fn run(&self, pool: &Pool) {
        let n_shares = if self.alone { 1 } else { pool.n_threads().clamp(1, self.sort.n_lines.max(1)) };
        let call = Apart(self);
        let share = |number| {
            let SortCall { sort, data, values, positions, scratch, .. } = call.get();
            for line in part(sort.n_lines, number, n_shares) {
                // SAFETY: the buffers hold the lines, which are different in each share, as is the scratch memory.
                unsafe { sort.line(line, *data, *values, *positions, scratch.own(number)) };
            }
        };
        // SAFETY: no step runs inside of another.
        unsafe { pool.run(n_shares, &share) };
    }
}

impl LinesCall {
    /// # Safety
    /// Like [`Step::run`].
    unsafe fn run(&self, pool: &Pool) -> Result<(), Fault> {
        // SAFETY: the buffers hold the operands.
        if let Err(operands::Wrong { message, number }) = unsafe { self.work.check(&self.operands) } {
            let (code, [a, b, c, d]) = self.messages[message];
            return Err(Fault { code, before: [a, b], index: number, behind: [c, d] });
        }
        let n_lines = self.work.n_lines();
        let n_shares = if self.alone { 1 } else { pool.n_threads().clamp(1, n_lines.max(1)) };
        let call = Apart(self);
        let share = |number| {
            let LinesCall { work, operands, scratch, .. } = call.get();
            for line in part(n_lines, number, n_shares) {
                // SAFETY: the buffers hold the lines, which are different in each share, as is the scratch memory.
                unsafe { work.line(line, operands, scratch.own(number)) };
            }
        };
        // SAFETY: no step runs inside of another; all lines are done behind it.
        unsafe {
            pool.run(n_shares, &share);
            self.work.finish(&self.operands);
        }
        Ok(())
    }
}

impl RequantizeCall {
    /// # Safety
    /// Like [`Step::run`].
    unsafe fn run(&self, pool: &Pool) -> Result<(), Fault> {
        // SAFETY: the buffers hold the operands.
        if let Err(wrong) = unsafe { self.work.check(&self.operands) } {
            let (code, before) = self.messages[usize::from(wrong == Wrong::NoQuotient)];
            return Err(Fault { code, before, index: None, behind: [0; 2] });
        }
        let n_shares = if self.alone { 1 } else { pool.n_threads().clamp(1, self.work.n.max(1)) };
        let call = Apart(self);
        let share = |number| {
            let RequantizeCall { work, operands, scratch, .. } = call.get();
            // SAFETY: the elements are different in each share, as is the scratch memory.
            unsafe { work.elements(part(work.n, number, n_shares), operands, scratch.own(number)) };
        };
        // SAFETY: no step runs inside of another.
        unsafe { pool.run(n_shares, &share) };
        Ok(())
    }
}

/// Packs weights, in some shares.
///
/// # Safety
/// The source has every element that the packing names, `packed` has room for all pieces, and no region of the pool runs.
pub(crate) unsafe fn pack(packing: &Packing, source: *const u8, packed: *mut u8, pool: &Pool, n_shares: usize) {
    let (source, packed, packing) = (Apart(source), Apart(packed.cast::<f32>()), Apart(packing));
    let share = |number| {
        for piece in part(packing.get().n_pieces(), number, n_shares) {
            // SAFETY: as the caller says; each piece is packed in one share.
            unsafe { packing.get().pack(*source.get(), *packed.get(), piece) };
        }
    };
    // SAFETY: as the caller says.
    unsafe { pool.run(n_shares, &share) };
}

impl Positions<'_> {
    /// # Safety
    /// The buffers are as large as the image says.
    unsafe fn run(&self) -> Result<(), Fault> {
        let part = self.part.max(1);
        for first in (0..self.n).step_by(part) {
            let axis = &self.axes[first / part * AXIS..][..AXIS];
            let (from, to) = (self.from.wrapping_add(first * self.width), self.to.cast::<i32>().wrapping_add(first));
            let (n, length) = (part.min(self.n - first), axis[0] as u64);
            // SAFETY: the indices are there, and there is room for each.
            let done = unsafe { positions(from, (self.width, self.signed), to, n, length, self.outside) };
            done.map_err(|index| outside(axis, index))?;
        }
        Ok(())
    }
}

/// Converts indices to positions inside an axis of this length, as [`position`] does each. Errors: the first index out of range.
///
/// # Safety
/// `from` has `n` integers of so many bytes, signed or not, and `to` room for as many positions.
pub unsafe fn positions(
    from: *const u8,
    (width, signed): (usize, bool),
    to: *mut i32,
    n: usize,
    length: u64,
    outside: u64,
) -> Result<(), i128> {
    // SAFETY: as the caller says.
    let all_inside = unsafe {
        match (width, signed) {
            (4, true) => are_positions::<i32>(from.cast(), to, n, length),
            (8, true) => are_positions::<i64>(from.cast(), to, n, length),
            _ => false,
        }
    };
    for at in 0..if all_inside { 0 } else { n } {
        // SAFETY: as the caller says.
        unsafe {
            let index = index(from.wrapping_add(at * width), width, signed);
            to.wrapping_add(at).write(position(index, length.into(), outside).ok_or(index)?);
        }
    }
    Ok(())
}

/// Writes indices as positions, and returns whether all of them are. All are compared: loops that end early have no vectors.
///
/// # Safety
/// As for [`positions`].
unsafe fn are_positions<T: Copy + Into<i64>>(from: *const T, to: *mut i32, n: usize, length: u64) -> bool {
    (0..n).fold(true, |inside, at| {
        // SAFETY: as the caller says.
        let index: i64 = unsafe { from.wrapping_add(at).read_unaligned() }.into();
        // SAFETY: as above.
        unsafe { to.wrapping_add(at).write(index as i32) };
        // Seen as unsigned, what is negative is beyond every axis.
        inside & ((index as u64) < length)
    })
}

/// The fault for an index outside of an axis, given the words of the axis.
fn outside(axis: &[i64], index: i128) -> Fault {
    let texts = [axis[2], axis[3], axis[4], axis[5]].map(|word| word as u64);
    let [before, behind] = [[texts[0], texts[1]], [texts[2], texts[3]]];
    Fault { code: axis[1] as u32, before, index: Some(index), behind }
}

/// The position inside an axis for an index of at most 65 bits; `outside` ([`outside`]) selects the treatment of one out of
/// range. `None` if that fails.
#[inline]
pub fn position(index: i128, length: i128, outside: u64) -> Option<i32> {
    Some(match outside {
        _ if (0..length).contains(&index) => index as i32,
        outside::NEAREST => index.clamp(0, length - 1) as i32,
        outside::ROUND => index.rem_euclid(length) as i32,
        outside::NOWHERE => -1,
        _ => return None,
    })
}

/// The buffers that the words name, as the argument list of code.
fn args<'a>(words: &mut Words, buffers: &[*mut u8], heap: &mut Heap) -> Option<Args<'a>> {
    let list = words.sizes();
    let args = heap.take(list.len(), core::ptr::null_mut())?;
    args.iter_mut().zip(list).for_each(|(arg, &buffer)| *arg = buffers[buffer as usize]);
    Some(args)
}

/// Moves elements, `together` bytes at a time; steps are in bytes.
///
/// # Safety
/// Every element lies in one of two buffers, which do not overlap.
pub unsafe fn move_elements(mut from: *const u8, mut to: *mut u8, together: usize, dims: &[i64], steps: [&[i64]; 2]) {
    let total: i64 = dims.iter().product();
    let mut index = [0i64; MAX_RANK];
    for _ in 0..total {
        // SAFETY: the caller promises it of every index.
        unsafe { core::ptr::copy_nonoverlapping(from, to, together) };
        for axis in (0..dims.len()).rev() {
            index[axis] += 1;
            from = from.wrapping_offset(steps[0][axis] as isize);
            to = to.wrapping_offset(steps[1][axis] as isize);
            if index[axis] < dims[axis] {
                break;
            }
            from = from.wrapping_offset((-steps[0][axis] * index[axis]) as isize);
            to = to.wrapping_offset((-steps[1][axis] * index[axis]) as isize);
            index[axis] = 0;
        }
    }
}

/// A value that all threads of a region may access.
#[derive(Clone, Copy)]
struct Apart<T>(T);

// SAFETY: what is written through it is split among the threads.
unsafe impl<T> Sync for Apart<T> {}

impl<T> Apart<T> {
    fn get(&self) -> &T {
        &self.0
    }
}
