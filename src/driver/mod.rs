//! From files and flags to values and back: what an entry function's parameters are bound to, what becomes of its result.

pub mod bind;
pub mod outputs;
pub mod top;
