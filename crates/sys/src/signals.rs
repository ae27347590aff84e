//! What signals that end the process do first: they remove the files that are being written.
//!
//! A file over the limit of the process (`ulimit -f`) fails to be written, instead of ending the process. Absent: signals that are
//! only noted, see `child`; the plain form leaves temporaries to be swept a day later.

#[cfg(feature = "linux")]
mod linux;
#[cfg(not(feature = "linux"))]
mod plain;

#[cfg(feature = "linux")]
pub(crate) use linux::{ENDING, Watched, prepare, watch};
#[cfg(not(feature = "linux"))]
pub(crate) use plain::{Watched, prepare, watch};
