//! What operations of bodies are as instructions: said once, for all that make code of bodies.

use super::asm::{IPred, Op, Pred};
use crate::kernel::{Bin, Cmp, Lane};

/// The instruction of an operation on such lanes, and whether its operands may change places.
pub fn machine_op(op: Bin, lane: Lane) -> Option<(Op, bool)> {
    Some(match (op, lane) {
        (Bin::And, _) => (Op::And, true),
        (Bin::Or, _) => (Op::Or, true),
        (Bin::Xor, _) => (Op::Xor, true),
        (Bin::Add, Lane::F32) => (Op::Add, true),
        (Bin::Sub, Lane::F32) => (Op::Sub, false),
        (Bin::Mul, Lane::F32) => (Op::Mul, true),
        (Bin::Div, Lane::F32) => (Op::Div, false),
        (Bin::MaxSecond, Lane::F32) => (Op::Max, false),
        (Bin::MinSecond, Lane::F32) => (Op::Min, false),
        (Bin::Add, Lane::I32) => (Op::AddI, true),
        (Bin::Sub, Lane::I32) => (Op::SubI, false),
        (Bin::Mul, Lane::I32) => (Op::MulloI, true),
        (Bin::Max | Bin::MaxSecond, Lane::I32) => (Op::MaxI, true),
        (Bin::Min | Bin::MinSecond, Lane::I32) => (Op::MinI, true),
        (Bin::Shl, Lane::I32) => (Op::SllvI, false),
        (Bin::ShrSigned, Lane::I32) => (Op::SravI, false),
        (Bin::ShrUnsigned, Lane::I32) => (Op::SrlvI, false),
        _ => return None,
    })
}

/// A comparison of floats, and of integers.
pub fn predicates(op: Cmp) -> (Pred, IPred) {
    match op {
        Cmp::Eq => (Pred::Eq, IPred::Eq),
        Cmp::Ne => (Pred::Ne, IPred::Ne),
        Cmp::Lt => (Pred::Lt, IPred::Lt),
        Cmp::Le => (Pred::Le, IPred::Le),
        Cmp::Gt => (Pred::Gt, IPred::Gt),
        Cmp::Ge => (Pred::Ge, IPred::Ge),
    }
}
