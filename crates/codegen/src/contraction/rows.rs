//! Products of few points with a matrix that is read in its stored order, row by row. Bound by memory, not by arithmetic.
//!
//! Four rows run side by side, each in vectors along the reduction. The lanes of a row are added at its end, in an order that
//! only the instruction set decides. As many rows as a vector has lanes form a group of columns, on which the epilogue runs.
//! Weights are not packed.

use super::choose::LOADS;
use super::emit::{LINE, bias, each_tile};
use super::epilogue::Sums;
use super::points::Cut;
use super::registers::{INPUT, SPARE, WEIGHTS};
use super::{ContractionCode, Entries, Place, Plan, each_variant, normal, packing};
use crate::asm::{Asm, Cond, Isa, K, Mask, Mem, R, Rm, V, Width, forms};
use crate::machine::load_floats;
use relayc_ir::kernel::{Contraction, Factors, Target};
use relayc_ir::types::DType;

/// Number of rows that are read side by side.
const ROWS: usize = 4;

/// The mask of the last elements of a row, on AVX-512.
const REST: K = K(2);

/// Maximum number of points for which registers suffice.
fn most_points(registers: usize) -> u64 {
    // Their sums, a vector of weights, a mask.
    ((registers - 2) / ROWS) as u64
}

/// Points and contiguous rows of this many elements.
struct Shape {
    points: u64,
    steps: u64,
}

impl Shape {
    /// Errors: why the weights of a contraction are no rows.
    fn of(contract: &Contraction, target: &Target) -> Result<Shape, &'static str> {
        const APART: &str = "rows or points do not lie one after another";
        let points = contract.points.iter().map(|dim| dim.extent).product();
        let rows = normal(contract.weight_columns, contract.columns);
        let mut steps = 1;
        for dim in contract.sum.iter().rev().filter(|dim| dim.extent > 1) {
            if dim.input != steps || dim.other != steps {
                return Err(APART);
            }
            steps *= dim.extent as i64;
        }
        // AVX2 has no masks for elements of 16 bits.
        let whole = contract.converted().is_none() || (steps as usize).is_multiple_of(target.lanes);
        let near = rows.inner.checked_mul(16 * ROWS as i64).is_some_and(|far| i32::try_from(far).is_ok());
        match () {
            () if contract.factors != Factors::Floats => Err("only float32 is summed along rows"),
            () if points > most_points(target.registers) => Err("there are more points than registers for them"),
            () if rows.block < contract.columns || !near => Err(APART),
            () if !whole => Err("rows of 16-bit weights are no whole vectors"),
            () => Ok(Shape { points, steps: steps as u64 }),
        }
    }
}

/// The modelled cycles: a load and a multiply-add for each vector of weights and each point, a few cycles to join the lanes of a
/// sum, and the stream of the weights.
///
/// Errors: why there is no code.
pub(crate) fn cycles(contract: &Contraction, target: &Target) -> Result<f64, &'static str> {
    const JOIN: f64 = 6.0;
    let Shape { points, steps } = Shape::of(contract, target)?;
    let vectors = (contract.columns * steps.div_ceil(target.lanes as u64)) as f64;
    let points = points as f64;
    let loads = vectors * if points > 1.0 { 1.0 + points } else { 1.25 };
    let near = vectors * (contract.weight_bytes() * target.lanes as u64) as f64 / target.l2_bytes as f64;
    let bounds = [vectors * points / target.fmas as f64, loads / LOADS, near];
    let arithmetic = bounds.into_iter().fold(0.0, f64::max) + JOIN * points * contract.columns as f64;
    Ok(super::with_weights(contract, arithmetic, target))
}

/// Emits the code; `None` if rows or points are not contiguous, or if there are too many points.
pub(crate) fn compile(contract: &Contraction, target: &Target, asm: &mut Asm) -> Option<ContractionCode> {
    let isa = asm.isa();
    let plan = Plan::of(contract, target, isa)?;
    let Shape { points, steps } = Shape::of(contract, &plan.target).ok()?;
    let rows = normal(contract.weight_columns, contract.columns);
    let streams = plan.streams(1)?;
    let epilogue = plan.epilogue(&streams);
    let (_, height, _) = super::points::extents(&plan.dims);
    let tiles = plan.tiles(&epilogue, Cut { rows: height, most: points }, isa)?;
    let packing = packing(contract, plan.target.lanes, 1);
    let [shape] = &tiles.shapes[..] else { return None };
    let found = each_variant(&packing, asm, |asm, vectors, tail| {
        asm.align(LINE);
        let entry = asm.here();
        asm.mark(format!("{} points by rows of {steps} weights, {}", shape.len(), super::columns_of(vectors, tail)));
        let sums = Sums { shape, vectors, tail, limit: None, first: None, epilogue: &epilogue };
        Rows { sums, steps: steps as usize, row: rows.inner, weights: contract.converted().unwrap_or(DType::F32) }.emit(asm);
        Some(entry)
    })?;
    let size = contract.weight_bytes() as i64;
    let weights = Place {
        arg: contract.weight.0,
        offset: size * contract.weight.1,
        part: size * contract.group_steps[1],
        groups: (0..plan.n_vectors).map(|group| size * (group * plan.target.lanes as u64) as i64 * rows.inner).collect(),
    };
    let mut done = plan.finish(packing, tiles, Entries { entries: vec![found], next_bytes: vec![0] });
    done.weights = Some(weights);
    Some(done)
}

