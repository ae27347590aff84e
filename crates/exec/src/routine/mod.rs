//! Runs routines: operations whose iterations depend on each other or on data, as loops over the tensors of a step.
//!
//! A routine is the runtime's (`relayc_runtime`), so artifacts have it too. It reads and writes the bytes of its arguments, which
//! may be unaligned, and allocates nothing. It gives the same
//! bytes for any number of threads: lines are independent, and one thread scatters in order. Invalid data is left to the
//! operator's evaluation, which reports the error ([`Outside`]).

mod boxes;
pub(crate) mod lines;
pub(crate) mod requantize;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod sort;

use relayc_codegen::pool::{Pool, part};
use relayc_ir::kernel::Routine;
use relayc_ir::types::{DType, DTypeCode};
use relayc_runtime::number::Number;

/// The data is invalid: an index is out of range, or scales have no quotient.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outside;

/// The bytes of a tensor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes {
    start: *mut u8,
    len: usize,
}

// SAFETY: who makes one says that threads write different elements, and that nobody reads what another writes.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

impl Bytes {
    /// # Safety
    /// There are `len` bytes, readable and, for a result, writable, while this or a copy of it is used. No thread writes what
    /// another one reads or writes meanwhile.
    pub(crate) unsafe fn new(start: *mut u8, len: usize) -> Bytes {
        Bytes { start, len }
    }

    /// These bytes, which are so many.
    fn holding(self, len: usize) -> Bytes {
        assert!(self.len >= len, "the lines of the tensor");
        self
    }
}

/// Bytes of an element, and what they mean.
fn number(dtype: DType) -> (usize, Number) {
    let number = match dtype {
        DType::F16 => Number::Float(10),
        DType::BF16 => Number::Float(7),
        DType::F32 => Number::Float(23),
        DType::F64 => Number::Float(52),
        dtype if dtype.is_bool() => Number::Bool,
        dtype if dtype.code == DTypeCode::Int => Number::Signed,
        _ => Number::Unsigned,
    };
    (dtype.bytes() as usize, number)
}

/// The context in which a routine runs.
pub(crate) struct RoutineContext<'a> {
    pub(crate) pool: &'a Pool,
    /// Number of tasks.
    pub(crate) shares: usize,
    /// Scratch memory of each task: [`scratch_bytes`] bytes, aligned to a cache line.
    pub(crate) scratch: &'a (dyn Fn(usize) -> *mut u8 + Sync),
}

impl RoutineContext<'_> {
    /// Calls `each` for every line, with the scratch memory of its task.
    fn lines(&self, n: u64, each: &(dyn Fn(usize, *mut u8) + Sync)) {
        self.pool.run(self.shares, &|_, shares| {
            for share in shares {
                part(n as usize, share, self.shares).for_each(|line| each(line, (self.scratch)(share)));
            }
        });
    }
}

/// Number of bytes of scratch memory for each thread.
pub(crate) fn scratch_bytes(routine: &Routine) -> u64 {
    match routine {
        Routine::Sort(sort) => sort::of_kernel(sort).scratch_bytes(),
        Routine::Requantize(work) => requantize::of_kernel(work).scratch_bytes(),
        Routine::Scatter(_) | Routine::Scan(_) => 0,
        _ => lines::of_kernel(routine).map_or(0, |of| of.work.scratch_bytes()),
    }
}

/// Number of useful threads: one for short work.
pub(crate) fn shares(routine: &Routine, threads: usize) -> usize {
    let lines = match routine {
        Routine::Sort(sort) => sort.lines,
        Routine::Scan(scan) => scan.lines,
        Routine::Requantize(work) => {
            let elements = work.lines.count() * work.lines.length;
            return if elements < SMALL { 1 } else { threads.max(1) };
        }
        Routine::Scatter(_) => return 1,
        _ => match lines::of_kernel(routine) {
            Some(of) => of.lines,
            None => return 1,
        },
    };
    let small = lines.count().saturating_mul(lines.length) < SMALL;
    if small { 1 } else { threads.clamp(1, usize::try_from(lines.count()).unwrap_or(usize::MAX).max(1)) }
}

/// Work on fewer elements than this is not shared among threads.
const SMALL: u64 = 4096;

/// Maximum number of arguments of a routine.
const MAX_ARGS: usize = 8;

/// Runs a routine on its arguments. Errors: invalid data; the results are then undefined.
pub(crate) fn run(routine: &Routine, n_args: usize, arg: &dyn Fn(usize) -> Bytes, means: &RoutineContext) -> Result<(), Outside> {
    let mut args = [arg(0); MAX_ARGS];
    let n_args = n_args.min(MAX_ARGS);
    args[..n_args].iter_mut().enumerate().for_each(|(at, own)| *own = arg(at));
    let args = &args[..n_args];
    match routine {
        Routine::Sort(sort) => sort::run(sort, args, means),
        Routine::Scatter(scatter) => return scatter::run(scatter, args),
        Routine::Scan(scan) => scan::run(scan, args, means),
        Routine::Requantize(work) => return requantize::run(work, args, means),
        _ => return lines::of_kernel(routine).map_or(Err(Outside), |of| lines::run(&of, args, means)),
    }
    Ok(())
}

/// The name of a routine, and the reason why it is one.
pub(crate) fn words(routine: &Routine) -> (String, &'static str) {
    match routine {
        Routine::Sort(sort) => {
            let what = if sort.take < sort.lines.length { format!("the first {} of", sort.take) } else { "all of".to_owned() };
            let name = format!("sort, {what} each of {} lines of {}", sort.lines.count(), sort.lines.length);
            (name, "the order hangs on the data: keys with their positions are sorted")
        }
        Routine::Scatter(scatter) => {
            (format!("scatter to {:?}", scatter.data), "where elements go hangs on the data: they are put one after the other")
        }
        Routine::Requantize(work) => {
            let name = format!("requantize, {} scales of {} elements each", work.n_scales, work.lines.inner);
            (name, "multipliers and shifts are made of the scales, one for each position of an axis")
        }
        Routine::Scan(scan) => {
            let name = format!("scan, {} lines of {}", scan.lines.count(), scan.lines.length);
            (name, "each element needs the one before it: a line is done from its begin to its end")
        }
        _ => lines::words(routine),
    }
}
