//! Clipped windows: the bounds at each point, and loops from bound to bound.

use super::normalize::bounds;
use super::reduce::Stage;
use super::state::{Gen, SCRATCH};
use crate::asm::{Cond, Mem, R};
use relayc_ir::kernel::{Clip, Instr};

impl Gen<'_> {
    /// Whether bounds differ from step to step of the walk.
    pub(crate) fn clips_walk(&self) -> bool {
        self.n.reduce.iter().any(|dim| dim.clip.is_some_and(|clip| Some(clip.dim) == self.shape.walk))
    }

    /// The range of walk indices at which no window is clipped along the walk.
    pub(crate) fn inside_walk(&self, walk: usize, extent: u64) -> (u64, u64) {
        let whole = |o: &u64| {
            self.n.reduce.iter().all(|dim| {
                let along = dim.clip.filter(|clip| clip.dim == walk);
                along.is_none_or(|clip| bounds(clip, dim.extent, *o as i64) == (0, dim.extent))
            })
        };
        let low = (0..extent).find(whole).unwrap_or(extent);
        (low, (low..extent).find(|o| !whole(o)).unwrap_or(extent))
    }

    /// Computes the bounds that do not depend on the walk, at the start of an item.
    pub(crate) fn item_bounds(&mut self) {
        self.clip_bounds(false);
        if !self.clips_walk() {
            self.count_inside();
        }
    }

    /// Computes the bounds at one step of the walk.
    pub(crate) fn step_bounds(&mut self) {
        self.clip_bounds(true);
        self.count_inside();
    }

    /// Sets bounds for steps of the walk at which no window is clipped along it.
    pub(crate) fn whole_windows(&mut self) {
        for dim in 0..self.n.reduce.len() {
            let reduce = self.n.reduce[dim];
            if let (true, Some([low, number])) = (reduce.clip.is_some_and(|clip| self.is_walk(clip)), self.bounds[dim]) {
                for (slot, value) in [(low, 0), (number, reduce.extent)] {
                    self.asm.mov_ri(R::RAX, value as i64);
                    self.asm.mov_mr(Mem::at(R::RSP, slot), R::RAX);
                }
            }
        }
        self.count_inside();
    }

    fn is_walk(&self, clip: Clip) -> bool {
        Some(clip.dim) == self.shape.walk
    }

    /// Computes the bounds that depend on the walk, or those that do not.
    fn clip_bounds(&mut self, of_walk: bool) {
        for dim in 0..self.n.reduce.len() {
            let reduce = self.n.reduce[dim];
            let clip = reduce.clip.filter(|&clip| self.is_walk(clip) == of_walk);
            if let (Some(clip), Some([low, number])) = (clip, self.bounds[dim]) {
                self.load_index(clip.dim);
                self.bound(clip, reduce.extent, low, number);
            }
        }
    }

    /// Computes the number of points inside from the bounds, as a vector.
    fn count_inside(&mut self) {
        let Some(count) = self.count.filter(|_| self.uses_count()) else { return };
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

    /// Loads the index of a kept dimension other than the lanes into `rax`.
    fn load_index(&mut self, dim: usize) {
        let outer = self.shape.outer.iter().position(|outer| outer.dim == dim && Some(dim) != self.shape.walk);
        let slot = outer.map_or(self.walk_index, |at| self.items.index[at]);
        self.asm.mov_rm(R::RAX, Mem::at(R::RSP, slot));
    }

    /// Computes a bound from the index in `rax`: with `s = before - index·stride`, the first inside is `⌈s/dilation⌉` and the
    /// end `⌈(s+size)/dilation⌉`, both clamped to `0..extent`.
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

    /// Emits a whole window like an unclipped one, otherwise loops from bound to bound.
    pub(crate) fn reduce_clipped(&mut self, stage: &Stage) -> Option<()> {
        let (border, done) = (self.asm.label(), self.asm.label());
        let known = |clip: Clip| self.inside && self.is_walk(clip);
        if self.n.reduce.iter().all(|dim| dim.clip.is_none_or(known)) {
            return self.reduce_whole(stage);
        }
        for dim in 0..self.n.reduce.len() {
            let known = self.n.reduce[dim].clip.is_some_and(|clip| self.inside && self.is_walk(clip));
            if let (Some([_, number]), false) = (self.bounds[dim], known) {
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

    /// Loads the number of indices inside of a reduced dimension into `rcx`.
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
