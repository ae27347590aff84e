//! Maps operations of bodies to instructions, for all emitters of bodies.

use super::asm::forms::{self, Form};
use super::asm::{Asm, IPred, Mask, Mem, Pred, V};
use relayc_ir::kernel::{BinaryOp, Cmp, ScalarType};
use relayc_ir::types::DType;

/// The instruction of an operation on lanes of this type, and whether to exchange its operands for a better form.
pub(crate) fn machine_op(op: BinaryOp, lane: ScalarType) -> Option<(&'static Form, bool)> {
    Some(match (op, lane) {
        (BinaryOp::And, lane) if lane.is_half() => (&forms::VANDPD, false),
        (BinaryOp::Or, lane) if lane.is_half() => (&forms::VORPD, false),
        (BinaryOp::Xor, lane) if lane.is_half() => (&forms::VXORPD, false),
        (BinaryOp::Add, ScalarType::HalfF64) => (&forms::VADDPD, false),
        (BinaryOp::Sub, ScalarType::HalfF64) => (&forms::VSUBPD, false),
        (BinaryOp::Mul, ScalarType::HalfF64) => (&forms::VMULPD, false),
        (BinaryOp::Div, ScalarType::HalfF64) => (&forms::VDIVPD, false),
        (BinaryOp::MaxSecond, ScalarType::HalfF64) => (&forms::VMAXPD, false),
        (BinaryOp::MinSecond, ScalarType::HalfF64) => (&forms::VMINPD, false),
        (BinaryOp::Add, ScalarType::HalfI64) => (&forms::VPADDQ, false),
        (BinaryOp::Sub, ScalarType::HalfI64) => (&forms::VPSUBQ, false),
        (BinaryOp::Shl, ScalarType::HalfI64) => (&forms::VPSLLVQ, false),
        (BinaryOp::ShrSigned, ScalarType::HalfI64) => (&forms::VPSRAVQ, false),
        (BinaryOp::ShrUnsigned, ScalarType::HalfI64) => (&forms::VPSRLVQ, false),
        (BinaryOp::And, _) => (&forms::VANDPS, true),
        (BinaryOp::Or, _) => (&forms::VORPS, true),
        (BinaryOp::Xor, _) => (&forms::VXORPS, true),
        (BinaryOp::Add, ScalarType::F32) => (&forms::VADDPS, true),
        (BinaryOp::Sub, ScalarType::F32) => (&forms::VSUBPS, false),
        (BinaryOp::Mul, ScalarType::F32) => (&forms::VMULPS, true),
        (BinaryOp::Div, ScalarType::F32) => (&forms::VDIVPS, false),
        (BinaryOp::MaxSecond, ScalarType::F32) => (&forms::VMAXPS, false),
        (BinaryOp::MinSecond, ScalarType::F32) => (&forms::VMINPS, false),
        (BinaryOp::Add, ScalarType::I32) => (&forms::VPADDD, true),
        (BinaryOp::Sub, ScalarType::I32) => (&forms::VPSUBD, false),
        (BinaryOp::Mul, ScalarType::I32) => (&forms::VPMULLD, true),
        (BinaryOp::Max | BinaryOp::MaxSecond, ScalarType::I32) => (&forms::VPMAXSD, true),
        (BinaryOp::Min | BinaryOp::MinSecond, ScalarType::I32) => (&forms::VPMINSD, true),
        (BinaryOp::Shl, ScalarType::I32) => (&forms::VPSLLVD, false),
        (BinaryOp::ShrSigned, ScalarType::I32) => (&forms::VPSRAVD, false),
        (BinaryOp::ShrUnsigned, ScalarType::I32) => (&forms::VPSRLVD, false),
        _ => return None,
    })
}

/// The predicates of a comparison for floats and for integers.
pub(crate) fn predicates(op: Cmp) -> (Pred, IPred) {
    match op {
        Cmp::Eq => (Pred::Eq, IPred::Eq),
        Cmp::Ne => (Pred::Ne, IPred::Ne),
        Cmp::Lt => (Pred::Lt, IPred::Lt),
        Cmp::Le => (Pred::Le, IPred::Le),
        Cmp::Gt => (Pred::Gt, IPred::Gt),
        Cmp::Ge => (Pred::Ge, IPred::Ge),
    }
}

/// The form that extends elements of a dtype to lanes.
pub(crate) fn extending(dtype: DType) -> &'static Form {
    match dtype {
        DType::I8 => &forms::VPMOVSXBD,
        DType::I16 => &forms::VPMOVSXWD,
        DType::F16 => &forms::VCVTPH2PS,
        _ if dtype.bytes() == 1 => &forms::VPMOVZXBD,
        _ => &forms::VPMOVZXWD,
    }
}

/// Loads contiguous elements of one or two bytes, each extended to a lane. Lanes that a mask register lacks are zero; no
/// instruction extends under a mask in a vector, so the whole vector must be there.
pub(crate) fn load_extended(asm: &mut Asm, dtype: DType, dst: V, mask: Option<Mask>, from: Mem) {
    if let Some(Mask::K(mask)) = mask {
        asm.under(mask, true);
    }
    asm.vector(extending(dtype), asm.isa().width(), dst, V(0), from, None);
}

/// Loads a vector of contiguous floats of up to 32 bits as F32.
pub(crate) fn load_floats(asm: &mut Asm, dtype: DType, dst: V, from: Mem) {
    if dtype == DType::F32 {
        return asm.load(dst, from);
    }
    load_extended(asm, dtype, dst, None, from);
    if dtype == DType::BF16 {
        asm.shift(&forms::VPSLLD_IMM, dst, dst, 16);
    }
}

/// A byte shuffle that compacts the low bytes of each doubleword in 16 bytes.
pub(crate) fn low_bytes(bytes: u8) -> Vec<u8> {
    let taken = (0..4).flat_map(|lane| (0..bytes).map(move |byte| 4 * lane + byte));
    let mut order: Vec<u8> = taken.collect();
    order.resize(16, 0x80);
    order.repeat(2)
}
