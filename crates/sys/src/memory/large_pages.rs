//! The allocator of a process that belongs to relayc: the system's, which asks for large pages where blocks are large.
//!
//! A page is cleared when it is touched for the first time, and that costs far less for one large page than for the 512 small ones in its
//! place. Reading the weights of a network is mostly that.

use std::alloc::{GlobalAlloc, Layout, System};

/// From how many bytes on a block has large pages.
const LARGE: usize = 2 << 20;

/// Bytes of a small page.
const PAGE: usize = 4096;

/// The system's allocator, with large pages for large blocks where the system has them.
#[derive(Clone, Copy, Debug)]
pub struct LargePages;

// SAFETY: every block is one of the system's allocator, which gets it back with the same layout.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        advised(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        advised(unsafe { System.realloc(start, layout, bytes) }, bytes)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
