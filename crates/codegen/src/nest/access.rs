//! Reads and writes of a vector's lanes.
//!
//! * Contiguous lanes are a load or a store, masked in the last vector.
//! * Lanes at one address are a broadcast.
//! * Lanes two elements apart are selected from two vectors.
//! * Other lanes are gathered, or stored one by one.
//!
//! Bools are bytes in memory.

use super::shape::LaneDim;
use super::state::{Gen, Point, SCRATCH, SCRATCH_MASK, Vector};
use crate::asm::{Isa, Mask, Mem, R, V, Width, forms};
use crate::legalize::widths::LaneStore;
use relayc_ir::kernel::Instr;
use relayc_ir::types::DType;

/// Location of a vector's lanes: the first one, the step between them in bytes, their number, and whether the vector is
/// partial.
pub(crate) struct Lanes {
    pub(crate) first: Mem,
    /// Stride in elements.
    pub(crate) stride: i64,
    /// Bytes of an element.
    pub(crate) size: i64,
    pub(crate) n: usize,
    pub(crate) tail: bool,
}

impl Gen<'_> {
    /// The lanes of an access; may load its pointer into `rax`.
    pub(crate) fn place(&mut self, access: usize, point: &Point) -> Option<Lanes> {
        let (group, apart) = self.places[access];
        let of = &self.n.accesses[access];
        let size = self.groups[group].size;
        let stride = self.shape.lane_stride(of, point.each);
        let mut elements = point.vector.lane.checked_mul(stride)?;
        if let Some(walk) = self.shape.walk.filter(|_| !self.shape.walks_lanes()) {
            elements += point.vector.walk * of.kept[walk];
        }
        elements += point.reduced.iter().map(|&(dim, at)| of.reduced[dim] * at).sum::<i64>();
        let disp = i32::try_from(apart.checked_add(elements.checked_mul(size)?)?).ok()?;
        // The last lane has to be within reach as well.
        i32::try_from(i64::from(disp) + stride.checked_mul(size * self.lanes as i64)?).ok()?;
        let n = match self.shape.lane {
            LaneDim::Single => 1,
            LaneDim::Reduced(_) if !point.each => 1,
            _ if point.vector.tail => self.tail.map_or(self.lanes, |tail| tail.1),
            _ => self.lanes,
        };
        let first = Mem::at(self.pointer(group), disp);
        Some(Lanes { first, stride, size, n, tail: point.vector.tail })
    }

    pub(crate) fn read(&mut self, access: usize, point: &Point, dst: V) -> Option<()> {
        if let Some(&(_, slot)) = self.crossed.iter().find(|crossed| crossed.0 == access) {
            self.asm.load(dst, Mem::at(R::RSP, slot + 64 * point.index as i32));
            return Some(());
        }
        let lanes = self.place(access, point)?;
        self.read_lanes(access, &lanes, dst)
    }

    /// The address of an access that is a whole vector in memory, for use as an operand; its pointer stays in a register.
    pub(crate) fn whole_vector(&mut self, access: usize, point: &Point) -> Option<Mem> {
        let dtype = self.n.accesses[access].dtype;
        let stays = self.groups[self.places[access].0].register.is_some();
        if !stays || dtype == DType::BOOL || dtype.bytes() != 4 || self.crossed.iter().any(|crossed| crossed.0 == access) {
            return None;
        }
        let lanes = self.place(access, point)?;
        (lanes.stride == 1 && lanes.n == self.lanes && !lanes.tail).then_some(lanes.first)
    }

    /// Reads lanes at a regular stride.
    pub(crate) fn read_lanes(&mut self, access: usize, lanes: &Lanes, dst: V) -> Option<()> {
        if self.n.accesses[access].dtype == DType::BOOL {
            self.read_bytes(lanes, dst);
            return Some(());
        }
        if lanes.size < 4 {
            self.read_narrow(lanes, self.n.accesses[access].dtype, dst);
            return Some(());
        }
        match (lanes.stride, self.tail) {
            _ if lanes.n == 1 && !lanes.tail => self.asm.bcast(dst, lanes.first),
            (0, _) => self.asm.bcast(dst, lanes.first),
            (1, Some((mask, _))) if lanes.tail => self.asm.load_tail(dst, mask, lanes.first),
            (1, _) => self.asm.load(dst, lanes.first),
            (2, _) => self.every_second(lanes, dst),
            _ => self.gather(lanes, dst)?,
        }
        Some(())
    }

    /// Reads the transposed accesses of a tile: loads vectors along the walk, transposes them and keeps them on the stack.
    /// Returns whether it has also completed the body, which it does if the body only moves elements.
    pub(crate) fn cross(&mut self, tile: &[Vector]) -> Option<bool> {
        let program = &self.n.stages[0];
        let moves = matches!((&program.body.instrs[..], &program.stores[..]), ([Instr::Read(_)], [_]));
        // The tail's mask on AVX2 is in a register that transposing takes.
        let masked = self.isa() == Isa::Avx2 && self.tail.is_some();
        for access in self.shape.crossing.clone() {
            let slot = self.crossing_slot(tile.len());
            for (vector, &first) in tile[..self.shape.vectors].iter().enumerate() {
                for (step, column) in self.transposed(access, first, program.each)?.into_iter().enumerate() {
                    let index = step * self.shape.vectors + vector;
                    if moves && !masked {
                        let point = Point { vector: tile[index], reduced: Vec::new(), each: program.each, index };
                        self.store(program.stores[0].write, &point, column)?;
                    } else {
                        self.asm.store(Mem::at(R::RSP, slot + 64 * index as i32), column);
                    }
                }
            }
            self.crossed.push((access, slot));
        }
        if masked {
            self.set_tail();
        }
        if moves && !masked {
            self.crossed.clear();
        }
        Some(moves && !masked)
    }

    /// Loads the vectors that begin at the lanes of a vector, and transposes them. Takes all registers.
    pub(crate) fn transposed(&mut self, access: usize, first: Vector, each: bool) -> Option<Vec<V>> {
        let registers: Vec<V> = (0..2 * self.lanes as u8).map(V).collect();
        let (rows, temps) = registers.split_at(self.lanes);
        let n = if first.tail { self.tail.map_or(self.lanes, |tail| tail.1) } else { self.lanes };
        for (lane, &row) in rows[..n].iter().enumerate() {
            let at = Vector { lane: first.lane + lane as i64, ..first };
            let from = self.place(access, &Point { vector: at, reduced: Vec::new(), each, index: 0 })?;
            self.asm.load(row, from.first);
        }
        Some(self.asm.transpose(rows, temps))
    }

    /// Stack space for the vectors of a tile.
    pub(crate) fn crossing_slot(&mut self, vectors: usize) -> i32 {
        let first = self.slots.take(64);
        for _ in 1..vectors {
            self.slots.take(64);
        }
        first
    }

    /// Gathers lanes; missing lanes are zero.
    fn gather(&mut self, lanes: &Lanes, dst: V) -> Option<()> {
        let places = (0..self.lanes as i64).map(|lane| i32::try_from(lane * lanes.stride).ok());
        let places = places.collect::<Option<Vec<i32>>>()?;
        let bytes: Vec<u8> = places.iter().flat_map(|place| place.to_le_bytes()).collect();
        let places = self.asm.constant(&bytes);
        self.asm.load(SCRATCH[0], places);
        self.gather_at(lanes, SCRATCH[0], dst);
        Some(())
    }

    /// Gathers four-byte elements at these offsets from the first lane. Missing lanes are zero.
    pub(crate) fn gather_at(&mut self, lanes: &Lanes, places: V, dst: V) {
        let mask = match self.isa() {
            Isa::Avx512 => Mask::K(SCRATCH_MASK),
            Isa::Avx2 => Mask::V(SCRATCH[1]),
        };
        match self.tail.filter(|_| lanes.tail) {
            Some((tail, _)) => self.asm.mask_and(mask, tail, tail),
            None => self.asm.mask_all(mask),
        }
        self.asm.zero(dst);
        self.asm.gather(dst, mask, lanes.first.base, places, 4, lanes.first.disp);
    }

    /// Reads lanes two elements apart from two vectors, then takes the even elements of the first and the odd ones of the
    /// second.
    ///
    /// The second vector starts so that nothing after the last lane is touched.
    fn every_second(&mut self, lanes: &Lanes, dst: V) {
        let (n, last) = (lanes.n, 4 * (self.lanes as i32 - 1));
        self.load_first(dst, lanes.first, 2 * n - 1);
        match (self.isa(), 2 * n > self.lanes) {
            (Isa::Avx512, true) => {
                self.load_first(SCRATCH[1], lanes.first.plus(last), 2 * n - self.lanes);
                let order: Vec<u32> = (0..16).map(|lane| if lane < 8 { 2 * lane } else { 2 * lane + 1 }).collect();
                self.load_order(SCRATCH[0], &order);
                self.asm.vector(&forms::VPERMT2PS, Width::Z, dst, SCRATCH[0], SCRATCH[1], None);
            }
            (Isa::Avx512, false) => {
                let order: Vec<u32> = (0..16).map(|lane| (2 * lane) & 15).collect();
                self.load_order(SCRATCH[0], &order);
                self.asm.permute(dst, SCRATCH[0], dst);
            }
            (Isa::Avx2, more) => {
                if more {
                    self.load_first(SCRATCH[0], lanes.first.plus(last), 2 * n - self.lanes);
                } else {
                    self.asm.zero(SCRATCH[0]);
                }
                // Within each half 0 and 2 of the first, 1 and 3 of the second; then pairs in order.
                self.asm.shuffle(dst, dst, SCRATCH[0], 0b11_01_10_00);
                self.load_order(SCRATCH[1], &[0, 1, 4, 5, 2, 3, 6, 7]);
                self.asm.permute(dst, SCRATCH[1], dst);
            }
        }
    }

    pub(crate) fn load_order(&mut self, dst: V, order: &[u32]) {
        let bytes: Vec<u8> = order.iter().flat_map(|lane| lane.to_le_bytes()).collect();
        let order = self.asm.constant(&bytes);
        self.asm.load(dst, order);
    }

    /// Loads the first `n` elements; the others become zero.
    fn load_first(&mut self, dst: V, src: Mem, n: usize) {
        if n >= self.lanes {
            return self.asm.load(dst, src);
        }
        let mask = match self.isa() {
            Isa::Avx512 => Mask::K(SCRATCH_MASK),
            Isa::Avx2 => Mask::V(SCRATCH[1]),
        };
        self.asm.set_tail(mask, n, R::RCX);
        self.asm.load_tail(dst, mask, src);
    }

    /// Reads bytes as lanes of all ones or all zeros.
    fn read_bytes(&mut self, lanes: &Lanes, dst: V) {
        if lanes.stride == 1 && !lanes.tail && lanes.n == self.lanes {
            let width = self.isa().width();
            self.asm.vector(&forms::VPMOVZXBD, width, dst, V(0), lanes.first, None);
        } else if lanes.stride == 0 || lanes.n == 1 {
            self.asm.load_byte(R::RCX, lanes.first);
            self.asm.bcast_r(dst, R::RCX);
        } else {
            let slot = self.byte_slot();
            self.asm.zero(dst);
            self.asm.store(slot, dst);
            for lane in 0..lanes.n {
                self.asm.load_byte(R::RCX, lanes.first.plus((lane as i64 * lanes.stride) as i32));
                self.asm.mov_mr32(slot.plus(4 * lane as i32), R::RCX);
            }
            self.asm.load(dst, slot);
        }
        self.as_bools(dst);
    }

    /// Converts bytes to lanes of all ones or all zeros: zero minus the value clamped to 1, so any other byte counts as 1.
    pub(crate) fn as_bools(&mut self, dst: V) {
        let (one, zero) = (self.asm.splat_bits_rm(1), SCRATCH[0]);
        self.asm.op3(&forms::VPMINSD, dst, dst, one);
        self.asm.zero(zero);
        self.asm.op3(&forms::VPSUBD, dst, zero, dst);
    }

    /// Stores a vector, or half of one.
    pub(crate) fn put(&mut self, put: &LaneStore, point: &Point, value: V) -> Option<()> {
        let access = self.n.n_reads + put.write;
        match self.n.accesses[access].dtype.bytes() {
            8 => self.store_half(access, put.half, point, value),
            _ => self.store(put.write, point, value),
        }
    }

    pub(crate) fn store(&mut self, write: usize, point: &Point, value: V) -> Option<()> {
        let access = self.n.n_reads + write;
        let lanes = self.place(access, point)?;
        let bytes = self.n.accesses[access].dtype == DType::BOOL;
        if lanes.size < 4 && !bytes {
            self.store_narrow(&lanes, self.n.accesses[access].dtype, value);
            return Some(());
        }
        if bytes {
            let one = self.asm.splat_bits_rm(1);
            self.asm.op3(&forms::VANDPS, SCRATCH[1], value, one);
        }
        match (lanes.stride, self.tail) {
            _ if lanes.n == 1 && !bytes => self.asm.store_lane0(lanes.first, value),
            (1, Some((mask, _))) if lanes.tail && !bytes => self.asm.store_tail(lanes.first, mask, value),
            (1, _) if !bytes => self.asm.store(lanes.first, value),
            _ => self.scatter(&lanes, if bytes { SCRATCH[1] } else { value }),
        }
        Some(())
    }

    /// Stores lanes one by one, through the stack.
    fn scatter(&mut self, lanes: &Lanes, value: V) {
        let slot = self.byte_slot();
        self.asm.store(slot, value);
        for lane in 0..lanes.n {
            let to = lanes.first.plus((lane as i64 * lanes.stride * lanes.size) as i32);
            self.asm.mov_rm32(R::RCX, slot.plus(4 * lane as i32));
            if lanes.size == 1 {
                self.asm.store_byte(to, R::RCX);
            } else {
                self.asm.mov_mr32(to, R::RCX);
            }
        }
    }

    /// Stack space for one vector, for access lane by lane.
    pub(crate) fn byte_slot(&mut self) -> Mem {
        let slot = *self.lane_slot.get_or_insert_with(|| self.slots.take(64));
        Mem::at(R::RSP, slot)
    }
}
