//! Encodes the parts that VEX and EVEX instructions share: operand numbers, the ModRM and SIB bytes, the displacement.
//!
//! An instruction is written into a fixed array; encoding allocates nothing.

use super::forms::{Form, Tuple};
use super::operand::{Mem, R, Width};

/// The last operand of an instruction, as the encoders see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// A register of the form's class.
    Reg(u8),
    Mem(Mem),
    Bcast(Mem),
    /// Base, a vector of indices (the number in `index`), scale.
    Gather(Mem),
}

/// One instruction before encoding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Insn<'a> {
    pub(crate) form: &'a Form,
    pub(crate) width: Width,
    /// The ModRM `reg` operand, or the form's opcode extension.
    pub(crate) reg: u8,
    /// The `vvvv` operand; 0 in forms without one.
    pub(crate) v: u8,
    pub(crate) rm: Place,
    /// Opmask, 0 for none.
    pub(crate) k: u8,
    /// Whether masked-off lanes become zero; otherwise they keep their value.
    pub(crate) zeroing: bool,
    pub(crate) imm: Option<u8>,
}

impl Insn<'_> {
    fn registers(&self) -> [u8; 3] {
        [self.reg, self.v, if let Place::Reg(number) = self.rm { number } else { 0 }]
    }

    /// Whether the instruction needs a feature that VEX cannot encode.
    pub(crate) fn needs_evex(&self) -> bool {
        let by_operand = match self.rm {
            Place::Gather(mem) => mem.index.is_some_and(|(index, _)| index.0 > 15),
            Place::Bcast(_) => true,
            Place::Reg(_) | Place::Mem(_) => false,
        };
        by_operand || self.width == Width::Z || self.k != 0 || self.registers().iter().any(|number| *number > 15)
    }

    /// The reason why this instruction does not exist, if it does not.
    pub(crate) fn trouble(&self) -> Option<&'static str> {
        let form = self.form;
        let memory = !matches!(self.rm, Place::Reg(_));
        match () {
            () if self.rm.trouble().is_some() => self.rm.trouble(),
            () if self.registers().iter().any(|number| *number > 31) || self.k > 7 => Some("no such register"),
            () if form.widths >> self.width as u8 & 1 == 0 => Some("it does not exist at this width"),
            () if memory && form.tuple == Tuple::None || !memory && !form.rm_reg => Some("its last operand is of the other kind"),
            () if matches!(self.rm, Place::Bcast(_)) && !form.tuple.broadcasts() => Some("its operand is never broadcast"),
            () if self.k != 0 && !form.masked => Some("it is never masked"),
            () if self.zeroing && !form.zeroes(memory) => Some("it has no lanes to clear"),
            () => None,
        }
    }
}

/// The bytes of one instruction, and the position of a displacement to be patched with a constant-pool offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes {
    bytes: [u8; 16],
    len: usize,
    /// Start of the four displacement bytes, and the offset in the pool.
    pub(crate) pool: Option<(usize, i32)>,
}

impl Bytes {
    pub(crate) fn new() -> Bytes {
        Bytes { bytes: [0; 16], len: 0, pool: None }
    }

    pub(crate) fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    pub(crate) fn push_i32(&mut self, value: i32) {
        for byte in value.to_le_bytes() {
            self.push(byte);
        }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Writes ModRM, SIB and displacement.
    ///
    /// A small displacement that is a multiple of `unit` takes one byte and counts units. VEX and older instructions have a
    /// unit of 1.
    pub(crate) fn modrm(&mut self, reg: u8, rm: Place, unit: i32) {
        let reg = (reg & 7) << 3;
        match rm {
            Place::Reg(number) => self.push(0xc0 | reg | number & 7),
            Place::Mem(mem) | Place::Bcast(mem) | Place::Gather(mem) if mem.base == R::POOL => {
                // Relative to the next instruction: mod 0, rm 5.
                self.push(reg | 5);
                self.pool = Some((self.len, mem.disp));
                self.push_i32(0);
            }
            Place::Mem(mem) | Place::Bcast(mem) | Place::Gather(mem) => self.address(reg, mem, unit),
        }
    }

    fn address(&mut self, reg: u8, mem: Mem, unit: i32) {
        let base = mem.base.0 & 7;
        let units = mem.disp / unit;
        // With mod 0, base 5 (rbp, r13) means "no base", so these two always carry a displacement.
        let mode = match () {
            () if mem.disp == 0 && base != 5 => 0x00,
            () if mem.disp % unit == 0 && i8::try_from(units).is_ok() => 0x40,
            () => 0x80,
        };
        match mem.index {
            // rm 4 (rsp, r12) means "a SIB byte follows"; index 4 in it means "no index".
            None if base != 4 => self.push(mode | reg | base),
            None => {
                self.push(mode | reg | 4);
                self.push(4 << 3 | base);
            }
            Some((index, scale)) => {
                self.push(mode | reg | 4);
                self.push((scale.trailing_zeros() as u8) << 6 | (index.0 & 7) << 3 | base);
            }
        }
        match mode {
            0x40 => self.push(units as u8),
            0x80 => self.push_i32(mem.disp),
            _ => {}
        }
    }
}

impl Place {
    /// Bit 3 of the register or of the base.
    pub(crate) fn b(self) -> u8 {
        match self {
            Place::Reg(number) => number >> 3 & 1,
            Place::Mem(mem) | Place::Bcast(mem) | Place::Gather(mem) => mem.base.0 >> 3 & 1,
        }
    }

    /// Bit 3 of the index.
    pub(crate) fn x(self) -> u8 {
        match self {
            Place::Reg(_) => 0,
            Place::Mem(mem) | Place::Bcast(mem) | Place::Gather(mem) => mem.index.map_or(0, |(index, _)| index.0 >> 3 & 1),
        }
    }

    /// The reason why no instruction can encode this operand, if none can.
    pub(crate) fn trouble(self) -> Option<&'static str> {
        let (Place::Mem(mem) | Place::Bcast(mem) | Place::Gather(mem)) = self else { return None };
        match mem.index {
            _ if mem.base.0 > 16 => Some("no such base register"),
            Some(_) if mem.base == R::POOL => Some("a constant with an index"),
            Some((_, scale)) if !matches!(scale, 1 | 2 | 4 | 8) => Some("a scale other than 1, 2, 4 or 8"),
            Some((index, _)) if !matches!(self, Place::Gather(_)) && (index == R::RSP || index.0 > 15) => {
                Some("this register cannot be an index")
            }
            None if matches!(self, Place::Gather(_)) => Some("a gather without indices"),
            _ => None,
        }
    }
}
