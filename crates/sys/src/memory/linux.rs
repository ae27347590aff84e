//! The allocator and the system are told which pages are not needed, and where large ones are of use.

use crate::bytes::Number;
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::read_to_string;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};

/// Whether the process runs relayc's code only.
static OWN: AtomicBool = AtomicBool::new(false);

/// Configures a process that belongs to relayc alone. Call it first: a library must leave these settings to its caller.
///
/// It maps blocks of 128 KiB and more one by one, so that each returns to the system when freed. By default the GNU allocator
/// raises this bound to the largest block ever freed: later weights would share one heap, whose holes stay. Other allocators are
/// left as they are.
///
/// It also enables [`give_back_code`], and keeps the reserve of [`LargePages`].
pub fn own_process() {
    OWN.store(true, Relaxed);
    // SAFETY: a new mapping, which nothing reads or writes.
    let reserve = unsafe {
        libc::mmap(
            ptr::null_mut(),
            RESERVED,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if reserve != libc::MAP_FAILED {
        RESERVE.store(reserve, Relaxed);
    }
    #[cfg(target_env = "gnu")]
    // SAFETY: both only set numbers that the allocator reads later.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 << 10);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 1 << 20);
    }
}

/// Whether the system refused memory that the reserve of [`LargePages`] stood in for: what is under way is to end in order.
pub fn is_short_of_memory() -> bool {
    SHORT.load(Relaxed)
}

/// The bytes of addresses that the process may still take, if they are limited.
pub(super) fn free_addresses() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the system writes to the limit only.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) } == 0 && limit.rlim_cur != libc::RLIM_INFINITY;
    let taken = || read_to_string("/proc/self/status").ok().and_then(|text| super::kib_line(&text, "VmSize:"));
    is_known.then(|| limit.rlim_cur.saturating_sub(taken().unwrap_or(0)))
}

/// Returns the free memory between small blocks to the system, if the allocator can.
pub fn give_back_free_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: only what is free is given back.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Returns the whole pages of numbers to the system, if it takes them. The contents are lost: later reads find zeros or the old
/// values. Use it for large blocks that are freed some time later.
pub fn give_back_pages<T: Number>(numbers: &mut [T]) {
    let start = numbers.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(PAGE);
    let bytes = size_of_val(numbers).saturating_sub(skipped) / PAGE * PAGE;
    if bytes > 0 {
        // SAFETY: the pages lie in the slice, which is borrowed alone, and any bytes make numbers.
        let _ = unsafe { libc::madvise(start.wrapping_add(skipped).cast(), bytes, libc::MADV_DONTNEED) };
    }
}

/// Releases the pages of the program's own file, code and constants, after work that is done once.
///
/// The system maps 16 pages around each touched one, so scattered functions bring most of the program into memory. A page that is
/// needed again is mapped again from the file cache, in a fraction of a millisecond.
///
/// Does nothing in a process shared with other code ([`own_process`]), nor under a debugger, whose breakpoints lie in such pages.
pub fn give_back_code() {
    if OWN.load(Relaxed) && read_to_string("/proc/self/status").is_ok_and(|text| text.lines().any(|line| line == "TracerPid:\t0"))
    {
        // SAFETY: the callback takes no data.
        unsafe { libc::dl_iterate_phdr(Some(give_back_parts), std::ptr::null_mut()) };
    }
}

/// Releases the read-only segments of the first loaded object, the program itself, and stops there.
unsafe extern "C" fn give_back_parts(info: *mut libc::dl_phdr_info, _: usize, _: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the system hands over an object with the table of its parts.
    let (info, parts) = unsafe { (&*info, std::slice::from_raw_parts((*info).dlpi_phdr, usize::from((*info).dlpi_phnum))) };
    for part in parts.iter().filter(|part| part.p_type == libc::PT_LOAD && part.p_flags & libc::PF_W == 0) {
        let begin = (info.dlpi_addr + part.p_vaddr) as usize;
        let (from, to) = (begin.next_multiple_of(PAGE), (begin + part.p_memsz as usize) / PAGE * PAGE);
        if from < to {
            // SAFETY: the pages have never been written, so whoever reads them again finds what is in the file.
            let _ = unsafe { libc::madvise(std::ptr::without_provenance_mut(from), to - from, libc::MADV_DONTNEED) };
        }
    }
    1
}

