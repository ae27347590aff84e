//! Gathers: reads at a computed displacement, in elements.
//!
//! If all lanes have the same displacement, it is added to the pointer, and the lanes are read as usual. So reading a row of a
//! table by its number costs as much as reading a row. Lanes that are known to rise by 0 or 1 are permuted from those elements of a
//! vector that they need. Lanes that rise by 1 are read as usual where they may. Otherwise the lanes are gathered. Missing lanes read
//! nothing.

use super::access::Lanes;
use super::state::{Gen, Point, SCRATCH, SCRATCH_MASK};
use crate::asm::{Cond, IPred, Isa, Mask, Mem, R, V, forms};
use crate::machine::load_extended;
use relayc_ir::kernel::Steps;
use relayc_ir::types::DType;

impl Gen<'_> {
    /// Emits a gather; `places` may be the first scratch register.
    pub(crate) fn gather_read(
        &mut self,
        access: usize,
        places: V,
        (uniform, steps): (bool, Steps),
        point: &Point,
        dst: V,
    ) -> Option<()> {
        let dtype = self.n.accesses[access].dtype;
        if dtype.bytes() > 4 {
            return None;
        }
        if uniform {
            let lanes = self.first_place(access, places, point)?;
            return self.read_lanes(access, &lanes, dst);
        }
        let still = self.shape.lane_stride(&self.n.accesses[access], point.each) == 0;
        match steps {
            // No instruction of AVX2 reads some of the narrow elements of a vector.
            Steps::Rising(_) if still && (dtype.bytes() == 4 || self.isa() == Isa::Avx512) => {
                self.permuted(access, places, point, dst)
            }
            Steps::Small(_) if still => {
                let done = self.asm.label();
                let apart = self.asm.label();
                let lanes = self.first_place(access, places, point)?;
                let last = lanes.n as i32 - 1;
                self.past_first(places);
                let slot = self.byte_slot();
                self.asm.store(slot, SCRATCH[1]);
                self.asm.mov_rm32(R::RCX, slot.plus(4 * last));
                self.asm.cmp_ri(R::RCX, last);
                self.asm.jcc(Cond::NE, apart);
                self.read_lanes(access, &Lanes { stride: 1, ..lanes }, dst)?;
                self.asm.jmp(done);
                self.asm.bind(apart);
                self.gathered(access, places, point, dst)?;
                self.asm.bind(done);
                Some(())
            }
            _ => self.gathered(access, places, point, dst),
        }
    }

    /// Loads the address of the first lane into `rax`.
    fn first_place(&mut self, access: usize, places: V, point: &Point) -> Option<Lanes> {
        let slot = self.byte_slot();
        self.asm.store_lane0(slot, places);
        self.asm.movsxd(R::RCX, slot);
        let lanes = self.place(access, point)?;
        self.asm.lea(R::RAX, displaced(lanes.first, lanes.size as u8));
        Some(Lanes { first: Mem::at(R::RAX, 0), ..lanes })
    }

    /// Computes the displacements of all lanes from the first one, in the second scratch register.
    fn past_first(&mut self, places: V) {
        self.asm.bcast_lane0(SCRATCH[1], places);
        self.asm.op3(&forms::VPSUBD, SCRATCH[1], places, SCRATCH[1]);
    }

    /// Emits a gather of lanes that rise by 0 or 1: reads from the first to the last one and permutes.
    fn permuted(&mut self, access: usize, places: V, point: &Point, dst: V) -> Option<()> {
        let lanes = self.first_place(access, places, point)?;
        self.past_first(places);
        self.asm.splat_bits(dst, lanes.n as u32 - 1);
        self.asm.permute(dst, dst, SCRATCH[1]);
        let before: Vec<u8> = (0..self.lanes as i32).flat_map(|lane| (lane - 1).to_le_bytes()).collect();
        let before = self.asm.constant(&before);
        let mask = match self.isa() {
            Isa::Avx512 => Mask::K(SCRATCH_MASK),
            Isa::Avx2 => Mask::V(dst),
        };
        self.asm.cmp_i(IPred::Gt, mask, dst, before);
        let dtype = self.n.accesses[access].dtype;
        match dtype {
            DType::BOOL => load_extended(self.asm, DType::U8, SCRATCH[0], Some(mask), lanes.first),
            _ if lanes.size < 4 => load_extended(self.asm, dtype, SCRATCH[0], Some(mask), lanes.first),
            _ => self.asm.load_tail(SCRATCH[0], mask, lanes.first),
        }
        self.asm.permute(dst, SCRATCH[1], SCRATCH[0]);
        if dtype == DType::BOOL {
            self.as_bools(dst);
        }
        Some(())
    }

    /// Emits a gather of lanes at any displacements.
    fn gathered(&mut self, access: usize, places: V, point: &Point, dst: V) -> Option<()> {
        let dtype = self.n.accesses[access].dtype;
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
