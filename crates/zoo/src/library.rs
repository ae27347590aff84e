//! Modules of data types and functions that are written as text: TVM's prelude and its natural numbers.
//!
//! Names and types are those of TVM v0.14.0 (`python/tvm/relay/std/prelude.rly`, `nat.rly`); the definitions are our own. Absent:
//! the tensor arrays that TVM generates for each dtype and shape.

/// A module that a program can start with.
#[derive(Debug)]
pub struct Library {
    pub name: &'static str,
    pub doc: &'static str,
    pub text: &'static str,
}

/// All libraries, sorted by name.
pub const LIBRARIES: &[Library] = &[
    Library { name: "nat", doc: "natural numbers as a data type", text: include_str!("nat.relay") },
    Library { name: "prelude", doc: "lists, options, trees and the functions on them", text: include_str!("prelude.relay") },
];
