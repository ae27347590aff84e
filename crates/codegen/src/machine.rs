//! Maps operations of bodies to instructions, for all emitters of bodies.

use super::asm::{IPred, Op, Pred};
use relayc_ir::kernel::{BinaryOp, Cmp, ScalarType};

/// The instruction of an operation on lanes of this type, and whether its operands commute.
pub(crate) fn machine_op(op: BinaryOp, lane: ScalarType) -> Option<(Op, bool)> {
    Some(match (op, lane) {
        (BinaryOp::And, _) => (Op::And, true),
        (BinaryOp::Or, _) => (Op::Or, true),
        (BinaryOp::Xor, _) => (Op::Xor, true),
        (BinaryOp::Add, ScalarType::F32) => (Op::Add, true),
        (BinaryOp::Sub, ScalarType::F32) => (Op::Sub, false),
        (BinaryOp::Mul, ScalarType::F32) => (Op::Mul, true),
        (BinaryOp::Div, ScalarType::F32) => (Op::Div, false),
        (BinaryOp::MaxSecond, ScalarType::F32) => (Op::Max, false),
        (BinaryOp::MinSecond, ScalarType::F32) => (Op::Min, false),
        (BinaryOp::Add, ScalarType::I32) => (Op::AddI, true),
        (BinaryOp::Sub, ScalarType::I32) => (Op::SubI, false),
        (BinaryOp::Mul, ScalarType::I32) => (Op::MulloI, true),
        (BinaryOp::Max | BinaryOp::MaxSecond, ScalarType::I32) => (Op::MaxI, true),
        (BinaryOp::Min | BinaryOp::MinSecond, ScalarType::I32) => (Op::MinI, true),
        (BinaryOp::Shl, ScalarType::I32) => (Op::SllvI, false),
        (BinaryOp::ShrSigned, ScalarType::I32) => (Op::SravI, false),
        (BinaryOp::ShrUnsigned, ScalarType::I32) => (Op::SrlvI, false),
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