/// The code of a group of rows.
struct Rows<'a> {
    sums: Sums<'a>,
    steps: usize,
    /// Step from one row of weights to the next, in elements.
    row: i64,
    /// The dtype of the weights: F32, or a 16-bit float that is converted as it is loaded.
    weights: DType,
}

/// Remaining iterations of four rows, and remaining vectors of a row.
const QUADS: R = SPARE[0];
const COUNT: R = SPARE[1];
/// Destination of the next four rows' sums.
const TO: R = SPARE[2];

impl Rows<'_> {
    fn emit(&self, asm: &mut Asm) {
        let bytes = asm.isa().bytes();
        let n_rows = self.sums.tail.unwrap_or(asm.isa().lanes());
        let used = &SPARE[..(self.sums.epilogue.n_streams() - 1).max(3)];
        each_tile(
            asm,
            &self.sums,
            used,
            self.sums.points() * bytes,
            |_| (),
            |asm| {
                asm.mov_rr(TO, R::RSP);
                if n_rows >= ROWS {
                    asm.mov_ri(QUADS, (n_rows / ROWS) as i64);
                    let next = asm.bound();
                    self.rows(asm, ROWS);
                    asm.add_ri(TO, (4 * ROWS) as i32);
                    asm.dec(QUADS);
                    asm.jcc(Cond::NE, next);
                }
                if !n_rows.is_multiple_of(ROWS) {
                    self.rows(asm, n_rows % ROWS);
                }
                for point in 0..self.sums.points() {
                    asm.load(self.sums.register(point, 0), Mem::at(R::RSP, (point * bytes) as i32));
                }
            },
        );
    }

    /// Number of vectors of a row with sums of their own, so that enough chains of additions are independent.
    fn chains(&self) -> usize {
        if self.sums.points() == 1 { 2 } else { 1 }
    }

    /// Bytes of a weight in memory.
    fn size(&self) -> i32 {
        self.weights.bytes() as i32
    }

    fn sum(&self, point: usize, row: usize, chain: usize) -> V {
        V(((point * ROWS + row) * self.chains() + chain) as u8)
    }

    /// Emits the sums of some rows, stored to the stack; advances the weights' pointer past them.
    fn rows(&self, asm: &mut Asm, n_rows: usize) {
        let (bytes, lanes) = (asm.isa().bytes(), asm.isa().lanes());
        let (chains, whole, rest) = (self.chains(), self.steps / lanes, self.steps % lanes);
        for at in 0..ROWS * chains * self.sums.points() {
            asm.zero(V(at as u8));
        }
        let rounds = whole / chains;
        if rounds > 0 {
            asm.mov_ri(COUNT, rounds as i64);
            asm.align(32);
            let next = asm.bound();
            (0..chains).for_each(|chain| self.step(asm, n_rows, chain, chain, None));
            asm.add_ri(INPUT, (chains * bytes) as i32);
            asm.add_ri(WEIGHTS, self.size() * (chains * lanes) as i32);
            asm.dec(COUNT);
            asm.jcc(Cond::NE, next);
        }
        for vector in 0..whole % chains {
            self.step(asm, n_rows, vector, vector, None);
        }
        if rest > 0 {
            let mask = match asm.isa() {
                Isa::Avx512 => Mask::K(REST),
                Isa::Avx2 => Mask::V(V(asm.isa().regs() as u8 - 1)),
            };
            asm.set_tail(mask, rest, COUNT);
            self.step(asm, n_rows, whole % chains, 0, Some(mask));
        }
        let read = (rounds * chains * lanes) as i32;
        asm.add_ri(INPUT, -4 * read);
        asm.add_ri(WEIGHTS, self.size() * (self.row as i32 * n_rows as i32 - read));
        for point in 0..self.sums.points() {
            self.add_lanes(asm, point);
        }
    }

    /// Emits one vector of the reduction for each row and point.
    fn step(&self, asm: &mut Asm, n_rows: usize, vector: usize, chain: usize, mask: Option<Mask>) {
        let first = (vector * asm.isa().lanes()) as i32;
        let value = V((asm.isa().regs() - 2) as u8);
        let input = |asm: &Asm, point: usize| Mem::at(INPUT, 4 * (first + self.sums.shape[point][0] as i32) - bias(asm.isa()));
        let weights = |row: usize| Mem::at(WEIGHTS, self.size() * (first + self.row as i32 * row as i32));
        if self.sums.points() == 1 {
            // The input is kept for all rows; with a mask it has zeros where weights must not be read.
            let mem = input(asm, 0);
            asm.load_tail(value, mask, mem);
            for row in 0..n_rows {
                let sum = self.sum(0, row, chain);
                match mask {
                    None if self.weights == DType::F32 => asm.fma(sum, value, weights(row)),
                    None => {
                        let other = V(self.sum(0, ROWS - 1, self.chains() - 1).0 + 1);
                        load_floats(asm, self.weights, other, weights(row));
                        asm.fma(sum, value, other);
                    }
                    Some(mask) => {
                        let last = self.sum(0, ROWS - 1, self.chains() - 1);
                        let other = V(last.0 + 1);
                        asm.load_tail(other, mask, weights(row));
                        asm.fma(sum, value, other);
                    }
                }
            }
            return;
        }
        for row in 0..n_rows {
            match mask {
                None => load_floats(asm, self.weights, value, weights(row)),
                Some(_) => asm.load_tail(value, mask, weights(row)),
            }
            for point in 0..self.sums.points() {
                let (sum, mem) = (self.sum(point, row, chain), input(asm, point));
                match mask {
                    None => asm.fma(sum, value, mem),
                    // A masked load that adds nothing where the weights are zero, but must not touch what is behind the row.
                    Some(_) => self.masked_fma(asm, sum, value, mem, mask),
                }
            }
        }
    }

    /// `sum += value·mem` under a mask, through a register that holds neither a sum nor weights.
    fn masked_fma(&self, asm: &mut Asm, sum: V, value: V, mem: Mem, mask: Option<Mask>) {
        let free = ROWS * self.sums.points();
        let other = V(free as u8);
        assert!(other != value, "a schedule leaves a register for masked weights");
        if let Some(mask) = mask {
            asm.load_tail(other, mask, mem);
            asm.fma(sum, value, other);
        }
    }

    /// Adds the lanes of a point's four sums and stores the results contiguously on the stack.
    fn add_lanes(&self, asm: &mut Asm, point: usize) {
        let isa = asm.isa();
        let sum = |row| self.sum(point, row, 0);
        if self.chains() == 2 {
            (0..ROWS).for_each(|row| asm.op3(&forms::VADDPS, sum(row), sum(row), self.sum(point, row, 1)));
        }
        let (low, high) = (V(isa.regs() as u8 - 2), V(isa.regs() as u8 - 1));
        // Pairs of rows: [a0+a2, b0+b2, a1+a3, b1+b3] in each 128 bits.
        for pair in [0, 2] {
            asm.unpack_lo(low, sum(pair), sum(pair + 1));
            asm.unpack_hi(high, sum(pair), sum(pair + 1));
            asm.op3(&forms::VADDPS, sum(pair), low, high);
        }
        // Four rows: [a, b, c, d] in each 128 bits.
        asm.shuffle(low, sum(0), sum(2), 0b01_00_01_00);
        asm.shuffle(high, sum(0), sum(2), 0b11_10_11_10);
        asm.op3(&forms::VADDPS, low, low, high);
        if isa == Isa::Avx512 {
            asm.vector(&forms::VEXTRACTF64X4, Width::Z, low, V(0), Rm::Reg(high), Some(1));
            asm.vector(&forms::VADDPS, Width::Y, low, low, Rm::Reg(high), None);
        }
        asm.vector(&forms::VEXTRACTF128, Width::Y, low, V(0), Rm::Reg(high), Some(1));
        asm.vector(&forms::VADDPS, Width::X, low, low, Rm::Reg(high), None);
        let to = Mem::at(TO, (point * isa.bytes()) as i32);
        asm.vector(&forms::VMOVUPS_STORE, Width::X, low, V(0), Rm::Mem(to), None);
    }
}

/// With no more points than this, weights are read as they come if they can be, unless they are constants near by: packing
/// them in a run would cost more than it saves.
pub(crate) const FEW_POINTS: u64 = 4;

/// Constants of more bytes than this come from the memory anyway, which is as fast for rows as for packed columns (within a
/// tenth, measured with 67 and 411 MB); below it columns take half to nine tenths of the time, for they add no lanes.
pub(crate) const NEAR_WEIGHTS: u64 = 16 << 20;
