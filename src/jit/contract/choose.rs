//! Which tile: how many points by how many vectors of columns.
//!
//! The model of a step of a tile of `m` points and `v` vectors: it is bound by its `m·v` multiply-adds, by its loads (two a
//! cycle), by its instructions (five a cycle), by the latency of four cycles with which one step's sums wait for the last
//! step's, or by the weights it draws from the second cache. Input that no other step of the tile reads adds to that: it comes
//! in short stretches that no prefetcher runs ahead of. The time of all tiles is the sum over them, with a few cycles for each
//! value that is stored. Waste needs no term of its own: tiles that do not divide are more tiles.

use super::points::{Cut, PointDim, extents, sizes};
use crate::kernel::{ContractDim, Target};

/// A tile, and how the points are cut into such.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    pub cut: Cut,
    /// Vectors of columns of a tile; the last tile may have fewer.
    pub vectors: usize,
}

/// How the two sides of a product come into registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feed {
    /// The vectors of weights are kept for a step, the input is broadcast point by point.
    KeepWeights,
    /// The broadcast input is kept for a step, weights are loaded one by one.
    KeepInput,
    /// The weights are kept, and each multiply-add broadcasts its input itself.
    Embedded,
}

/// How a tile is fed; `None` if its registers do not suffice.
pub fn feed(points: u64, vectors: u64, target: &Target) -> Option<Feed> {
    let registers = target.registers as u64;
    let sums = points * vectors;
    let kept = points.min(vectors);
    match () {
        // A broadcast of its own is used once with one vector of columns.
        () if vectors == 1 && target.lanes == 16 => (sums + vectors <= registers).then_some(Feed::Embedded),
        () if sums + kept < registers && vectors <= points => Some(Feed::KeepWeights),
        () if sums + kept < registers => Some(Feed::KeepInput),
        () if target.lanes == 16 && sums + vectors <= registers => Some(Feed::Embedded),
        () => None,
    }
}

/// A sum: how many steps, which share of a tile's input no other step of it reads, and the cycles that the input of a step
/// costs each point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sum {
    pub steps: u64,
    pub fresh: f64,
    pub input: f64,
}

/// Loads a cycle, as they come with misses of the first cache among them.
const LOADS: f64 = 1.9;
/// Cycles of a multiply-add, and one for those that do not begin as early as they could.
const LATENCY: f64 = 5.0;
/// Bytes a cycle at which input comes from beyond the second cache, if neighbouring lines are needed too, and if not; and
/// from the second cache.
const FAR_BYTES: f64 = 32.0;
const FAR_GAPS_BYTES: f64 = 10.0;
const NEAR_BYTES: f64 = 128.0;
/// Which part of the time of a stream of weights is not hidden below the arithmetic, for each multiply-add of a cycle.
const UNHIDDEN_WEIGHTS: f64 = 0.075;

