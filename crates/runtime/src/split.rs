//! Splits work among threads: equal parts, and the box of a contraction, whose order `relayc_codegen::contraction::schedule` explains.

use core::ops::Range;

/// The `index`-th of `n_parts` parts of `0..n`, in order; sizes differ by at most one.
pub fn part(n: usize, index: usize, n_parts: usize) -> Range<usize> {
    let (size, larger) = (n / n_parts, n % n_parts);
    let start = index * size + index.min(larger);
    start..start + size + usize::from(index < larger)
}

/// A box of work: independent parts × bands of points × groups of columns.
#[derive(Clone, Copy)]
pub struct Box<'a> {
    pub parts: u64,
    /// Number of points of each band.
    pub bands: &'a [u64],
    /// Number of vectors of each group of columns.
    pub groups: &'a [u64],
    /// Bytes of input that a band reads, and bytes of weights that a group of columns reads.
    pub band_bytes: u64,
    pub group_bytes: u64,
}

/// A piece of the box: one part, and half-open ranges of bands and groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    pub part: u64,
    pub bands: [usize; 2],
    pub groups: [usize; 2],
}

impl Piece {
    pub(crate) const NONE: Piece = Piece { part: 0, bands: [0; 2], groups: [0; 2] };
}

impl Box<'_> {
    /// Reports the pieces of each thread, thread by thread, in order.
    pub fn split(&self, threads: usize, mut give: impl FnMut(usize, Piece)) {
        let threads = threads.max(1);
        let input = self.band_bytes * self.bands.len() as u64;
        let weights = self.group_bytes * self.groups.len() as u64;
        let by_bands = input >= weights && self.bands.len() >= threads || self.groups.len() == 1;
        let (outer, inner) = if by_bands { (self.bands, self.groups) } else { (self.groups, self.bands) };
        let line: u64 = inner.iter().sum();
        let plane = line * outer.iter().sum::<u64>();
        let total = (plane * self.parts).max(1);
        // Cell (part, o, i) goes to the thread in whose share of the total its middle lies.
        let owner = |before: u64, cost: u64| {
            let share = (2 * before + cost) as u128 * threads as u128 / (2 * total) as u128;
            (share as usize).min(threads - 1)
        };
        let mut waiting: Option<(usize, Piece)> = None;
        for part in 0..self.parts {
            let mut before = part * plane;
            for (o, &cost) in outer.iter().enumerate() {
                let mut begin = 0;
                while begin < inner.len() {
                    let thread = owner(before, cost * inner[begin]);
                    let mut end = begin;
                    while end < inner.len() && owner(before, cost * inner[end]) == thread {
                        before += cost * inner[end];
                        end += 1;
                    }
                    let (line, cells) = ([o, o + 1], [begin, end]);
                    let (bands, groups) = if by_bands { (line, cells) } else { (cells, line) };
                    let piece = Piece { part, bands, groups };
                    waiting = match waiting {
                        Some((of, last)) if of == thread && last.part == part => match last.joined(&piece) {
                            Some(both) => Some((of, both)),
                            None => {
                                give(of, last);
                                Some((thread, piece))
                            }
                        },
                        Some((of, last)) => {
                            give(of, last);
                            Some((thread, piece))
                        }
                        None => Some((thread, piece)),
                    };
                    begin = end;
                }
            }
        }
        if let Some((of, last)) = waiting {
            give(of, last);
        }
    }
}

impl Piece {
    /// The union of two pieces, if they belong to one part, are adjacent, and form a box.
    fn joined(&self, next: &Piece) -> Option<Piece> {
        match () {
            () if self.groups == next.groups && self.bands[1] == next.bands[0] => {
                Some(Piece { bands: [self.bands[0], next.bands[1]], ..*self })
            }
            () if self.bands == next.bands && self.groups[1] == next.groups[0] => {
                Some(Piece { groups: [self.groups[0], next.groups[1]], ..*self })
            }
            () => None,
        }
    }
}
