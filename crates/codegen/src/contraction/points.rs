//! Cuts points into tiles.
//!
//! A tile is a list of points whose sums are in registers at one time. Extents are exact, so the offsets of its points relative
//! to the first are constants of its code. A list may therefore cross the ends of short rows, or a halo. Tiles with equal lists
//! have one *shape* and share code; a table holds the start of each tile. Absent: how many points a tile should have
//! (`choose`).

/// A dimension of the points, with its step in each stream in elements: input, output, operands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PointDim {
    pub(crate) extent: u64,
    pub(crate) steps: Vec<i64>,
}

/// Drops dimensions of extent 1 and joins dimensions that are contiguous in every stream.
pub(crate) fn merge(dims: Vec<PointDim>) -> Vec<PointDim> {
    let mut merged: Vec<PointDim> = Vec::new();
    for dim in dims.into_iter().filter(|dim| dim.extent != 1) {
        match merged.last_mut() {
            Some(outer) if joins(outer, &dim) => {
                outer.extent *= dim.extent;
                outer.steps = dim.steps;
            }
            _ => merged.push(dim),
        }
    }
    merged
}

fn joins(outer: &PointDim, inner: &PointDim) -> bool {
    let span = inner.extent as i64;
    outer.steps.iter().zip(&inner.steps).all(|(&outer, &inner)| Some(outer) == inner.checked_mul(span))
}

/// `total` cut into parts of at most `most`, whose sizes differ by at most one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Parts {
    pub(crate) total: u64,
    pub(crate) count: u64,
}

impl Parts {
    pub(crate) fn of(total: u64, most: u64) -> Parts {
        Parts { total, count: total.div_ceil(most.max(1)).max(1) }
    }

    /// Number and length of the longer parts, which come first, then of the others.
    pub(crate) fn lengths(self) -> [(u64, u64); 2] {
        let (short, longer) = (self.total / self.count, self.total % self.count);
        [(longer, short + 1), (self.count - longer, short)]
    }

    /// Start and length of part number `at`.
    pub(crate) fn range(self, at: u64) -> (u64, u64) {
        let [(n_long, long), (_, short)] = self.lengths();
        match at.checked_sub(n_long) {
            None => (at * long, long),
            Some(after) => (n_long * long + after * short, short),
        }
    }

    /// Start and length of each part.
    pub(crate) fn ranges(self) -> impl Iterator<Item = (u64, u64)> {
        (0..self.count).map(move |at| self.range(at))
    }
}

/// How points are cut: bundles of at most `rows` rows (the innermost dimension) are cut into equal parts of at most `most`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cut {
    pub(crate) rows: u64,
    pub(crate) most: u64,
}

/// The extents of rows, of the rows of a bundle's dimension, and of all others.
pub(crate) fn extents(dims: &[PointDim]) -> (u64, u64, u64) {
    let at = |back: usize| dims.len().checked_sub(back).map_or(1, |at| dims[at].extent);
    let outer = dims.iter().rev().skip(2).map(|dim| dim.extent).product();
    (at(1), at(2), outer)
}

/// The number of tiles of each size.
pub(crate) fn sizes(dims: &[PointDim], cut: Cut) -> impl Iterator<Item = (u64, u64)> {
    let (row, rows, outer) = extents(dims);
    let of_bundles = move |(bundles, height): (u64, u64)| {
        let tiles = Parts::of(height * row, cut.most).lengths().into_iter();
        tiles.map(move |(tiles, points)| (outer * bundles * tiles, points))
    };
    let all = Parts::of(rows, cut.rows).lengths().into_iter().flat_map(of_bundles);
    all.filter(|&(tiles, points)| tiles > 0 && points > 0)
}

/// Offsets of points relative to the first one: `[point][stream]`, in elements.
pub(crate) type Shape = Vec<Vec<i64>>;

/// Consecutive tiles of one shape in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    pub(crate) shape: usize,
    pub(crate) begin: usize,
    pub(crate) end: usize,
}

