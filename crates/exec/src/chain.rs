//! Chains: consecutive steps in one parallel region. Each thread computes its rows of all of them, so no thread waits for another
//! between two steps: the time steps of a recurrent network, or small layers over a batch.
//!
//! Rows are the indices of a step's outermost dimension. A chain is sound because no share writes what another one accesses, in
//! whatever steps: then the order in which shares reach their steps does not matter. Accesses are compared as ranges of bytes, so
//! this holds for buffers that take each other's place in the arena, too.

use super::launch::{Launch, Packed, REGION_NS, is_in_caches, work_ns};
use crate::plan::{Buffer, Place, Plan, Work};
use relayc_codegen::nest::{Reach, Rows};
use relayc_ir::kernel::{Columns, Contraction, Kernel};
use relayc_runtime::split::Piece;
use std::ops::Range;

/// Maximum number of shares: each is compared with all others.
const MAX_SHARES: usize = 16;
/// Maximum number of ranges that a share accesses.
const MAX_RANGES: usize = 128;

/// A chain of steps.
#[derive(Debug)]
pub struct Chain {
    pub steps: Range<usize>,
    /// For each step its piece in each share, if it is a contraction.
    pieces: Vec<Vec<Piece>>,
}

impl Chain {
    /// The piece of a contraction in a share.
    pub(crate) fn piece(&self, step: usize, share: usize) -> &Piece {
        &self.pieces[step - self.steps.start][share]
    }
}

/// The chains of a plan for this many threads, in order. Each has a share for each thread.
pub fn find(plan: &Plan, launches: &[Launch], threads: usize) -> Vec<Chain> {
    let mut chains = vec![];
    if !(2..=MAX_SHARES).contains(&threads) {
        return chains;
    }
    let mut open = Open::new(0, threads);
    for (at, step) in plan.steps.iter().enumerate() {
        if step.once {
            open.pieces.push(vec![]);
            continue;
        }
        let split = Split::of(plan, launches, at, threads);
        if split.as_ref().is_some_and(|split| open.take(split)) {
            continue;
        }
        chains.extend(open.close());
        open = Open::new(at, threads);
        if split.is_none_or(|split| !open.take(&split)) {
            open = Open::new(at + 1, threads);
        }
    }
    chains.extend(open.close());
    chains
}

/// A range of bytes of the arena, or of an output.
#[derive(Clone, Copy)]
struct Bytes {
    /// 0 for the arena, otherwise the number of an output plus 1.
    place: usize,
    range: [i64; 2],
}

impl Bytes {
    fn meets(&self, other: &Bytes) -> bool {
        self.place == other.place && self.range[0] < other.range[1] && other.range[0] < self.range[1]
    }
}

/// Ranges that one share accesses, in order and apart from each other.
#[derive(Clone, Default)]
struct Touched(Vec<Bytes>);

impl Touched {
    fn add(&mut self, new: Bytes) {
        // The ranges that it overlaps or extends.
        let first = self.0.partition_point(|old| (old.place, old.range[1]) < (new.place, new.range[0]));
        let end = self.0.partition_point(|old| (old.place, old.range[0]) <= (new.place, new.range[1]));
        let joined =
            self.0[first..end].iter().fold(new.range, |[low, high], old| [low.min(old.range[0]), high.max(old.range[1])]);
        self.0.splice(first..end, [Bytes { range: joined, ..new }]);
    }

    fn meets(&self, other: &Bytes) -> bool {
        let behind = self.0.partition_point(|old| (old.place, old.range[0]) < (other.place, other.range[1]));
        behind.checked_sub(1).is_some_and(|at| self.0[at].meets(other))
    }
}

/// A step in equal shares of its rows.
struct Split {
    /// What each share reads and writes.
    shares: Vec<Vec<(Bytes, bool)>>,
    /// The piece of each share, if it is a contraction.
    pieces: Vec<Piece>,
    ns: f64,
}

