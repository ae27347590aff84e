//! Convolutions with few channels in a group: a vector holds the columns of several groups, each with its own input.
//!
//! The channels of all groups lie side by side. An input vector holds the channels of the same groups as a vector of columns; for each
//! channel of a group, a shuffle repeats it over the lanes of its group. What is shuffled once feeds all points of the tile that the
//! vector touches, and weights are operands in memory. Every sum is one chain in the order of the window and of the channels, as
//! in direct sums. Input vectors are taken a few at a time, of different points, so that no sum waits for itself.
//!
//! Absent: groups as long as a vector, or longer, for which direct sums have whole vectors.

use super::depthwise::{begin, cut};
use super::emit::{LINE, bias, each_tile};
use super::epilogue::{Epilogue, Sums};
use super::pack::offsets;
use super::points::{Shape, Tiles, next_row, touches};
use super::registers::{INPUT, SPARE, WEIGHTS};
use super::{ContractionCode, Entries, Packing, Plan, columns_of, each_variant, normal, packing};
use crate::asm::{Asm, Mask, Mem, Width, forms};
use relayc_ir::kernel::{Columns, Contraction, ContractionDim, Factors, Operand, Target};

/// Maximum number of unrolled multiply-adds for each point.
const MOST_STEPS: u64 = 256;
/// Input vectors that are taken at a time.
const AT_ONCE: usize = 3;
/// The part of the peak that these sums reach.
const SHARE: f64 = 0.8;

/// The modelled cycles; `None` if the contraction is of another kind.
pub(crate) fn cycles(contract: &Contraction, target: &Target) -> Option<f64> {
    let merged = merged(contract, target.lanes)?;
    let steps: u64 = merged.points.iter().chain(&merged.sum).map(|dim| dim.extent).product();
    let vectors = merged.columns.div_ceil(target.lanes as u64);
    Some((steps * vectors) as f64 / (SHARE * target.fmas as f64))
}

/// Emits the code; `None` if the plan must take another kernel.
pub(crate) fn compile(contract: &Contraction, target: &Target, asm: &mut Asm) -> Option<ContractionCode> {
    let lanes = asm.isa().lanes();
    let group = contract.columns as usize;
    let merged = merged(contract, lanes)?;
    let plan = Plan::of(&merged, target, asm.isa())?;
    let streams = plan.streams(1)?;
    let epilogue = plan.epilogue(&streams);
    let packing = packing(&merged, lanes, 1);
    // Beside the sums there are the input vectors, each in halves if groups reach over 128 bits, a shuffled one and a mask.
    let beside = AT_ONCE * halves(group) + 2;
    let tiles = plan.tiles(&epilogue, cut(&plan, beside as u64), asm.isa())?;
    // The channels of a group are the last dimension of the sum, with one step for all.
    let taps = offsets(&merged.sum[..merged.sum.len() - 1], |dim| dim.input);
    let row = plan.row_to_prefetch(merged.columns);
    let entries = code(&tiles, &epilogue, &packing, (&taps, group, row), asm)?;
    let mut found = plan.finish(packing, tiles, entries);
    found.take_channels_together(&merged, plan.target.l2);
    found.input.groups = (0..plan.n_vectors).map(|vector| 4 * (vector * lanes as u64) as i64).collect();
    Some(found)
}

