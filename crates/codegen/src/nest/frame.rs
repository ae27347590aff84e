//! The function around a nest: its stack, its pointers, the loop over items.
//!
//! `rbp` keeps the caller's stack pointer; `rsp` is a multiple of 64. `rax` and `rcx` are scratch, and `rdx` counts the
//! innermost loop. The other general registers hold pointers, one for each group of accesses that move together.

use super::shape::Outer;
use super::state::{Gen, Group, Items};
use crate::asm::{Cond, Label, Mem, R};
use relayc_ir::kernel::Clip;

/// Registers for pointers.
const POINTERS: [R; 11] = [R::RBX, R::RSI, R::RDI, R::R8, R::R9, R::R10, R::R11, R::R12, R::R13, R::R14, R::R15];

impl Gen<'_> {
    /// Finds the groups; assigns each access its group and its displacement in bytes.
    pub(crate) fn group(&mut self) -> Option<()> {
        for access in &self.n.accesses {
            let size = access.dtype.bytes() as i64;
            let same = |group: &Group| {
                let other = &group.access;
                other.arg == access.arg
                    && other.dtype == access.dtype
                    && other.kept == access.kept
                    && other.reduced == access.reduced
            };
            let at = match self.groups.iter().position(same) {
                Some(at) => at,
                None => {
                    let register = POINTERS.get(self.groups.len()).copied();
                    let [work, item, saved] = std::array::from_fn(|_| self.slots.take(8));
                    self.groups.push(Group { access: access.clone(), size, register, work, item, saved });
                    self.groups.len() - 1
                }
            };
            let apart = access.offset.checked_sub(self.groups[at].access.offset)?.checked_mul(size)?;
            self.places.push((at, apart));
        }
        Some(())
    }

    /// Whether every distance is representable, and every step of a window fits an instruction. The reach of a tile is checked
    /// access by access.
    pub(crate) fn steps_fit(&self) -> bool {
        let way = |stride: i64, extent: u64, size: i64| {
            let bytes = stride.checked_mul(size)?.checked_mul(i64::try_from(extent).ok()?)?;
            (bytes.unsigned_abs() < 1 << 62).then_some(())
        };
        let fits = |group: &Group| {
            let kept = group.access.kept.iter().zip(&self.n.dims);
            let reduced = group.access.reduced.iter().zip(&self.n.reduce);
            kept.map(|(&stride, &extent)| way(stride, extent, group.size)).all(|fits| fits.is_some())
                && reduced.clone().all(|(&stride, dim)| way(stride, dim.extent, group.size).is_some())
                && (reduced.clone().all(|(&stride, _)| i32::try_from(stride * group.size).is_ok()) || self.count.is_none())
        };
        let small = |x: i64| x.unsigned_abs() < 1 << 30;
        let clips = self.n.reduce.iter().all(|dim| {
            let clip = |clip: Clip| [clip.stride, clip.dilation, clip.before, clip.size].into_iter().all(small);
            dim.clip.is_none_or(clip) && dim.extent < 1 << 30
        });
        clips && self.groups.iter().all(fits)
    }

    /// The register of a group's pointer; a pointer on the stack is loaded into `rax`.
    pub(crate) fn pointer(&mut self, group: usize) -> R {
        match self.groups[group].register {
            Some(register) => register,
            None => {
                let work = self.groups[group].work;
                self.asm.mov_rm(R::RAX, Mem::at(R::RSP, work));
                R::RAX
            }
        }
    }

    /// Adds bytes to a group's pointer.
    pub(crate) fn advance(&mut self, group: usize, bytes: i64) {
        if bytes == 0 {
            return;
        }
        let register = self.pointer(group);
        self.add(register, bytes);
        self.put_back(group);
    }

    /// Adds any number, through `rcx` if it does not fit an immediate.
    fn add(&mut self, register: R, bytes: i64) {
        match i32::try_from(bytes) {
            Ok(bytes) => self.asm.add_ri(register, bytes),
            Err(_) => {
                self.asm.mov_ri(R::RCX, bytes);
                self.asm.add_rr(register, R::RCX);
            }
        }
    }

    /// Adds `rcx` times `bytes`.
    pub(crate) fn advance_by_rcx(&mut self, group: usize, bytes: i64) {
        if bytes == 0 {
            return;
        }
        match self.groups[group].register {
            Some(register) => {
                self.asm.imul_rri(R::RAX, R::RCX, bytes as i32);
                self.asm.add_rr(register, R::RAX);
            }
            None => {
                let work = self.groups[group].work;
                self.asm.imul_rri(R::RAX, R::RCX, bytes as i32);
                self.asm.add_rm(R::RAX, Mem::at(R::RSP, work));
                self.asm.mov_mr(Mem::at(R::RSP, work), R::RAX);
            }
        }
    }

    fn put_back(&mut self, group: usize) {
        if self.groups[group].register.is_none() {
            let work = self.groups[group].work;
            self.asm.mov_mr(Mem::at(R::RSP, work), R::RAX);
        }
    }

    pub(crate) fn save_pointers(&mut self) {
        for at in 0..self.groups.len() {
            let (register, saved) = (self.pointer(at), self.groups[at].saved);
            self.asm.mov_mr(Mem::at(R::RSP, saved), register);
        }
    }

    pub(crate) fn restore_pointers(&mut self) {
        for at in 0..self.groups.len() {
            let from = self.groups[at].saved;
            self.load_pointer(at, from);
        }
    }

    fn load_pointer(&mut self, group: usize, from: i32) {
        let register = self.groups[group].register.unwrap_or(R::RAX);
        self.asm.mov_rm(register, Mem::at(R::RSP, from));
        self.put_back(group);
    }

    /// The stride of a group along an outer dimension in bytes.
    fn outer_stride(&self, group: usize, outer: Outer) -> i64 {
        let group = &self.groups[group];
        group.access.kept[outer.dim] * outer.scale as i64 * group.size
    }

    /// Emits the whole function: `item` computes one item with the pointers at its start.
    pub(crate) fn function(&mut self, frame_bytes: usize, item: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let used: Vec<R> = POINTERS.into_iter().chain([R::RBP]).collect();
        let frame = self.asm.enter(&used, 0);
        self.asm.mov_rr(R::RBP, R::RSP);
        self.asm.sub_ri(R::RSP, i32::try_from(frame_bytes + 64).ok()?);
        self.asm.and_ri(R::RSP, -64);
        let slots = Items { args: self.slots.take(8), remaining: self.slots.take(8), index: self.items.index.clone() };
        let exit = self.asm.label();
        self.asm.mov_mr(Mem::at(R::RSP, slots.args), R::RDI);
        self.asm.sub_rr(R::RDX, R::RSI);
        self.asm.mov_mr(Mem::at(R::RSP, slots.remaining), R::RDX);
        self.asm.cmp_ri(R::RDX, 0);
        self.asm.jcc(Cond::LE, exit);
        self.first_item(&slots);
        self.set_tail();
        self.asm.mark("loop over items");
        let next = self.asm.bound();
        for at in 0..self.groups.len() {
            let from = self.groups[at].item;
            self.load_pointer(at, from);
        }
        item(self)?;
        self.asm.mark("next item");
        self.next_item(&slots, next, exit);
        self.asm.bind(exit);
        self.asm.mov_rr(R::RSP, R::RBP);
        self.asm.leave(&frame);
        Some(())
    }

    /// Decomposes the item number in `rsi`, and sets each group's pointer to the item's start.
    ///
    /// `q = i / d` is `i·⌈2^s/d⌉ >> s` with `s = 31 + ⌈log₂ d⌉`, exact for all `i` below 2^31.
    fn first_item(&mut self, slots: &Items) {
        let outer = self.shape.outer.clone();
        self.asm.mov_rr(R::RAX, R::RSI);
        for (dim, &slot) in outer.iter().zip(&slots.index).rev() {
            let shift = 31 + dim.extent.next_power_of_two().trailing_zeros();
            let factor = (1u64 << shift).div_ceil(dim.extent);
            self.asm.mov_ri(R::RCX, factor as i64);
            self.asm.imul_rr(R::RCX, R::RAX);
            self.asm.shr_ri(R::RCX, shift as u8);
            self.asm.imul_rri(R::RDX, R::RCX, dim.extent as i32);
            self.asm.sub_rr(R::RAX, R::RDX);
            self.asm.mov_mr(Mem::at(R::RSP, slot), R::RAX);
            self.asm.mov_rr(R::RAX, R::RCX);
        }
        self.asm.mov_rm(R::RDX, Mem::at(R::RSP, slots.args));
        for group in 0..self.groups.len() {
            let (arg, start) = (self.groups[group].access.arg, self.groups[group].access.offset * self.groups[group].size);
            self.asm.mov_rm(R::RAX, Mem::at(R::RDX, 8 * arg as i32));
            self.asm.mov_ri(R::RCX, start);
            self.asm.add_rr(R::RAX, R::RCX);
            for (&dim, &slot) in outer.iter().zip(&slots.index) {
                let stride = self.outer_stride(group, dim);
                if stride != 0 {
                    self.asm.mov_ri(R::RCX, stride);
                    self.asm.imul_rm(R::RCX, Mem::at(R::RSP, slot));
                    self.asm.add_rr(R::RAX, R::RCX);
                }
            }
            let item = self.groups[group].item;
            self.asm.mov_mr(Mem::at(R::RSP, item), R::RAX);
        }
    }

    /// Advances to the next item from the innermost outer dimension, with the items' pointers.
    fn next_item(&mut self, slots: &Items, next: Label, exit: Label) {
        let remaining = Mem::at(R::RSP, slots.remaining);
        self.asm.mov_rm(R::RAX, remaining);
        self.asm.dec(R::RAX);
        self.asm.mov_mr(remaining, R::RAX);
        self.asm.cmp_ri(R::RAX, 0);
        self.asm.jcc(Cond::E, exit);
        let outer = self.shape.outer.clone();
        for (at, (&dim, &slot)) in outer.iter().zip(&slots.index).enumerate().rev() {
            let index = Mem::at(R::RSP, slot);
            self.asm.mov_rm(R::RDX, index);
            self.asm.inc(R::RDX);
            // What the dimension inside has moved too far is taken back in the same step.
            let inner = outer.get(at + 1).copied();
            for group in 0..self.groups.len() {
                let back = inner.map_or(0, |inner| self.outer_stride(group, inner) * (inner.extent as i64 - 1));
                self.move_item(group, self.outer_stride(group, dim) - back);
            }
            self.asm.mov_mr(index, R::RDX);
            self.asm.cmp_ri(R::RDX, dim.extent as i32);
            self.asm.jcc(Cond::L, next);
            self.asm.xor_rr(R::RDX, R::RDX);
            self.asm.mov_mr(index, R::RDX);
            // The last step of this dimension was one too many.
            for group in 0..self.groups.len() {
                self.move_item(group, -self.outer_stride(group, dim));
            }
        }
        self.asm.jmp(exit);
    }

    fn move_item(&mut self, group: usize, bytes: i64) {
        if bytes == 0 {
            return;
        }
        let item = Mem::at(R::RSP, self.groups[group].item);
        self.asm.mov_rm(R::RAX, item);
        self.add(R::RAX, bytes);
        self.asm.mov_mr(item, R::RAX);
    }
}
