//! Sums over a window for each channel alone: vectors of channels on both sides.
//!
//! A tile is a list of points of one vector of channels. If the whole window's weights fit into registers beside the sums,
//! each vector of input is loaded once and goes to all points that it touches; else weights are loaded tap by tap, and each
//! multiply-add reads its input itself. In both cases a point's taps come in the order of the window.

use super::emit::{INPUT, SPARE, TAIL, WEIGHTS, bias, each_tile};
use super::epilogue::{Epilogue, Lanes, Sums};
use super::pack::offsets;
use super::points::{Cut, Tiles, extents, sizes};
use super::{Contraction, Entries, LINE, Packing, Plan, normal, packing, streams, variants};
use crate::jit::asm::{Asm, Isa, Mask, Mem, R, V};
use crate::kernel::{Depthwise, Target};

/// More taps than this are not written out.
const MOST_TAPS: u64 = 256;
/// More points than this of one vector of channels do not help.
const MOST_POINTS: u64 = 14;

/// Emits the code; `None` where the plan has to take another kernel.
pub fn compile(depthwise: &Depthwise, target: &Target, asm: &mut Asm) -> Option<Contraction> {
    let contract = &depthwise.contract;
    let plan = Plan::of(contract, target, asm.isa())?;
    let lanes = plan.target.lanes;
    let streams_of = plan.streams(1)?;
    let epilogue = Epilogue { body: &contract.body, result: contract.result, streams: &streams_of };
    let input_columns = normal(depthwise.input_columns, contract.columns);
    if streams(&[input_columns], 1, plan.n_vectors, lanes)?[0].lanes != Lanes::Vector {
        return None;
    }
    let packing = packing(contract, lanes, 1);
    if packing.steps() > MOST_TAPS {
        return None;
    }
    let taps = offsets(&contract.sum, |dim| dim.input);
    let tiles = plan.tiles(&epilogue, cut(&plan, taps.len() as u64), asm.isa())?;
    let entries = code(&tiles, &epilogue, &packing, &taps, asm);
    let mut found = plan.finish(packing, tiles, entries);
    found.input.groups = (0..plan.n_vectors).map(|group| 4 * input_columns.offset(group * lanes as u64)).collect();
    Some(found)
}

/// How many points a tile has at most: as many as leave registers for the window, a value and a mask, if these are some.
fn most_points(taps: u64, registers: u64) -> u64 {
    let beside = registers.saturating_sub(taps + 2);
    if beside >= 4 { beside } else { registers - 4 }.min(MOST_POINTS)
}

/// Bundles of rows with the fewest tiles; of these the lowest, whose code is the least.
fn cut(plan: &Plan, taps: u64) -> Cut {
    let most = most_points(taps, plan.target.registers as u64);
    let (_, rows, _) = extents(&plan.dims);
    let cuts = (1..=rows.min(most)).map(|rows| Cut { rows, most });
    let tiles = |cut: &Cut| sizes(&plan.dims, *cut).iter().map(|(count, _)| count).sum::<u64>();
    cuts.min_by_key(tiles).unwrap_or(Cut { rows: 1, most })
}

fn code(tiles: &Tiles, epilogue: &Epilogue, packing: &Packing, taps: &[i64], asm: &mut Asm) -> Entries {
    let variants = variants(packing);
    let entry = |shape: &super::points::Shape| {
        let mut found = [0; 2];
        for (at, &(vectors, tail)) in variants.iter().enumerate() {
            asm.align(LINE);
            found[at] = asm.here();
            asm.mark(format!("window of {} points x {}", shape.len(), super::columns_of(vectors, tail)));
            Window { sums: Sums { shape, vectors, tail, limit: None, epilogue }, taps }.emit(asm);
        }
        if variants.len() == 1 {
            found[1] = found[0];
        }
        found
    };
    let entries: Vec<[usize; 2]> = tiles.shapes.iter().map(entry).collect();
    Entries { next_bytes: vec![0; entries.len()], entries }
}

/// The code of a tile; `taps` are the input's offsets over the window, in elements.
struct Window<'a> {
    sums: Sums<'a>,
    taps: &'a [i64],
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
                for at in 0..self.sums.len() {
                    asm.zero(V(at as u8));
                }
                // The mask's register is the last one, which neither way of summing uses.
                let mask = self.sums.tail.map(|lanes| match asm.isa() {
                    Isa::Avx512 => Mask::K(TAIL),
                    Isa::Avx2 => {
                        let mask = Mask::V(V(asm.isa().regs() as u8 - 1));
                        asm.set_tail(mask, lanes, R::R8);
                        mask
                    }
                });
                let touches = self.touches();
                match self.sums.len() + self.taps.len() + 2 <= asm.isa().regs() && self.in_order(&touches) {
                    true => self.by_input(asm, &touches, mask),
                    false => self.by_tap(asm, mask),
                }
            },
        );
    }

    /// What each vector of input goes to: `(offset, point, tap)`, by offsets.
    fn touches(&self) -> Vec<(i64, usize, usize)> {
        let points = self.sums.shape.iter().enumerate();
        let mut touches: Vec<(i64, usize, usize)> = points
            .flat_map(|(at, point)| self.taps.iter().enumerate().map(move |(tap, offset)| (point[0] + offset, at, tap)))
            .collect();
        touches.sort_unstable();
        touches
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
        let input = Mem::at(INPUT, (4 * offset) as i32 - bias(asm.isa()));
        match mask {
            Some(mask) => asm.load_tail(dst, mask, input),
            None => asm.load(dst, input),
        }
    }

    fn by_input(&self, asm: &mut Asm, touches: &[(i64, usize, usize)], mask: Option<Mask>) {
        let bytes = asm.isa().bytes();
        let value = self.sums.extra(0);
        for tap in 0..self.taps.len() {
            asm.load(self.sums.extra(1 + tap), Mem::at(WEIGHTS, (tap * bytes) as i32));
        }
        for vector in touches.chunk_by(|a, b| a.0 == b.0) {
            self.load(asm, value, vector[0].0, mask);
            for &(_, point, tap) in vector {
                asm.fma(self.sums.register(point, 0), value, self.sums.extra(1 + tap));
            }
        }
    }

    fn by_tap(&self, asm: &mut Asm, mask: Option<Mask>) {
        let bytes = asm.isa().bytes();
        let (weight, value) = (self.sums.extra(0), self.sums.extra(1));
        for (tap, offset) in self.taps.iter().enumerate() {
            asm.load(weight, Mem::at(WEIGHTS, (tap * bytes) as i32));
            for (at, point) in self.sums.shape.iter().enumerate() {
                let sum = self.sums.register(at, 0);
                if mask.is_some() {
                    self.load(asm, value, point[0] + offset, mask);
                    asm.fma(sum, weight, value);
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
            for taps in 1..60 {
                let most = most_points(taps, registers);
                assert!(most >= 4 && (most + taps + 2 <= registers || most + 4 <= registers), "{taps} {most}");
            }
        }
    }
}