/// The contraction with the columns of all groups as its own; `None` if they do not lie side by side everywhere, or if a group fills
/// a vector.
fn merged(contract: &Contraction, lanes: usize) -> Option<Contraction> {
    let (group, groups) = (contract.columns, contract.groups);
    let (last, window) = contract.sum.split_last()?;
    let steps: u64 = contract.sum.iter().map(|dim| dim.extent).product();
    let columns = groups.checked_mul(group)?;
    let few = [2, 4, 8].contains(&group) && 2 * group <= lanes as u64 && columns >= lanes as u64;
    let own = last.extent == group && last.input == 1 && contract.group_steps[0] == group as i64;
    if !few || !own || steps > MOST_STEPS || contract.factors != Factors::Floats || contract.converted().is_some() {
        return None;
    }
    let side_by_side = |view: Columns, step: i64| {
        let view = normal(view, group);
        (view.block >= group && view.inner.checked_mul(group as i64) == Some(step)).then_some(Columns {
            block: columns,
            outer: 0,
            inner: view.inner,
        })
    };
    let [_, weight_step, out_step] = contract.group_steps;
    let operands = contract.operands.iter();
    let operands = operands.map(|own| Some(Operand { group: 0, columns: side_by_side(own.columns, own.group)?, ..own.clone() }));
    Some(Contraction {
        groups: 1,
        group_steps: [0; 3],
        columns,
        sum: window.iter().copied().chain([ContractionDim { input: 0, ..*last }]).collect(),
        weight_columns: side_by_side(contract.weight_columns, weight_step)?,
        out_columns: side_by_side(contract.out_columns, out_step)?,
        operands: operands.collect::<Option<_>>()?,
        ..contract.clone()
    })
}

/// The registers of an input vector: with groups over 128 bits, the lower and the upper halves of all groups.
fn halves(group: usize) -> usize {
    group.div_ceil(4)
}

fn code(
    tiles: &Tiles,
    epilogue: &Epilogue,
    packing: &Packing,
    (taps, group, row): (&[i64], usize, Option<i64>),
    asm: &mut Asm,
) -> Option<Entries> {
    let entry = |shape: &Shape| {
        let batches = batches(shape, taps)?;
        let ahead = row.map_or(vec![], |row| next_row(shape, taps, row));
        each_variant(packing, asm, |asm, vectors, tail| {
            asm.align(LINE);
            let entry = asm.here();
            asm.mark(format!("window of {} points x {}, groups of {group}", shape.len(), columns_of(vectors, tail)));
            let sums = Sums { shape, vectors, tail, limit: None, first: None, epilogue };
            Window { sums, batches: &batches, ahead: &ahead, group }.emit(asm);
            Some(entry)
        })
    };
    let entries: Vec<[usize; 2]> = tiles.shapes.iter().map(entry).collect::<Option<_>>()?;
    Some(Entries { next_bytes: vec![0; entries.len()], entries })
}

/// An input vector: its offset, and the points that it touches, each with the tap.
struct Touched {
    offset: i64,
    uses: Vec<(usize, usize)>,
}

/// The input vectors of a tile, as many at a time as touch different points, so that each point meets its taps in order. `None` if
/// that is not possible.
fn batches(shape: &Shape, taps: &[i64]) -> Option<Vec<Vec<Touched>>> {
    let vector =
        |uses: &[(i64, usize, usize)]| Touched { offset: uses[0].0, uses: uses.iter().map(|&(_, at, tap)| (at, tap)).collect() };
    let mut left: Vec<Touched> = touches(shape, taps).chunk_by(|a, b| a.0 == b.0).map(vector).collect();
    let mut next = vec![0; shape.len()];
    let mut batches = vec![];
    while !left.is_empty() {
        let before = next.clone();
        let mut batch: Vec<Touched> = vec![];
        let mut at = 0;
        while at < left.len() && batch.len() < AT_ONCE {
            // A point that an earlier vector of the batch touches has gone on.
            let ready = left[at].uses.iter().all(|&(point, tap)| next[point] == tap && before[point] == tap);
            if !ready {
                at += 1;
                continue;
            }
            left[at].uses.iter().for_each(|&(point, _)| next[point] += 1);
            batch.push(left.remove(at));
        }
        (!batch.is_empty()).then_some(())?;
        batches.push(batch);
    }
    Some(batches)
}

/// The code of a tile.
struct Window<'a> {
    sums: Sums<'a>,
    batches: &'a [Vec<Touched>],
    /// The input vectors that are brought near while these are summed.
    ahead: &'a [i64],
    group: usize,
}

