//! The transforms of a tile, on vectors of channels.
//!
//! For windows of `r×r` and `n = m + r - 1`, a tile of `n×n` inputs becomes `Bᵀ·d·B`, and `n×n` sums become `m×m` outputs
//! `Aᵀ·s·A`. Each transform handles the columns first, then the rows. `B` depends only on `n`, the number of interpolation
//! points (0, ±1, ∞, and ±2 if `n` is 6). So tiles of the same `n` share `B` and its accuracy. Between the two dimensions,
//! values stay in registers while there are any, then on the stack. Tiles at the edges have fewer rows or columns: missing
//! inputs are zero, missing outputs are not stored, and no stored output depends on them.

use crate::asm::{Asm, Cond, Isa, Label, Mem, R, Rm, V, Width, forms};
use crate::contraction::emit::{each_row, pointers, slot};
use crate::contraction::epilogue::{self, Epilogue, Sums};
use crate::contraction::points::Shape;
use crate::contraction::registers::{INPUT, SPARE, TABLE, WEIGHTS};
use relayc_ir::kernel::Factors;

/// A transform, by the number of outputs of a tile along one side: even for 3×3 windows, odd for 2×2 windows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Size {
    Two,
    Three,
    Four,
    Five,
    /// [`Size::Four`] in whole numbers: bytes become words of 16 bits, whose products are exact modulo 2^32.
    Whole,
}

impl Size {
    /// Those of sums of floats.
    pub(crate) const ALL: [Size; 4] = [Size::Two, Size::Three, Size::Four, Size::Five];

    /// Number of outputs of a tile along one side.
    pub(crate) fn outputs(self) -> usize {
        match self {
            Size::Two => 2,
            Size::Three => 3,
            Size::Four | Size::Whole => 4,
            Size::Five => 5,
        }
    }

    /// What the products multiply.
    pub(crate) fn factors(self) -> Factors {
        if self == Size::Whole { Factors::WidePairs } else { Factors::Floats }
    }

    /// Number of taps of the window along one side.
    pub(crate) fn taps(self) -> usize {
        match self {
            Size::Two | Size::Four | Size::Whole => 3,
            Size::Three | Size::Five => 2,
        }
    }

    /// Number of inputs of a tile along one side: 4 or 6.
    pub(crate) fn inputs(self) -> usize {
        self.outputs() + self.taps() - 1
    }

    /// Cycles of transforming and packing one weight.
    pub(crate) fn packing(self) -> f64 {
        if self.inputs() == 4 { 18.0 } else { 32.0 }
    }

    /// Number of products of a tile.
    pub(crate) fn products(self) -> usize {
        self.inputs() * self.inputs()
    }