/// All tiles. A *band* is a number of bundles of rows; its tiles are consecutive, grouped by shape.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tiles {
    pub(crate) shapes: Vec<Shape>,
    /// Start of each tile in each stream, in bytes: `[tile][stream]`. The last row is repeated, because a tile may read the row
    /// after its own.
    pub(crate) table: Vec<i64>,
    pub(crate) n_tiles: usize,
    pub(crate) bands: Vec<Band>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Band {
    pub(crate) points: u64,
    pub(crate) runs: Vec<Run>,
}

/// Maximum number of tabulated tiles.
const MOST_TILES: u64 = 1 << 20;

/// Maximum number of bands; bundles are joined until it holds.
const MOST_BANDS: u64 = 64;

/// Cuts the points; `None` if there are too many, or if offsets exceed 63 bits.
///
/// `sizes_of` has the bytes of an element of each stream. The tiles of a bundle are several bands if there are at most `few` bundles,
/// so that threads may share its rows, and so that a part of them fits the second-level cache.
pub(crate) fn cut(dims: &[PointDim], sizes_of: &[i64], cut: Cut, few: u64) -> Option<Tiles> {
    let n_streams = sizes_of.len();
    if sizes(dims, cut).map(|(count, _)| count).sum::<u64>() > MOST_TILES {
        return None;
    }
    let (row, rows, outer) = extents(dims);
    let bundles = Parts::of(rows, cut.rows);
    let bundle = |at: u64| {
        let (first, height) = bundles.range(at % bundles.count);
        ((at / bundles.count * rows + first) * row, height * row)
    };
    let n_bundles = outer * bundles.count;
    let mut tiles = Tiles::default();
    // Bundles begin with a row, so where in a row a tile begins and how long it is say its shape. If it does not leave the row, only
    // its length does.
    let mut known: Vec<((u64, u64), usize)> = Vec::new();
    for (first, count) in Parts::of(n_bundles, n_bundles.div_ceil(MOST_BANDS)).ranges() {
        // The shape of each tile, its first point, and their number.
        let mut found: Vec<(usize, u64, u64)> = Vec::new();
        for (origin, points) in (first..first + count).map(bundle) {
            for (begin, count) in Parts::of(points, cut.most).ranges() {
                let in_row = begin % row;
                let key = (if in_row + count <= row { 0 } else { in_row }, count);
                let shape = match known.iter().find(|(known, _)| *known == key) {
                    Some((_, shape)) => *shape,
                    None => {
                        let base = place(dims, n_streams, origin + begin)?;
                        let point = |p: u64| Some(minus(&place(dims, n_streams, origin + begin + p)?, &base));
                        let shape = tiles.shape((0..count).map(point).collect::<Option<Shape>>()?);
                        known.push((key, shape));
                        shape
                    }
                };
                found.push((shape, origin + begin, count));
            }
        }
        let bands = if n_bundles <= few { MOST_BANDS / n_bundles.max(1) } else { 1 };
        let each = found.len().div_ceil(bands.max(1) as usize);
        for found in found.chunks_mut(each.max(1)) {
            found.sort_by_key(|(shape, ..)| *shape);
            tiles.band(found, dims, sizes_of)?;
        }
    }
    tiles.n_tiles = tiles.table.len() / n_streams;
    tiles.table.extend_from_within(tiles.table.len() - n_streams..);
    Some(tiles)
}

impl Tiles {
    fn shape(&mut self, shape: Shape) -> usize {
        self.shapes.iter().position(|known| *known == shape).unwrap_or_else(|| {
            self.shapes.push(shape);
            self.shapes.len() - 1
        })
    }