/// From how many bytes on a block has large pages.
const LARGE: usize = 2 << 20;

/// Addresses that are given up when the system refuses a small block.
static RESERVE: AtomicPtr<libc::c_void> = AtomicPtr::new(ptr::null_mut());

/// Their bytes: enough to end a step and to say why.
const RESERVED: usize = 8 << 20;

static SHORT: AtomicBool = AtomicBool::new(false);

/// From how many bytes on a refused block is nobody's end: whoever makes one asks first.
const ASKED: usize = 1 << 20;

/// The allocator of a process that belongs to relayc: the system's, which asks for large pages where blocks are large.
///
/// A process whose allocation fails is ended at once. So the first small block that the system refuses takes the place of a reserve,
/// and [`is_short_of_memory`] from then on.
///
/// A page is cleared when it is touched for the first time, and that costs far less for one large page than for the 512 small ones in
/// its place. Reading the weights of a network is mostly that.
#[derive(Clone, Copy, Debug)]
pub struct LargePages;

// SAFETY: every block is one of the system's allocator, which gets it back with the same layout.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        given(layout.size(), || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        given(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        given(bytes, || unsafe { System.realloc(start, layout, bytes) })
    }
}

/// A block, if need be in the place of the reserve.
fn given(bytes: usize, block: impl Fn() -> *mut u8) -> *mut u8 {
    let start = block();
    if start.is_null() && bytes < ASKED { in_reserve(block) } else { advised(start, bytes) }
}

#[cold]
fn in_reserve(block: impl Fn() -> *mut u8) -> *mut u8 {
    let reserve = RESERVE.swap(ptr::null_mut(), Relaxed);
    if !reserve.is_null() {
        SHORT.store(true, Relaxed);
        // SAFETY: the mapping is the reserve's, which whoever took its address gives up once.
        unsafe { libc::munmap(reserve, RESERVED) };
    }
    // Another thread may have given it up.
    block()
}

/// Asks for large pages in a block; it is as good without them.
fn advised(start: *mut u8, bytes: usize) -> *mut u8 {
    if bytes >= LARGE && !start.is_null() {
        let skipped = start.align_offset(PAGE);
        let whole = bytes.saturating_sub(skipped) / PAGE * PAGE;
        // SAFETY: advice about pages of a block that nobody has yet; it changes no content.
        let _ = unsafe { libc::madvise(start.wrapping_add(skipped).cast(), whole, libc::MADV_HUGEPAGE) };
    }
    start
}

/// Bytes of a page; on systems with larger pages nothing is returned.
const PAGE: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_what_it_was_when_its_pages_have_been_given_back() {
        static CONSTANTS: [u32; 40_000] = [7; 40_000];
        static CHANGED: AtomicBool = AtomicBool::new(false);
        CHANGED.store(true, Relaxed);
        own_process();
        for _ in 0..3 {
            give_back_code();
            assert!(CONSTANTS.iter().all(|&n| n == 7) && CHANGED.load(Relaxed));
        }
    }

    #[test]
    fn blocks_keep_their_bytes() {
        for (bytes, more) in [(3, 3 * LARGE), (LARGE - 1, LARGE), (5 * LARGE + 7, 100)] {
            let layout = Layout::from_size_align(bytes, 8).expect("a layout");
            // SAFETY: the layout is not empty, and each block is given back once, with its layout.
            unsafe {
                let start = LargePages.alloc_zeroed(layout);
                assert!(!start.is_null());
                assert!(std::slice::from_raw_parts(start, bytes).iter().all(|&byte| byte == 0));
                start.write_bytes(7, bytes);
                let start = LargePages.realloc(start, layout, more);
                assert!(!start.is_null());
                assert!(std::slice::from_raw_parts(start, bytes.min(more)).iter().all(|&byte| byte == 7));
                LargePages.dealloc(start, Layout::from_size_align(more, 8).expect("a layout"));
            }
        }
    }
}
