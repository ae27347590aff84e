//! Chooses the tile of a contraction: its number of points and of column vectors.
//!
//! The model considers one step of a tile of `m` points and `v` vectors. A bound of the step is the largest of these costs:
//!
//! * its `m·v` multiply-adds;
//! * its loads, two a cycle;
//! * its instructions, five a cycle;
//! * the latency of four cycles with which the sums of one step wait for the last step's;
//! * the weights that it reads from the second-level cache.
//!
//! Input that no other step of the tile reads adds to that, because it comes in short stretches that no prefetcher anticipates.
//! The time of all tiles is their sum, plus a few cycles for each stored value. Waste needs no term of its own: extents that a
//! tile does not divide give more tiles.

use super::epilogue::is_half;
use super::points::{Cut, PointDim, extents, sizes};
use relayc_ir::kernel::{ByteProducts, Contraction, ContractionDim, Factors, Target};

/// A tile, and how the points are cut into tiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    pub(crate) cut: Cut,
    /// Column vectors of a tile; the last tile may have fewer.
    pub(crate) vectors: usize,
}

/// How the two operands of a product get into registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Feed {
    /// Keeps the vectors of weights in registers for a step; broadcasts the input point by point.
    KeepWeights,
    /// Keeps the broadcast input in registers for a step; loads weights one by one.
    KeepInput,
    /// Keeps the weights in registers; each multiply-add broadcasts its own input.
    Embedded,
}

/// Whether products are added to sums by an instruction of its own: AVX512-VNNI has one for both.
pub(crate) fn adds_apart(factors: Factors, target: &Target) -> bool {
    matches!(factors, Factors::Pairs | Factors::WidePairs) && target.byte_products == ByteProducts::Pairs
}

/// How a tile is fed; `None` if it does not fit the registers.
///
/// A product of bytes does not embed its input: the operand that may lie in memory is the signed one, which the weights are.
pub(crate) fn feed(points: u64, vectors: u64, factors: Factors, target: &Target) -> Option<Feed> {
    let registers = target.registers as u64;
    let sums = points * vectors;
    let kept = points.min(vectors);
    let embeds = target.registers == 32 && matches!(factors, Factors::Floats | Factors::Doubles);
    // The last register has the products.
    let registers = if adds_apart(factors, target) { registers - 1 } else { registers };
    match () {
        // A broadcast of its own is used once with one vector of columns.
        () if vectors == 1 && embeds => (sums + vectors <= registers).then_some(Feed::Embedded),
        () if sums + kept < registers && vectors <= points => Some(Feed::KeepWeights),
        () if sums + kept < registers => Some(Feed::KeepInput),
        () if embeds && sums + vectors <= registers => Some(Feed::Embedded),
        () => None,
    }
}

/// The sum of a tile: number of steps, share of input that no other step of the tile reads, input cycles of a step for each
/// point, operations that convert a vector of 16-bit weights, and whether the last vector of columns takes half a multiply-add.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Sum {
    pub(crate) factors: Factors,
    pub(crate) steps: u64,
    pub(crate) fresh: f64,
    pub(crate) input: f64,
    pub(crate) conversions: f64,
    pub(crate) half: bool,
}

/// Loads a cycle, with some first-level cache misses among them.
pub(crate) const LOADS: f64 = 1.9;
/// Cycles of a multiply-add, plus one for those that start late.
const LATENCY: f64 = 5.0;
/// Bytes a cycle of input: from beyond the second-level cache with and without neighbouring lines, and from the second-level
/// cache.
const FAR_BYTES: f64 = 32.0;
const FAR_GAPS_BYTES: f64 = 10.0;
const NEAR_BYTES: f64 = 128.0;
/// The part of a weight stream's time that arithmetic does not hide, for each multiply-add of a cycle.
const UNHIDDEN_WEIGHTS: f64 = 0.075;

