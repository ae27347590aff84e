//! Moves single bytes and words between memory and general registers.

use super::Asm;
use super::encode::{Bytes, Place};
use super::operand::{Mem, R};

impl Asm {
    /// Loads a byte, zero-extended.
    pub(crate) fn load_byte(&mut self, dst: R, src: Mem) {
        self.byte_form(&[0x0f, 0xb6], dst, src);
    }

    /// Stores the lowest byte of `rax`, `rcx`, `rdx` or `rbx`. The low bytes of other registers need another encoding.
    pub(crate) fn store_byte(&mut self, dst: Mem, src: R) {
        match src.0 {
            0..4 => self.byte_form(&[0x88], src, dst),
            _ => self.refuse("mov byte", "only the first four registers"),
        }
    }

    /// Loads two bytes, zero-extended.
    pub(crate) fn load_word(&mut self, dst: R, src: Mem) {
        self.byte_form(&[0x0f, 0xb7], dst, src);
    }

    /// Stores the two lowest bytes.
    pub(crate) fn store_word(&mut self, dst: Mem, src: R) {
        let mut prefix = Bytes::new();
        prefix.push(0x66);
        self.append(&prefix);
        self.byte_form(&[0x89], src, dst);
    }

    fn byte_form(&mut self, opcode: &[u8], reg: R, mem: Mem) {
        let place = Place::Mem(mem);
        match place.trouble() {
            Some(why) => self.refuse("an address", why),
            None => self.legacy(0, opcode, reg.0, place),
        }
    }
}
