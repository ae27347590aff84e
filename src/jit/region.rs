//! Memory of a program: zeroed, at the start of a page, in large pages where the system has them.

use memmap2::{Advice, MmapMut, UncheckedAdvice};
use std::io;

/// Bytes of a page; pages may be larger, then less is given back.
const PAGE: usize = 4096;

/// A stretch of memory.
#[derive(Debug)]
pub struct Region {
    map: Option<MmapMut>,
    start: *mut u8,
}

// SAFETY: the memory belongs to the region, whose owner says who writes it.
unsafe impl Send for Region {}
// SAFETY: as above; a shared reference gives no more than the address.
unsafe impl Sync for Region {}

/// Of a region that has no page to begin with: as much as whoever puts things into regions counts on.
const ALIGNMENT: usize = 64;

impl Region {
    pub fn new(bytes: usize) -> io::Result<Region> {
        if bytes == 0 {
            return Ok(Region { map: None, start: std::ptr::without_provenance_mut(ALIGNMENT) });
        }
        let mut map = MmapMut::map_anon(bytes)?;
        // Large pages are a wish: without them everything works as well.
        let _ = map.advise(Advice::HugePage);
        let start = map.as_mut_ptr();
        Ok(Region { map: Some(map), start })
    }

    /// Gives the pages that lie whole in a stretch back to the system. What is in the stretch is lost.
    pub fn release(&mut self, offset: usize, bytes: usize) {
        let Some(map) = &mut self.map else { return };
        let begin = offset.next_multiple_of(PAGE);
        let end = offset.saturating_add(bytes).min(map.len()) / PAGE * PAGE;
        if begin < end {
            // SAFETY: the pages are anonymous and the region is borrowed alone; whoever reads them next finds zeros. A system
            // that refuses keeps them.
            let _ = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, begin, end - begin) };
        }
    }

    /// The first byte, at a multiple of a cache line; where there is none, an address that is good for nothing but no bytes.
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    pub fn bytes(&self) -> usize {
        self.map.as_ref().map_or(0, |map| map.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_pages_are_given_back() {
        let mut region = Region::new(5 * PAGE + 10).expect("there is memory");
        let bytes = region.bytes();
        // SAFETY: the region has so many bytes, and nobody else names them.
        unsafe { std::ptr::write_bytes(region.start(), 7, bytes) };
        region.release(PAGE + 1, 3 * PAGE);
        region.release(0, 10);
        region.release(5 * PAGE, 100 * PAGE);
        // SAFETY: as above.
        let left = unsafe { std::slice::from_raw_parts(region.start(), bytes) };
        let given_back = 2 * PAGE..4 * PAGE;
        assert!(left.iter().enumerate().all(|(at, &byte)| (byte == 0) == given_back.contains(&at)));
        Region::new(0).expect("there is nothing to get").release(0, 100);
    }
}
