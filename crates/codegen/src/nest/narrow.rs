//! Elements of one or two bytes: 32-bit lanes in registers, read and written at their own width.
//!
//! Integers are extended when read and truncated when written; F16 is converted. Where no single instruction does this,
//! elements are read into a register one by one, and written through the stack.

use super::access::Lanes;
use super::state::{Gen, SCRATCH};
use crate::asm::forms;
use crate::asm::{Isa, Mask, Mem, R, V, Width};
use crate::machine::{extending, load_extended, low_bytes};
use relayc_ir::types::DType;

impl Gen<'_> {
    /// Reads narrow elements; missing lanes are zero.
    pub(crate) fn read_narrow(&mut self, lanes: &Lanes, dtype: DType, dst: V) {
        let whole = lanes.stride == 1 && !lanes.tail && lanes.n == self.lanes;
        match self.tail {
            _ if whole => load_extended(self.asm, dtype, dst, None, lanes.first),
            Some((mask @ Mask::K(_), _)) if lanes.stride == 1 && lanes.tail => {
                load_extended(self.asm, dtype, dst, Some(mask), lanes.first);
            }
            _ if lanes.stride == 0 || (lanes.n == 1 && !lanes.tail) => {
                self.load_element(lanes.size, lanes.first);
                self.asm.vector(&forms::VMOVD_FROM_R, Width::X, dst, V(0), V(R::RCX.0), None);
                self.asm.vector(extending(dtype), Width::X, dst, V(0), dst, None);
                self.asm.bcast_lane0(dst, dst);
            }
            _ => self.read_apart(lanes, dtype, dst),
        }
    }

    /// Reads narrow elements that lie apart into a register, one after the other: a load of bytes that were stored one by one would wait
    /// until they are in the cache.
    fn read_apart(&mut self, lanes: &Lanes, dtype: DType, dst: V) {
        let (form, of_part) = if lanes.size == 1 { (&forms::VPINSRB, 16) } else { (&forms::VPINSRW, 8) };
        let parts = [dst, SCRATCH[0]];
        for (part, first) in parts.into_iter().zip((0..lanes.n).step_by(of_part)) {
            self.asm.zero(part);
            for lane in first..lanes.n.min(first + of_part) {
                let from = lanes.first.plus((lane as i64 * lanes.stride * lanes.size) as i32);
                self.asm.vector(form, Width::X, part, part, from, Some((lane - first) as u8));
            }
        }
        if lanes.n > of_part {
            self.asm.vector(&forms::VINSERTF128, Width::Y, dst, dst, parts[1], Some(1));
        }
        self.asm.vector(extending(dtype), self.isa().width(), dst, V(0), dst, None);
    }

    /// Loads one or two bytes into `rcx`.
    pub(crate) fn load_element(&mut self, size: i64, from: Mem) {
        match size {
            1 => self.asm.load_byte(R::RCX, from),
            _ => self.asm.load_word(R::RCX, from),
        }
    }

    /// Stores one or two bytes of `rcx`.
    pub(crate) fn store_element(&mut self, size: i64, to: Mem) {
        match size {
            1 => self.asm.store_byte(to, R::RCX),
            _ => self.asm.store_word(to, R::RCX),
        }
    }

    /// Stores narrow elements. The value is not in the first scratch register; the second may be overwritten.
    pub(crate) fn store_narrow(&mut self, lanes: &Lanes, dtype: DType, value: V) {
        let width = self.isa().width();
        let (form, imm) = match dtype {
            DType::F16 => (&forms::VCVTPS2PH, Some(0)),
            _ if lanes.size == 1 => (&forms::VPMOVDB, None),
            _ => (&forms::VPMOVDW, None),
        };
        let whole = lanes.stride == 1 && lanes.n == self.lanes;
        let tail = self.tail.filter(|_| lanes.tail && lanes.stride == 1);
        match (self.isa(), tail) {
            (Isa::Avx512, None) if whole => self.asm.vector(form, width, value, V(0), lanes.first, imm),
            (Isa::Avx512, Some((Mask::K(mask), _))) => {
                self.asm.under(mask, false).vector(form, width, value, V(0), lanes.first, imm);
            }
            (Isa::Avx2, _) if whole && dtype == DType::F16 => self.asm.vector(form, width, value, V(0), lanes.first, imm),
            (Isa::Avx2, _) if whole => self.pack(lanes, value),
            _ => {
                let slot = self.byte_slot();
                let step = if dtype == DType::F16 { 2 } else { 4 };
                match dtype {
                    DType::F16 => self.asm.vector(form, width, value, V(0), slot, imm),
                    _ => self.asm.store(slot, value),
                }
                for lane in 0..lanes.n as i64 {
                    self.load_element(lanes.size, slot.plus((lane * step) as i32));
                    self.store_element(lanes.size, lanes.first.plus((lane * lanes.stride * lanes.size) as i32));
                }
            }
        }
    }

    /// Stores a whole AVX2 vector: compacts the low bytes of each half, then joins the halves.
    fn pack(&mut self, lanes: &Lanes, value: V) {
        let [packed, order] = SCRATCH;
        let bytes = self.asm.constant(&low_bytes(lanes.size as u8));
        self.asm.vector(&forms::VPSHUFB, Width::Y, packed, value, bytes, None);
        if lanes.size == 2 {
            self.asm.vector(&forms::VPERMQ_IMM, Width::Y, packed, V(0), packed, Some(0b00_00_10_00));
            self.asm.vector(&forms::VMOVUPS_STORE, Width::X, packed, V(0), lanes.first, None);
        } else {
            self.load_order(order, &[0, 4, 0, 4, 0, 4, 0, 4]);
            self.asm.permute(packed, order, packed);
            self.asm.vector(&forms::VMOVSD_STORE, Width::X, packed, V(0), lanes.first, None);
        }
    }
}
