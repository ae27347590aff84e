//! Packs weights that a run computes, as `relayc_codegen::contraction::pack` and its Winograd filters pack constants.

use super::words::Words;

/// How weights are packed. A *piece* is a group of columns of a part; pieces do not overlap.
#[derive(Clone, Copy)]
pub struct Packing<'a> {
    parts: usize,
    /// In the source: the first element, and the step from one part to the next.
    offset: i64,
    part_step: i64,
    /// Number of elements of a part, and of a whole group of columns.
    part_len: usize,
    group_len: usize,
    n_groups: usize,
    /// Number of columns of a whole group, and of all, each rounded up to whole vectors.
    width: usize,
    total_width: usize,
    /// Offsets of the reduction steps in the source, and of each column.
    steps: &'a [i64],
    columns: &'a [i64],
    /// For Winograd's method: outputs a side, the step from one product's weights to the next, and the steps of the window's
    /// rows and columns.
    tiles: Option<[i64; 4]>,
}

impl<'a> Packing<'a> {
    pub fn read(words: &mut Words<'a>) -> Packing<'a> {
        Packing {
            parts: words.number(),
            offset: words.signed(),
            part_step: words.signed(),
            part_len: words.number(),
            group_len: words.number(),
            n_groups: words.number(),
            width: words.number(),
            total_width: words.number(),
            steps: words.list(),
            columns: words.list(),
            tiles: (words.word() != 0).then(|| [words.signed(), words.signed(), words.signed(), words.signed()]),
        }
    }

    pub fn n_pieces(&self) -> usize {
        self.parts * self.n_groups
    }

    /// Packs a piece.
    ///
    /// # Safety
    /// The source has every named element, `packed` has room for all pieces, and no other thread uses this piece.
    pub unsafe fn pack(&self, source: *const u8, packed: *mut f32, piece: usize) {
        let (part, group) = (piece / self.n_groups, piece % self.n_groups);
        let first = group * self.width;
        let width = self.width.min(self.total_width - first);
        let columns = &self.columns[first..self.columns.len().min(first + width)];
        let base = self.offset + part as i64 * self.part_step;
        let to = packed.wrapping_add(part * self.part_len + group * self.group_len);
        // SAFETY: the caller promises that the element is there, at any byte.
        let element = |at: i64| unsafe { source.wrapping_offset(4 * at as isize).cast::<f32>().read_unaligned() };
        for (at, step) in self.steps.iter().enumerate() {
            for lane in 0..width {
                let to = to.wrapping_add(at * width + lane);
                let base = columns.get(lane).map(|column| base + step + column);
                match self.tiles {
                    // SAFETY: the place is one of this piece.
                    None => unsafe { to.write(base.map_or(0.0, element)) },
                    Some([outputs, product, rows, across]) => {
                        let tap = |i: i64, j: i64| base.map_or(0.0, |base| f64::from(element(base + i * rows + j * across)));
                        // SAFETY: as above, one place in each product.
                        let write = |at: usize, value: f64| unsafe { to.wrapping_add(at * product as usize).write(value as f32) };
                        match outputs {
                            2 => transform(tap, filter_two, write),
                            3 => transform(tap, filter_three, write),
                            4 => transform(tap, filter_four, write),
                            _ => transform(tap, filter_five, write),
                        }
                    }
                }
            }
        }
    }
}

/// `G·g·Gᵀ`.
fn transform<const R: usize, const N: usize>(
    tap: impl Fn(i64, i64) -> f64,
    filter: fn([f64; R]) -> [f64; N],
    write: impl Fn(usize, f64),
) {
    let columns: [[f64; N]; R] = core::array::from_fn(|j| filter(core::array::from_fn(|i| tap(i as i64, j as i64))));
    for i in 0..N {
        let row = filter(columns.map(|column| column[i]));
        row.into_iter().enumerate().for_each(|(j, value)| write(i * N + j, value));
    }
}

/// `G·g` for tiles of 2×2 outputs of windows of 3×3.
#[inline(always)]
pub fn filter_two([a, b, c]: [f64; 3]) -> [f64; 4] {
    [a, (a + b + c) * 0.5, (a - b + c) * 0.5, c]
}

/// `G·g` for tiles of 3×3 outputs of windows of 2×2.
#[inline(always)]
pub fn filter_three([a, b]: [f64; 2]) -> [f64; 4] {
    [a, (a + b) * 0.5, (a - b) * 0.5, b]
}

/// `G·g` for tiles of 5×5 outputs of windows of 2×2.
#[inline(always)]
pub fn filter_five([a, b]: [f64; 2]) -> [f64; 6] {
    let sixth = 1.0 / 6.0;
    [a * 0.25, (a + b) * -sixth, (b - a) * sixth, (a + 2.0 * b) * (0.25 * sixth), (a - 2.0 * b) * (0.25 * sixth), b]
}

/// `G·g` for tiles of 4×4 outputs of windows of 3×3.
#[inline(always)]
pub fn filter_four([a, b, c]: [f64; 3]) -> [f64; 6] {
    let (middle, even, odd) = ((a + c) * (-1.0 / 6.0), a * (1.0 / 24.0) + c * (1.0 / 6.0), b * (1.0 / 12.0));
    let side = b * (-1.0 / 6.0);
    [a * 0.25, middle + side, middle - side, even + odd, even - odd, c]
}
