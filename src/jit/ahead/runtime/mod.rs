//! What runs a compiled program without relayc: the runtime inside every artifact.
//!
//! These files are compiled twice: as a part of relayc, which runs artifacts with them, and whose programs in memory call their
//! sums of products, moves, positions and regions; and by `build.rs` as a shared object of their own (`TEMPLATE`), which an
//! artifact carries. So they name nothing but `core` and each other, allocate whole pages, and ask the system itself; of the C
//! library they take the functions that start threads, and those from whoever calls.
//!
//! A program is an *image* ([`layout`]): words that say which code to call on which memory, and in which order. The image is
//! read as it lies and never written, so instances of one program share it. Whoever gives an image vouches for it: nothing is
//! checked here, where it would cost every run (`ahead::describe` checks what a stranger's file says).

pub mod contract;
pub mod instance;
pub mod layout;
pub mod pack;
pub mod pool;
pub mod processor;
pub mod region;
pub mod split;
pub mod step;
pub mod system;
pub mod words;
