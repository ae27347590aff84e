//! The VEX encoding: AVX, AVX2, FMA and the moves between opmasks.

use super::encode::{Bytes, Insn};

/// Encodes an instruction whose operands the caller has checked: registers are below 16 and VEX has the form.
pub(super) fn encode(insn: &Insn) -> Bytes {
    let form = insn.form;
    let mut out = Bytes::new();
    let w = form.vex.unwrap_or(0);
    let (r, x, b) = (insn.reg >> 3 & 1, insn.rm.x(), insn.rm.b());
    // R, X, B and vvvv are stored inverted.
    let tail = (!insn.v & 15) << 3 | (insn.width as u8 & 1) << 2 | form.pp;
    if (x, b, w, form.map) == (0, 0, 0, 1) {
        out.push(0xc5);
        out.push((r ^ 1) << 7 | tail);
    } else {
        out.push(0xc4);
        out.push((r ^ 1) << 7 | (x ^ 1) << 6 | (b ^ 1) << 5 | form.map);
        out.push(w << 7 | tail);
    }
    out.push(form.opcode);
    out.modrm(insn.reg, insn.rm, 1);
    if let Some(imm) = insn.imm {
        out.push(imm);
    }
    out
}
