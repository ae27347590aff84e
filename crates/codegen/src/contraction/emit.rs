//! Emits the code of a tile: sums of products in registers over a whole reduction, then the epilogue.
//!
//! The function is `fn(frame, table, count)`. `frame` holds a pointer for each stream; `table` has one row of byte offsets for
//! each tile. The order of streams is input, weights (in the frame only), output, operands. The frame ends with the address of
//! the weights that are read next, which are prefetched while this group's are in use. Every sum is one chain of fused
//! multiply-adds in the order of the reduced dimensions, whatever the tile. So its bits do not depend on how the work was cut.

use super::choose::Feed;
use super::epilogue::{self, FirstTerm, Sums};
use super::registers::{COUNT, FRAME, INPUT, SPARE, TABLE, TAIL, WEIGHTS};
use super::sum::SumLoops;
use crate::asm::{Asm, Cond, Isa, Label, Mask, Mem, Number, R, Rm, V, forms};
use crate::machine::load_floats;
use relayc_ir::kernel::Factors;
use relayc_ir::types::DType;

/// How far the next tile's input is from this one's.
const NEXT_TILE: R = R::R14;
/// Pointer to the weights that come next.
const NEXT: R = R::R15;

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Which input is brought near while the tile computes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Ahead {
    /// None: the input is in cache already.
    None,
    /// The input that is read this many iterations of the innermost loop later.
    Rounds(u64),
    /// The input of the same iteration of the next tile.
    Tile,
}

/// The code of one tile.
#[derive(Hash)]
pub(crate) struct TileCode<'a> {
    pub(crate) sums: Sums<'a>,
    pub(crate) feed: Feed,
    pub(crate) factors: Factors,
    /// As [`super::choose::adds_apart`] says.
    pub(crate) adds_apart: bool,
    /// The dtype of weights that are converted when they are loaded.
    pub(crate) converted: Option<DType>,
    pub(crate) sum: &'a SumLoops,
    /// Whether the only loop runs as often as a number says.
    pub(crate) counted: bool,
    /// Number of cache lines of the next weights that each iteration of the innermost loop prefetches.
    pub(crate) next_lines: usize,
    pub(crate) ahead: Ahead,
}

/// The memory operand of an entry of the frame or of the table.
pub(crate) fn slot(base: R, at: usize) -> Mem {
    Mem::at(base, 8 * at as i32)
}