    /// `v = Bᵀ·d` in registers; calls `to` with each result's number and register. Uses registers 6 to 8.
    ///
    /// Of 6: `v0 = 4d0 - 5d2 + d4`, `v1,2 = (d4 - 4d2) ± (d3 - 4d1)`, `v3,4 = (d4 - d2) ± 2(d3 - d1)`, `v5 = 4d1 - 5d3 + d5`.
    /// Of 4: `v0 = d0 - d2`, `v1 = d1 + d2`, `v2 = d2 - d1`, `v3 = d1 - d3`.
    /// In whole numbers, no multiple of a byte exceeds a word.
    fn input(self, asm: &mut Asm, d: &[V], mut to: impl FnMut(&mut Asm, usize, V)) {
        let (a, b, c) = (V(6), V(7), V(8));
        let [two, four, five] = CONSTANTS;
        match self {
            Size::Two | Size::Three => {
                for (at, op, x, y) in
                    [(0, &forms::VSUBPS, 0, 2), (1, &forms::VADDPS, 1, 2), (2, &forms::VSUBPS, 2, 1), (3, &forms::VSUBPS, 1, 3)]
                {
                    asm.op3(op, a, d[x], d[y]);
                    to(asm, at, a);
                }
            }
            Size::Four | Size::Five => {
                for (at, first) in [(0, 0), (5, 1)] {
                    asm.mov(a, d[first + 4]);
                    asm.fma(a, four, d[first]);
                    asm.fnma(a, five, d[first + 2]);
                    to(asm, at, a);
                }
                asm.mov(b, d[4]);
                asm.fnma(b, four, d[2]);
                asm.mov(c, d[3]);
                asm.fnma(c, four, d[1]);
                asm.op3(&forms::VADDPS, a, b, c);
                to(asm, 1, a);
                asm.op3(&forms::VSUBPS, a, b, c);
                to(asm, 2, a);
                asm.op3(&forms::VSUBPS, b, d[4], d[2]);
                asm.op3(&forms::VSUBPS, c, d[3], d[1]);
                asm.mov(a, b);
                asm.fma(a, two, c);
                to(asm, 3, a);
                asm.fnma(b, two, c);
                to(asm, 4, b);
            }
            Size::Whole => {
                let (add, sub) = (&forms::VPADDW, &forms::VPSUBW);
                asm.shift(&forms::VPSLLW_IMM, b, d[2], 2);
                asm.op3(sub, b, d[4], b);
                asm.shift(&forms::VPSLLW_IMM, c, d[1], 2);
                asm.op3(sub, c, d[3], c);
                asm.op3(add, a, b, c);
                to(asm, 1, a);
                asm.op3(sub, a, b, c);
                to(asm, 2, a);
                asm.op3(sub, b, d[4], d[2]);
                asm.op3(sub, c, d[3], d[1]);
                asm.op3(add, c, c, c);
                asm.op3(add, a, b, c);
                to(asm, 3, a);
                asm.op3(sub, a, b, c);
                to(asm, 4, a);
                asm.op3(sub, a, d[0], d[2]);
                asm.shift(&forms::VPSLLW_IMM, a, a, 2);
                asm.op3(add, a, a, b);
                to(asm, 0, a);
                asm.op3(add, c, c, c);
                asm.op3(sub, a, d[5], d[3]);
                asm.op3(sub, a, a, c);
                to(asm, 5, a);
            }
        }
    }

    /// `y = Aᵀ·s`; result `i` goes to register `to[i]`. Uses the four registers below [`Size::limit`], which are neither in `s`
    /// nor in `to`.
    ///
    /// With `p, r = s1 ± s2` and `q, t = s3 ± s4`, 5: `y0 = s0 + p + q`, `y1 = r + 2t`, `y2 = p + 4q`, `y3 = r + 8t`,
    /// `y4 = p + 16q + s5`; 4: the last is `y3 = r + 8t + s5`. 3: `y0 = s0 + p`, `y1 = r`, `y2 = p - s3`; 2: the last is
    /// `y1 = r - s3`.
    ///
    /// In whole numbers the filters are larger by 24, 6, 6, 24, 24 and 6, so `24·y0 = s0 + 4p + q`, `12·y1 = 2r + t`,
    /// `6·y2 = p + q` and `6·y3 = r + 2t + s5`.
    fn output(self, asm: &mut Asm, s: &[Rm], to: &[V]) {
        if self == Size::Whole {
            return self.whole_output(asm, s, to);
        }
        let [p, r, q, t] = [4, 3, 2, 1].map(|below| V((self.limit() - below) as u8));
        take(asm, p, s[1]);
        asm.op3(&forms::VSUBPS, r, p, s[2]);
        asm.op3(&forms::VADDPS, p, p, s[2]);
        asm.op3(&forms::VADDPS, to[0], p, s[0]);
        match self {
            Size::Two | Size::Whole => asm.op3(&forms::VSUBPS, to[1], r, s[3]),
            Size::Three => {
                asm.mov(to[1], r);
                asm.op3(&forms::VSUBPS, to[2], p, s[3]);
            }
            Size::Four | Size::Five => {
                let [two, four, eight, sixteen] = [2.0, 4.0, 8.0, 16.0].map(|value| asm.splat_rm(value));
                take(asm, q, s[3]);
                asm.op3(&forms::VSUBPS, t, q, s[4]);
                asm.op3(&forms::VADDPS, q, q, s[4]);
                asm.op3(&forms::VADDPS, to[0], to[0], q);
                asm.mov(to[1], r);
                asm.fma(to[1], t, two);
                match to.get(4) {
                    Some(&last) => {
                        asm.op3(&forms::VADDPS, last, p, s[5]);
                        asm.fma(last, q, sixteen);
                        asm.mov(to[3], r);
                    }
                    None => asm.op3(&forms::VADDPS, to[3], r, s[5]),
                }
                asm.fma(to[3], t, eight);
                asm.fma(p, q, four);
                asm.mov(to[2], p);
            }
        }
    }