impl Window<'_> {
    fn emit(&self, asm: &mut Asm) {
        let used = &SPARE[..self.sums.epilogue.n_streams() - 1];
        each_tile(
            asm,
            &self.sums,
            used,
            0,
            |_| (),
            |asm| {
                let mask = begin(&self.sums, asm);
                let each = self.ahead.len().div_ceil(self.batches.len()).max(1);
                let mut ahead = self.ahead.chunks(each);
                for batch in self.batches {
                    for offset in ahead.next().into_iter().flatten() {
                        asm.prefetcht0(Mem::at(INPUT, (4 * offset) as i32 - bias(asm.isa())));
                    }
                    self.batch(asm, batch, mask);
                }
            },
        );
    }

    fn batch(&self, asm: &mut Asm, batch: &[Touched], mask: Option<Mask>) {
        let halves = halves(self.group);
        let shuffled = self.sums.extra(0);
        let half = |at: usize, half: usize| self.sums.extra(1 + at * halves + half);
        for (at, vector) in batch.iter().enumerate() {
            let whole = half(at, 0);
            asm.load_tail(whole, mask, Mem::at(INPUT, (4 * vector.offset) as i32 - bias(asm.isa())));
            if halves > 1 {
                // The upper 128 bits of each pair, then the lower ones, twice each.
                asm.vector(&forms::VSHUFF32X4, Width::Z, half(at, 1), whole, whole, Some(0b11_11_01_01));
                asm.vector(&forms::VSHUFF32X4, Width::Z, whole, whole, whole, Some(0b10_10_00_00));
            }
        }
        for channel in 0..self.group {
            for (at, vector) in batch.iter().enumerate() {
                let from = half(at, channel / 4);
                asm.shuffle(shuffled, from, from, choice(self.group, channel));
                for &(point, tap) in &vector.uses {
                    let weight = Mem::at(WEIGHTS, ((tap * self.group + channel) * asm.isa().bytes()) as i32);
                    let width = self.sums.width(asm.isa(), 0);
                    asm.vector(&forms::VFMADD231PS, width, self.sums.register(point, 0), shuffled, weight, None);
                }
            }
        }
    }
}

/// The selection that repeats a channel over the lanes of its group, or over those of it in each 128 bits.
fn choice(group: usize, channel: usize) -> u8 {
    (0..4)
        .map(|lane| if group == 2 { lane & 2 | channel } else { channel % 4 })
        .enumerate()
        .fold(0, |all, (lane, of)| all | (of as u8) << (2 * lane))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_repeat_channels() {
        assert_eq!([0, 1].map(|channel| choice(2, channel)), [0b10_10_00_00, 0b11_11_01_01]);
        assert_eq!([0, 3].map(|channel| choice(4, channel)), [0, 0xff]);
        assert_eq!([1, 6].map(|channel| choice(8, channel)), [0b01_01_01_01, 0b10_10_10_10]);
    }

    #[test]
    fn points_meet_taps_in_order() {
        let row = 30;
        let shape: Shape = (0..9).map(|at| vec![16 * at]).collect();
        let taps: Vec<i64> = (0..9).map(|tap| 16 * (tap / 3 * row + tap % 3)).collect();
        let batches = batches(&shape, &taps).unwrap();
        let mut next = vec![0; shape.len()];
        for batch in &batches {
            let mut points: Vec<usize> = batch.iter().flat_map(|vector| vector.uses.iter().map(|one| one.0)).collect();
            for &(point, tap) in batch.iter().flat_map(|vector| &vector.uses) {
                assert_eq!(next[point], tap);
                next[point] += 1;
            }
            points.sort_unstable();
            assert!(points.windows(2).all(|pair| pair[0] != pair[1]));
        }
        assert!(next.iter().all(|&tap| tap == taps.len()));
        // Most of them hold several vectors.
        assert!(batches.len() < 20, "{}", batches.len());
    }
}
