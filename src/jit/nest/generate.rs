//! The loops of a nest: over the walk, over reduced dimensions, and what is computed once.

use super::emit::{Body, Loc, Point};
use super::frame::{Group, Items, Slots};
use super::normal::{Normal, Program};
use super::shape::{LaneDim, Shape};
use crate::jit::asm::{Asm, Cond, Isa, K, Mask, Mem, R, V};
use crate::kernel::Instr;

/// A nest being made into code.
pub struct Gen<'a> {
    pub asm: &'a mut Asm,
    pub n: &'a Normal,
    pub shape: Shape,
    /// Lanes of a vector.
    pub lanes: usize,
    pub groups: Vec<Group>,
    /// For each access its group and the displacement in bytes.
    pub places: Vec<(usize, i64)>,
    pub slots: Slots,
    pub items: Items,
    /// Free vector registers and opmasks, as bits.
    pub free: u32,
    pub free_masks: u8,
    /// The mask of the last vector of the lane dimension, and how many lanes that is.
    pub tail: Option<(Mask, usize)>,
    /// What folds gave, for each fold and vector of the tile.
    pub folded: Vec<Vec<i32>>,
    /// How many points are inside, as a vector, where windows are clipped.
    pub count: Option<i32>,
    /// Where the first index inside and their number stand, for each reduced dimension that is clipped.
    pub bounds: Vec<Option<[i32; 2]>>,
    /// The index of the walk, where a clip wants it.
    pub walk_index: i32,
    /// Whether no window is clipped along the walk where the code at hand runs.
    pub inside: bool,
    pub spare_slots: Vec<i32>,
    /// Where lanes are taken one by one.
    pub lane_slot: Option<i32>,
    /// Where each crossing read's transposed vectors stand, while they do.
    pub crossed: Vec<(usize, i32)>,
}

/// Steps of a walk from `first` on.
struct Segment {
    first: u64,
    longest: u64,
    /// Whether no window is clipped along the walk.
    inside: bool,
}

/// Where it stands how much of a walk is left.
#[derive(Clone, Copy)]
enum Left {
    InRdx,
    At(i32),
}

/// One vector of a tile: where it is from the pointers, and whether it is the last of its row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vector {
    pub walk: i64,
    pub lane: i64,
    pub tail: bool,
}

