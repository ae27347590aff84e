//! Memory of a program: zeroed, at the start of a page, in large pages where the system has them.

use memmap2::{Advice, MmapMut};
use std::io;

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

    /// The first byte, at a multiple of a cache line; where there is none, an address that is good for nothing but no bytes.
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    pub fn bytes(&self) -> usize {
        self.map.as_ref().map_or(0, |map| map.len())
    }
}
