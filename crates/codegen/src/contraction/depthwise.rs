//! Depthwise convolutions: sums over a window for each channel alone, with vectors of channels on both sides.
//!
//! A tile is a list of points of one vector of channels. If the weights of the whole window fit into registers beside the sums,
//! each input vector is loaded once and feeds all points that it touches. Otherwise weights are loaded tap by tap, and each
//! multiply-add reads its own input. In both cases the taps of a point follow the order of the window; sums of bytes, which are
//! exact, need no order ([`super::words`]). A loop goes over the rows of a large window, so its code is that of one row.

use super::convert;
use super::emit::{LINE, bias, each_tile};
use super::epilogue::{Epilogue, Lanes, Sums};
use super::pack::offsets;
use super::points::{Cut, Shape, Tiles, extents, next_row, sizes, touches};
use super::registers::{INPUT, SPARE, TAIL, WEIGHTS};
use super::words::WindowWords;
use super::{ContractionCode, Entries, Packing, Plan, each_variant, normal, packing, streams};
use crate::asm::{Asm, Cond, Isa, Mask, Mem, R, V, forms};
use crate::machine::load_extended;
use relayc_ir::kernel::{ByteProducts, Contraction, Depthwise, Factors, Target};
use relayc_ir::types::DType;

/// Maximum number of unrolled taps; for more, a loop goes over the window's first dimension.
const MOST_TAPS: u64 = 256;
/// Maximum number of points of one vector of channels; more do not help.
const MOST_POINTS: u64 = 14;

/// Emits the code; `None` if the plan must take another kernel.
pub(crate) fn compile(depthwise: &Depthwise, target: &Target, asm: &mut Asm) -> Option<ContractionCode> {
    let contract = &depthwise.contract;
    let plan = Plan::of(contract, target, asm.isa())?;
    let lanes = plan.target.lanes;
    let streams_of = plan.streams(1)?;
    let epilogue = plan.epilogue(&streams_of);
    let input_columns = normal(depthwise.input_columns, contract.columns);
    if streams(&[input_columns], &[DType::F32], 1, plan.n_vectors, lanes)?[0].lanes != Lanes::Vector {
        return None;
    }
    // AVX2 has no masks for bytes.
    let masked = !contract.columns.is_multiple_of(lanes as u64);
    if masked && contract.factors == Factors::Widened && asm.isa() == Isa::Avx2 {
        return None;
    }
    let packing = packing(contract, lanes, 1);
    let taps = Taps::of(contract)?;
    let is_whole = taps.rounds == 1;
    let words = is_whole.then(|| WindowWords::of(depthwise, &taps.offsets, target.byte_products, asm.isa())).flatten();
    let registers = words.as_ref().map_or(packing.steps() + 2, |words| words.registers() as u64);
    let tiles = plan.tiles(&epilogue, cut(&plan, registers), asm.isa())?;
    // Tiles have few points: converting the window for all of them at once is the least.
    let group_code = contract.converted().map(|dtype| convert::by_groups(&packing, dtype, asm));
    let together = input_columns.block >= contract.columns;
    let row = plan.row_to_prefetch(contract.columns).filter(|_| together);
    let how = How { taps: &taps, factors: contract.factors, byte_products: target.byte_products, words: words.as_ref(), row };
    let entries = code(&tiles, &epilogue, &packing, how, asm)?;
    let mut found = ContractionCode { group_code, ..plan.finish(packing, tiles, entries) };
    let size = contract.factors.input_bytes() as i64;
    if together {
        found.take_channels_together(contract, plan.target.l2);
    }
    found.input.groups = (0..plan.n_vectors).map(|group| size * input_columns.offset(group * lanes as u64)).collect();
    Some(found)
}

/// How a window is summed.
#[derive(Clone, Copy)]
struct How<'a> {
    taps: &'a Taps,
    factors: Factors,
    byte_products: ByteProducts,
    /// Absent where taps are summed one at a time.
    words: Option<&'a WindowWords>,
    /// How many elements ahead the next row is, if that is brought near.
    row: Option<i64>,
}

/// The taps of one iteration of a loop over the window, as offsets of the input in elements.
struct Taps {
    offsets: Vec<i64>,
    rounds: u64,
    /// Step from one iteration to the next, in bytes of the input.
    step: i32,
}