impl Sum {
    /// Of the dimensions of a sum, under rows of these points, with an input of so many bytes.
    ///
    /// `p` points a step `r` apart, each with `e` steps of the sum `d` apart, lie on a line of pitch `gcd(r, d)`; where this
    /// line has fewer places than `p·e`, points share input.
    pub fn of(dims: &[ContractDim], points: &[PointDim], input_bytes: u64, target: &Target) -> Sum {
        let steps = dims.iter().map(|dim| dim.extent).product();
        let (extent, row) = points.last().map_or((1.0, 0), |dim| (dim.extent.min(14) as f64, dim.steps[0].unsigned_abs()));
        let share = |dim: &ContractDim| {
            let pitch = gcd(row, dim.input.unsigned_abs()).max(1) as f64;
            let places = ((extent - 1.0) * row as f64 + (dim.extent - 1) as f64 * dim.input.unsigned_abs() as f64) / pitch + 1.0;
            (places / (extent * dim.extent as f64)).min(1.0)
        };
        let fresh = dims.iter().filter(|dim| dim.extent > 1).map(share).fold(1.0, f64::min);
        let stretch = dims.iter().filter(|dim| dim.input.unsigned_abs() == 1).map(|dim| dim.extent).max().unwrap_or(1);
        let bytes = match () {
            () if input_bytes <= target.l2 as u64 / 2 => NEAR_BYTES,
            () if row > stretch.max(16) => FAR_GAPS_BYTES,
            () => FAR_BYTES,
        };
        Sum { steps, fresh, input: fresh * 4.0 / bytes }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The cycles of one tile.
pub fn tile_cycles(points: u64, vectors: u64, sum: Sum, target: &Target) -> Option<f64> {
    let feed = feed(points, vectors, target)?;
    let sums = (points * vectors) as f64;
    let (loads, instructions) = match feed {
        Feed::Embedded => (sums + vectors as f64, sums + vectors as f64),
        Feed::KeepWeights | Feed::KeepInput => {
            let loads = (points + vectors) as f64;
            (loads, sums + loads)
        }
    };
    let weights = (vectors as usize * target.lanes * 4) as f64 / target.l2_bytes as f64;
    let bounds = [sums / target.fmas as f64, loads / LOADS, instructions / 5.0, LATENCY, weights];
    // Neither a stream of weights nor a load is free, even below its bound.
    let step = bounds.into_iter().fold(0.0, f64::max) + UNHIDDEN_WEIGHTS * target.fmas as f64 * weights + 0.01 * loads;
    let step = step + sum.input * points as f64;
    Some(sum.steps as f64 * step + 2.0 * sums + 20.0)
}

/// The most columns of vectors a tile has.
const MOST_VECTORS: u64 = 8;
/// Bundles of more rows give no better cuts.
const MOST_ROWS: u64 = 16;
/// More shapes than this are too much code.
const MOST_SHAPES: u64 = 16;

/// A tile and the cycles of all tiles like it, as modelled.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weighed {
    pub cycles: f64,
    pub choice: Choice,
}

/// The best tile for these points, `n_vectors` of columns and this sum.
pub fn choose(dims: &[PointDim], n_vectors: u64, sum: Sum, target: &Target) -> Choice {
    best(&weigh(dims, n_vectors, sum, target))
}

/// The one with the fewest cycles, the first of equals.
pub fn best(weighed: &[Weighed]) -> Choice {
    let least = weighed.iter().reduce(|a, b| if b.cycles < a.cycles { b } else { a });
    least.map_or(Choice { cut: Cut { rows: 1, most: 1 }, vectors: 1 }, |one| one.choice)
}

/// For each number of vectors that a tile may have, its best cut.
pub fn weigh(dims: &[PointDim], n_vectors: u64, sum: Sum, target: &Target) -> Vec<Weighed> {
    let (_, rows, _) = extents(dims);
    let mut weighed: Vec<Weighed> = Vec::new();
    for vectors in 1..=n_vectors.min(MOST_VECTORS) {
        let fits = |points: &u64| feed(*points, vectors, target).is_some();
        let Some(most) = (1..target.registers as u64).rev().find(fits) else { continue };
        let heights = 1..=rows.min(MOST_ROWS);
        let mut best: Option<Weighed> = None;
        let cuts = heights.flat_map(|rows| (most.saturating_sub(4).max(1)..=most).rev().map(move |most| Cut { rows, most }));
        for cut in cuts {
            let Some(cycles) = cycles(dims, cut, vectors, n_vectors, sum, target) else { continue };
            let shapes = shapes(dims, cut);
            let cycles = cycles * (1.0 + 0.001 * shapes as f64);
            if shapes <= MOST_SHAPES.max(2) && best.is_none_or(|best| cycles < best.cycles) {
                best = Some(Weighed { cycles, choice: Choice { cut, vectors: vectors as usize } });
            }
        }
        weighed.extend(best);
    }
    weighed
}

/// Cycles of arithmetic beside a stream of so many bytes of weights from beyond the second cache.
pub fn beside(arithmetic: f64, far: u64) -> f64 {
    // What a core gets of a memory that is shared, in bytes a cycle.
    const FAR_WEIGHTS: f64 = 6.0;
    let far = far as f64 / FAR_WEIGHTS;
    arithmetic.max(far) + 0.15 * arithmetic.min(far)
}

/// The cycles of all tiles.
pub fn cycles(dims: &[PointDim], cut: Cut, vectors: u64, n_vectors: u64, sum: Sum, target: &Target) -> Option<f64> {
    let mut total = 0.0;
    for (count, points) in sizes(dims, cut) {
        for (groups, vectors) in [(n_vectors / vectors, vectors), (1, n_vectors % vectors)] {
            if vectors > 0 {
                total += (count * groups) as f64 * tile_cycles(points, vectors, sum, target)?;
            }
        }
    }
    Some(total)
}

/// At most how many shapes a cut has: a bundle's tiles may all differ, and bundles of two heights do.
fn shapes(dims: &[PointDim], cut: Cut) -> u64 {
    let (row, rows, _) = extents(dims);
    let heights = super::points::Parts::of(rows, cut.rows).lengths();
    heights
        .into_iter()
        .filter(|(bundles, _)| *bundles > 0)
        .map(|(_, height)| {
            let tiles = super::points::Parts::of(height * row, cut.most);
            if height == 1 { tiles.lengths().iter().filter(|(count, _)| *count > 0).count() as u64 } else { tiles.count }
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(steps: u64) -> Sum {
        Sum { steps, fresh: 0.4, input: 0.01 }
    }

    fn plane(height: u64, width: u64) -> [PointDim; 2] {
        let row = width as i64 * 16 + 32;
        [PointDim { extent: height, steps: vec![row, row] }, PointDim { extent: width, steps: vec![16, 16] }]
    }

    #[test]
    fn tiles_divide_the_rows_of_common_maps() {
        for (width, points) in [(56, 14), (28, 14), (14, 14)] {
            for fmas in [1, 2] {
                let target = Target { fmas, ..Target::AVX512 };
                let choice = choose(&plane(width, width), 8, sum(1152), &target);
                let sizes = sizes(&plane(width, width), choice.cut);
                assert!(sizes.iter().all(|(_, size)| *size * choice.vectors as u64 >= 24), "{width} {choice:?} {sizes:?}");
                assert!(choice.vectors > 2 || sizes.iter().all(|(_, size)| *size == points), "{width} {choice:?} {sizes:?}");
            }
        }
    }

    #[test]
    fn tiles_of_short_rows_span_several() {
        let choice = choose(&plane(7, 7), 32, sum(4608), &Target { fmas: 2, ..Target::AVX512 });
        let sizes = sizes(&plane(7, 7), choice.cut);
        let tiles: u64 = sizes.iter().map(|(count, _)| count).sum();
        assert!(tiles * choice.vectors as u64 <= 2 * 4 * 2, "{choice:?} {sizes:?}");
    }

    #[test]
    fn every_tile_has_registers() {
        for target in [Target::AVX512, Target::AVX2] {
            for vectors in 1..=40 {
                for (height, width) in [(1, 1), (1, 5), (3, 3), (7, 7), (5, 17), (35, 35), (1, 128)] {
                    let dims = super::super::points::merge(plane(height, width).to_vec());
                    let choice = choose(&dims, vectors, sum(27), &target);
                    for (_, points) in sizes(&dims, choice.cut) {
                        assert!(feed(points, choice.vectors as u64, &target).is_some(), "{choice:?}");
                        let rest = vectors % choice.vectors as u64;
                        assert!(rest == 0 || feed(points, rest, &target).is_some(), "{choice:?}");
                    }
                }
            }
        }
    }
}
