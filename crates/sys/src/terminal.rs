//! The terminal behind standard output. Without the feature `linux` nothing is known of it.

/// The number of columns of the terminal that standard output is; `None` if it is none.
#[cfg(feature = "linux")]
pub fn terminal_width() -> Option<u16> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the system writes to the size only.
    let is_known = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) } == 0;
    (is_known && size.ws_col > 0).then_some(size.ws_col)
}

/// The number of columns of the terminal that standard output is: here nobody is asked.
#[cfg(not(feature = "linux"))]
pub fn terminal_width() -> Option<u16> {
    None
}