    fn whole_output(self, asm: &mut Asm, s: &[Rm], to: &[V]) {
        let [p, r, q, t] = [4, 3, 2, 1].map(|below| V((self.limit() - below) as u8));
        let (add, sub) = (&forms::VPADDD, &forms::VPSUBD);
        take(asm, p, s[1]);
        asm.op3(sub, r, p, s[2]);
        asm.op3(add, p, p, s[2]);
        take(asm, q, s[3]);
        asm.op3(sub, t, q, s[4]);
        asm.op3(add, q, q, s[4]);
        asm.op3(add, to[2], p, q);
        asm.op3(add, to[1], r, r);
        asm.op3(add, to[1], to[1], t);
        asm.op3(add, to[3], t, t);
        asm.op3(add, to[3], to[3], r);
        asm.op3(add, to[3], to[3], s[5]);
        asm.shift(&forms::VPSLLD_IMM, p, p, 2);
        asm.op3(add, to[0], p, q);
        asm.op3(add, to[0], to[0], s[0]);
    }

    /// Divides the outputs of line `i` of whole numbers by what they are multiples of: `9·2^(e[i] + e[j])`.
    ///
    /// They are known modulo 2^32, where the product with the inverse of 9 divides by 9. The shift is exact for sums below 2^25.
    fn divide(self, asm: &mut Asm, i: usize, outputs: &[V]) {
        const E: [u8; 4] = [3, 2, 1, 1];
        const INVERSE_OF_9: u32 = 0x38e3_8e39;
        if self != Size::Whole {
            return;
        }
        for (&output, e) in outputs.iter().zip(E) {
            let inverse = asm.splat_bits_rm(INVERSE_OF_9);
            asm.op3(&forms::VPMULLD, output, output, inverse);
            asm.shift(&forms::VPSRAD_IMM, output, output, E[i] + e);
        }
    }

    /// Registers below this number hold a line of outputs and its intermediate values.
    fn limit(self) -> usize {
        4 + self.outputs().max(4)
    }
}

fn take(asm: &mut Asm, to: V, from: Rm) {
    match from {
        Rm::Reg(v) => asm.mov(to, v),
        Rm::Mem(mem) => asm.load(to, mem),
        Rm::Bcast(mem) => asm.bcast(to, mem),
    }
}

/// Constants 2, 4 and 5 of input transforms.
const CONSTANTS: [V; 3] = [V(9), V(10), V(11)];

/// Location of a value between the two dimensions of a transform.
#[derive(Clone, Copy)]
enum Cell {
    Register(V),
    Stack(Mem),
}

/// Layout of the input's transform, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) size: Size,
    pub(crate) row: i64,
    pub(crate) column: i64,
    /// Loops over the vectors of channels, outermost first, with their counts and steps in the input.
    pub(crate) loops: Vec<(u64, i64)>,
    /// If vectors consist of runs, of [`RUN`] floats or of half a vector of pairs: the step from one run to the next.
    pub(crate) runs: Option<i64>,
    /// Step from one vector to the next in the result.
    pub(crate) to_step: i64,
    /// Step from one product's input to the next.
    pub(crate) product: i64,
}

