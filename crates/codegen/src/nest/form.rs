//! Forms: what the code of a nest depends on, apart from how often its loops run and how far they step.
//!
//! The outer loops of a nest, and the loop along which a walk goes from row to row, are repeated as often as numbers say that are
//! known when the code is pasted. So are the steps of outer loops and the first elements. Nests that differ in nothing else share
//! the code, such as those of a network at another size. The code is made from the form alone, which does not have the numbers.
//! Absent: dimensions of the lanes, and along which windows are clipped: their extents decide what the code is.

use super::normalize::NormalizedNest;
use super::shape::{LaneDim, Shape};
use crate::asm::Number;
use relayc_ir::kernel::Access;

/// Fewer steps of a walk than these are few.
const FEW: u64 = 4;

/// What a nest's code is made from.
#[derive(Hash)]
pub(crate) struct Form {
    /// Without what numbers say: such extents are 0, offsets are from the first access that moves alike, and strides of outer
    /// dimensions tell only which are equal, and which are 0.
    pub(crate) n: NormalizedNest,
    pub(crate) shape: Shape,
    /// The number that says how long a walk is without chunks, or how long its last chunk is with them, if a number does.
    pub(crate) length: Option<usize>,
    /// Whether the walk has a whole tile, and whether it has more than a few steps.
    pub(crate) has_tile: bool,
    pub(crate) is_long: bool,
}

/// Whether windows are clipped along a dimension.
fn is_clipped(n: &NormalizedNest, dim: usize) -> bool {
    n.reduce.iter().any(|reduce| reduce.clip.is_some_and(|clip| clip.dim == dim))
}

/// Whether two accesses of a nest have one pointer.
pub(super) fn move_alike(one: &Access, other: &Access) -> bool {
    one.arg == other.arg && one.dtype == other.dtype && one.kept == other.kept && one.reduced == other.reduced
}

impl Form {
    /// The form of a nest of this shape, and its numbers; `None` if accesses that move alike are too far apart.
    pub(crate) fn of(mut n: NormalizedNest, mut shape: Shape, lanes: usize) -> Option<(Form, Vec<u64>)> {
        let step = if shape.walks_lanes() { lanes as u64 } else { 1 };
        let extent = shape.walk_extent(&n);
        let longest = shape.chunk.map_or(extent, |chunk| chunk.steps);
        let (has_tile, is_long) = (longest >= shape.unroll as u64 * step, extent >= FEW * step);
        let mut numbers: Vec<u64> = shape.outer.iter().map(|outer| outer.extent).collect();
        let pointers = pointers(&n, &shape);
        let open = shape.walk.filter(|&walk| !shape.walks_lanes() && !is_clipped(&n, walk));
        for outer in &mut shape.outer {
            outer.extent = 0;
            if LaneDim::Kept(outer.dim) != shape.lane && Some(outer.dim) != shape.walk {
                rank_strides(&mut n, outer.dim);
                n.dims[outer.dim] = 0;
            }
        }
        if let Some(walk) = open {
            n.dims[walk] = 0;
        }
        let length = match (&mut shape.chunk, open) {
            (Some(chunk), _) => Some(std::mem::take(&mut chunk.last)),
            (None, open) => open.map(|_| extent),
        };
        let length = length.map(|length| {
            numbers.push(length);
            numbers.len() - 1
        });
        numbers.extend(pointers);
        relative(&mut n)?;
        Some((Form { n, shape, length, has_tile, is_long }, numbers))
    }

    /// The number of the first of an access's numbers.
    fn of_access(&self, access: usize) -> usize {
        let n_outer = self.shape.outer.len();
        n_outer + usize::from(self.length.is_some()) + access * (1 + 2 * n_outer)
    }

    /// The bytes to the first element of an access.
    pub(crate) fn start(&self, access: usize) -> Number {
        Number::plain(self.of_access(access))
    }

    /// The bytes of a step along an outer dimension; `None` for none.
    pub(crate) fn step(&self, access: usize, outer: usize) -> Option<usize> {
        let dim = self.shape.outer.get(outer)?.dim;
        (self.n.accesses[access].kept[dim] != 0).then(|| self.of_access(access) + 1 + 2 * outer)
    }

    /// The bytes of a step along an outer dimension when the one inside it begins anew; `None` for none.
    pub(crate) fn next(&self, access: usize, outer: usize) -> Option<Number> {
        let inside = self.step(access, outer + 1);
        self.step(access, outer).or(inside).map(|_| Number::plain(self.of_access(access) + 2 + 2 * outer))
    }
}

/// The numbers of each access, in bytes: its first element, and for each outer dimension its step, and its step when the dimension
/// inside has to be taken back, which has moved to its last index.
fn pointers(n: &NormalizedNest, shape: &Shape) -> Vec<u64> {
    let mut numbers = vec![];
    for access in &n.accesses {
        let bytes = access.dtype.bytes() as i64;
        numbers.push(access.offset.wrapping_mul(bytes) as u64);
        let step = |at: usize| shape.outer[at].scale as i64 * bytes * access.kept[shape.outer[at].dim];
        for at in 0..shape.outer.len() {
            let inside = shape.outer.get(at + 1).map_or(0, |inside| step(at + 1) * (inside.extent as i64 - 1));
            numbers.extend([step(at) as u64, (step(at) - inside) as u64]);
        }
    }
    numbers
}

/// Replaces strides along a dimension by their ranks in the order of the accesses.
fn rank_strides(n: &mut NormalizedNest, dim: usize) {
    let mut known = vec![0];
    for access in &mut n.accesses {
        let stride = &mut access.kept[dim];
        let rank = known.iter().position(|known| known == stride).unwrap_or_else(|| {
            known.push(*stride);
            known.len() - 1
        });
        *stride = rank as i64;
    }
}

/// Replaces offsets by those from the first access that moves alike.
fn relative(n: &mut NormalizedNest) -> Option<()> {
    let first = |at: usize| (0..at).find(|&first| move_alike(&n.accesses[first], &n.accesses[at])).unwrap_or(at);
    let offset = |at: usize| n.accesses[at].offset.checked_sub(n.accesses[first(at)].offset);
    let offsets = (0..n.accesses.len()).map(offset).collect::<Option<Vec<i64>>>()?;
    n.accesses.iter_mut().zip(offsets).for_each(|(access, offset)| access.offset = offset);
    Some(())
}
