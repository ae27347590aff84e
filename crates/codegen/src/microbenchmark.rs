//! Microbenchmarks of this machine's limits: multiply-adds a second, and bytes a second from each cache and from memory.
//!
//! The kernels come from relayc's own assembler, so a percentage of the limit compares like with like. The caller supplies the
//! clock; a microbenchmark takes a few milliseconds. Absent: when to measure, and what to do with a figure.

use crate::asm::{Asm, Cond, Isa, Mem, R, V};
use crate::cpu::Cpu;
use crate::memory::{Code, CodeError, Function};
use crate::pool::{Pool, part};
use crate::region::Region;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time since a fixed moment.
pub(crate) type Clock<'a> = &'a dyn Fn() -> Duration;

/// A rate per second, over several samples.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rate {
    pub best: f64,
    pub median: f64,
}

/// Number of samples: the minimum, and the maximum if time allows.
const SAMPLES: Range<usize> = 3..9;
/// Minimum time of a sample, and maximum time of all.
const SAMPLE: Duration = Duration::from_micros(500);
const BUDGET: Duration = Duration::from_millis(8);
/// Maximum number of iterations of a sample.
const MAX_TURNS: u64 = 1 << 40;

/// Vectors that one iteration of a memory loop moves.
const UNROLL: usize = 8;

/// Multiply-adds of one iteration of the arithmetic loop: enough independent ones to hide their latency on two pipes.
const fn n_fmas(isa: Isa) -> usize {
    match isa {
        Isa::Avx2 => 14,
        Isa::Avx512 => 28,
    }
}

/// Argument: number of iterations.
type FmaLoop = unsafe extern "sysv64" fn(u64);
/// Arguments: source, bytes, number of iterations.
type ReadLoop = unsafe extern "sysv64" fn(*const Line, u64, u64);
/// Arguments: source, target, bytes, number of iterations.
type StreamLoop = unsafe extern "sysv64" fn(*const Line, *mut Line, u64, u64);

/// Data that a memory loop moves in one iteration with AVX-512, and in two with AVX2.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    _bytes: [u8; UNROLL * 64],
}

const LINE: usize = size_of::<Line>();

/// Size of a large page; regions of whole large pages start at one.
const LARGE_PAGE: usize = 2 << 20;

/// The microbenchmark kernels of one instruction set.
pub struct Microbenchmark {
    isa: Isa,
    fma: Function<FmaLoop>,
    read: Function<ReadLoop>,
    stream: Function<StreamLoop>,
}

impl Microbenchmark {
    /// Compiles the kernels; this processor must have `isa`.
    pub fn new(isa: Isa) -> Result<Microbenchmark, CodeError> {
        let mut asm = Asm::new(isa);
        let fma = emit_fma(&mut asm);
        let read = emit_read(&mut asm);
        let stream = emit_stream(&mut asm);
        let code = Code::new(asm)?;
        // SAFETY: the three offsets are those of functions of these types.
        let functions = unsafe { (code.function(fma), code.function(read), code.function(stream)) };
        let (Some(fma), Some(read), Some(stream)) = functions else { return Err(CodeError::Empty) };
        Ok(Microbenchmark { isa, fma, read, stream })
    }

    /// Floating-point operations a second of all threads together; a multiply-add counts as two.
    pub fn flops(&self, pool: &Pool, clock: Clock) -> Rate {
        let per_turn = 2 * n_fmas(self.isa) * self.isa.lanes() * pool.n_threads();
        rate(clock, per_turn, |turns| {
            pool.run(pool.n_threads(), &|_, _| {
                // SAFETY: the loop touches registers only.
                unsafe { self.fma.get()(turns) }
            });
        })
    }

    /// Bytes read a second from a set of `bytes` in total; each thread reads its own part repeatedly.
    pub fn read(&self, pool: &Pool, bytes: usize, clock: Clock) -> Rate {
        let source = lines(bytes, pool.n_threads());
        rate(clock, source.len() * LINE, |turns| {
            pool.run(pool.n_threads(), &|_, parts| {
                for index in parts {
                    let mine = &source.get()[part(source.len(), index, pool.n_threads())];
                    // SAFETY: the loop reads `mine`, whose size is a multiple of what a turn reads and not 0.
                    unsafe { self.read.get()(mine.as_ptr(), size_of_val(mine) as u64, turns) }
                }
            });
        })
    }

