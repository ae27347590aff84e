//! Standard output of a process of Linux.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Looks before `main`, when only what the loader calls can tell.
#[used]
// SAFETY: the loader calls the functions of this section, of this type, once and on one thread.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: the call reads the flags of a descriptor, if there is one.
    CLOSED.store(unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1, Ordering::Relaxed);
}

/// Whether standard output was closed when the process began.
pub(crate) fn stdout_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// The number of columns of the terminal that standard output is; `None` if it is none.
pub fn terminal_width() -> Option<u16> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the system writes to the size only.
    let is_known = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) } == 0;
    (is_known && size.ws_col > 0).then_some(size.ws_col)
}