impl TileCode<'_> {
    /// Emits the function; its entry is the assembler's current position.
    pub(crate) fn emit(&self, asm: &mut Asm) {
        let n_streams = self.sums.epilogue.n_streams();
        let n_spare = self.sum.loops.len().max(n_streams - 1);
        let mut used = SPARE[..n_spare.min(SPARE.len())].to_vec();
        if self.next_lines > 0 {
            used.push(NEXT);
        }
        if self.ahead == Ahead::Tile {
            used.push(NEXT_TILE);
        }
        each_tile(
            asm,
            &self.sums,
            &used,
            0,
            |asm| {
                if self.next_lines > 0 {
                    asm.mov_rm(NEXT, slot(FRAME, n_streams + 1));
                }
            },
            |asm| {
                if self.ahead == Ahead::Tile {
                    // The table ends with a row more than there are tiles.
                    asm.mov_rm(NEXT_TILE, slot(TABLE, n_streams));
                    asm.sub_rm(NEXT_TILE, slot(TABLE, 0));
                }
                self.begin(asm);
                self.sum(asm);
            },
        );
    }

    /// Sets the sums to zero or to their first term.
    fn begin(&self, asm: &mut Asm) {
        let sums = &self.sums;
        let Some(FirstTerm { stream, .. }) = sums.first else {
            (0..sums.len()).for_each(|at| asm.zero(V(at as u8)));
            return;
        };
        let pointer = SPARE[0];
        set_pointer(asm, pointer, stream + 1);
        for vector in 0..sums.vectors {
            let element = sums.shape[0][stream + 1] + vector as i64 * sums.epilogue.streams[stream].vector;
            asm.load(sums.register(0, vector), Mem::at(pointer, (sums.epilogue.streams[stream].bytes() * element) as i32));
            (1..sums.points()).for_each(|point| asm.mov(sums.register(point, vector), sums.register(0, vector)));
        }
    }

    /// Emits the loops of the reduction.
    fn sum(&self, asm: &mut Asm) {
        let mut heads: Vec<Label> = Vec::new();
        for (level, one) in self.sum.loops.iter().enumerate() {
            match self.counted {
                true => asm.mov_rn(SPARE[level], Number::plain(0)),
                false => asm.mov_ri(SPARE[level], one.count as i64),
            }
            if level + 1 == self.sum.loops.len() {
                asm.align(32);
            }
            heads.push(asm.bound());
        }
        let ahead = self.ahead(asm);
        self.steps(asm, &self.sum.body, &ahead);
        if self.next_lines > 0 {
            asm.add_ri(NEXT, (LINE * self.next_lines) as i32);
        }
        let innermost = self.sum.loops.len().wrapping_sub(1);
        // How far the loops inside have moved the input already.
        let mut moved = 0;
        for (level, one) in self.sum.loops.iter().enumerate().rev() {
            let step = self.unit() as i32 * (one.input - moved) as i32;
            if step != 0 {
                asm.add_ri(INPUT, step);
            }
            if level == innermost {
                self.advance_weights(asm, self.sum.body.len());
            }
            asm.dec(SPARE[level]);
            asm.jcc(Cond::NE, heads[level]);
            moved = one.input * one.count as i64;
            if level == innermost && !self.sum.rest.is_empty() {
                self.steps(asm, &self.sum.rest, &[]);
                self.advance_weights(asm, self.sum.rest.len());
            }
        }
    }

    fn advance_weights(&self, asm: &mut Asm, steps: usize) {
        asm.add_ri(WEIGHTS, (steps * self.sums.vectors * self.vector_bytes(asm)) as i32);
    }

    /// What an iteration of the innermost loop prefetches: weights, and one line of input for each line that it reads itself.
    fn ahead(&self, asm: &Asm) -> Vec<Mem> {
        let weights = (0..self.next_lines).map(|line| Mem::at(NEXT, (LINE * line) as i32));
        let offsets = self.sums.shape.iter().flat_map(|point| self.sum.body.iter().map(|step| point[0] + step));
        // Tiles begin at a line as a rule; if not, one line in a stretch is missed.
        let mut lines: Vec<i64> = offsets.map(|offset| offset.div_euclid(LINE as i64 / self.unit()) * LINE as i64).collect();
        lines.sort_unstable();
        lines.dedup();
        let far = self.sum.loops.last().map_or(0, |inner| self.unit() * inner.input);
        let input = lines.into_iter().filter_map(|line| {
            let disp = line - i64::from(bias(asm.isa()));
            match self.ahead {
                Ahead::None => None,
                Ahead::Rounds(n) => Some(Mem::at(INPUT, i32::try_from(disp + n as i64 * far).ok()?)),
                Ahead::Tile => Some(Mem::indexed(INPUT, NEXT_TILE, 1, i32::try_from(disp).ok()?)),
            }
        });
        weights.chain(input).collect()
    }

    /// Emits reduction steps without a loop, with inputs at these offsets, and the prefetches between them.
    fn steps(&self, asm: &mut Asm, offsets: &[i64], ahead: &[Mem]) {
        let mut done = 0;
        for (step, &offset) in offsets.iter().enumerate() {
            while done * offsets.len() < ahead.len() * (step + 1) {
                match ahead[done].base == NEXT {
                    true => asm.prefetcht1(ahead[done]),
                    false => asm.prefetcht0(ahead[done]),
                }
                done += 1;
            }
            match self.feed {
                Feed::KeepWeights => self.keep_weights(asm, step, offset),
                Feed::KeepInput => self.keep_input(asm, step, offset),
                Feed::Embedded => self.embedded(asm, step, offset),
            }
        }
    }

    /// Bytes of an element of the input.
    fn unit(&self) -> i64 {
        self.factors.input_bytes() as i64
    }

    fn input(&self, asm: &Asm, point: usize, offset: i64) -> Mem {
        Mem::at(INPUT, (self.unit() * (self.sums.shape[point][0] + offset)) as i32 - bias(asm.isa()))
    }

    /// Loads an element of the input into all lanes.
    fn load_input(&self, asm: &mut Asm, dst: V, point: usize, offset: i64) {
        let from = self.input(asm, point, offset);
        if self.factors == Factors::Doubles {
            return asm.vector(&forms::VBROADCASTSD, asm.isa().width(), dst, V(0), from, None);
        }
        if self.factors != Factors::Pairs {
            return asm.bcast(dst, from);
        }
        // Pairs come in twos, which are loaded as one; of these, one is widened. Points are whole twos apart.
        let odd = (self.sums.shape[point][0] + offset).rem_euclid(2);
        asm.bcast(dst, from.plus(-2 * odd as i32));
        let lane = [2 * odd as u8, 0x80, 2 * odd as u8 + 1, 0x80];
        let order = asm.constant(&lane.repeat(asm.isa().lanes()));
        asm.op3(&forms::VPSHUFB, dst, dst, order);
    }

    /// Bytes of a vector of weights in memory.
    fn vector_bytes(&self, asm: &Asm) -> usize {
        self.converted.map_or(asm.isa().bytes(), |dtype| asm.isa().lanes() * dtype.bytes() as usize)
    }

    fn load_weights(&self, asm: &mut Asm, dst: V, step: usize, vector: usize) {
        let from = Mem::at(WEIGHTS, ((step * self.sums.vectors + vector) * self.vector_bytes(asm)) as i32);
        load_floats(asm, self.converted.unwrap_or(DType::F32), dst, from);
    }

    fn keep_weights(&self, asm: &mut Asm, step: usize, offset: i64) {
        for vector in 0..self.sums.vectors {
            self.load_weights(asm, self.sums.extra(vector), step, vector);
        }
        let value = self.sums.extra(self.sums.vectors);
        for point in 0..self.sums.points() {
            self.load_input(asm, value, point, offset);
            for vector in 0..self.sums.vectors {
                self.add(asm, vector, self.sums.register(point, vector), value, self.sums.extra(vector));
            }
        }
    }

    fn keep_input(&self, asm: &mut Asm, step: usize, offset: i64) {
        for point in 0..self.sums.points() {
            self.load_input(asm, self.sums.extra(point), point, offset);
        }
        let value = self.sums.extra(self.sums.points());
        for vector in 0..self.sums.vectors {
            self.load_weights(asm, value, step, vector);
            for point in 0..self.sums.points() {
                self.add(asm, vector, self.sums.register(point, vector), self.sums.extra(point), value);
            }
        }
    }

    /// Adds the product of an input and a vector of weights to a sum.
    fn add(&self, asm: &mut Asm, vector: usize, sum: V, input: V, weights: V) {
        let width = self.sums.width(asm.isa(), vector);
        match self.factors {
            Factors::Bytes => asm.vector(&forms::VPDPBUSD, width, sum, input, weights, None),
            Factors::Pairs | Factors::WidePairs if !self.adds_apart => {
                asm.vector(&forms::VPDPWSSD, width, sum, input, weights, None);
            }
            Factors::Pairs | Factors::WidePairs => {
                let product = V(asm.isa().regs() as u8 - 1);
                asm.vector(&forms::VPMADDWD, width, product, input, weights, None);
                asm.vector(&forms::VPADDD, width, sum, sum, product, None);
            }
            Factors::Doubles => asm.vector(&forms::VFMADD231PD, width, sum, input, weights, None),
            Factors::Floats | Factors::Widened => asm.vector(&forms::VFMADD231PS, width, sum, input, weights, None),
        }
    }

    fn embedded(&self, asm: &mut Asm, step: usize, offset: i64) {
        for vector in 0..self.sums.vectors {
            self.load_weights(asm, self.sums.extra(vector), step, vector);
        }
        for point in 0..self.sums.points() {
            let input = self.input(asm, point, offset);
            let product = if self.factors == Factors::Doubles { &forms::VFMADD231PD } else { &forms::VFMADD231PS };
            for vector in 0..self.sums.vectors {
                let (sum, weights) = (self.sums.register(point, vector), self.sums.extra(vector));
                asm.vector(product, self.sums.width(asm.isa(), vector), sum, weights, Rm::Bcast(input), None);
            }
        }
    }
}