impl Sum {
    /// Describes the sum of a contraction for rows of these points, given an input of `input_bytes` bytes.
    ///
    /// `p` points a step `r` apart, each with `e` steps of the sum `d` apart, lie on a line of pitch `gcd(r, d)`. Points share
    /// input if this line has fewer positions than `p·e`.
    pub(crate) fn of(contract: &Contraction, points: &[PointDim], input_bytes: u64, target: &Target) -> Sum {
        let (factors, dims) = (contract.factors, &contract.sum);
        let steps = dims.iter().map(|dim| dim.extent).product();
        let (extent, row) = points.last().map_or((1.0, 0), |dim| (dim.extent.min(14) as f64, dim.steps[0].unsigned_abs()));
        let share = |dim: &ContractionDim| {
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
        // A register of which half is used takes half the time where a whole one takes two passes.
        let tail = contract.columns % target.lanes as u64;
        let half = target.fmas == 1 && tail > 0 && is_half(tail, target.lanes);
        Sum { factors, steps, fresh, input: fresh * 4.0 / bytes, conversions: 0.0, half }
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
fn tile_cycles(points: u64, vectors: u64, sum: Sum, target: &Target) -> Option<f64> {
    let feed = feed(points, vectors, sum.factors, target)?;
    let sums = (points * vectors) as f64;
    let (loads, instructions) = match feed {
        Feed::Embedded => (sums + vectors as f64, sums + vectors as f64),
        Feed::KeepWeights | Feed::KeepInput => {
            let loads = (points + vectors) as f64;
            (loads, sums + loads)
        }
    };
    // A half saves arithmetic only.
    let products = if sum.half { sums - 0.5 * points as f64 } else { sums };
    let conversions = sum.conversions * vectors as f64;
    let weight_bytes = match sum.factors {
        Factors::Doubles => 8,
        _ if conversions > 0.0 => 2,
        _ => 4,
    };
    let weights = (vectors as usize * target.lanes * weight_bytes) as f64 / target.l2_bytes as f64;
    let (arithmetic, instructions) = match sum.factors {
        // A multiplication and an addition, and the widening of each input, on three units of the machine.
        Factors::Pairs | Factors::WidePairs if adds_apart(sum.factors, target) => {
            let widened = if sum.factors == Factors::Pairs { points as f64 } else { 0.0 };
            ((2.0 * products + widened) / (1.5 * target.fmas as f64), instructions + sums + widened)
        }
        Factors::Pairs => ((products + points as f64) / target.fmas as f64, instructions + points as f64),
        Factors::Floats | Factors::Doubles | Factors::Bytes | Factors::Widened | Factors::WidePairs => {
            ((products + conversions) / target.fmas as f64, instructions + conversions)
        }
    };
    let bounds = [arithmetic, loads / LOADS, instructions / 5.0, LATENCY, weights];
    // Neither a stream of weights nor a load is free, even below its bound.
    let step = bounds.into_iter().fold(0.0, f64::max) + UNHIDDEN_WEIGHTS * target.fmas as f64 * weights + 0.01 * loads;
    let step = step + sum.input * points as f64;
    Some(sum.steps as f64 * step + 2.0 * sums + 20.0)
}

/// Maximum number of column vectors of a tile.
const MOST_VECTORS: u64 = 8;
/// Maximum number of rows in a bundle; more give no better cuts.
const MOST_ROWS: u64 = 16;
/// Maximum number of tile shapes, to limit the size of the code.
const MOST_SHAPES: u64 = 16;

/// What one tile of all points is worth less than several, if it has at least so many and every thread may read all weights:
/// threads cannot share its rows.
const ONE_TILE: f64 = 1.03;
const ONE_TILE_POINTS: u64 = 8;

/// A tile, and the modelled cycles of all its instances.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct CostedChoice {
    pub(crate) cycles: f64,
    pub(crate) choice: Choice,
}

/// The best tile for these points, `n_vectors` column vectors and this sum.
pub(crate) fn choose(dims: &[PointDim], n_vectors: u64, sum: Sum, target: &Target) -> Choice {
    best(&weigh(dims, n_vectors, None, sum, target))
}

/// The candidate with the fewest cycles; the first among equals.
pub(crate) fn best(weighed: &[CostedChoice]) -> Choice {
    let least = weighed.iter().reduce(|a, b| if b.cycles < a.cycles { b } else { a });
    least.map_or(Choice { cut: Cut { rows: 1, most: 1 }, vectors: 1 }, |one| one.choice)
}

/// The best cut for each possible number of vectors of a tile, or for `one` of them.
pub(crate) fn weigh(dims: &[PointDim], n_vectors: u64, one: Option<usize>, sum: Sum, target: &Target) -> Vec<CostedChoice> {
    let (_, rows, _) = extents(dims);
    let whole = sum.steps * n_vectors * target.lanes as u64 * 4 <= target.l2 as u64 / 8;
    let is_one = |cut| sizes(dims, cut).map(|(count, points)| if points < ONE_TILE_POINTS { 2 } else { count }).sum::<u64>() == 1;
    let mut weighed: Vec<CostedChoice> = Vec::new();
    let is_asked = |&vectors: &u64| one.is_none_or(|one| one as u64 == vectors);
    for vectors in (1..=n_vectors.min(MOST_VECTORS)).filter(is_asked) {
        let fits = |points: &u64| feed(*points, vectors, sum.factors, target).is_some();
        let Some(most) = (1..target.registers as u64).rev().find(fits) else { continue };
        let heights = 1..=rows.min(MOST_ROWS);
        let mut best: Option<CostedChoice> = None;
        let cuts = heights.flat_map(|rows| (most.saturating_sub(4).max(1)..=most).rev().map(move |most| Cut { rows, most }));
        for cut in cuts {
            let Some(cycles) = cycles(dims, cut, vectors, n_vectors, sum, target) else { continue };
            let shapes = shapes(dims, cut);
            let cycles = cycles * (1.0 + 0.001 * shapes as f64) * if whole && is_one(cut) { ONE_TILE } else { 1.0 };
            if shapes <= MOST_SHAPES.max(2) && best.is_none_or(|best| cycles < best.cycles) {
                best = Some(CostedChoice { cycles, choice: Choice { cut, vectors: vectors as usize } });
            }
        }
        weighed.extend(best);
    }
    weighed
}

/// Cycles of arithmetic overlapped with a stream of `far` bytes of weights from beyond the second-level cache.
pub(crate) fn beside(arithmetic: f64, far: u64) -> f64 {
    // What a core gets of a memory that is shared, in bytes a cycle.
    const FAR_WEIGHTS: f64 = 6.0;
    let far = far as f64 / FAR_WEIGHTS;
    arithmetic.max(far) + 0.15 * arithmetic.min(far)
}

/// The cycles of all tiles.
pub(crate) fn cycles(dims: &[PointDim], cut: Cut, vectors: u64, n_vectors: u64, sum: Sum, target: &Target) -> Option<f64> {
    let mut total = 0.0;
    for (count, points) in sizes(dims, cut) {
        let (whole, rest) = (n_vectors / vectors, n_vectors % vectors);
        let last = if rest > 0 { rest } else { vectors };
        for (groups, vectors) in [(whole, vectors), (1, rest)] {
            if vectors > 0 {
                total += (count * groups) as f64 * tile_cycles(points, vectors, Sum { half: false, ..sum }, target)?;
            }
        }
        if sum.half {
            let saved = tile_cycles(points, last, Sum { half: false, ..sum }, target)? - tile_cycles(points, last, sum, target)?;
            total -= count as f64 * saved;
        }
    }
    Some(total)
}

/// An upper bound for the number of shapes of a cut: all tiles of a bundle may differ, and bundles may have two heights.
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
        Sum { factors: Factors::Floats, steps, fresh: 0.4, input: 0.01, conversions: 0.0, half: false }
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
                let sizes: Vec<_> = sizes(&plane(width, width), choice.cut).collect();
                assert!(sizes.iter().all(|(_, size)| *size * choice.vectors as u64 >= 24), "{width} {choice:?} {sizes:?}");
                assert!(choice.vectors > 2 || sizes.iter().all(|(_, size)| *size == points), "{width} {choice:?} {sizes:?}");
            }
        }
    }

    #[test]
    fn tiles_of_short_rows_span_several() {
        let choice = choose(&plane(7, 7), 32, sum(4608), &Target { fmas: 2, ..Target::AVX512 });
        let sizes: Vec<_> = sizes(&plane(7, 7), choice.cut).collect();
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
                        assert!(feed(points, choice.vectors as u64, Factors::Floats, &target).is_some(), "{choice:?}");
                        let rest = vectors % choice.vectors as u64;
                        assert!(rest == 0 || feed(points, rest, Factors::Floats, &target).is_some(), "{choice:?}");
                    }
                }
            }
        }
    }
}
