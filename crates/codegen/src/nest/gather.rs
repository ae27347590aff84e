//! Gathers: reads at a computed displacement, in elements.
//!
//! If all lanes have the same displacement, it is added to the pointer, and the lanes are read as usual. So reading a row of a
//! table by its number costs as much as reading a row. Otherwise the lanes are gathered. Missing lanes read nothing.

use super::access::Lanes;
use super::state::{Gen, Point, SCRATCH};
use crate::asm::{Mem, R, V, forms};
use crate::machine::load_extended;
use relayc_ir::types::DType;

impl Gen<'_> {
    /// Emits a gather; `places` may be the first scratch register.
    pub(crate) fn gather_read(&mut self, access: usize, places: V, uniform: bool, point: &Point, dst: V) -> Option<()> {
        let dtype = self.n.accesses[access].dtype;
        if dtype.bytes() > 4 {
            return None;
        }
        let slot = self.byte_slot();
        if uniform {
            self.asm.store_lane0(slot, places);
            self.asm.movsxd(R::RCX, slot);
            let lanes = self.place(access, point)?;
            self.asm.lea(R::RAX, displaced(lanes.first, lanes.size as u8));
            return self.read_lanes(access, &Lanes { first: Mem::at(R::RAX, 0), ..lanes }, dst);
        }
        let lanes = self.place(access, point)?;
        if dtype == DType::BOOL {
            return self.pick_bytes(&lanes, places, dst);
        }
        if lanes.size < 4 {
            return self.pick_narrow(&lanes, dtype, places, dst);
        }
        let places = self.with_steps(&lanes, places)?;
        self.gather_at(&lanes, places, dst);
        Some(())
    }

    /// The displacements, each with its lane's offset from the first lane added.
    fn with_steps(&mut self, lanes: &Lanes, places: V) -> Option<V> {
        if lanes.stride == 0 || lanes.n == 1 {
            return Some(places);
        }
        let steps = (0..self.lanes as i64).map(|lane| i32::try_from(lane * lanes.stride).ok());
        let steps: Vec<u8> = steps.collect::<Option<Vec<i32>>>()?.iter().flat_map(|step| step.to_le_bytes()).collect();
        let steps = self.asm.constant(&steps);
        self.asm.op3(&forms::VPADDD, SCRATCH[0], places, steps);
        Some(SCRATCH[0])
    }

    /// Gathers one- or two-byte elements one by one, through the stack: each overwrites its own displacement, or an earlier
    /// one.
    fn pick_narrow(&mut self, lanes: &Lanes, dtype: DType, places: V, dst: V) -> Option<()> {
        let slot = self.byte_slot();
        self.asm.store(slot, places);
        for lane in 0..lanes.n as i64 {
            self.asm.movsxd(R::RCX, slot.plus(4 * lane as i32));
            let step = i32::try_from(lane * lanes.stride * lanes.size).ok()?;
            self.load_element(lanes.size, displaced(lanes.first.plus(step), lanes.size as u8));
            self.store_element(lanes.size, slot.plus((lane * lanes.size) as i32));
        }
        load_extended(self.asm, dtype, dst, None, slot);
        Some(())
    }

    /// Gathers bytes one by one, through the stack.
    fn pick_bytes(&mut self, lanes: &Lanes, places: V, dst: V) -> Option<()> {
        let slot = self.byte_slot();
        self.asm.store(slot, places);
        for lane in 0..lanes.n as i32 {
            let at = slot.plus(4 * lane);
            self.asm.movsxd(R::RCX, at);
            let step = i32::try_from(i64::from(lane) * lanes.stride).ok()?;
            self.asm.load_byte(R::RCX, displaced(lanes.first.plus(step), 1));
            self.asm.mov_mr32(at, R::RCX);
        }
        self.asm.load(dst, slot);
        self.as_bools(dst);
        Some(())
    }
}

/// The operand displaced by `rcx` elements.
fn displaced(mem: Mem, size: u8) -> Mem {
    Mem::indexed(mem.base, R::RCX, size, mem.disp)
}
