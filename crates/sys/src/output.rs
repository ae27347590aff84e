//! Standard output: whether it was closed when the process began, and the terminal behind it. The standard library opens `/dev/null`
//! in the place of a closed one before `main`, and all that is written is lost. The plain form knows neither.

#[cfg(feature = "linux")]
mod linux;
#[cfg(not(feature = "linux"))]
mod plain;

#[cfg(feature = "linux")]
pub(crate) use linux::stdout_was_closed;
#[cfg(feature = "linux")]
pub use linux::terminal_width;
#[cfg(not(feature = "linux"))]
pub(crate) use plain::stdout_was_closed;
#[cfg(not(feature = "linux"))]
pub use plain::terminal_width;
