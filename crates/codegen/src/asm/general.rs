//! Instructions on general registers, jumps and calls.
//!
//! dynasm encodes the forms on registers and immediates. This file encodes forms with a memory operand or a condition, with the
//! address bytes of vector instructions. The reason: dynasm spells every run-time displacement in four bytes and has no
//! constant pool.

use super::encode::{Bytes, Place};
use super::fragment::{Number, Site};
use super::operand::{Cond, Label, Mem, R};
use super::{Asm, RELATIVE_DWORD};
use dynasmrt::{AssemblyOffset, DynasmApi, DynasmLabelApi, dynasm};

/// The REX.W prefix; without it an instruction works on 32 bits.
const WIDE: u8 = 8;

impl Asm {
    pub(crate) fn jmp(&mut self, target: Label) {
        dynasm!(self.ops ; .arch x64 ; jmp =>target.0);
    }

    /// Jumps if the condition holds.
    pub(crate) fn jcc(&mut self, cond: Cond, target: Label) {
        self.ops.extend([0x0f, 0x80 | cond as u8, 0, 0, 0, 0].iter());
        self.ops.dynamic_reloc(target.0, 0, 4, 0, RELATIVE_DWORD);
    }

    /// Pads with one-byte `nop`s to a multiple of `n`, which is a power of two.
    pub fn align(&mut self, n: usize) {
        let pad = self.here().next_multiple_of(n.max(1)) - self.here();
        // The recommended long forms of nop: fewer instructions to decode than single bytes.
        const NOPS: [&[u8]; 9] = [
            &[0x90],
            &[0x66, 0x90],
            &[0x0f, 0x1f, 0x00],
            &[0x0f, 0x1f, 0x40, 0x00],
            &[0x0f, 0x1f, 0x44, 0x00, 0x00],
            &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00],
            &[0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00],
            &[0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
            &[0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
        ];
        let mut left = pad;
        while left > 0 {
            let nop = NOPS[left.min(9) - 1];
            self.ops.extend(nop.iter());
            left -= nop.len();
        }
    }

    pub(crate) fn mov_rr(&mut self, dst: R, src: R) {
        dynasm!(self.ops ; .arch x64 ; mov Rq(dst), Rq(src));
    }

    /// Loads a constant by the shortest form; leaves the flags unchanged.
    pub(crate) fn mov_ri(&mut self, dst: R, value: i64) {
        if let Ok(value) = u32::try_from(value) {
            dynasm!(self.ops ; .arch x64 ; mov Rd(dst), DWORD value as i32);
        } else if let Ok(value) = i32::try_from(value) {
            dynasm!(self.ops ; .arch x64 ; mov Rq(dst), DWORD value);
        } else {
            dynasm!(self.ops ; .arch x64 ; mov Rq(dst), QWORD value);
        }
    }

    pub(crate) fn add_rr(&mut self, dst: R, src: R) {
        dynasm!(self.ops ; .arch x64 ; add Rq(dst), Rq(src));
    }

    pub(crate) fn add_ri(&mut self, dst: R, value: i32) {
        match i8::try_from(value) {
            Ok(value) => dynasm!(self.ops ; .arch x64 ; add Rq(dst), BYTE value),
            Err(_) => dynasm!(self.ops ; .arch x64 ; add Rq(dst), DWORD value),
        }
    }

    pub(crate) fn sub_rr(&mut self, dst: R, src: R) {
        dynasm!(self.ops ; .arch x64 ; sub Rq(dst), Rq(src));
    }

    pub(crate) fn sub_ri(&mut self, dst: R, value: i32) {
        match i8::try_from(value) {
            Ok(value) => dynasm!(self.ops ; .arch x64 ; sub Rq(dst), BYTE value),
            Err(_) => dynasm!(self.ops ; .arch x64 ; sub Rq(dst), DWORD value),
        }
    }

    pub(crate) fn and_ri(&mut self, dst: R, value: i32) {
        match i8::try_from(value) {
            Ok(value) => dynasm!(self.ops ; .arch x64 ; and Rq(dst), BYTE value),
            Err(_) => dynasm!(self.ops ; .arch x64 ; and Rq(dst), DWORD value),
        }
    }

    pub(crate) fn cmp_rr(&mut self, a: R, b: R) {
        dynasm!(self.ops ; .arch x64 ; cmp Rq(a), Rq(b));
    }

    pub(crate) fn cmp_ri(&mut self, a: R, value: i32) {
        match i8::try_from(value) {
            // dynasm has no short form of this one.
            Ok(value) => {
                self.legacy(WIDE, &[0x83], 7, Place::Reg(a.0));
                self.ops.push_i8(value);
            }
            Err(_) => dynasm!(self.ops ; .arch x64 ; cmp Rq(a), DWORD value),
        }
    }

    pub(crate) fn xor_rr(&mut self, dst: R, src: R) {
        dynasm!(self.ops ; .arch x64 ; xor Rq(dst), Rq(src));
    }

    /// Zeroes a register by the shortest form; changes the flags.
    pub(crate) fn zero_r(&mut self, dst: R) {
        dynasm!(self.ops ; .arch x64 ; xor Rd(dst), Rd(dst));
    }

    pub(crate) fn imul_rr(&mut self, dst: R, src: R) {
        dynasm!(self.ops ; .arch x64 ; imul Rq(dst), Rq(src));
    }

    /// `dst = src * value`.
    pub(crate) fn imul_rri(&mut self, dst: R, src: R, value: i32) {
        match i8::try_from(value) {
            Ok(value) => dynasm!(self.ops ; .arch x64 ; imul Rq(dst), Rq(src), BYTE value),
            Err(_) => dynasm!(self.ops ; .arch x64 ; imul Rq(dst), Rq(src), DWORD value),
        }
    }

    /// Loads a number.
    pub(crate) fn mov_rn(&mut self, dst: R, number: Number) {
        dynasm!(self.ops ; .arch x64 ; mov Rq(dst), QWORD 0);
        self.site(8, number);
    }

    /// Compares with a number of 31 bits.
    pub(crate) fn cmp_rn(&mut self, a: R, number: Number) {
        dynasm!(self.ops ; .arch x64 ; cmp Rq(a), DWORD 0);
        self.site(4, number);
    }

    /// `dst = src * number`, of 31 bits.
    pub(crate) fn imul_rrn(&mut self, dst: R, src: R, number: Number) {
        dynasm!(self.ops ; .arch x64 ; imul Rq(dst), Rq(src), DWORD 0);
        self.site(4, number);
    }

    pub(crate) fn shr_rn(&mut self, r: R, number: Number) {
        dynasm!(self.ops ; .arch x64 ; shr Rq(r), BYTE 0);
        self.site(1, number);
    }

    /// The last bytes of the last instruction are a number.
    fn site(&mut self, bytes: usize, number: Number) {
        self.sites.push(Site { at: self.here() - bytes, bytes, number });
    }

    /// Subtracts a value that [`Asm::set`] gets this position for.
    pub(crate) fn sub_later(&mut self, dst: R) -> usize {
        dynasm!(self.ops ; .arch x64 ; sub Rq(dst), DWORD 0);
        self.here() - 4
    }

    /// Sets a value of an earlier instruction.
    pub(crate) fn set(&mut self, at: usize, value: i32) {
        let mut ops = self.ops.alter();
        ops.goto(AssemblyOffset(at));
        ops.push_i32(value);
    }

    pub(crate) fn inc(&mut self, r: R) {
        dynasm!(self.ops ; .arch x64 ; inc Rq(r));
    }

    pub(crate) fn dec(&mut self, r: R) {
        dynasm!(self.ops ; .arch x64 ; dec Rq(r));
    }

    pub(crate) fn shr_ri(&mut self, r: R, count: u8) {
        dynasm!(self.ops ; .arch x64 ; shr Rq(r), BYTE count as i8);
    }

    pub(crate) fn push(&mut self, r: R) {
        dynasm!(self.ops ; .arch x64 ; push Rq(r));
    }

    pub(crate) fn pop(&mut self, r: R) {
        dynasm!(self.ops ; .arch x64 ; pop Rq(r));
    }

    pub fn ret(&mut self) {
        dynasm!(self.ops ; .arch x64 ; ret);
    }

    pub(crate) fn vzeroupper(&mut self) {
        dynasm!(self.ops ; .arch x64 ; vzeroupper);
    }

    /// Loads 64 bits.
    pub(crate) fn mov_rm(&mut self, dst: R, src: Mem) {
        self.with_mem(WIDE, &[0x8b], dst.0, src);
    }

    /// Stores 64 bits.
    pub(crate) fn mov_mr(&mut self, dst: Mem, src: R) {
        self.with_mem(WIDE, &[0x89], src.0, dst);
    }

    /// Loads 32 bits, zero-extended.
    pub(crate) fn mov_rm32(&mut self, dst: R, src: Mem) {
        self.with_mem(0, &[0x8b], dst.0, src);
    }

    /// Stores the lower 32 bits.
    pub(crate) fn mov_mr32(&mut self, dst: Mem, src: R) {
        self.with_mem(0, &[0x89], src.0, dst);
    }

    /// Loads 32 bits, sign-extended.
    pub(crate) fn movsxd(&mut self, dst: R, src: Mem) {
        self.with_mem(WIDE, &[0x63], dst.0, src);
    }

    pub(crate) fn lea(&mut self, dst: R, src: Mem) {
        self.with_mem(WIDE, &[0x8d], dst.0, src);
    }

    pub(crate) fn add_rm(&mut self, dst: R, src: Mem) {
        self.with_mem(WIDE, &[0x03], dst.0, src);
    }

    pub(crate) fn sub_rm(&mut self, dst: R, src: Mem) {
        self.with_mem(WIDE, &[0x2b], dst.0, src);
    }

    pub(crate) fn imul_rm(&mut self, dst: R, src: Mem) {
        self.with_mem(WIDE, &[0x0f, 0xaf], dst.0, src);
    }

    pub(crate) fn prefetcht0(&mut self, mem: Mem) {
        self.with_mem(0, &[0x0f, 0x18], 1, mem);
    }

    /// Prefetches into the second-level cache, past the first.
    pub(crate) fn prefetcht1(&mut self, mem: Mem) {
        self.with_mem(0, &[0x0f, 0x18], 2, mem);
    }

    /// `if cond { dst = src }`.
    pub(crate) fn cmov(&mut self, cond: Cond, dst: R, src: R) {
        self.legacy(WIDE, &[0x0f, 0x40 | cond as u8], dst.0, Place::Reg(src.0));
    }

    fn with_mem(&mut self, wide: u8, opcode: &[u8], reg: u8, mem: Mem) {
        let place = Place::Mem(mem);
        match place.trouble() {
            Some(why) => self.refuse("an address", why),
            None => self.legacy(wide, opcode, reg, place),
        }
    }

    /// Writes the REX prefix, opcode, ModRM and the rest.
    pub(super) fn legacy(&mut self, wide: u8, opcode: &[u8], reg: u8, rm: Place) {
        let mut out = Bytes::new();
        let rex = wide | (reg >> 3 & 1) << 2 | rm.x() << 1 | rm.b();
        if rex != 0 {
            out.push(0x40 | rex);
        }
        for byte in opcode {
            out.push(*byte);
        }
        out.modrm(reg, rm, 1);
        self.append(&out);
    }
}
