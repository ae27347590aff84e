//! Whether standard output was closed when the process began. Without the feature `linux` it never seems so.
//!
//! The standard library opens `/dev/null` in the place of a closed one before `main`, and all that is written is lost. Only what runs
//! before it can tell.

#[cfg(feature = "linux")]
mod linux {
    use std::sync::atomic::{AtomicBool, Ordering};

    static CLOSED: AtomicBool = AtomicBool::new(false);

    #[used]
    // SAFETY: the loader calls the functions of this section, of this type, once and on one thread.
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        // SAFETY: the call reads the flags of a descriptor, if there is one.
        CLOSED.store(unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1, Ordering::Relaxed);
    }

    pub(crate) fn stdout_was_closed() -> bool {
        CLOSED.load(Ordering::Relaxed)
    }
}

#[cfg(feature = "linux")]
pub(super) use linux::stdout_was_closed;

#[cfg(not(feature = "linux"))]
pub(super) fn stdout_was_closed() -> bool {
    false
}
