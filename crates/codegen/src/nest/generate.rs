//! The loops of a nest: over the walk, over reduced dimensions, and hoisted code.

use super::emit::{Body, Loc};
use super::form::Form;
use super::normalize::{NormalizedNest, PrimitiveStage};
use super::shape::LaneDim;
use super::state::{Gen, Point, Vector};
use crate::asm::{Cond, Isa, Mem, Number, R};
use relayc_ir::kernel::Instr;

/// Steps of a walk from `first` on.
struct Segment {
    first: u64,
    /// `None` if a number says it.
    longest: Option<u64>,
    /// Whether no window is clipped along the walk.
    inside: bool,
}

impl Segment {
    /// Whether it may be as long as a step or a tile.
    fn has(&self, steps: u64, form: &Form) -> bool {
        self.longest.map_or(steps == 1 || form.has_tile, |longest| longest >= steps)
    }
}

/// Where the remaining length of a walk is kept.
#[derive(Clone, Copy)]
enum Left {
    InRdx,
    At(i32),
}

/// A stage, for who reads the code.
fn stage_words(at: usize, program: &PrimitiveStage, n: &NormalizedNest) -> String {
    let does = match (program.folds.is_empty(), program.stores.is_empty()) {
        (false, true) => "folds",
        (false, false) => "folds and stores",
        _ => "stores",
    };
    match program.each {
        true => format!("stage {at} {does} over the {} that are reduced", n.reduced_points()),
        false => format!("stage {at} {does} once a point"),
    }
}

