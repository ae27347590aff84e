//! Schedules a contraction: which thread computes what, and in which order.
//!
//! The work is a box: independent parts × bands of points × groups of columns. Threads get equal stretches of it in one of two
//! orders. Bands are outermost if the input is larger than the weights, so that each thread reads only the input of its rows.
//! Otherwise columns are outermost, so that each thread reads only its weights. Within a stretch, bands are taken together
//! while their input fits the second-level cache. A sum is never split. `ahead::runtime::split` cuts the box, because artifacts
//! need it too.

use relayc_runtime::split::{Box, Piece};

/// The box of work, and the cost of its sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Work {
    pub(crate) parts: u64,
    /// Number of points of each band.
    pub(crate) bands: Vec<u64>,
    /// Number of vectors of each group of columns.
    pub(crate) groups: Vec<u64>,
    /// Bytes of input that a band reads, and bytes of weights that a group of columns reads.
    pub(crate) band_bytes: u64,
    pub(crate) group_bytes: u64,
}

impl Work {
    /// The cost, in points times vectors.
    #[cfg(test)]
    pub(crate) fn cost(&self) -> u64 {
        self.parts * self.bands.iter().sum::<u64>() * self.groups.iter().sum::<u64>()
    }

    #[cfg(test)]
    pub(crate) fn piece_cost(&self, &Piece { bands, groups, .. }: &Piece) -> u64 {
        self.bands[bands[0]..bands[1]].iter().sum::<u64>() * self.groups[groups[0]..groups[1]].iter().sum::<u64>()
    }

    /// The pieces of each of `threads` threads, in order.
    pub(crate) fn split(&self, threads: usize) -> Vec<Vec<Piece>> {
        let mut pieces = vec![Vec::new(); threads.max(1)];
        let Work { parts, bands, groups, band_bytes, group_bytes } = self;
        let work = Box { parts: *parts, bands, groups, band_bytes: *band_bytes, group_bytes: *group_bytes };
        work.split(threads, |thread, piece| pieces[thread].push(piece));
        pieces
    }

    /// Number of bands that are traversed together.
    pub(crate) fn bands_at_once(&self, l2: usize) -> usize {
        bands_within(l2, self.band_bytes)
    }
}

/// Number of bands of so many bytes of input that half of the second-level cache holds.
pub(super) fn bands_within(l2: usize, band_bytes: u64) -> usize {
    (l2 as u64 / 2 / band_bytes.max(1)).max(1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_has_one_owner_and_shares_are_even() {
        for threads in [1, 2, 3, 5, 8] {
            for (parts, bands, groups, band_bytes) in [
                (1, vec![28; 14], vec![2; 4], 1 << 20),
                (1, vec![49], vec![2; 16], 1),
                (12, vec![14, 14, 10], vec![4, 3], 9),
                (1, vec![1], vec![1], 0),
            ] {
                let work = Work { parts, bands, groups, band_bytes, group_bytes: 4096 };
                let mut seen = vec![0; parts as usize * work.bands.len() * work.groups.len()];
                let split = work.split(threads);
                let costs: Vec<u64> =
                    split.iter().map(|pieces| pieces.iter().map(|piece| work.piece_cost(piece)).sum()).collect();
                for piece in split.iter().flatten() {
                    for band in piece.bands[0]..piece.bands[1] {
                        for group in piece.groups[0]..piece.groups[1] {
                            seen[(piece.part as usize * work.bands.len() + band) * work.groups.len() + group] += 1;
                        }
                    }
                }
                assert!(seen.iter().all(|&n| n == 1), "{work:?} {split:?}");
                let largest = work.bands.iter().max().unwrap() * work.groups.iter().max().unwrap();
                assert!(costs.iter().all(|cost| *cost <= work.cost() / threads as u64 + 2 * largest), "{costs:?}");
            }
        }
    }
}