    /// Bytes read and written a second by a loop that reads one half of `bytes` and writes the other with ordinary stores.
    ///
    /// Data that a store fetches first is not counted.
    pub fn stream(&self, pool: &Pool, bytes: usize, clock: Clock) -> Rate {
        let source = lines(bytes / 2, pool.n_threads());
        let share = |index| part(source.len(), index, pool.n_threads());
        let targets: Vec<_> = (0..pool.n_threads()).map(|index| Mutex::new(lines(share(index).len() * LINE, 1))).collect();
        rate(clock, 2 * source.len() * LINE, |turns| {
            pool.run(pool.n_threads(), &|_, parts| {
                for index in parts {
                    let from = &source.get()[share(index)];
                    let to = targets[index].lock().unwrap_or_else(PoisonError::into_inner);
                    // SAFETY: source and target are as long as each other, and the target is this thread's.
                    unsafe { self.stream.get()(from.as_ptr(), to.start(), size_of_val(from) as u64, turns) }
                }
            });
        })
    }
}

/// Sizes of a set in each cache level of one core, and of one outside all caches as far as possible. The last two may be equal
/// if cores share a very large cache.
pub fn set_sizes(cpu: &Cpu) -> [(&'static str, usize); 4] {
    let l3 = (cpu.l3 / 4).clamp(2 * cpu.l2, 4 * cpu.l2);
    let memory = (4 * cpu.l3).clamp(64 << 20, 128 << 20);
    [("L1", cpu.l1d / 2), ("L2", cpu.l2 / 2), ("L3", l3), ("memory", memory)]
}

/// Lines in a region like that of programs, in large pages if the system has them.
///
/// In small pages, which are scattered over memory, a cache holds less than its size, and a stream is up to a third slower.
struct Lines {
    region: Region,
    n: usize,
}

impl Lines {
    fn len(&self) -> usize {
        self.n
    }

    fn start(&self) -> *mut Line {
        self.region.start().cast()
    }

    fn get(&self) -> &[Line] {
        // SAFETY: the region has room for so many lines, all of its bytes are written, and nothing writes what is read.
        unsafe { std::slice::from_raw_parts(self.start(), self.n) }
    }
}

/// Lines of about `bytes` bytes, at least one for each part. They are written first, because untouched pages share one page of
/// zeros.
fn lines(bytes: usize, n_parts: usize) -> Lines {
    let n = (bytes / LINE).max(n_parts);
    let region = Region::new((n * LINE).next_multiple_of(LARGE_PAGE)).expect("there is memory for a probe");
    let lines = Lines { region, n };
    // SAFETY: the region has room for so many lines.
    unsafe { std::ptr::write_bytes(lines.start(), 1, n) };
    lines
}

/// Doubles the number of iterations until a sample is long enough, then takes samples.
fn rate(clock: Clock, per_turn: usize, run: impl Fn(u64)) -> Rate {
    let time = |turns| {
        let start = clock();
        run(turns);
        clock().saturating_sub(start)
    };
    let mut turns = 1;
    loop {
        // The shorter of two: the first may wake threads and fetch pages. A clock that stands still ends the doubling too.
        while time(turns).min(time(turns)) < SAMPLE && turns < MAX_TURNS {
            turns *= 2;
        }
        let (start, mut seconds) = (clock(), Vec::new());
        while seconds.len() < SAMPLES.start || seconds.len() < SAMPLES.end && clock().saturating_sub(start) < BUDGET {
            seconds.push(time(turns).as_secs_f64());
        }
        seconds.sort_by(f64::total_cmp);
        // Other programs had the processor while it doubled: so few iterations are mostly the time to begin.
        if seconds[0] < SAMPLE.as_secs_f64() / 2.0 && turns < MAX_TURNS {
            turns *= 2;
            continue;
        }
        let work = per_turn as f64 * turns as f64;
        return Rate { best: work / seconds[0], median: work / seconds[seconds.len() / 2] };
    }
}

/// Emits rdi iterations of independent multiply-adds.
fn emit_fma(asm: &mut Asm) -> usize {
    let n = n_fmas(asm.isa()) as u8;
    let entry = asm.here();
    // Two factors in the last registers, sums in the others; numbers that stay normal for any number of turns.
    let (a, b) = (V(n), V(n + 1));
    asm.splat(a, 0.5);
    asm.splat(b, 0.25);
    (0..n).for_each(|i| asm.zero(V(i)));
    asm.align(32);
    let turn = asm.bound();
    (0..n).for_each(|i| asm.fma(V(i), a, b));
    asm.dec(R::RDI);
    asm.jcc(Cond::NE, turn);
    asm.vzeroupper();
    asm.ret();
    entry
}

/// rdi: source, rsi: bytes, rdx: iterations.
fn emit_read(asm: &mut Asm) -> usize {
    let step = (UNROLL * asm.isa().bytes()) as i32;
    asm.align(16);
    let entry = asm.here();
    let turn = asm.bound();
    // rax runs through the source, rcx counts the bytes left.
    asm.mov_rr(R::RAX, R::RDI);
    asm.mov_rr(R::RCX, R::RSI);
    asm.align(32);
    let next = asm.bound();
    for i in 0..UNROLL {
        asm.load(V(i as u8), Mem::at(R::RAX, (i * asm.isa().bytes()) as i32));
    }
    asm.add_ri(R::RAX, step);
    asm.sub_ri(R::RCX, step);
    asm.jcc(Cond::NE, next);
    asm.dec(R::RDX);
    asm.jcc(Cond::NE, turn);
    asm.vzeroupper();
    asm.ret();
    entry
}

/// rdi: source, rsi: target, rdx: bytes, rcx: iterations. Adds a constant on the way, like the cheapest kernel.
fn emit_stream(asm: &mut Asm) -> usize {
    let bytes = asm.isa().bytes();
    let step = (UNROLL * bytes) as i32;
    asm.align(16);
    let entry = asm.here();
    let constant = V(15);
    asm.splat(constant, 1.0);
    let turn = asm.bound();
    // rax is the offset in both.
    asm.zero_r(R::RAX);
    asm.align(32);
    let next = asm.bound();
    for i in 0..UNROLL {
        let v = V(i as u8);
        asm.add(v, constant, Mem::indexed(R::RDI, R::RAX, 1, (i * bytes) as i32));
        asm.store(Mem::indexed(R::RSI, R::RAX, 1, (i * bytes) as i32), v);
    }
    asm.add_ri(R::RAX, step);
    asm.cmp_rr(R::RAX, R::RDX);
    asm.jcc(Cond::B, next);
    asm.dec(R::RCX);
    asm.jcc(Cond::NE, turn);
    asm.vzeroupper();
    asm.ret();
    entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::guard_pages::{GuardedBuffer, Side, call_checked, running};
    use std::cell::Cell;

    #[test]
    fn the_loops_keep_to_their_buffers() {
        for isa in Cpu::get().isas() {
            let probe = Microbenchmark::new(isa).unwrap();
            for n_lines in [1, 3] {
                let n = n_lines * LINE / 4;
                running(format!("{isa:?}, {n} floats"));
                let source = GuardedBuffer::new(&vec![2.0f32; n], Side::Right).read_only();
                let target = GuardedBuffer::<f32>::output(n, Side::Right);
                // SAFETY: the buffers are as long as is said.
                unsafe {
                    call_checked(probe.fma.address(), &[3]).unwrap();
                    call_checked(probe.read.address(), &[source.arg(), 4 * n as u64, 2]).unwrap();
                    call_checked(probe.stream.address(), &[source.arg(), target.arg(), 4 * n as u64, 2]).unwrap();
                }
                assert_eq!(target.values(), vec![3.0; n]);
            }
        }
    }

    #[test]
    fn a_rate_is_work_over_time() {
        // A clock that knows how many turns were asked for: a microsecond each, every third sample twice that.
        let (now, samples) = (Cell::new(0), Cell::new(0));
        let clock = || Duration::from_micros(now.get());
        let found = rate(&clock, 10, |turns| {
            samples.set(samples.get() + 1);
            now.set(now.get() + if samples.get() % 3 == 0 { 2 * turns } else { turns });
        });
        assert_eq!((found.best.round(), found.median.round()), (1e7, 1e7));
    }

    #[test]
    fn every_probe_gives_a_figure() {
        let start = std::time::Instant::now();
        let clock = || start.elapsed();
        for isa in Cpu::get().isas() {
            let probe = Microbenchmark::new(isa).unwrap();
            for pool in [Pool::new(1), Pool::new(2)] {
                let rates = [probe.flops(&pool, &clock), probe.read(&pool, 16 << 10, &clock), probe.stream(&pool, 0, &clock)];
                assert!(rates.iter().all(|rate| rate.best.is_finite() && rate.best >= rate.median && rate.median > 0.0));
            }
        }
    }

    #[test]
    fn sets_grow() {
        let sizes = set_sizes(Cpu::get()).map(|(_, bytes)| bytes);
        assert!(sizes.is_sorted(), "{sizes:?}");
    }
}