impl Gen<'_> {
    /// Emits the function.
    pub(crate) fn generate(&mut self) -> Option<()> {
        self.asm.mark("items of the nest");
        self.group()?;
        self.function(|gen_| {
            gen_.item_bounds();
            gen_.walk()
        })
    }

    /// The vectors of a tile of so many steps.
    fn tile(&self, steps: usize, tail: bool) -> Vec<Vector> {
        let lanes = self.lanes as i64;
        if self.shape.blocks {
            let row = |walk: i64| (0..self.shape.vectors as i64).map(move |at| Vector { walk, lane: at * lanes, tail });
            return (0..steps as i64).flat_map(row).collect();
        }
        if self.shape.walks_lanes() {
            return (0..steps as i64).map(|at| Vector { walk: 0, lane: at * lanes, tail }).collect();
        }
        let last = self.shape.vectors - 1;
        let row = |walk: i64| {
            let tail = self.tail.is_some() && matches!(self.shape.lane, LaneDim::Kept(_));
            (0..=last).map(move |at| Vector { walk, lane: at as i64 * lanes, tail: tail && at == last })
        };
        (0..steps as i64).flat_map(row).collect()
    }

    /// Emits all points of an item. If items go along the lanes, a partial last vector has its own code.
    fn walk(&mut self) -> Option<()> {
        let last = self.shape.outer.iter().position(|outer| LaneDim::Kept(outer.dim) == self.shape.lane);
        let (Some(last), Some(_)) = (last.filter(|_| self.shape.blocks), self.tail) else { return self.steps(false) };
        let (whole, done) = (self.asm.label(), self.asm.label());
        self.asm.mov_rm(R::RAX, Mem::at(R::RSP, self.items.index[last]));
        self.asm.cmp_rn(R::RAX, Number::Scaled { of: last, scale: 1, plus: -1 });
        self.asm.jcc(Cond::NE, whole);
        self.steps(true)?;
        self.asm.jmp(done);
        self.asm.bind(whole);
        self.steps(false)?;
        self.asm.bind(done);
        Some(())
    }

    /// Emits tiles of the walk, single steps, and the tail if the walk goes along the lanes.
    fn steps(&mut self, tail: bool) -> Option<()> {
        let hoisted = self.hoist_from_walk(tail)?;
        let Some(walk) = self.shape.walk else {
            let tile = self.tile(1, false);
            self.points(&tile, &hoisted)?;
            return self.unpin(hoisted);
        };
        let step = if self.shape.walks_lanes() { self.lanes as u64 } else { 1 };
        let left = if self.counts_inside() { Left::At(self.slots.take(8)) } else { Left::InRdx };
        let unroll = self.shape.unroll as u64;
        for segment in self.segments(walk) {
            self.enter_segment(&segment);
            self.put_left(left);
            let forms = if unroll > 1 && segment.inside { vec![unroll, 1] } else { vec![1] };
            for steps in forms.into_iter().filter(|steps| segment.has(steps * step, self.form)) {
                self.steps_of(walk, (steps, step), left, &hoisted, tail)?;
            }
        }
        if self.shape.walks_lanes() && self.tail.is_some() {
            let out = self.asm.label();
            let number = self.get_left(left);
            self.asm.cmp_ri(number, 0);
            self.asm.jcc(Cond::E, out);
            let tile = self.tile(1, true);
            self.asm.mark("the last vector, not full");
            self.points(&tile, &hoisted)?;
            self.asm.bind(out);
        }
        self.unpin(hoisted)
    }

    /// Emits a loop over tiles of `steps` steps while enough remain.
    fn steps_of(&mut self, walk: usize, (steps, step): (u64, u64), left: Left, hoisted: &[Vec<Loc>], tail: bool) -> Option<()> {
        let (top, out) = (self.asm.label(), self.asm.label());
        let inside = if self.inside { "" } else { ", windows clipped" };
        self.asm.mark(format!("loop over the walk, {steps} steps a tile{inside}"));
        let number = self.get_left(left);
        self.asm.cmp_ri(number, (steps * step) as i32);
        self.asm.jcc(Cond::L, out);
        if steps > 1 {
            self.asm.align(32);
        }
        self.asm.bind(top);
        self.asm.sub_ri(number, (steps * step) as i32);
        self.put_left(left);
        let tile = self.tile(steps as usize, tail);
        self.points(&tile, hoisted)?;
        for group in 0..self.groups.len() {
            let bytes = self.groups[group].access.kept[walk] * self.groups[group].size;
            self.advance(group, bytes * (steps * step) as i64);
        }
        if self.clips_walk() && !self.inside {
            self.bump(self.walk_index, 1);
        }
        let number = self.get_left(left);
        self.asm.cmp_ri(number, (steps * step) as i32);
        self.asm.jcc(Cond::GE, top);
        self.asm.bind(out);
        Some(())
    }

    /// The segments of a walk: if windows are clipped along it, those at its ends and the interior, where none is clipped.
    fn segments(&self, walk: usize) -> Vec<Segment> {
        let extent = self.n.dims[walk];
        if !self.clips_walk() {
            // Chunks are whole tiles but for the last one, so only what is left of the whole is left of a chunk.
            let longest = match (self.shape.chunk, self.form.length) {
                (Some(chunk), _) => Some(chunk.steps),
                (None, Some(_)) => None,
                (None, None) => Some(extent),
            };
            return vec![Segment { first: 0, longest, inside: true }];
        }
        let (low, high) = self.inside_walk(walk, extent);
        let parts = [(0, low, false), (low, high, true), (high, extent, false)];
        let parts = parts.into_iter().filter(|(first, end, _)| end > first);
        parts.map(|(first, end, inside)| Segment { first, longest: Some(end - first), inside }).collect()
    }

    /// Sets `rdx` and `rax` to the steps of a segment, and stores the bounds of its windows.
    fn enter_segment(&mut self, segment: &Segment) {
        self.inside = segment.inside;
        if self.clips_walk() {
            if segment.inside {
                self.whole_windows();
            }
            self.asm.mov_ri(R::RAX, segment.first as i64);
            self.asm.mov_mr(Mem::at(R::RSP, self.walk_index), R::RAX);
        }
        match (self.shape.chunk, self.form.length, segment.longest) {
            (Some(chunk), Some(last), _) => {
                self.asm.mov_ri(R::RAX, chunk.steps as i64);
                self.asm.mov_rn(R::RDX, Number::plain(last));
                self.asm.mov_rm(R::RCX, Mem::at(R::RSP, self.items.index[chunk.outer]));
                self.asm.cmp_rn(R::RCX, Number::Scaled { of: chunk.outer, scale: 1, plus: -1 });
                self.asm.cmov(Cond::E, R::RAX, R::RDX);
            }
            (None, Some(length), None) => self.asm.mov_rn(R::RAX, Number::plain(length)),
            (_, _, longest) => self.asm.mov_ri(R::RAX, longest.unwrap_or(0) as i64),
        }
        self.asm.mov_rr(R::RDX, R::RAX);
    }

    /// Whether the stages have loops of their own, which count in `rdx`.
    fn counts_inside(&self) -> bool {
        !self.n.reduce.is_empty() || self.n.stages.iter().any(|stage| !stage.folds.is_empty())
    }

    /// The register that holds the remaining length of the walk.
    fn get_left(&mut self, left: Left) -> R {
        if let Left::At(slot) = left {
            self.asm.mov_rm(R::RAX, Mem::at(R::RSP, slot));
            return R::RAX;
        }
        R::RDX
    }

    /// Stores the register of [`Gen::get_left`]; after [`Gen::enter_segment`] the value comes in `rdx` as well.
    fn put_left(&mut self, left: Left) {
        if let Left::At(slot) = left {
            self.asm.mov_mr(Mem::at(R::RSP, slot), R::RAX);
        }
    }

    fn bump(&mut self, slot: i32, by: i32) {
        self.asm.mov_rm(R::RAX, Mem::at(R::RSP, slot));
        self.asm.add_ri(R::RAX, by);
        self.asm.mov_mr(Mem::at(R::RSP, slot), R::RAX);
    }

    /// Hoists the loop-invariant values of an elementwise body out of the walk, for each vector of a step.
    fn hoist_from_walk(&mut self, tail: bool) -> Option<Vec<Vec<Loc>>> {
        let [program] = &self.n.stages[..] else { return Some(Vec::new()) };
        let Some(walk) = self.shape.walk else { return Some(Vec::new()) };
        if program.each && (!self.n.reduce.is_empty() || !program.folds.is_empty()) {
            return Some(Vec::new());
        }
        let varies = |access: usize| self.n.accesses[access].kept[walk] != 0;
        let invariant = self.invariant(program, &varies);
        let row = if self.shape.walks_lanes() { vec![Vector { walk: 0, lane: 0, tail: false }] } else { self.tile(1, tail) };
        // Transposing takes all registers.
        let budget = if self.shape.crossing.is_empty() { self.pin_budget() / row.len() } else { 0 };
        let mut pinned = Vec::new();
        for &vector in &row {
            let point = Point { vector, reduced: Vec::new(), each: program.each, index: 0 };
            pinned.push(self.hoist(program, &invariant, &point, budget)?);
        }
        // A few steps of a walk use a constant less often than it costs to have it in a register.
        if let ([pinned], true) = (&mut pinned[..], self.form.is_long) {
            self.pin_operands(program, &invariant, pinned, budget)?;
        }
        Some(pinned)
    }

    /// Emits all stages at the points of a tile.
    fn points(&mut self, tile: &[Vector], hoisted: &[Vec<Loc>]) -> Option<()> {
        if self.clips_walk() && !self.inside {
            self.step_bounds();
        }
        let n = self.n;
        if !self.shape.crossing.is_empty() && tile.len() == self.shape.unroll * self.shape.vectors {
            let moved = self.cross(tile)?;
            if moved {
                return Some(());
            }
        }
        for (at, program) in n.stages.iter().enumerate() {
            if n.stages.len() > 1 {
                self.asm.mark(stage_words(at, program, n));
            }
            if program.each && (!n.reduce.is_empty() || !program.folds.is_empty()) {
                self.reduce(program, tile)?;
                continue;
            }
            for (index, &vector) in tile.iter().enumerate() {
                let point = Point { vector, reduced: Vec::new(), each: program.each, index };
                let pinned = match hoisted.len() {
                    0 => None,
                    len => Some(&hoisted[index % len][..]),
                };
                self.run(program, &point, Body { pinned, accumulators: None })?;
            }
        }
        self.crossed.clear();
        Some(())
    }

    /// The instructions that do not change while the accesses in `varies` do. Excludes reads of what the stage writes.
    /// Reductions are those of one point.
    pub(crate) fn invariant(&self, program: &PrimitiveStage, varies: &dyn Fn(usize) -> bool) -> Vec<bool> {
        self.unchanged(program, varies, true)
    }

    /// Like [`Gen::invariant`], for values that are equal in all rows of a tile; each row has its own reductions.
    pub(crate) fn same_in_rows(&self, program: &PrimitiveStage) -> Vec<bool> {
        let varies = |access: usize| self.shape.walk.is_none_or(|walk| self.n.accesses[access].kept[walk] != 0);
        self.unchanged(program, &varies, false)
    }

    fn unchanged(&self, program: &PrimitiveStage, varies: &dyn Fn(usize) -> bool, folded: bool) -> Vec<bool> {
        let written = |arg: usize| program.stores.iter().any(|s| self.n.accesses[self.n.n_reads + s.write].arg == arg);
        let mut invariant: Vec<bool> = Vec::with_capacity(program.body.instrs.len());
        for instr in &program.body.instrs {
            invariant.push(match *instr {
                Instr::Read(read) | Instr::ReadHalf(read, _) => {
                    let access = usize::from(read);
                    !varies(access) && !written(self.n.accesses[access].arg)
                }
                Instr::Gather(read, at, _) => {
                    let access = usize::from(read);
                    invariant[at.0 as usize] && !varies(access) && !written(self.n.accesses[access].arg)
                }
                Instr::Reduced(_) => folded,
                _ => instr.operands().all(|val| invariant[val.0 as usize]),
            });
        }
        invariant
    }

    /// Number of registers that may hold values through a loop.
    pub(crate) fn pin_budget(&self) -> usize {
        let keep = if self.isa() == Isa::Avx512 { 12 } else { 8 };
        (self.free.count_ones() as usize).saturating_sub(keep)
    }
}
