//! Where reading a file has come to, which reading elsewhere leaves alone.

#[cfg(feature = "linux")]
mod linux;
#[cfg(not(feature = "linux"))]
mod plain;

#[cfg(feature = "linux")]
pub(crate) use linux::Cursor;
#[cfg(not(feature = "linux"))]
pub(crate) use plain::Cursor;
