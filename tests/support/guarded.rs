//! Buffers between guard pages, for tests that run kernels.
//!
//! A kernel may touch its buffers and nothing else, whatever the data (reliability 8). A [`GuardedBuffer`] ends, or starts, at
//! a page without access, so a stray byte faults. The rest of its pages holds a pattern that is checked. A fault reports the
//! running case ([`running`]) and the position of the address.
//!
//! Depends on the system alone: `crates/codegen` compiles this file, too.

#![allow(unsafe_code, reason = "pages are made inaccessible, and faults are caught")]
#![allow(unreachable_pub, reason = "it is compiled for tests alone")]

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};

pub const PAGE: usize = 4096;

/// The pattern around a buffer within its pages.
pub const SLACK: u8 = 0xa5;

/// The pattern in an output before the call.
const UNWRITTEN: u8 = 0xcd;

/// Placement of a buffer in its pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The first byte touches the lower guard page.
    Left,
    /// The last byte touches the upper guard page.
    Right,
    /// At a multiple of 64 bytes, with slack on both sides.
    Aligned,
}

impl Side {
    pub const ALL: [Side; 3] = [Side::Left, Side::Right, Side::Aligned];
}

/// A type for which every bit pattern is a value.
///
/// # Safety
///
/// Every bit pattern is a value, and there is no padding.
pub unsafe trait Plain: Copy + PartialEq + 'static {}

macro_rules! plain {
    ($($ty:ty)*) => {
        // SAFETY: numbers of any bits are numbers.
        $(unsafe impl Plain for $ty {})*
    };
}

plain!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// A buffer between two guard pages.
pub struct GuardedBuffer<T: Plain> {
    /// The mapping: guard page, pages, guard page.
    pages: *mut u8,
    n_pages: usize,
    at: *mut T,
    len: usize,
}

// SAFETY: the mapping is owned, and moves with the value.
unsafe impl<T: Plain> Send for GuardedBuffer<T> {}

impl<T: Plain> GuardedBuffer<T> {
    /// A writable copy of `values`. [`GuardedBuffer::read_only`] makes it an input.
    pub fn new(values: &[T], side: Side) -> GuardedBuffer<T> {
        let mut fenced = GuardedBuffer::output(values.len(), side);
        fenced.values_mut().copy_from_slice(values);
        fenced
    }

    /// An output of `len` elements, every byte 0xcd.
    pub fn output(len: usize, side: Side) -> GuardedBuffer<T> {
        report_faults();
        let bytes = len * size_of::<T>();
        let slack = if side == Side::Aligned { 128 } else { 0 };
        let inner = (bytes + slack).next_multiple_of(PAGE).max(PAGE);
        let n_pages = inner / PAGE + 2;
        // SAFETY: a fresh anonymous mapping touches no other memory.
        let pages = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(ptr::null_mut(), n_pages * PAGE, libc::PROT_NONE, flags, -1, 0)
        };
        assert!(pages != libc::MAP_FAILED, "no memory for a fenced buffer of {bytes} bytes");
        let pages = pages.cast::<u8>();
        let offset = match side {
            Side::Left => 0,
            Side::Right => inner - bytes,
            Side::Aligned => 64,
        };
        // SAFETY: offsets stay inside the mapping just made, whose inner pages are made accessible before they are filled.
        let at = unsafe {
            let first = pages.add(PAGE);
            assert_eq!(libc::mprotect(first.cast(), inner, libc::PROT_READ | libc::PROT_WRITE), 0);
            ptr::write_bytes(first, SLACK, inner);
            ptr::write_bytes(first.add(offset), UNWRITTEN, bytes);
            first.add(offset).cast::<T>()
        };
        GuardedBuffer { pages, n_pages, at, len }
    }

    /// Makes every later write a fault.
    pub fn read_only(self) -> GuardedBuffer<T> {
        // SAFETY: the inner pages are ours.
        let failed = unsafe { libc::mprotect(self.pages.add(PAGE).cast(), self.inner_bytes(), libc::PROT_READ) };
        assert_eq!(failed, 0);
        self
    }

    pub fn as_ptr(&self) -> *const T {
        self.at
    }

    /// The pointer through which kernels write; not after [`GuardedBuffer::read_only`].
    pub fn as_mut_ptr(&self) -> *mut T {
        self.at
    }

    /// The address as an argument of a call.
    pub fn arg(&self) -> u64 {
        self.at as u64
    }

    pub fn values(&self) -> &[T] {
        // SAFETY: `at` is aligned for `T`: pages are, and so are their ends less whole elements. The bytes are readable and
        // any bytes are values.
        unsafe { std::slice::from_raw_parts(self.at, self.len) }
    }

    pub fn values_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `values`; before `read_only` the pages are writable.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.len) }
    }

    /// The first element with 0xcd in every byte: an output that was not written.
    pub fn unwritten(&self) -> Option<usize> {
        let size = size_of::<T>();
        // SAFETY: the bytes of `values`.
        let bytes = unsafe { std::slice::from_raw_parts(self.at.cast::<u8>(), self.len * size) };
        bytes.chunks_exact(size).position(|element| element.iter().all(|byte| *byte == UNWRITTEN))
    }

    /// Distance from the buffer of a changed slack byte: negative before its first byte, positive after its last.
    pub fn overrun(&self) -> Option<isize> {
        // SAFETY: the inner pages are readable as long as `self` lives.
        let inner = unsafe { std::slice::from_raw_parts(self.pages.add(PAGE), self.inner_bytes()) };
        let start = self.at as usize - inner.as_ptr() as usize;
        let end = start + self.len * size_of::<T>();
        let before = inner[..start].iter().rposition(|byte| *byte != SLACK).map(|at| at as isize - start as isize);
        before.or_else(|| inner[end..].iter().position(|byte| *byte != SLACK).map(|at| at as isize + 1))
    }

    fn inner_bytes(&self) -> usize {
        (self.n_pages - 2) * PAGE
    }
}

