//! The registers of a tile's code.

use crate::asm::{K, R};

pub(crate) const FRAME: R = R::RDI;
pub(crate) const TABLE: R = R::RSI;
pub(crate) const COUNT: R = R::RDX;
pub(crate) const INPUT: R = R::RAX;
pub(crate) const WEIGHTS: R = R::RCX;
/// Counters of the loops of the sum; afterwards the pointers of output and operands.
pub(crate) const SPARE: [R; 8] = [R::R8, R::R9, R::R10, R::R11, R::RBX, R::RBP, R::R12, R::R13];

/// Of AVX-512; the mask of the last vector's columns.
pub(crate) const TAIL: K = K(1);