/// Emits `fn(frame, table, count)`, the input's transform of tiles of `rows` × `columns` present elements.
///
/// The frame holds the pointers of input and result; the table has a row of offsets for each tile.
pub(crate) fn input(asm: &mut Asm, spec: &Input, rows: usize, columns: usize) {
    let n = spec.size.inputs();
    let bytes = asm.isa().bytes();
    // Registers behind those of the transform hold what they can.
    let n_registers = asm.isa().regs() - 12;
    let cell = |i: usize, j: usize| match n_registers.checked_sub(i * n + j + 1) {
        Some(left) => Cell::Register(V((12 + left) as u8)),
        None => Cell::Stack(Mem::at(R::RSP, ((i * n + j - n_registers) * bytes) as i32)),
    };
    let (from, to) = (INPUT, WEIGHTS);
    let counters = &SPARE[..spec.loops.len()];
    let constants = |asm: &mut Asm| {
        CONSTANTS.iter().filter(|_| spec.size != Size::Whole).zip([2.0, 4.0, 5.0]).for_each(|(v, value)| asm.splat(*v, value))
    };
    each_row(asm, 2, counters, n * n * bytes, constants, |asm| {
        asm.add_rm(to, slot(TABLE, 1));
        let heads: Vec<Label> = counters
            .iter()
            .zip(&spec.loops)
            .map(|(&counter, (count, _))| {
                asm.mov_ri(counter, *count as i64);
                asm.bound()
            })
            .collect();
        for j in 0..n {
            let d: Vec<V> = (0..n).map(|at| V(at as u8)).collect();
            for (i, &d) in d.iter().enumerate() {
                match i < rows && j < columns {
                    true => spec.load(asm, d, from, i as i64 * spec.row + j as i64 * spec.column),
                    false => asm.zero(d),
                }
            }
            spec.size.input(asm, &d, |asm, i, v| match cell(i, j) {
                Cell::Register(to) => asm.mov(to, v),
                Cell::Stack(mem) => asm.store(mem, v),
            });
        }
        for i in 0..n {
            let d: Vec<V> = (0..n).map(|j| gather(asm, cell(i, j), V(j as u8))).collect();
            spec.size.input(asm, &d, |asm, j, v| asm.store(Mem::at(to, ((i * n + j) as i64 * spec.product) as i32), v));
        }
        asm.add_ri(to, spec.to_step as i32);
        // How far the loops inside have moved already.
        let mut moved = 0;
        for ((&counter, &(count, step)), head) in counters.iter().zip(&spec.loops).zip(heads).rev() {
            asm.add_ri(from, (step - moved) as i32);
            asm.dec(counter);
            asm.jcc(Cond::NE, head);
            moved = step * count as i64;
        }
    });
}

impl Input {
    /// Loads a vector of channels from `disp` bytes after a pointer.
    fn load(&self, asm: &mut Asm, dst: V, from: R, disp: i64) {
        if self.size == Size::Whole {
            return self.load_bytes(asm, dst, Mem::at(from, disp as i32));
        }
        let Some(step) = self.runs else { return asm.load(dst, Mem::at(from, disp as i32)) };
        let run = |at: usize| Mem::at(from, (disp + at as i64 * step) as i32);
        asm.vector(&forms::VMOVUPS_LOAD, Width::X, dst, V(0), run(0), None);
        let width = asm.isa().width();
        for at in 1..asm.isa().lanes() / RUN {
            asm.vector(&forms::VINSERTF128, width, dst, dst, run(at), Some(at as u8));
        }
    }
}