impl Split {
    /// `None` if the step has no such shares.
    fn of(plan: &Plan, launches: &[Launch], at: usize, n_shares: usize) -> Option<Split> {
        let step = &plan.steps[at];
        let (rows, pieces, ns) = match (&launches[at], &step.work) {
            (Launch::Nest(nest), _) => (nest.rows.clone()?, vec![], nest.n_items as f64 * nest.item_cost_ns),
            (Launch::Contraction(code, Packed::Kept(_) | Packed::Shared(_)), Work::Kernel(kernel)) => {
                let Kernel::Contraction(contract) = &**kernel else { return None };
                let rows = rows(contract).filter(|_| is_in_caches(code))?;
                let inner = contract.points.iter().map(|dim| dim.extent).product::<u64>() / rows.n;
                let of_share = |share| code.piece_of_points(bounds(rows.n, share, n_shares).map(|row| row * inner));
                let pieces = (0..n_shares).map(of_share).collect::<Option<Vec<Piece>>>()?;
                (rows, pieces, work_ns(code))
            }
            _ => return None,
        };
        if !rows.n.is_multiple_of(n_shares as u64) {
            return None;
        }
        let buffer = |reach: &Reach| &plan.buffers[step.args[reach.arg]];
        let of_share = |share| {
            let rows_of_share = bounds(rows.n, share, n_shares);
            let accesses = rows.reaches.iter().map(|reach| (bytes(buffer(reach), reach, rows_of_share), reach.written));
            // Nothing writes what is in no place of a run.
            accesses.filter_map(|(bytes, written)| Some((bytes?, written))).collect()
        };
        let all_written = rows.reaches.iter().filter(|reach| reach.written).all(|reach| place(buffer(reach)).is_some());
        all_written.then(|| Split { shares: (0..n_shares).map(of_share).collect(), pieces, ns })
    }
}

/// The rows of a share, from its first to the first of the next.
fn bounds(n: u64, share: usize, n_shares: usize) -> [u64; 2] {
    [share, share + 1].map(|share| n * share as u64 / n_shares as u64)
}

/// The place of a buffer that runs may write, and where it begins there.
fn place(buffer: &Buffer) -> Option<(usize, i64)> {
    match buffer.place {
        Place::Arena(offset) => Some((0, offset as i64)),
        Place::Output(at) => Some((1 + at, 0)),
        _ => None,
    }
}

/// What rows access of a buffer that runs may write.
fn bytes(buffer: &Buffer, reach: &Reach, [first, end]: [u64; 2]) -> Option<Bytes> {
    let (place, start) = place(buffer)?;
    let [low, high] = reach.bytes;
    Some(Bytes { place, range: [start + low + first as i64 * reach.step, start + high + (end as i64 - 1) * reach.step] })
}

/// A chain that may grow.
struct Open {
    first: usize,
    /// Number of steps that run.
    n_steps: usize,
    pieces: Vec<Vec<Piece>>,
    read: Vec<Touched>,
    written: Vec<Touched>,
    ns: f64,
}

impl Open {
    fn new(first: usize, n_shares: usize) -> Open {
        let none = vec![Touched::default(); n_shares];
        Open { first, n_steps: 0, pieces: vec![], read: none.clone(), written: none, ns: 0.0 }
    }

    /// Adds the next step, if no share writes what another one accesses; returns whether it did.
    fn take(&mut self, split: &Split) -> bool {
        let others = |share: usize| (0..split.shares.len()).filter(move |&other| other != share);
        let is_free = |share: usize, &(bytes, is_written): &(Bytes, bool)| {
            others(share).all(|other| {
                let meets = |&(new, written): &(Bytes, bool)| (is_written || written) && new.meets(&bytes);
                let met = self.written[other].meets(&bytes) || is_written && self.read[other].meets(&bytes);
                !met && !split.shares[other].iter().any(meets)
            })
        };
        let is_free = |(share, accesses): (usize, &Vec<(Bytes, bool)>)| accesses.iter().all(|one| is_free(share, one));
        let few = self.read.iter().chain(&self.written).all(|touched| touched.0.len() <= MAX_RANGES);
        if !few || !split.shares.iter().enumerate().all(is_free) {
            return false;
        }
        for (share, accesses) in split.shares.iter().enumerate() {
            for &(bytes, is_written) in accesses {
                let touched = if is_written { &mut self.written } else { &mut self.read };
                touched[share].add(bytes);
            }
        }
        self.pieces.push(split.pieces.clone());
        self.n_steps += 1;
        self.ns += split.ns;
        true
    }