/// A stage, for who reads the code.
fn stage_words(at: usize, program: &Program, n: &Normal) -> String {
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

/// Vector registers that no value lives in: for operands that come from memory, and for what takes several steps.
pub const SCRATCH: [V; 2] = [V(0), V(1)];

/// Fewer steps of a walk than these are few.
const FEW: u64 = 4;

/// A mask that no value lives in, on AVX-512.
pub const SCRATCH_MASK: K = K(2);

impl<'a> Gen<'a> {
    pub fn new(asm: &'a mut Asm, n: &'a Normal) -> Gen<'a> {
        let isa = asm.isa();
        let shape = Shape::new(n, isa.lanes());
        let mut slots = Slots::default();
        let items = Items::new(&mut slots, shape.outer.len());
        let tail = match (shape.lane_extent as usize % isa.lanes(), isa) {
            _ if shape.lane == LaneDim::Single => None,
            (0, _) => None,
            (rest, Isa::Avx512) => Some((Mask::K(K(1)), rest)),
            (rest, Isa::Avx2) => Some((Mask::V(V(15)), rest)),
        };
        let mut free = if isa == Isa::Avx512 { u32::MAX } else { 0xffff } & !0b11;
        if isa == Isa::Avx2 && tail.is_some() {
            free &= !(1 << 15);
        }
        let bounds = n.reduce.iter().map(|dim| dim.clip.map(|_| [slots.take(8), slots.take(8)])).collect();
        let walk_index = slots.take(8);
        let n_vectors = shape.unroll * shape.vectors;
        let folded = n.folded.iter().map(|_| (0..n_vectors).map(|_| slots.take(64)).collect()).collect();
        let count = n.reduce.iter().any(|dim| dim.clip.is_some()).then(|| slots.take(64));
        Gen {
            asm,
            n,
            lanes: isa.lanes(),
            shape,
            groups: Vec::new(),
            places: Vec::new(),
            slots,
            items,
            free,
            free_masks: 0b1111_1000,
            tail,
            folded,
            count,
            bounds,
            walk_index,
            inside: true,
            spare_slots: Vec::new(),
            lane_slot: None,
            crossed: Vec::new(),
        }
    }

    /// Emits the function; `frame` is how many bytes of stack it may use. Gives how many it does use.
    pub fn generate(&mut self, frame: usize) -> Option<usize> {
        self.group()?;
        if !self.steps_fit() || self.shape.n_items() >= 1 << 31 {
            return None;
        }
        self.function(frame, |gen_| {
            gen_.item_bounds();
            gen_.walk()
        })?;
        Some(self.slots.bytes())
    }

    pub fn isa(&self) -> Isa {
        self.asm.isa()
    }

    pub fn set_tail(&mut self) {
        if let Some((mask, n)) = self.tail {
            self.asm.set_tail(mask, n, R::RAX);
        }
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

    /// All points of an item. Where items go along the lanes, a last vector that is not full has its own code.
    fn walk(&mut self) -> Option<()> {
        let last = self.shape.outer.iter().position(|outer| LaneDim::Kept(outer.dim) == self.shape.lane);
        let (Some(last), Some(_)) = (last.filter(|_| self.shape.blocks), self.tail) else { return self.steps(false) };
        let (whole, done) = (self.asm.label(), self.asm.label());
        self.asm.mov_rm(R::RAX, Mem::at(R::RSP, self.items.index[last]));
        self.asm.cmp_ri(R::RAX, self.shape.outer[last].extent as i32 - 1);
        self.asm.jcc(Cond::NE, whole);
        self.steps(true)?;
        self.asm.jmp(done);
        self.asm.bind(whole);
        self.steps(false)?;
        self.asm.bind(done);
        Some(())
    }

    /// Tiles of the walk, single steps, the tail where the walk goes along the lanes.
    fn steps(&mut self, tail: bool) -> Option<()> {
        let hoisted = self.hoist_from_walk(tail)?;
        let Some(walk) = self.shape.walk else {
            let tile = self.tile(1, false);
            self.points(&tile, &hoisted)?;
            return self.unpin(hoisted);
        };
        let step = if self.shape.walks_lanes() { self.lanes as u64 } else { 1 };
        let extent = self.shape.walk_extent(self.n);
        let left = if self.counts_inside() { Left::At(self.slots.take(8)) } else { Left::InRdx };
        let unroll = self.shape.unroll as u64;
        for segment in self.segments(walk, extent) {
            self.enter_segment(&segment);
            self.put_left(left);
            let forms = if unroll > 1 && segment.inside { vec![unroll, 1] } else { vec![1] };
            for steps in forms.into_iter().filter(|steps| segment.longest >= steps * step) {
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

    /// A loop over tiles of so many steps while as many are left.
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

    /// The parts of a walk: where windows are clipped along it, those at its ends, and the part between, where none is.
    fn segments(&self, walk: usize, extent: u64) -> Vec<Segment> {
        if !self.clips_walk() {
            // Chunks are whole tiles but for the last one, so only what is left of the whole is left of a chunk.
            let longest = self.shape.chunk.map_or(extent, |chunk| chunk.steps);
            return vec![Segment { first: 0, longest, inside: true }];
        }
        let (low, high) = self.inside_walk(walk, extent);
        let parts = [(0, low, false), (low, high, true), (high, extent, false)];
        let parts = parts.into_iter().filter(|(first, end, _)| end > first);
        parts.map(|(first, end, inside)| Segment { first, longest: end - first, inside }).collect()
    }

    /// Puts the steps of a segment into `rdx` and `rax`, and what its windows need where they stand.
    fn enter_segment(&mut self, segment: &Segment) {
        self.inside = segment.inside;
        if self.clips_walk() {
            if segment.inside {
                self.whole_windows();
            }
            self.asm.mov_ri(R::RAX, segment.first as i64);
            self.asm.mov_mr(Mem::at(R::RSP, self.walk_index), R::RAX);
        }
        match self.shape.chunk {
            None => self.asm.mov_ri(R::RAX, segment.longest as i64),
            Some(chunk) => {
                let (index, n) = (self.items.index[chunk.outer], self.shape.outer[chunk.outer].extent);
                self.asm.mov_ri(R::RAX, chunk.steps as i64);
                self.asm.mov_ri(R::RDX, chunk.last as i64);
                self.asm.mov_rm(R::RCX, Mem::at(R::RSP, index));
                self.asm.cmp_ri(R::RCX, n as i32 - 1);
                self.asm.cmov(Cond::E, R::RAX, R::RDX);
            }
        }
        self.asm.mov_rr(R::RDX, R::RAX);
    }

    /// Whether the stages have loops of their own, which count in `rdx`.
    fn counts_inside(&self) -> bool {
        !self.n.reduce.is_empty() || self.n.stages.iter().any(|stage| !stage.folds.is_empty())
    }

    /// The register that holds how much of the walk is left.
    fn get_left(&mut self, left: Left) -> R {
        if let Left::At(slot) = left {
            self.asm.mov_rm(R::RAX, Mem::at(R::RSP, slot));
            return R::RAX;
        }
        R::RDX
    }

    /// Keeps what the register of [`Gen::get_left`] holds; from [`Gen::enter_segment`] it comes in `rdx` too.
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

    /// What an elementwise body need not compute again at each step of the walk, for each vector of a step.
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
        let step = if self.shape.walks_lanes() { self.lanes as u64 } else { 1 };
        if let ([pinned], true) = (&mut pinned[..], self.shape.walk_extent(self.n) >= FEW * step) {
            self.pin_operands(program, &invariant, pinned, budget)?;
        }
        Some(pinned)
    }

    /// All stages at the points of a tile.
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

    /// Which instructions do not change while the accesses that vary do: also none that reads what the stage writes. Folds are
    /// those of one point.
    pub fn invariant(&self, program: &Program, varies: &dyn Fn(usize) -> bool) -> Vec<bool> {
        self.unchanged(program, varies, true)
    }

    /// As [`Gen::invariant`], for what is the same in all rows of a tile, each of which has folds of its own.
    pub fn same_in_rows(&self, program: &Program) -> Vec<bool> {
        let varies = |access: usize| self.shape.walk.is_none_or(|walk| self.n.accesses[access].kept[walk] != 0);
        self.unchanged(program, &varies, false)
    }

    fn unchanged(&self, program: &Program, varies: &dyn Fn(usize) -> bool, folded: bool) -> Vec<bool> {
        let written = |arg: usize| program.stores.iter().any(|s| self.n.accesses[self.n.n_reads + s.write].arg == arg);
        let mut invariant: Vec<bool> = Vec::with_capacity(program.body.instrs.len());
        for instr in &program.body.instrs {
            invariant.push(match *instr {
                Instr::Read(read) | Instr::ReadHalf(read, _) => {
                    let access = usize::from(read);
                    !varies(access) && !written(self.n.accesses[access].arg)
                }
                Instr::Pick(read, at) => {
                    let access = usize::from(read);
                    invariant[at.0 as usize] && !varies(access) && !written(self.n.accesses[access].arg)
                }
                Instr::Folded(_) => folded,
                _ => instr.operands().all(|val| invariant[val.0 as usize]),
            });
        }
        invariant
    }

    /// How many registers may hold values through a loop.
    pub fn pin_budget(&self) -> usize {
        let keep = if self.isa() == Isa::Avx512 { 12 } else { 8 };
        (self.free.count_ones() as usize).saturating_sub(keep)
    }
}
