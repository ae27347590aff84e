//! The fault that ends a run.

/// What an operator failed with: the number of its code in relayc's table, and its words, around an index where there is one.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub code: u32,
    pub(crate) before: [u64; 2],
    pub index: Option<i128>,
    pub(crate) behind: [u64; 2],
}
