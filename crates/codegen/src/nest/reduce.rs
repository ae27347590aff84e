//! Stages over the reduced dimensions of a nest.

use super::emit::{Body, Loc};
use super::normalize::PrimitiveStage;
use super::reduction::Accumulators;
use super::shape::{LaneDim, multiplies_floats};
use super::state::{Gen, Point, Vector};
use crate::asm::{Cond, Isa, Mem, R, V};

/// Maximum number of instructions of an unrolled body.
const STRAIGHT: usize = 320;

/// A stage over reduced dimensions, at the points of a tile.
pub(crate) struct Stage<'s> {
    program: &'s PrimitiveStage,
    tile: &'s [Vector],
    pinned: &'s [Vec<Loc>],
    /// The values that all rows of the tile share at each point, if there are several rows.
    shared: Option<Vec<bool>>,
    accumulators: &'s Accumulators,
}

impl Gen<'_> {
    /// Emits a stage at each point of the reduced dimensions, for the vectors of a tile.
    pub(crate) fn reduce(&mut self, program: &PrimitiveStage, tile: &[Vector]) -> Option<()> {
        let lane_reduced = matches!(self.shape.lane, LaneDim::Reduced(_));
        let varies = |access: usize| self.n.accesses[access].reduced.iter().any(|&stride| stride != 0);
        let invariant = self.invariant(program, &varies);
        let sets = self.sets(program, tile.len());
        let mut accumulators = Accumulators::new(self, program, tile.len(), sets)?;
        // Transposing takes all registers.
        let budget = if self.shape.turned.is_empty() { self.pin_budget() / tile.len() } else { 0 };
        let mut pinned = Vec::new();
        for (index, &vector) in tile.iter().enumerate() {
            let point = Point { vector, reduced: Vec::new(), each: true, index };
            pinned.push(self.hoist(program, &invariant, &point, budget)?);
        }
        let shared = (lane_reduced && tile.len() > 1).then(|| self.same_in_rows(program));
        let stage = Stage { program, tile, pinned: &pinned, shared, accumulators: &accumulators };
        if lane_reduced {
            self.reduce_along_lanes(&stage)?;
        } else if !self.shape.turned.is_empty() {
            self.reduce_turned(&stage)?;
        } else if self.n.reduce.iter().any(|dim| dim.clip.is_some()) {
            self.reduce_clipped(&stage)?;
        } else {
            self.reduce_whole(&stage)?;
        }
        accumulators.finish(self, program);
        self.unpin(pinned)
    }

    /// Number of accumulator sets that share the points: up to four as registers allow. One set is a chain of dependent steps,
    /// and long sums are more accurate in parts.
    fn sets(&self, program: &PrimitiveStage, vectors: usize) -> usize {
        let room: usize = if self.isa() == Isa::Avx512 { 12 } else { 5 };
        if multiplies_floats(self.n) {
            return 1;
        }
        let each = program.folds.len() * vectors;
        // A few points are not worth joining sets for.
        let points = match self.shape.lane {
            LaneDim::Reduced(_) => 4,
            _ => self.n.reduced_points() as usize / 8,
        };
        room.checked_div(each).unwrap_or(1).min(points).clamp(1, 4)
    }

    pub(crate) fn run_at(&mut self, stage: &Stage, set: usize, reduced: Vec<(usize, i64)>, lane: i64, tail: bool) -> Option<()> {
        let at = |index: usize| {
            let vector = stage.tile[index];
            let vector = Vector { lane: vector.lane + lane, tail: vector.tail || tail, ..vector };
            Point { vector, reduced: reduced.clone(), each: true, index }
        };
        let shared = match &stage.shared {
            Some(shared) => self.share(stage.program, shared, &stage.pinned[0], &at(0))?,
            None => Vec::new(),
        };
        for (index, own) in stage.pinned.iter().enumerate() {
            let mut pinned = own.clone();
            for (pinned, &shared) in pinned.iter_mut().zip(&shared).filter(|(_, shared)| **shared != Loc::Nowhere) {
                *pinned = shared;
            }
            let accumulators = Some((stage.accumulators, set % stage.accumulators.sets));
            self.run(stage.program, &at(index), Body { pinned: Some(&pinned), accumulators })?;
        }
        self.unpin(vec![shared])
    }

    /// Emits all points of unclipped windows. Few points are unrolled; otherwise the innermost dimension is a loop over a few
    /// points at a time, and the others are loops around it.
    pub(crate) fn reduce_whole(&mut self, stage: &Stage) -> Option<()> {
        let extents: Vec<u64> = self.n.reduce.iter().map(|dim| dim.extent).collect();
        let points: u64 = extents.iter().product();
        if points == 0 {
            return Some(());
        }
        let length = stage.program.body.instrs.len() * stage.tile.len();
        // A single point has no loop, and may have no dimension left to be one.
        if points == 1 || points as usize <= 16.max(STRAIGHT / length.max(1)) && points as usize * length <= 4 * STRAIGHT {
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

    /// Emits points whose reads have unit stride along the innermost reduced dimension, but not along the lanes: for as many points as
    /// there are lanes, whole vectors are read and transposed. So each sum keeps its order.
    fn reduce_turned(&mut self, stage: &Stage) -> Option<()> {
        let extents: Vec<u64> = self.n.reduce.iter().map(|dim| dim.extent).collect();
        if extents.contains(&0) {
            return Some(());
        }
        let (inner, lanes, tile) = (extents.len() - 1, self.lanes as u64, stage.tile.len());
        let (times, rest) = (extents[inner] / lanes, extents[inner] % lanes);
        let reads: Vec<(usize, i32)> =
            self.shape.turned.clone().into_iter().map(|access| (access, self.crossing_slot(self.lanes * tile))).collect();
        let accumulators: Vec<(V, Mem)> =
            stage.accumulators.registers().iter().map(|&register| (register, Mem::at(R::RSP, self.slots.take(64)))).collect();
        self.loops(&(0..inner).collect::<Vec<_>>(), |gen_| {
            gen_.counted(times, |gen_| {
                accumulators.iter().for_each(|&(register, slot)| gen_.asm.store(slot, register));
                for &(access, slot) in &reads {
                    for (index, &vector) in stage.tile.iter().enumerate() {
                        for (step, column) in gen_.transposed(access, vector, true)?.into_iter().enumerate() {
                            gen_.asm.store(Mem::at(R::RSP, slot + 64 * (step * tile + index) as i32), column);
                        }
                    }
                }
                gen_.set_tail();
                accumulators.iter().for_each(|&(register, slot)| gen_.asm.load(register, slot));
                for step in 0..lanes {
                    gen_.crossed =
                        reads.iter().map(|&(access, slot)| (access, slot + 64 * (step as usize * tile) as i32)).collect();
                    gen_.run_at(stage, 0, vec![(inner, step as i64)], 0, false)?;
                }
                gen_.crossed.clear();
                gen_.advance_reduced(inner, lanes as i64);
                Some(())
            })?;
            for at in 0..rest {
                gen_.run_at(stage, 0, vec![(inner, at as i64)], 0, false)?;
            }
            gen_.advance_reduced(inner, -((times * lanes) as i64));
            Some(())
        })
    }

    /// Emits rows with the reduced dimension in lanes.
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

    /// Emits loops of known lengths around `inside`, outermost first; restores the pointers afterwards.
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
    pub(crate) fn advance_reduced(&mut self, dim: usize, by: i64) {
        for group in 0..self.groups.len() {
            let bytes = self.groups[group].access.reduced[dim] * self.groups[group].size * by;
            self.advance(group, bytes);
        }
    }
}
