//! The EVEX encoding: AVX-512 at every width.

use super::encode::{Bytes, Insn, Place};

/// Encodes an instruction whose operands the caller has checked: registers are below 32 and EVEX has the form.
pub(super) fn encode(insn: &Insn) -> Bytes {
    let form = insn.form;
    let mut out = Bytes::new();
    let w = form.evex.unwrap_or(0);
    let (r, r_high) = (insn.reg >> 3 & 1, insn.reg >> 4 & 1);
    // X is bit 4 of a register in rm; V' is bit 4 of vvvv, or of a vector of indices, which leaves vvvv free.
    let (x, v_high) = match insn.rm {
        Place::Reg(number) => (number >> 4 & 1, insn.v >> 4 & 1),
        Place::Gather(mem) => (insn.rm.x(), mem.index.map_or(0, |(index, _)| index.0 >> 4 & 1)),
        Place::Mem(_) | Place::Bcast(_) => (insn.rm.x(), insn.v >> 4 & 1),
    };
    let broadcast = matches!(insn.rm, Place::Bcast(_));
    // R, X, B, R', V' and vvvv are stored inverted.
    out.push(0x62);
    out.push((r ^ 1) << 7 | (x ^ 1) << 6 | (insn.rm.b() ^ 1) << 5 | (r_high ^ 1) << 4 | form.map);
    out.push(w << 7 | (!insn.v & 15) << 3 | 1 << 2 | form.pp);
    out.push((insn.zeroing as u8) << 7 | (insn.width as u8) << 5 | (broadcast as u8) << 4 | (v_high ^ 1) << 3 | insn.k & 7);
    out.push(form.opcode);
    let unit = form.tuple.unit(insn.width, broadcast, w);
    out.modrm(insn.reg, insn.rm, unit);
    if let Some(imm) = insn.imm {
        out.push(imm);
    }
    out
}