impl Taps {
    /// `None` if an iteration would be too long, or too far from the next.
    fn of(contract: &Contraction) -> Option<Taps> {
        let sum = &contract.sum;
        let whole: u64 = sum.iter().map(|dim| dim.extent).product();
        let first = sum.iter().position(|dim| dim.extent > 1).filter(|_| whole > MOST_TAPS);
        let Some(first) = first else { return Some(Taps { offsets: offsets(sum, |dim| dim.input), rounds: 1, step: 0 }) };
        let (dim, inner) = (sum[first], &sum[first + 1..]);
        (whole / dim.extent <= MOST_TAPS).then_some(())?;
        let step = i32::try_from(dim.input.checked_mul(contract.factors.input_bytes() as i64)?).ok()?;
        Some(Taps { offsets: offsets(inner, |dim| dim.input), rounds: dim.extent, step })
    }
}

/// Maximum number of points of a tile: as many as leave so many `registers` of `all`, if that is possible.
fn most_points(registers: u64, all: u64) -> u64 {
    let beside = all.saturating_sub(registers);
    if beside >= 4 { beside } else { all - 4 }.min(MOST_POINTS)
}

/// The cut into bundles of rows with the fewest tiles, which leave so many `registers`; among equals the lowest, which has the
/// least code.
pub(super) fn cut(plan: &Plan, registers: u64) -> Cut {
    let most = most_points(registers, plan.target.registers as u64);
    let (_, rows, _) = extents(&plan.dims);
    let cuts = (1..=rows.min(most)).map(|rows| Cut { rows, most });
    let tiles = |cut: &Cut| sizes(&plan.dims, *cut).map(|(count, _)| count).sum::<u64>();
    cuts.min_by_key(tiles).unwrap_or(Cut { rows: 1, most })
}

fn code(tiles: &Tiles, epilogue: &Epilogue, packing: &Packing, how: How, asm: &mut Asm) -> Option<Entries> {
    let entry = |shape: &Shape| {
        each_variant(packing, asm, |asm, vectors, tail| {
            asm.align(LINE);
            let entry = asm.here();
            asm.mark(format!("window of {} points x {}", shape.len(), super::columns_of(vectors, tail)));
            Window { sums: Sums { shape, vectors, tail, limit: None, first: None, epilogue }, how }.emit(asm);
            Some(entry)
        })
    };
    let entries: Vec<[usize; 2]> = tiles.shapes.iter().map(entry).collect::<Option<_>>()?;
    Some(Entries { next_bytes: vec![0; entries.len()], entries })
}

/// Sets the sums to zero. Returns the mask of a partial vector, which takes the last register on AVX2.
pub(super) fn begin(sums: &Sums, asm: &mut Asm) -> Option<Mask> {
    for at in 0..sums.len() {
        asm.zero(V(at as u8));
    }
    sums.tail.map(|lanes| match asm.isa() {
        Isa::Avx512 => Mask::K(TAIL),
        Isa::Avx2 => {
            let mask = Mask::V(V(asm.isa().regs() as u8 - 1));
            asm.set_tail(mask, lanes, R::R8);
            mask
        }
    })
}

/// The code of a tile.
struct Window<'a> {
    sums: Sums<'a>,
    how: How<'a>,
}

/// Counter of iterations; the epilogue sets its pointers after them.
const ROUNDS: R = SPARE[0];