    /// The chain, if it saves time.
    fn close(self) -> Option<Chain> {
        let steps = self.first..self.first + self.pieces.len();
        (self.n_steps > 1 && self.ns > REGION_NS).then_some(Chain { steps, pieces: self.pieces })
    }
}

/// The rows of a contraction; `None` if it has none, or strides that are negative.
fn rows(contract: &Contraction) -> Option<Rows> {
    let at = contract.points.iter().position(|dim| dim.extent > 1).filter(|_| contract.groups == 1)?;
    let n = contract.points[at].extent;
    let columns = |view: Columns| -> Option<i64> {
        let last = contract.columns.checked_sub(1)?;
        let (blocks, within) = (last / view.block.max(1), last.min(view.block.checked_sub(1)?));
        (view.outer >= 0 && view.inner >= 0).then_some(blocks as i64 * view.outer + within as i64 * view.inner)
    };
    // The elements from the first to the last of a row, along all dimensions but that of the rows.
    let span = |steps: &mut dyn Iterator<Item = (u64, i64)>| -> Option<i64> {
        steps.map(|(extent, step)| (step >= 0).then_some((extent as i64 - 1) * step)).sum()
    };
    let inside = || contract.points[at + 1..].iter();
    let reach = |arg: usize, written: bool, width: u64, offset: i64, last: i64, step: i64| {
        let width = width as i64;
        (step >= 0).then_some(Reach { arg, written, bytes: [offset * width, (offset + last + 1) * width], step: step * width })
    };
    let input = span(&mut inside().chain(&contract.sum).map(|dim| (dim.extent, dim.input)))?;
    let width = contract.factors.input_bytes();
    let mut reaches = vec![reach(contract.input.0, false, width, contract.input.1, input, contract.points[at].input)?];
    let out = span(&mut inside().map(|dim| (dim.extent, dim.other)))? + columns(contract.out_columns)?;
    reaches.push(reach(contract.out.0, true, contract.dtype.bytes(), contract.out.1, out, contract.points[at].other)?);
    for operand in &contract.operands {
        let points = operand.points.get(at + 1..)?;
        let last = span(&mut inside().zip(points).map(|(dim, &step)| (dim.extent, step)))? + columns(operand.columns)?;
        reaches.push(reach(operand.arg, false, operand.dtype.bytes(), operand.offset, last, *operand.points.get(at)?)?);
    }
    Some(Rows { n, reaches })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(place: usize, range: [i64; 2]) -> Bytes {
        Bytes { place, range }
    }

    #[test]
    fn ranges_meet_those_that_any_of_their_bytes_is_in() {
        let mut touched = Touched::default();
        let ranges = [(0, [8, 12]), (1, [0, 4]), (0, [0, 4]), (0, [4, 6]), (0, [20, 30]), (0, [11, 16])];
        for (at, (place, range)) in ranges.into_iter().enumerate() {
            touched.add(bytes(place, range));
            for other in 0..3 {
                for (low, high) in (0..32).flat_map(|low| (low + 1..33).map(move |high| (low, high))) {
                    let wanted =
                        ranges[..=at].iter().any(|&(place, range)| bytes(place, range).meets(&bytes(other, [low, high])));
                    assert_eq!(touched.meets(&bytes(other, [low, high])), wanted, "{at}: {other} {low}..{high}");
                }
            }
        }
        assert_eq!(touched.0.len(), 4);
    }
}
