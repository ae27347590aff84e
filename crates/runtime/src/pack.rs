//! Packs weights that a run computes, as `relayc_codegen::contraction::pack` and its Winograd filters pack constants.

use super::layout::element;
use super::number::widened;
use super::words::Words;

/// How weights are packed. A *piece* is a group of columns of a part; pieces do not overlap.
#[derive(Clone, Copy)]
pub struct Packing<'a> {
    /// What an element of the source is, by its number in [`element`].
    element: u64,
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
    /// For Winograd's method: outputs a side or [`WHOLE`], the step from one product's weights to the next, and the steps of the window's
    /// rows and columns.
    tiles: Option<[i64; 4]>,
}

impl<'a> Packing<'a> {
    pub fn read(words: &mut Words<'a>) -> Packing<'a> {
        Packing {
            element: words.word(),
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
        let begin = part * self.part_len + group * self.group_len;
        let to = packed.wrapping_add(begin);
        // SAFETY: the caller promises that the element is there, at any byte.
        let word = |at: i64| unsafe { source.wrapping_offset(4 * at as isize).cast::<u32>().read_unaligned() };
        // SAFETY: as above.
        let short = |at: i64| unsafe { source.wrapping_offset(2 * at as isize).cast::<u16>().read_unaligned() };
        let element = |at: i64| match self.element {
            element::F16 => widened(short(at), 10),
            element::BF16 => widened(short(at), 7),
            _ => f32::from_bits(word(at)),
        };
        // Products lie in each other's way in the caches, so whole lines go there.
        let mut lines = [[0f32; LINE]; MOST_PRODUCTS];
        for (at, step) in self.steps.iter().enumerate() {
            let to = to.wrapping_add(at * width);
            let base = base + step;
            let Some([outputs, product, rows, across]) = self.tiles else {
                for lane in 0..width {
                    let from = columns.get(lane).map(|column| base + column);
                    // SAFETY: the place is one of this piece.
                    unsafe {
                        match self.element {
                            element::TWO_BYTES => {
                                let place = begin + at * width + lane;
                                packed.cast::<u16>().wrapping_add(place).write(from.map_or(0, short));
                            }
                            _ => to.wrapping_add(lane).cast::<u32>().write(from.map_or(0, word)),
                        }
                    }
                }
                continue;
            };
            for first in (0..width).step_by(LINE) {
                let n = LINE.min(width - first);
                let columns = &columns[first.min(columns.len())..columns.len().min(first + n)];
                if columns.len() < n {
                    // Columns that are missing are zeros.
                    lines = [[0f32; LINE]; MOST_PRODUCTS];
                }
                let tap = |column: i64, i: usize, j: usize| element(base + column + i as i64 * rows + j as i64 * across).into();
                let products = match outputs {
                    2 => transform(columns, tap, filter_two, &mut lines),
                    3 => transform(columns, tap, filter_three, &mut lines),
                    4 => transform(columns, tap, filter_four, &mut lines),
                    WHOLE => {
                        let half = |odd: usize| {
                            move |column: i64, i: usize, j: usize| {
                                f64::from(halves(element(base + column + i as i64 * rows + j as i64 * across))[odd])
                            }
                        };
                        let mut others = [[0f32; LINE]; MOST_PRODUCTS];
                        transform(columns, half(1), filter_whole, &mut others);
                        let n = transform(columns, half(0), filter_whole, &mut lines);
                        let both = lines.iter_mut().flatten().zip(others.iter().flatten());
                        both.for_each(|(even, odd)| *even = pair(*even, *odd));
                        n
                    }
                    _ => transform(columns, tap, filter_five, &mut lines),
                };
                for (at, line) in lines[..products].iter().enumerate() {
                    let to = to.wrapping_add(at * product as usize + first);
                    // SAFETY: the place is one of this piece, in each product.
                    unsafe { core::ptr::copy_nonoverlapping(line.as_ptr(), to, n) };
                }
            }
        }
    }
}

/// Number of columns whose filters are transformed before they are stored.
const LINE: usize = 32;

/// Number of products of tiles of 4×4 outputs of windows of 3×3.
const MOST_PRODUCTS: usize = 36;

/// Number of columns that are transformed side by side; the lanes of a vector are a multiple.
const LANES: usize = 8;

/// `G·g·Gᵀ` of the filters of some columns, a line for each product. Returns the number of products.
fn transform<const R: usize, const N: usize>(
    columns: &[i64],
    tap: impl Fn(i64, usize, usize) -> f64,
    filter: impl Fn([f64; R]) -> [f64; N],
    lines: &mut [[f32; LINE]; MOST_PRODUCTS],
) -> usize {
    for (first, columns) in columns.chunks(LANES).enumerate() {
        let first = first * LANES;
        let mut taps = [[[0f64; LANES]; R]; R];
        for (lane, &column) in columns.iter().enumerate() {
            for (i, row) in taps.iter_mut().enumerate() {
                row.iter_mut().enumerate().for_each(|(j, taps)| taps[lane] = tap(column, i, j));
            }
        }
        let mut half = [[[0f64; LANES]; R]; N];
        for j in 0..R {
            for lane in 0..LANES {
                let made = filter(core::array::from_fn(|i| taps[i][j][lane]));
                half.iter_mut().zip(made).for_each(|(half, made)| half[j][lane] = made);
            }
        }
        for (half, lines) in half.iter().zip(lines.chunks_mut(N)) {
            for lane in 0..LANES {
                let made = filter(core::array::from_fn(|j| half[j][lane]));
                lines.iter_mut().zip(made).for_each(|(line, made)| line[first + lane] = made as f32);
            }
        }
    }
    N * N
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

/// For tiles of 4×4 outputs in whole numbers, in the place of the outputs a side.
pub const WHOLE: i64 = 6;

/// The two integers of 16 bits in an element.
pub fn halves(element: f32) -> [i16; 2] {
    [element.to_bits() as i16, (element.to_bits() >> 16) as i16]
}

/// The element of two small integers.
pub fn pair(even: f32, odd: f32) -> f32 {
    f32::from_bits(u32::from(even as i16 as u16) | u32::from(odd as i16 as u16) << 16)
}

/// [`filter_four`] times 24, 6, 6, 24, 24 and 6.
#[inline(always)]
pub fn filter_whole([a, b, c]: [f64; 3]) -> [f64; 6] {
    let (middle, even, odd) = (a + c, a + 4.0 * c, 2.0 * b);
    [6.0 * a, -(middle + b), b - middle, even + odd, even - odd, 6.0 * c]
}

/// `G·g` for tiles of 4×4 outputs of windows of 3×3.
#[inline(always)]
pub fn filter_four([a, b, c]: [f64; 3]) -> [f64; 6] {
    let (middle, even, odd) = ((a + c) * (-1.0 / 6.0), a * (1.0 / 24.0) + c * (1.0 / 6.0), b * (1.0 / 12.0));
    let side = b * (-1.0 / 6.0);
    [a * 0.25, middle + side, middle - side, even + odd, even - odd, c]
}