impl<T: Plain> Drop for GuardedBuffer<T> {
    fn drop(&mut self) {
        let overrun = self.overrun();
        // SAFETY: the mapping was made by `output` and is used by nobody after this.
        unsafe { libc::munmap(self.pages.cast(), self.n_pages * PAGE) };
        if let (Some(bytes), false) = (overrun, std::thread::panicking()) {
            panic!("a kernel wrote {bytes} bytes beside a buffer of {} elements ({})", self.len, current());
        }
    }
}

thread_local! {
    static CASE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Records what runs on this thread, for the message of a fault: kernel, shape, side.
pub fn running(case: impl Into<String>) {
    CASE.with(|slot| *slot.borrow_mut() = case.into());
}

pub fn current() -> String {
    CASE.with(|slot| slot.borrow().clone())
}

const FAULTS: [c_int; 3] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL];

/// Who had the faults before.
static BEFORE: [AtomicPtr<libc::sigaction>; 3] = [const { AtomicPtr::new(ptr::null_mut()) }; 3];

/// Makes a fault report the running case before it goes to whom it went before: one that ends the process, or keeps the input.
pub fn report_faults() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (signal, before) in FAULTS.into_iter().zip(&BEFORE) {
            // SAFETY: a zeroed `sigaction` is a valid one; the handler only writes to standard error and gives the signal back, which
            // is all that may be done there. What is leaked is as good as long as the handler is.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_fault as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                before.store(Box::leak(Box::new(std::mem::zeroed())), Ordering::Release);
                libc::sigaction(signal, &action, before.load(Ordering::Acquire));
            }
        }
    });
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the system passes a valid `info`.
    let address = unsafe { (*info).si_addr() } as usize;
    let mut text = [0u8; 256];
    let mut n = 0;
    let mut put = |bytes: &[u8]| {
        for byte in bytes.iter().take(text.len() - n) {
            text[n] = *byte;
            n += 1;
        }
    };
    put(match signal {
        libc::SIGILL => b"\nillegal instruction at 0x",
        _ => b"\na kernel touched 0x",
    });
    for shift in (0..16).rev() {
        put(&[b"0123456789abcdef"[address >> (4 * shift) & 15]]);
    }
    put(b" in: ");
    // A case that is being changed is not shown; nothing is allocated.
    CASE.with(|slot| {
        if let Ok(case) = slot.try_borrow() {
            put(case.as_bytes());
        }
    });
    put(b"\n");
    let before =
        FAULTS.iter().position(|&known| known == signal).map_or(ptr::null_mut(), |at| BEFORE[at].load(Ordering::Acquire));
    // SAFETY: `text` has `n` bytes, and what had the signal is whole before this can be called. It has the signal again when the
    // instruction runs again.
    unsafe {
        libc::write(2, text.as_ptr().cast(), n);
        libc::sigaction(signal, before, ptr::null_mut());
    }
}