    fn band(&mut self, found: &[(usize, u64, u64)], dims: &[PointDim], sizes_of: &[i64]) -> Option<()> {
        let n_streams = sizes_of.len();
        let mut runs: Vec<Run> = Vec::new();
        self.table.reserve(found.len() * n_streams);
        for &(shape, first, _) in found {
            let at = self.table.len();
            let tile = at / n_streams;
            self.table.resize(at + n_streams, 0);
            add_place(dims, first, &mut self.table[at..])?;
            for (element, size) in self.table[at..].iter_mut().zip(sizes_of) {
                *element = element.checked_mul(*size)?;
            }
            match runs.last_mut() {
                Some(run) if run.shape == shape => run.end = tile + 1,
                _ => runs.push(Run { shape, begin: tile, end: tile + 1 }),
            }
        }
        self.bands.push(Band { points: found.iter().map(|(.., points)| points).sum(), runs });
        Some(())
    }
}

/// Offset of point number `p` in each stream.
fn place(dims: &[PointDim], n_streams: usize, p: u64) -> Option<Vec<i64>> {
    let mut place = vec![0i64; n_streams];
    add_place(dims, p, &mut place)?;
    Some(place)
}

fn add_place(dims: &[PointDim], p: u64, place: &mut [i64]) -> Option<()> {
    let mut left = p;
    for dim in dims.iter().rev() {
        let index = (left % dim.extent) as i64;
        left /= dim.extent;
        for (place, step) in place.iter_mut().zip(&dim.steps) {
            *place = place.checked_add(index.checked_mul(*step)?)?;
        }
    }
    Some(())
}

fn minus(a: &[i64], b: &[i64]) -> Vec<i64> {
    a.iter().zip(b).map(|(a, b)| a.wrapping_sub(*b)).collect()
}

/// Uses of each input vector by the points of a tile: `(offset, point, tap)`, by offset.
pub(crate) fn touches(shape: &Shape, taps: &[i64]) -> Vec<(i64, usize, usize)> {
    let points = shape.iter().enumerate();
    let mut touches: Vec<(i64, usize, usize)> =
        points.flat_map(|(at, point)| taps.iter().enumerate().map(move |(tap, offset)| (point[0] + offset, at, tap))).collect();
    touches.sort_unstable();
    touches
}

/// The input vectors that a tile in the next row touches and this one does not, where rows are `row` elements apart.
pub(crate) fn next_row(shape: &Shape, taps: &[i64], row: i64) -> Vec<i64> {
    let mut own: Vec<i64> = touches(shape, taps).into_iter().map(|(offset, ..)| offset).collect();
    own.dedup();
    own.iter().map(|offset| offset + row).filter(|next| own.binary_search(next).is_err()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dim(extent: u64, input: i64, out: i64) -> PointDim {
        PointDim { extent, steps: vec![input, out] }
    }

    #[test]
    fn rows_without_gaps_are_one_row() {
        assert_eq!(merge(vec![dim(1, 9, 9), dim(7, 112, 112), dim(7, 16, 16)]), [dim(49, 16, 16)]);
        assert_eq!(merge(vec![dim(7, 144, 112), dim(7, 16, 16)]).len(), 2);
    }

    #[test]
    fn parts_differ_by_one_and_cover_all() {
        let parts: Vec<_> = Parts::of(27, 14).ranges().collect();
        assert_eq!(parts, [(0, 14), (14, 13)]);
        for total in 1..60 {
            for most in 1..20 {
                let mut at = 0;
                for (begin, length) in Parts::of(total, most).ranges() {
                    assert!(begin == at && length <= most && length > 0);
                    at += length;
                }
                assert_eq!(at, total);
            }
        }
    }

    #[test]
    fn a_tile_spans_short_rows() {
        let dims = [dim(7, 144, 112), dim(7, 16, 16)];
        let tiles = cut(&dims, &[4, 4], Cut { rows: 2, most: 14 }, 0).unwrap();
        assert_eq!(tiles.shapes.len(), 2);
        assert_eq!(tiles.shapes[0].len(), 14);
        assert_eq!(tiles.shapes[0][7], [144, 112]);
        assert_eq!(tiles.shapes[1].len(), 7);
        assert_eq!(tiles.bands.len(), 4);
        assert_eq!(tiles.bands.iter().map(|band| band.points).sum::<u64>(), 49);
        assert_eq!(tiles.table[2..4], [288 * 4, 224 * 4]);
    }
}