impl Window<'_> {
    fn emit(&self, asm: &mut Asm) {
        let used = &SPARE[..(self.sums.epilogue.n_streams() - 1).max(usize::from(self.how.taps.rounds > 1))];
        each_tile(
            asm,
            &self.sums,
            used,
            0,
            |asm| {
                if self.words().is_some() {
                    WindowWords::begin(asm);
                }
            },
            |asm| {
                // The mask's register is the last one, which neither way of summing uses.
                let mask = begin(&self.sums, asm);
                if let Some(words) = self.words() {
                    return words.emit(&self.sums, asm);
                }
                if self.how.taps.rounds > 1 {
                    return self.by_rounds(asm, mask);
                }
                let touches = touches(self.sums.shape, &self.how.taps.offsets);
                match self.sums.len() + self.how.taps.offsets.len() + 2 <= asm.isa().regs() && self.in_order(&touches) {
                    true => self.by_input(asm, &touches, mask),
                    false => self.by_tap(asm, mask),
                }
            },
        );
    }

    /// The words by which it sums whole vectors.
    fn words(&self) -> Option<&WindowWords> {
        self.how.words.filter(|words| self.sums.tail.is_none() && self.sums.len() + words.registers() <= Isa::Avx512.regs())
    }

    /// Whether each point meets its taps in their order.
    fn in_order(&self, touches: &[(i64, usize, usize)]) -> bool {
        let mut next = vec![0; self.sums.len()];
        touches.iter().all(|&(_, point, tap)| {
            next[point] += 1;
            tap + 1 == next[point]
        })
    }

    fn load(&self, asm: &mut Asm, dst: V, offset: i64, mask: Option<Mask>) {
        let from = Mem::at(INPUT, (self.how.factors.input_bytes() as i64 * offset) as i32 - bias(asm.isa()));
        if self.how.factors != Factors::Widened {
            return asm.load_tail(dst, mask, from);
        }
        load_extended(asm, DType::U8, dst, mask, from);
    }

    /// Adds the product of a weight and an input to a sum. The upper 16 bits of a lane that holds a byte are zero, so that their
    /// product adds nothing.
    fn add(&self, asm: &mut Asm, sum: V, weight: V, input: V) {
        let width = self.sums.width(asm.isa(), 0);
        match self.how.factors {
            Factors::Widened if self.how.byte_products == ByteProducts::Words => {
                asm.vector(&forms::VPDPWSSD, width, sum, weight, input, None);
            }
            Factors::Widened => {
                // Whole vectors need no mask, whose register this is.
                let product = V(asm.isa().regs() as u8 - 1);
                asm.vector(&forms::VPMADDWD, width, product, weight, input, None);
                asm.vector(&forms::VPADDD, width, sum, sum, product, None);
            }
            Factors::Floats | Factors::Doubles | Factors::Bytes | Factors::Pairs | Factors::WidePairs => {
                asm.vector(&forms::VFMADD231PS, width, sum, weight, input, None);
            }
        }
    }

    fn by_input(&self, asm: &mut Asm, touches: &[(i64, usize, usize)], mask: Option<Mask>) {
        let bytes = asm.isa().bytes();
        let value = self.sums.extra(0);
        for tap in 0..self.how.taps.offsets.len() {
            asm.load(self.sums.extra(1 + tap), Mem::at(WEIGHTS, (tap * bytes) as i32));
        }
        let mut ahead = self.how.row.map_or(vec![], |row| next_row(self.sums.shape, &self.how.taps.offsets, row)).into_iter();
        for vector in touches.chunk_by(|a, b| a.0 == b.0) {
            if let Some(offset) = ahead.next() {
                asm.prefetcht0(Mem::at(INPUT, (self.how.factors.input_bytes() as i64 * offset) as i32 - bias(asm.isa())));
            }
            self.load(asm, value, vector[0].0, mask);
            for &(_, point, tap) in vector {
                self.add(asm, self.sums.register(point, 0), self.sums.extra(1 + tap), value);
            }
        }
    }

    /// Emits the window row by row.
    fn by_rounds(&self, asm: &mut Asm, mask: Option<Mask>) {
        let weights = self.how.taps.offsets.len() * asm.isa().bytes();
        asm.mov_ri(ROUNDS, self.how.taps.rounds as i64);
        let next = asm.bound();
        self.by_tap(asm, mask);
        asm.add_ri(INPUT, self.how.taps.step);
        asm.add_ri(WEIGHTS, weights as i32);
        asm.dec(ROUNDS);
        asm.jcc(Cond::NE, next);
    }

    fn by_tap(&self, asm: &mut Asm, mask: Option<Mask>) {
        let bytes = asm.isa().bytes();
        let (weight, value) = (self.sums.extra(0), self.sums.extra(1));
        for (tap, offset) in self.how.taps.offsets.iter().enumerate() {
            asm.load(weight, Mem::at(WEIGHTS, (tap * bytes) as i32));
            for (at, point) in self.sums.shape.iter().enumerate() {
                let sum = self.sums.register(at, 0);
                if mask.is_some() || self.how.factors == Factors::Widened {
                    self.load(asm, value, point[0] + offset, mask);
                    self.add(asm, sum, weight, value);
                } else {
                    asm.fma(sum, weight, Mem::at(INPUT, (4 * (point[0] + offset)) as i32 - bias(asm.isa())));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_leave_registers() {
        for registers in [16, 32] {
            for beside in 1..60 {
                let most = most_points(beside, registers);
                assert!(most >= 4 && (most + beside <= registers || most + 4 <= registers), "{beside} {most}");
            }
        }
    }
}
