//! System calls for memory, waiting and cores; and a heap that is freed as a whole.

use core::arch::asm;
use core::ptr::null_mut;
use core::sync::atomic::AtomicU32;

/// Numbers of system calls (`asm/unistd_64.h`).
const MMAP: usize = 9;
const MUNMAP: usize = 11;
const MADVISE: usize = 28;
const FUTEX: usize = 202;
const SCHED_GETAFFINITY: usize = 204;

/// Makes a system call.
///
/// # Safety
/// That of the system call.
unsafe fn ask(number: usize, args: [usize; 6]) -> isize {
    let answer: isize;
    // SAFETY: the system changes rax, rcx and r11, and the memory that the caller vouches for.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => answer,
            in("rdi") args[0], in("rsi") args[1], in("rdx") args[2], in("r10") args[3], in("r8") args[4], in("r9") args[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    answer
}

/// Maps zeroed pages, large ones if the system has them; `None` without memory.
pub(crate) fn map(bytes: usize) -> Option<*mut u8> {
    const READ_WRITE: usize = 3;
    const PRIVATE_ANONYMOUS: usize = 0x22;
    const HUGE_PAGES: usize = 14;
    const LARGE: usize = 2 << 20;
    // SAFETY: new pages are nobody's.
    let address = unsafe { ask(MMAP, [0, bytes, READ_WRITE, PRIVATE_ANONYMOUS, usize::MAX, 0]) };
    if address < 0 {
        return None;
    }
    if bytes >= LARGE {
        // SAFETY: advice about pages of our own, which the system may ignore.
        unsafe { ask(MADVISE, [address as usize, bytes, HUGE_PAGES, 0, 0, 0]) };
    }
    Some(address as *mut u8)
}

/// Unmaps pages.
///
/// # Safety
/// [`map`] returned them, and nobody uses them any more.
pub(crate) unsafe fn unmap(address: *mut u8, bytes: usize) {
    // SAFETY: the caller promises it.
    unsafe { ask(MUNMAP, [address as usize, bytes, 0, 0, 0, 0]) };
}

const PRIVATE: usize = 128;

/// Sleeps while the word has this value, until woken; may return spuriously.
pub(crate) fn wait(word: &AtomicU32, value: u32) {
    // SAFETY: the word is there; no time limit.
    unsafe { ask(FUTEX, [word as *const AtomicU32 as usize, PRIVATE, value as usize, 0, 0, 0]) };
}

/// Wakes all threads that wait for the word to change.
pub(crate) fn wake(word: &AtomicU32) {
    const WAKE: usize = 1;
    // SAFETY: the word is there.
    unsafe { ask(FUTEX, [word as *const AtomicU32 as usize, PRIVATE | WAKE, i32::MAX as usize, 0, 0, 0]) };
}

/// Number of cores that this process may use.
pub fn cores() -> usize {
    let mut mask = [0u64; 128];
    // SAFETY: the mask has room for so many bytes.
    let bytes = unsafe { ask(SCHED_GETAFFINITY, [0, size_of_val(&mask), mask.as_mut_ptr() as usize, 0, 0, 0]) };
    let n: u32 = mask.iter().take(bytes.max(0) as usize / 8).map(|word| word.count_ones()).sum();
    n.max(1) as usize
}

/// An allocator whose pieces live as long as the heap. Pieces begin at pairs of cache lines and are zeroed.
pub struct Heap {
    last: *mut Chunk,
    at: usize,
}

/// The header of a chunk.
#[repr(C, align(128))]
struct Chunk {
    before: *mut Chunk,
    bytes: usize,
}

/// Two cache lines, because they are fetched in pairs.
const LINES: usize = 128;
const CHUNK: usize = 64 << 10;

impl Heap {
    pub const fn new() -> Heap {
        Heap { last: null_mut(), at: 0 }
    }

    /// Allocates `n` values, all `value`; `None` without memory.
    pub fn take<'a, T: Copy + 'a>(&mut self, n: usize, value: T) -> Option<&'a mut [T]> {
        self.take_each(n, || value)
    }

    /// Allocates `n` values, each made by `value`; `None` without memory. They are never dropped.
    pub(crate) fn take_each<'a, T: 'a>(&mut self, n: usize, value: impl Fn() -> T) -> Option<&'a mut [T]> {
        const { assert!(align_of::<T>() <= LINES) };
        let start = self.bytes(n.checked_mul(size_of::<T>())?)?.cast::<T>();
        for at in 0..n {
            // SAFETY: the room is for so many.
            unsafe { start.add(at).write(value()) };
        }
        // SAFETY: all of them have a value, and nobody else has the room.
        Some(unsafe { core::slice::from_raw_parts_mut(start, n) })
    }

    /// Allocates zeroed bytes.
    pub fn bytes(&mut self, bytes: usize) -> Option<*mut u8> {
        let bytes = bytes.checked_next_multiple_of(LINES)?.max(LINES);
        // SAFETY: a chunk begins with its own first lines.
        let left = unsafe { self.last.as_ref() }.map_or(0, |chunk| chunk.bytes - self.at);
        if left < bytes {
            let size = bytes.checked_add(LINES)?.max(CHUNK);
            let chunk = map(size)?.cast::<Chunk>();
            // SAFETY: the pages are new, and a chunk's first lines fit.
            unsafe { chunk.write(Chunk { before: self.last, bytes: size }) };
            (self.last, self.at) = (chunk, LINES);
        }
        let start = self.last.cast::<u8>().wrapping_add(self.at);
        self.at += bytes;
        Some(start)
    }

    /// Frees everything.
    ///
    /// # Safety
    /// Nobody uses a piece any more.
    pub unsafe fn free(mut self) {
        while !self.last.is_null() {
            // SAFETY: the chunk is one of `map`, of so many bytes.
            unsafe {
                let Chunk { before, bytes } = self.last.read();
                unmap(self.last.cast(), bytes);
                self.last = before;
            }
        }
    }
}

impl Default for Heap {
    fn default() -> Heap {
        Heap::new()
    }
}
