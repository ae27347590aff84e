//! The form for Linux: handlers for the signals whose default action nobody has changed.

use std::ffi::{CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

/// More files than a command writes at one time; one past them stays when the process is ended.
const MOST: usize = 64;

/// The signals that come from outside and end a process that has no handler: keys, `kill`, `timeout`, limits and timers. Those that a
/// fault of the process raises are not among them.
pub(crate) const ENDING: [libc::c_int; 11] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGXCPU,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGIO,
];

/// The names of the files that are being written. Whoever takes a name out of its place owns it.
static NAMES: [AtomicPtr<c_char>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];

/// The process that writes them: one that was forked from it has their names too, and leaves the files alone.
static WRITER: AtomicI32 = AtomicI32::new(0);

/// A file that goes when a signal ends the process, as long as this lives.
pub(crate) struct Watched(Option<&'static AtomicPtr<c_char>>);

pub(crate) fn watch(path: &Path) -> Watched {
    prepare();
    // SAFETY: it has no conditions.
    WRITER.store(unsafe { libc::getpid() }, Ordering::Release);
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return Watched(None) };
    let name = name.into_raw();
    let place = NAMES.iter().find(|place| place.compare_exchange(null_mut(), name, Ordering::AcqRel, Ordering::Relaxed).is_ok());
    if place.is_none() {
        free(name);
    }
    Watched(place)
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(place) = self.0 {
            free(place.swap(null_mut(), Ordering::AcqRel));
        }
    }
}

/// Frees a name that was taken out of its place; null if a handler has taken it.
fn free(name: *mut c_char) {
    if !name.is_null() {
        // SAFETY: it is of `CString::into_raw`, and only one thread gets it out of a place.
        drop(unsafe { CString::from_raw(name) });
    }
}

/// Sets the handlers, the first time.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in ENDING {
            handle(signal, clean_and_end);
        }
        // Not ignored: commands that are run would inherit that.
        handle(libc::SIGXFSZ, go_on);
    });
}

/// Sets the handler of a signal that has none.
fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: all zero bits are a sigaction without flags; both are valid for the calls. The handlers call only what POSIX allows
    // in handlers.
    unsafe {
        let (mut old, mut new): (libc::sigaction, libc::sigaction) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigaction(signal, std::ptr::null(), &mut old);
        if old.sa_sigaction == libc::SIG_DFL {
            new.sa_sigaction = handler as libc::sighandler_t;
            new.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &new, std::ptr::null_mut());
        }
    }
}

/// Removes the files, then lets the signal end the process as if it had no handler.
extern "C" fn clean_and_end(signal: libc::c_int) {
    for place in &NAMES {
        let name = place.swap(null_mut(), Ordering::AcqRel);
        // SAFETY: it has no conditions.
        let is_ours = unsafe { libc::getpid() } == WRITER.load(Ordering::Acquire);
        if is_ours && !name.is_null() {
            // SAFETY: it is a C string that nobody else frees, as it was taken out of its place.
            unsafe { libc::unlink(name) };
        }
    }
    // SAFETY: both may be called in handlers.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

extern "C" fn go_on(_: libc::c_int) {}
