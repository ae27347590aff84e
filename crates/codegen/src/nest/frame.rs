//! The function around a nest: its stack, its pointers, the loop over items.
//!
//! `rbp` keeps the caller's stack pointer; `rsp` is a multiple of 64. `rax` and `rcx` are scratch, and `rdx` counts the
//! innermost loop. The other general registers hold pointers, one for each group of accesses that move together.

use super::form::move_alike;
use super::normalize::NormalizedNest;
use super::state::{Gen, Group, Items};
use crate::asm::{Cond, Label, Mem, Number, R};
use relayc_ir::kernel::{Access, Clip};

/// Registers for pointers.
const POINTERS: [R; 11] = [R::RBX, R::RSI, R::RDI, R::R8, R::R9, R::R10, R::R11, R::R12, R::R13, R::R14, R::R15];

/// Whether every distance is representable, and every step of a window fits an instruction. The reach of a tile is checked access
/// by access.
pub(crate) fn steps_fit(n: &NormalizedNest) -> bool {
    let way = |stride: i64, extent: u64, size: i64| {
        let bytes = stride.checked_mul(size)?.checked_mul(i64::try_from(extent).ok()?)?;
        (bytes.unsigned_abs() < 1 << 62).then_some(())
    };
    let clipped = n.reduce.iter().any(|dim| dim.clip.is_some());
    let fits = |access: &Access| {
        let size = access.dtype.bytes() as i64;
        let kept = access.kept.iter().zip(&n.dims);
        let reduced = access.reduced.iter().zip(&n.reduce);
        kept.map(|(&stride, &extent)| way(stride, extent, size)).all(|fits| fits.is_some())
            && reduced.clone().all(|(&stride, dim)| way(stride, dim.extent, size).is_some())
            && (reduced.clone().all(|(&stride, _)| i32::try_from(stride * size).is_ok()) || !clipped)
    };
    let small = |x: i64| x.unsigned_abs() < 1 << 30;
    let clips = n.reduce.iter().all(|dim| {
        let clip = |clip: Clip| [clip.stride, clip.dilation, clip.before, clip.size].into_iter().all(small);
        dim.clip.is_none_or(clip) && dim.extent < 1 << 30
    });
    clips && n.accesses.iter().all(fits)
}

impl Gen<'_> {
    /// Finds the groups; assigns each access its group and its displacement in bytes.
    pub(crate) fn group(&mut self) -> Option<()> {
        for (number, access) in self.n.accesses.iter().enumerate() {
            let size = access.dtype.bytes() as i64;
            let at = match self.groups.iter().position(|group| move_alike(&group.access, access)) {
                Some(at) => at,
                None => {
                    let register = POINTERS.get(self.groups.len()).copied();
                    let [work, item, saved] = std::array::from_fn(|_| self.slots.take(8));
                    self.groups.push(Group { access: access.clone(), number, size, register, work, item, saved });
                    self.groups.len() - 1
                }
            };
            let apart = access.offset.checked_sub(self.groups[at].access.offset)?.checked_mul(size)?;
            self.places.push((at, apart));
        }
        Some(())
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

    /// Emits the whole function: `item` computes one item with the pointers at its start.
    pub(crate) fn function(&mut self, item: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let used: Vec<R> = POINTERS.into_iter().chain([R::RBP]).collect();
        let frame = self.asm.enter(&used, 0);
        self.asm.mov_rr(R::RBP, R::RSP);
        let room = self.asm.sub_later(R::RSP);
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
        // How much stack is used is known at the end.
        self.asm.set(room, i32::try_from(self.slots.bytes() + 64).ok()?);
        Some(())
    }

    /// Decomposes the item number in `rsi`, and sets each group's pointer to the item's start.
    ///
    /// Quotients are exact, as item numbers are below 2^31.
    fn first_item(&mut self, slots: &Items) {
        self.asm.mov_rr(R::RAX, R::RSI);
        for (of, &slot) in slots.index.iter().enumerate().rev() {
            self.asm.mov_rn(R::RCX, Number::Factor { of });
            self.asm.imul_rr(R::RCX, R::RAX);
            self.asm.shr_rn(R::RCX, Number::Shift { of });
            self.asm.imul_rrn(R::RDX, R::RCX, Number::plain(of));
            self.asm.sub_rr(R::RAX, R::RDX);
            self.asm.mov_mr(Mem::at(R::RSP, slot), R::RAX);
            self.asm.mov_rr(R::RAX, R::RCX);
        }
        self.asm.mov_rm(R::RDX, Mem::at(R::RSP, slots.args));
        for group in 0..self.groups.len() {
            let Group { number, access, .. } = &self.groups[group];
            let number = *number;
            self.asm.mov_rm(R::RAX, Mem::at(R::RDX, 8 * access.arg as i32));
            self.asm.mov_rn(R::RCX, self.form.start(number));
            self.asm.add_rr(R::RAX, R::RCX);
            for (outer, &slot) in slots.index.iter().enumerate() {
                if let Some(step) = self.form.step(number, outer) {
                    self.asm.mov_rn(R::RCX, Number::plain(step));
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
        for (at, &slot) in slots.index.iter().enumerate().rev() {
            let index = Mem::at(R::RSP, slot);
            self.asm.mov_rm(R::RDX, index);
            self.asm.inc(R::RDX);
            // What the dimension inside has moved too far is taken back in the same step.
            for group in 0..self.groups.len() {
                if let Some(step) = self.form.next(self.groups[group].number, at) {
                    self.move_item(group, step);
                }
            }
            self.asm.mov_mr(index, R::RDX);
            self.asm.cmp_rn(R::RDX, Number::plain(at));
            self.asm.jcc(Cond::L, next);
            self.asm.xor_rr(R::RDX, R::RDX);
            self.asm.mov_mr(index, R::RDX);
            // The last step of this dimension was one too many.
            for group in 0..self.groups.len() {
                if let Some(of) = self.form.step(self.groups[group].number, at) {
                    self.move_item(group, Number::Scaled { of, scale: -1, plus: 0 });
                }
            }
        }
        self.asm.jmp(exit);
    }

    fn move_item(&mut self, group: usize, bytes: Number) {
        let item = Mem::at(R::RSP, self.groups[group].item);
        self.asm.mov_rn(R::RAX, bytes);
        self.asm.add_rm(R::RAX, item);
        self.asm.mov_mr(item, R::RAX);
    }
}