/// Emits the function around the sums: `begin` runs once, `sum` runs for each tile with its pointers set, then the epilogue
/// runs.
///
/// The stack has at least `locals` bytes, which the epilogue may overwrite.
pub(crate) fn each_tile(
    asm: &mut Asm,
    sums: &Sums,
    used: &[R],
    locals: usize,
    begin: impl FnOnce(&mut Asm),
    sum: impl FnOnce(&mut Asm),
) {
    let n_streams = sums.epilogue.n_streams();
    let locals = locals.max(sums.locals(asm.isa()));
    let begin = |asm: &mut Asm| {
        if let (Some(lanes), Isa::Avx512) = (sums.tail, asm.isa()) {
            asm.set_tail(Mask::K(TAIL), lanes, R::RAX);
        }
        begin(asm);
    };
    each_row(asm, n_streams, used, locals, begin, |asm| {
        asm.add_ri(INPUT, bias(asm.isa()));
        asm.mark("sum");
        sum(asm);
        asm.mark("epilogue");
        pointers(asm, n_streams);
        epilogue::emit(sums, asm);
    });
}

/// Emits the function around a body that runs for each row of the table, with the pointers of input and weights set.
pub(crate) fn each_row(
    asm: &mut Asm,
    n_streams: usize,
    used: &[R],
    locals: usize,
    begin: impl FnOnce(&mut Asm),
    row: impl FnOnce(&mut Asm),
) {
    let frame = asm.enter(used, locals);
    begin(asm);
    asm.align(32);
    let next = asm.bound();
    asm.mov_rm(INPUT, slot(FRAME, 0));
    asm.add_rm(INPUT, slot(TABLE, 0));
    asm.mov_rm(WEIGHTS, slot(FRAME, 1));
    row(asm);
    asm.add_ri(TABLE, 8 * n_streams as i32);
    asm.dec(COUNT);
    asm.jcc(Cond::NE, next);
    asm.leave(&frame);
}

/// Sets the pointers of output and operands. The output is stream 2 of the frame and stream 1 of the table.
pub(crate) fn pointers(asm: &mut Asm, n_streams: usize) {
    for stream in 1..n_streams {
        set_pointer(asm, SPARE[stream - 1], stream);
    }
}

/// Sets the pointer of a stream of the table.
fn set_pointer(asm: &mut Asm, pointer: R, stream: usize) {
    asm.mov_rm(pointer, slot(FRAME, stream + 1));
    asm.add_rm(pointer, slot(TABLE, stream));
}

/// The bias of the input's pointer, which makes short displacements reach twice as far.
pub(crate) fn bias(isa: Isa) -> i32 {
    match isa {
        Isa::Avx2 => 128,
        Isa::Avx512 => 512,
    }
}
