//! The loops of a nest: over the walk, over reduced dimensions, and what is computed once.

use super::emit::{Body, Loc, Point};
use super::fold::Accumulators;
use super::frame::{Group, Items, Slots};
use super::normal::{Normal, Program};
use super::shape::{LaneDim, Shape};
use crate::jit::asm::{Asm, Cond, Isa, K, Mask, Mem, R, V};
use crate::kernel::{Clip, Instr};

/// Bodies unrolled into straight code hold at most so many instructions together.
const STRAIGHT: usize = 320;

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
    bounds: Vec<Option<[i32; 2]>>,
    /// The index of the walk, where a clip wants it.
    walk_index: i32,
    pub spare_slots: Vec<i32>,
    /// Where lanes are taken one by one.
    pub lane_slot: Option<i32>,
    /// Where each crossing read's transposed vectors stand, while they do.
    pub crossed: Vec<(usize, i32)>,
}

/// One vector of a tile: where it is from the pointers, and whether it is the last of its row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vector {
    pub walk: i64,
    pub lane: i64,
    pub tail: bool,
}

/// Vector registers that no value lives in: for operands that come from memory, and for what takes several steps.
pub const SCRATCH: [V; 2] = [V(0), V(1)];

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
            gen_.clip_bounds(false);
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
            return (0..steps as i64).map(|walk| Vector { walk, lane: 0, tail }).collect();
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

    /// All points of an item. Where items go along the lanes vector by vector, the last vector has its own code.
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
        // Chunks are whole tiles but for the last one, so only what is left of the whole is left of a chunk.
        let longest = self.shape.chunk.map_or(extent, |chunk| chunk.0);
        let left = self.slots.take(8);
        self.count_walk(extent, left);
        let unroll = self.shape.unroll as u64;
        let forms = if unroll > 1 { vec![unroll, 1] } else { vec![1] };
        for steps in forms.into_iter().filter(|steps| longest >= steps * step) {
            let (top, out) = (self.asm.label(), self.asm.label());
            self.asm.bind(top);
            self.asm.mov_rm(R::RAX, Mem::at(R::RSP, left));
            self.asm.cmp_ri(R::RAX, (steps * step) as i32);
            self.asm.jcc(Cond::L, out);
            self.asm.sub_ri(R::RAX, (steps * step) as i32);
            self.asm.mov_mr(Mem::at(R::RSP, left), R::RAX);
            let tile = self.tile(steps as usize, tail);
            self.points(&tile, &hoisted)?;
            for group in 0..self.groups.len() {
                let bytes = self.groups[group].access.kept[walk] * self.groups[group].size;
                self.advance(group, bytes * (steps * step) as i64);
            }
            if self.clips_walk() {
                self.bump(self.walk_index, 1);
            }
            self.asm.jmp(top);
            self.asm.bind(out);
        }
        if self.shape.walks_lanes() && self.tail.is_some() {
            let out = self.asm.label();
            self.asm.mov_rm(R::RAX, Mem::at(R::RSP, left));
            self.asm.cmp_ri(R::RAX, 0);
            self.asm.jcc(Cond::E, out);
            let tile = self.tile(1, true);
            self.points(&tile, &hoisted)?;
            self.asm.bind(out);
        }
        self.unpin(hoisted)
    }

    /// Puts the points of this item's walk into `left`.
    fn count_walk(&mut self, extent: u64, left: i32) {
        match self.shape.chunk {
            None => self.asm.mov_ri(R::RAX, extent as i64),
            Some((chunk, last)) => {
                let at = self.shape.outer.len() - 1;
                let (index, n) = (self.items.index[at], self.shape.outer[at].extent);
                self.asm.mov_ri(R::RAX, chunk as i64);
                self.asm.mov_ri(R::RDX, last as i64);
                self.asm.mov_rm(R::RCX, Mem::at(R::RSP, index));
                self.asm.cmp_ri(R::RCX, n as i32 - 1);
                self.asm.cmov(Cond::E, R::RAX, R::RDX);
            }
        }
        self.asm.mov_mr(Mem::at(R::RSP, left), R::RAX);
        if self.clips_walk() {
            match self.shape.chunk {
                None => self.asm.mov_ri(R::RAX, 0),
                Some((chunk, _)) => {
                    let index = self.items.index[self.shape.outer.len() - 1];
                    self.asm.mov_rm(R::RAX, Mem::at(R::RSP, index));
                    self.asm.imul_rri(R::RAX, R::RAX, chunk as i32);
                }
            }
            self.asm.mov_mr(Mem::at(R::RSP, self.walk_index), R::RAX);
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
        for vector in row {
            let point = Point { vector, reduced: Vec::new(), each: program.each, index: 0 };
            pinned.push(self.hoist(program, &invariant, &point, budget)?);
        }
        Some(pinned)
    }

    /// All stages at the points of a tile.
    fn points(&mut self, tile: &[Vector], hoisted: &[Vec<Loc>]) -> Option<()> {
        self.clip_bounds(true);
        let n = self.n;
        if !self.shape.crossing.is_empty() && tile.len() == self.shape.unroll * self.shape.vectors {
            let moved = self.cross(tile)?;
            if moved {
                return Some(());
            }
        }
        for program in &n.stages {
            if program.each && (!n.reduce.is_empty() || !program.folds.is_empty()) {
                self.reduce(program, tile)?;
                continue;
            }
            for (index, &vector) in tile.iter().enumerate() {
                let point = Point { vector, reduced: Vec::new(), each: program.each, index };
                let pinned = match hoisted.len() {
                    0 => None,
                    len => Some(&hoisted[index % len]),
                };
                self.run(program, &point, Body { pinned, accumulators: None })?;
            }
        }
        self.crossed.clear();
        Some(())
    }

    /// Which instructions do not change while the accesses that vary do: also none that reads what the stage writes.
    fn invariant(&self, program: &Program, varies: &dyn Fn(usize) -> bool) -> Vec<bool> {
        let written = |arg: usize| program.stores.iter().any(|s| self.n.accesses[self.n.n_reads + s.write].arg == arg);
        let mut invariant: Vec<bool> = Vec::with_capacity(program.body.instrs.len());
        for instr in &program.body.instrs {
            invariant.push(match *instr {
                Instr::Read(read) => {
                    let access = usize::from(read);
                    !varies(access) && !written(self.n.accesses[access].arg)
                }
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

/// Stages over the reduced dimensions.
impl Gen<'_> {
    fn reduce(&mut self, program: &Program, tile: &[Vector]) -> Option<()> {
        let lane_reduced = matches!(self.shape.lane, LaneDim::Reduced(_));
        let varies = |access: usize| self.n.accesses[access].reduced.iter().any(|&stride| stride != 0);
        let invariant = self.invariant(program, &varies);
        let sets = self.sets(program, tile.len());
        let mut accumulators = Accumulators::new(self, program, tile.len(), sets)?;
        let budget = self.pin_budget() / tile.len();
        let mut pinned = Vec::new();
        for (index, &vector) in tile.iter().enumerate() {
            let point = Point { vector, reduced: Vec::new(), each: true, index };
            pinned.push(self.hoist(program, &invariant, &point, budget)?);
        }
        let stage = Stage { program, tile, pinned: &pinned, accumulators: &accumulators };
        if lane_reduced {
            self.reduce_along_lanes(&stage)?;
        } else if self.n.reduce.iter().any(|dim| dim.clip.is_some()) {
            self.reduce_clipped(&stage)?;
        } else {
            self.reduce_whole(&stage)?;
        }
        accumulators.finish(self, program);
        self.unpin(pinned)
    }

    /// How many sets of accumulators share the points: as many as registers allow up to four, since one is a chain of
    /// dependent steps, and long sums are more exact in parts.
    fn sets(&self, program: &Program, vectors: usize) -> usize {
        let room: usize = if self.isa() == Isa::Avx512 { 12 } else { 5 };
        let each = program.folds.len() * vectors;
        room.checked_div(each).unwrap_or(1).clamp(1, 4)
    }

    fn run_at(&mut self, stage: &Stage, set: usize, reduced: Vec<(usize, i64)>, lane: i64, tail: bool) -> Option<()> {
        for (index, &vector) in stage.tile.iter().enumerate() {
            let vector = Vector { lane: vector.lane + lane, tail: vector.tail || tail, ..vector };
            let point = Point { vector, reduced: reduced.clone(), each: true, index };
            let accumulators = Some((stage.accumulators, set % stage.accumulators.sets));
            self.run(stage.program, &point, Body { pinned: Some(&stage.pinned[index]), accumulators })?;
        }
        Some(())
    }

    /// All points of unclipped windows. Few points become straight code; otherwise the innermost dimension is a loop of a
    /// few points at a time, and the others are loops around it.
    fn reduce_whole(&mut self, stage: &Stage) -> Option<()> {
        let extents: Vec<u64> = self.n.reduce.iter().map(|dim| dim.extent).collect();
        let points: u64 = extents.iter().product();
        if points == 0 {
            return Some(());
        }
        let length = stage.program.body.instrs.len() * stage.tile.len();
        if points as usize <= 16.max(STRAIGHT / length.max(1)) && points as usize * length <= 4 * STRAIGHT {
            for at in 0..points {
                let mut rest = at;
                let mut reduced: Vec<(usize, i64)> = Vec::with_capacity(extents.len());
                for dim in (0..extents.len()).rev() {
                    reduced.push((dim, (rest % extents[dim]) as i64));
                    rest /= extents[dim];
                }
                self.run_at(stage, at as usize, reduced, 0, false)?;
            }
            return Some(());
        }
        let inner = extents.len() - 1;
        let steps = (STRAIGHT / 2 / length.max(1)).clamp(1, 4).min(extents[inner] as usize) as u64;
        self.loops(&(0..inner).collect::<Vec<_>>(), |gen_| {
            let (times, rest) = (extents[inner] / steps, extents[inner] % steps);
            gen_.counted(times, |gen_| {
                for at in 0..steps {
                    gen_.run_at(stage, at as usize, vec![(inner, at as i64)], 0, false)?;
                }
                gen_.advance_reduced(inner, steps as i64);
                Some(())
            })?;
            for at in 0..rest {
                gen_.run_at(stage, at as usize, vec![(inner, at as i64)], 0, false)?;
            }
            gen_.advance_reduced(inner, -((times * steps) as i64));
            Some(())
        })
    }

    /// Rows with the reduced lane dimension in lanes.
    fn reduce_along_lanes(&mut self, stage: &Stage) -> Option<()> {
        let LaneDim::Reduced(lane) = self.shape.lane else { return None };
        let extents: Vec<u64> = self.n.reduce.iter().map(|dim| dim.extent).collect();
        if extents.contains(&0) {
            return Some(());
        }
        let outer: Vec<usize> = (0..extents.len()).filter(|&dim| dim != lane).collect();
        let lanes = self.lanes as u64;
        let vectors = extents[lane] / lanes;
        let length = stage.program.body.instrs.len();
        let straight = vectors as usize * length <= STRAIGHT && vectors <= 8;
        let steps = if straight { vectors } else { (STRAIGHT / 2 / length.max(1)).clamp(1, 4) as u64 };
        let has_tail = !extents[lane].is_multiple_of(lanes);
        self.loops(&outer, |gen_| {
            let times = vectors.checked_div(steps).unwrap_or(0);
            let rest = vectors - times * steps;
            gen_.counted(times, |gen_| {
                for at in 0..steps {
                    gen_.run_at(stage, at as usize, Vec::new(), (at * lanes) as i64, false)?;
                }
                if times > 1 {
                    gen_.advance_reduced(lane, (steps * lanes) as i64);
                }
                Some(())
            })?;
            let moved = if times > 1 { times * steps } else { 0 };
            let done = times * steps;
            for at in 0..rest + u64::from(has_tail) {
                let from = (done + at - moved) * lanes;
                gen_.run_at(stage, at as usize, Vec::new(), from as i64, at == rest)?;
            }
            gen_.advance_reduced(lane, -((moved * lanes) as i64));
            Some(())
        })
    }

    /// Loops of known lengths around `inside`, outermost first; pointers are as before afterwards.
    fn loops(&mut self, dims: &[usize], inside: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let dims: Vec<usize> = dims.iter().copied().filter(|&dim| self.n.reduce[dim].extent > 1).collect();
        let mut open = Vec::new();
        for &dim in &dims {
            let counter = self.slots.take(8);
            self.asm.mov_ri(R::RAX, self.n.reduce[dim].extent as i64);
            self.asm.mov_mr(Mem::at(R::RSP, counter), R::RAX);
            open.push((dim, counter, self.asm.bound()));
        }
        inside(self)?;
        for (dim, counter, top) in open.into_iter().rev() {
            self.advance_reduced(dim, 1);
            self.asm.mov_rm(R::RAX, Mem::at(R::RSP, counter));
            self.asm.dec(R::RAX);
            self.asm.mov_mr(Mem::at(R::RSP, counter), R::RAX);
            self.asm.cmp_ri(R::RAX, 0);
            self.asm.jcc(Cond::NE, top);
            self.advance_reduced(dim, -(self.n.reduce[dim].extent as i64));
        }
        Some(())
    }

    /// The innermost loop, counted in `rdx`.
    fn counted(&mut self, times: u64, inside: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        match times {
            0 => Some(()),
            1 => inside(self),
            _ => {
                self.asm.mov_ri(R::RDX, times as i64);
                let top = self.asm.bound();
                inside(self)?;
                self.asm.dec(R::RDX);
                self.asm.jcc(Cond::NE, top);
                Some(())
            }
        }
    }

    /// Moves all pointers along a reduced dimension.
    fn advance_reduced(&mut self, dim: usize, by: i64) {
        for group in 0..self.groups.len() {
            let bytes = self.groups[group].access.reduced[dim] * self.groups[group].size * by;
            self.advance(group, bytes);
        }
    }
}

/// Windows that are clipped.
impl Gen<'_> {
    fn clips_walk(&self) -> bool {
        self.n.reduce.iter().any(|dim| dim.clip.is_some_and(|clip| Some(clip.dim) == self.shape.walk))
    }

    /// Computes the bounds that depend on the walk, or those that do not; with the first the count of points inside.
    fn clip_bounds(&mut self, of_walk: bool) {
        for dim in 0..self.n.reduce.len() {
            let reduce = self.n.reduce[dim];
            if let (Some(clip), Some([low, number])) = (reduce.clip, self.bounds[dim]) {
                if (Some(clip.dim) == self.shape.walk) != of_walk {
                    continue;
                }
                self.load_index(clip.dim);
                self.bound(clip, reduce.extent, low, number);
            }
        }
        let Some(count) = self.count.filter(|_| of_walk && self.uses_count()) else { return };
        let fixed: u64 = self.n.reduce.iter().filter(|dim| dim.clip.is_none()).map(|dim| dim.extent).product();
        self.asm.mov_ri(R::RAX, fixed as i64);
        for [_, number] in self.bounds.iter().flatten() {
            self.asm.imul_rm(R::RAX, Mem::at(R::RSP, *number));
        }
        self.asm.bcast_r(SCRATCH[0], R::RAX);
        self.asm.cvt_i2f(SCRATCH[0], SCRATCH[0]);
        self.asm.store(Mem::at(R::RSP, count), SCRATCH[0]);
    }

    fn uses_count(&self) -> bool {
        self.n.stages.iter().any(|stage| stage.body.instrs.contains(&Instr::Count))
    }

    /// The index of a kept dimension that is no lane dimension, to `rax`.
    fn load_index(&mut self, dim: usize) {
        let outer = self.shape.outer.iter().position(|outer| outer.dim == dim && Some(dim) != self.shape.walk);
        let slot = outer.map_or(self.walk_index, |at| self.items.index[at]);
        self.asm.mov_rm(R::RAX, Mem::at(R::RSP, slot));
    }

    /// From the index in `rax`: with `s = before - index·stride`, the first inside is `⌈s/dilation⌉` and the end
    /// `⌈(s+size)/dilation⌉`, both within `0..extent`.
    fn bound(&mut self, clip: Clip, extent: u64, low: i32, number: i32) {
        self.asm.imul_rri(R::RAX, R::RAX, -clip.stride as i32);
        self.asm.add_ri(R::RAX, clip.before as i32);
        self.asm.mov_rr(R::RCX, R::RAX);
        self.asm.add_ri(R::RCX, clip.size as i32);
        for register in [R::RAX, R::RCX] {
            self.asm.mov_ri(R::RDX, 0);
            self.asm.cmp_ri(register, 0);
            self.asm.cmov(Cond::L, register, R::RDX);
            if clip.dilation > 1 {
                // What is too large stays so: the division is exact below 2^31.
                self.asm.add_ri(register, clip.dilation as i32 - 1);
                let shift = 31 + (clip.dilation as u64).next_power_of_two().trailing_zeros();
                self.asm.mov_ri(R::RDX, (1u64 << shift).div_ceil(clip.dilation as u64) as i64);
                self.asm.imul_rr(register, R::RDX);
                self.asm.shr_ri(register, shift as u8);
            }
            self.asm.mov_ri(R::RDX, extent as i64);
            self.asm.cmp_rr(register, R::RDX);
            self.asm.cmov(Cond::G, register, R::RDX);
        }
        self.asm.mov_mr(Mem::at(R::RSP, low), R::RAX);
        self.asm.sub_rr(R::RCX, R::RAX);
        self.asm.mov_ri(R::RDX, 0);
        self.asm.cmp_ri(R::RCX, 0);
        self.asm.cmov(Cond::L, R::RCX, R::RDX);
        self.asm.mov_mr(Mem::at(R::RSP, number), R::RCX);
    }

    /// Where the whole window is inside, as if it were not clipped; else loops from bound to bound.
    fn reduce_clipped(&mut self, stage: &Stage) -> Option<()> {
        let (border, done) = (self.asm.label(), self.asm.label());
        for dim in 0..self.n.reduce.len() {
            if let Some([_, number]) = self.bounds[dim] {
                self.asm.mov_rm(R::RAX, Mem::at(R::RSP, number));
                self.asm.cmp_ri(R::RAX, self.n.reduce[dim].extent as i32);
                self.asm.jcc(Cond::NE, border);
            }
        }
        self.reduce_whole(stage)?;
        self.asm.jmp(done);
        self.asm.bind(border);
        self.save_pointers();
        let skip = self.asm.label();
        let mut open = Vec::new();
        for dim in 0..self.n.reduce.len() {
            if let Some([low, _]) = self.bounds[dim] {
                self.asm.mov_rm(R::RCX, Mem::at(R::RSP, low));
                self.advance_reduced_by_rcx(dim, 1);
            }
            self.load_number(dim);
            let counter = self.slots.take(8);
            self.asm.cmp_ri(R::RCX, 0);
            self.asm.jcc(Cond::E, skip);
            open.push((dim, counter));
        }
        let mut tops = Vec::new();
        for &(dim, counter) in &open {
            self.load_number(dim);
            self.asm.mov_mr(Mem::at(R::RSP, counter), R::RCX);
            tops.push(self.asm.bound());
        }
        self.run_at(stage, 0, Vec::new(), 0, false)?;
        for (&(dim, counter), top) in open.iter().zip(tops).rev() {
            self.advance_reduced(dim, 1);
            self.asm.mov_rm(R::RAX, Mem::at(R::RSP, counter));
            self.asm.dec(R::RAX);
            self.asm.mov_mr(Mem::at(R::RSP, counter), R::RAX);
            self.asm.cmp_ri(R::RAX, 0);
            self.asm.jcc(Cond::NE, top);
            self.load_number(dim);
            self.advance_reduced_by_rcx(dim, -1);
        }
        self.asm.bind(skip);
        self.restore_pointers();
        self.asm.bind(done);
        Some(())
    }

    /// How many indices of a reduced dimension are inside, to `rcx`.
    fn load_number(&mut self, dim: usize) {
        match self.bounds[dim] {
            Some([_, number]) => self.asm.mov_rm(R::RCX, Mem::at(R::RSP, number)),
            None => self.asm.mov_ri(R::RCX, self.n.reduce[dim].extent as i64),
        }
    }

    fn advance_reduced_by_rcx(&mut self, dim: usize, sign: i64) {
        for group in 0..self.groups.len() {
            let bytes = self.groups[group].access.reduced[dim] * self.groups[group].size;
            self.advance_by_rcx(group, sign * bytes);
        }
    }
}

/// A stage over reduced dimensions at the points of a tile.
struct Stage<'s> {
    program: &'s Program,
    tile: &'s [Vector],
    pinned: &'s [Vec<Loc>],
    accumulators: &'s Accumulators,
}
