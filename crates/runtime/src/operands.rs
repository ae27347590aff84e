//! The operands of work in lines, and what may be wrong with them.

/// Addresses of operands and results; each kind of work says which.
pub type Operands = [*mut u8; 8];

/// Wrong operands: which of the work's messages says so, and the number in it, if it has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wrong {
    pub message: usize,
    pub number: Option<i128>,
}