impl Input {
    /// Loads bytes, one for each word of a vector.
    fn load_bytes(&self, asm: &mut Asm, dst: V, from: Mem) {
        let width = asm.isa().width();
        let Some(step) = self.runs else { return asm.vector(&forms::VPMOVZXBW, width, dst, V(0), from, None) };
        let second = from.plus(step as i32);
        match asm.isa() {
            Isa::Avx2 => {
                asm.vector(&forms::VMOVSD_LOAD, Width::X, dst, V(0), from, None);
                asm.vector(&forms::VMOVHPS_LOAD, Width::X, dst, dst, second, None);
            }
            Isa::Avx512 => {
                asm.vector(&forms::VMOVUPS_LOAD, Width::X, dst, V(0), from, None);
                asm.vector(&forms::VINSERTF128, Width::Y, dst, dst, second, Some(1));
            }
        }
        asm.vector(&forms::VPMOVZXBW, width, dst, V(0), dst, None);
    }
}

/// Number of elements of a run, in vectors of several runs.
pub(crate) const RUN: usize = 4;

/// The register of a stored value; `otherwise` after loading it.
fn gather(asm: &mut Asm, cell: Cell, otherwise: V) -> V {
    match cell {
        Cell::Register(v) => v,
        Cell::Stack(mem) => {
            asm.load(otherwise, mem);
            otherwise
        }
    }
}

/// Emits the output's transform of one column vector; frame and table are those of a tile of sums, with the products as input.
///
/// `shape` lists the tile's outputs row by row, `rows` × `columns` of them; products are `product` bytes apart.
pub(crate) fn output(asm: &mut Asm, size: Size, epilogue: &Epilogue, product: i64, shape: &Shape, rows: usize, columns: usize) {
    let (n, m) = (size.inputs(), size.outputs());
    let isa = asm.isa();
    let bytes = isa.bytes();
    let lines: Vec<Shape> = (0..rows).map(|i| shape[i * columns..(i + 1) * columns].to_vec()).collect();
    let sums = |line, limit| Sums { shape: line, vectors: 1, tail: None, limit, first: None, epilogue };
    // With 32 registers the values wait in those above the first ones, as far as there are, if the epilogue can do with these.
    let limit = Some(size.limit()).filter(|limit| isa == Isa::Avx512 && !sums(&lines[0], Some(*limit)).spill(isa));
    let below = m * bytes;
    let cell = |i: usize, j: usize| match limit.map(|limit| limit + i * n + j) {
        Some(register) if register < isa.regs() => Cell::Register(V(register as u8)),
        _ => Cell::Stack(Mem::at(R::RSP, (below + (i * n + j) * bytes) as i32)),
    };
    let n_streams = epilogue.n_streams();
    let used = &SPARE[..n_streams - 1];
    each_row(
        asm,
        n_streams,
        used,
        below + m * n * bytes,
        |_| (),
        |asm| {
            pointers(asm, n_streams);
            for j in 0..n {
                let s: Vec<Rm> = (0..n).map(|i| Rm::Mem(Mem::at(INPUT, ((i * n + j) as i64 * product) as i32))).collect();
                let cells: Vec<Cell> = (0..m).map(|i| cell(i, j)).collect();
                let register = |(at, cell): (usize, &Cell)| match cell {
                    Cell::Register(v) => *v,
                    Cell::Stack(_) => V(at as u8),
                };
                let to: Vec<V> = cells.iter().enumerate().map(register).collect();
                size.output(asm, &s, &to);
                for (cell, v) in cells.iter().zip(to) {
                    if let Cell::Stack(mem) = cell {
                        asm.store(*mem, v);
                    }
                }
            }
            for (i, line) in lines.iter().enumerate() {
                let operand = |j| match cell(i, j) {
                    Cell::Register(v) => Rm::Reg(v),
                    Cell::Stack(mem) => Rm::Mem(mem),
                };
                let s: Vec<Rm> = (0..n).map(operand).collect();
                let to: Vec<V> = (0..m).map(|at| V(at as u8)).collect();
                size.output(asm, &s, &to);
                size.divide(asm, i, &to);
                epilogue::emit(&sums(line, limit), asm);
            }
        },
    );
}
