//! Zeroed, page-aligned memory for a program, in large pages if the system has them.

use memmap2::{Advice, MmapMut, UncheckedAdvice};
use std::io;

/// Bytes of a page. On a system with larger pages, less is given back.
const PAGE: usize = 4096;

/// A block of memory.
#[derive(Debug)]
pub struct Region {
    map: Option<MmapMut>,
    start: *mut u8,
}

// SAFETY: the memory belongs to the region, whose owner says who writes it.
unsafe impl Send for Region {}
// SAFETY: as above; a shared reference gives no more than the address.
unsafe impl Sync for Region {}

/// Alignment of an empty region, on which all users of regions may rely.
const ALIGNMENT: usize = 64;

impl Default for Region {
    /// A region without memory.
    fn default() -> Region {
        Region { map: None, start: std::ptr::without_provenance_mut(ALIGNMENT) }
    }
}

impl Region {
    pub fn new(bytes: usize) -> io::Result<Region> {
        if bytes == 0 {
            return Ok(Region::default());
        }
        let mut map = MmapMut::map_anon(bytes)?;
        // Large pages are a wish: without them everything works as well.
        let _ = map.advise(Advice::HugePage);
        let start = map.as_mut_ptr();
        Ok(Region { map: Some(map), start })
    }

    /// Returns the whole pages of a range to the system. The content of the range is lost.
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

    /// Address of the first byte, aligned to a cache line; for an empty region, an address valid for zero bytes.
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
