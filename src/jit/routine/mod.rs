//! Routines, run: loops of this crate over the tensors of a step, for what no loop nest says.
//!
//! They read and write the bytes of their arguments, which may begin anywhere, allocate nothing, and give the same bytes for any
//! number of threads: lines are independent of each other, and what is put somewhere is put in order by one thread. What the
//! data forbids is left to the operator's evaluation, which says what is wrong ([`Outside`]).

mod requantize;
mod scan;
mod scatter;
mod sort;

use super::pool::{Pool, part};
use crate::kernel::Routine;
use crate::tensor::Element;

/// The data forbids it: an index leads out of its axis, scales have no quotient.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outside;

/// The bytes of a tensor.
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    start: *mut u8,
    len: usize,
}

// SAFETY: who makes one says that threads write different elements, and that nobody reads what another writes.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

impl Bytes {
    /// # Safety
    /// There are so many bytes, to be read and, if they are a result's, to be written, as long as this or a copy of it is used.
    /// No thread writes what another one reads or writes meanwhile.
    pub unsafe fn new(start: *mut u8, len: usize) -> Bytes {
        Bytes { start, len }
    }

    fn get<T: Element>(self, at: usize) -> T {
        let width = size_of::<T>();
        assert!(at < self.len / width, "an element of the tensor");
        // SAFETY: the element is inside; by the contract of `Bytes::new` no other thread writes it meanwhile.
        T::read_le(unsafe { std::slice::from_raw_parts(self.start.add(at * width), width) })
    }

    fn put<T: Element>(self, at: usize, value: T) {
        assert!(at < self.len / size_of::<T>(), "an element of the tensor");
        // SAFETY: the element is inside, and it is a result's; by the contract of `Bytes::new` no other thread names it meanwhile.
        unsafe { self.start.cast::<T>().add(at).write_unaligned(value) };
    }

    /// The bytes of another tensor of the same size.
    fn copy_from(self, other: Bytes) {
        assert!(self.len == other.len, "tensors of one size");
        // SAFETY: both have so many bytes, and are two tensors.
        unsafe { std::ptr::copy_nonoverlapping(other.start, self.start, self.len) };
    }
}

/// What a routine runs in.
pub struct Means<'a> {
    pub pool: &'a Pool,
    /// How many shares there are.
    pub shares: usize,
    /// The scratch memory of each, of [`scratch_bytes`], at a multiple of a cache line.
    pub scratch: &'a (dyn Fn(usize) -> *mut u8 + Sync),
}

impl Means<'_> {
    /// Calls `each` for every line, with the scratch memory of the share it belongs to.
    fn lines(&self, n: u64, each: &(dyn Fn(usize, *mut u8) + Sync)) {
        self.pool.run(self.shares, &|_, shares| {
            for share in shares {
                part(n as usize, share, self.shares).for_each(|line| each(line, (self.scratch)(share)));
            }
        });
    }
}

/// Bytes of scratch memory that each thread needs.
pub fn scratch_bytes(routine: &Routine) -> u64 {
    match routine {
        Routine::Sort(sort) => sort.lines.length * sort::key_bytes(sort.dtype),
        Routine::Requantize(work) => requantize::scratch_bytes(work),
        Routine::Scatter(_) | Routine::Scan(_) => 0,
    }
}

/// How many threads are of use: one for what is short.
pub fn shares(routine: &Routine, threads: usize) -> usize {
    let lines = match routine {
        Routine::Sort(sort) => sort.lines,
        Routine::Scan(scan) => scan.lines,
        Routine::Requantize(work) => {
            let elements = work.lines.count() * work.lines.length;
            return if elements < SMALL { 1 } else { threads.max(1) };
        }
        Routine::Scatter(_) => return 1,
    };
    let small = lines.count().saturating_mul(lines.length) < SMALL;
    if small { 1 } else { threads.clamp(1, usize::try_from(lines.count()).unwrap_or(usize::MAX).max(1)) }
}

/// Fewer elements than this are not shared among threads.
const SMALL: u64 = 4096;

/// More arguments no routine has.
const MAX_ARGS: usize = 6;

/// Runs a routine on its arguments. Errors: data that forbids it; what was written then means nothing.
pub fn run(routine: &Routine, n_args: usize, arg: &dyn Fn(usize) -> Bytes, means: &Means) -> Result<(), Outside> {
    let mut args = [arg(0); MAX_ARGS];
    let n_args = n_args.min(MAX_ARGS);
    args[..n_args].iter_mut().enumerate().for_each(|(at, own)| *own = arg(at));
    let args = &args[..n_args];
    match routine {
        Routine::Sort(sort) => sort::run(sort, args, means),
        Routine::Scatter(scatter) => return scatter::run(scatter, args),
        Routine::Scan(scan) => scan::run(scan, args, means),
        Routine::Requantize(work) => return requantize::run(work, args, means),
    }
    Ok(())
}

/// What a routine is called, and why it is one, in words.
pub fn words(routine: &Routine) -> (String, &'static str) {
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
    }
}
