//! A command is the first of a process group, which is ended as a whole; its pipe is polled.

use super::KEPT;
use crate::signals::ENDING;
use std::io::{ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// Gives a command a group of its own, which can be ended as a whole.
pub(super) fn prepare(command: &mut Command) {
    command.process_group(0);
    end_with_us(command);
}

/// Makes the system kill the command when this process, or the thread that starts it, ends.
fn end_with_us(command: &mut Command) {
    let parent = std::process::id();
    let before_exec = move || {
        // SAFETY: two system calls that take numbers only.
        let is_ours = unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            u32::try_from(libc::getppid()) == Ok(parent)
        };
        // Gone before the call that would have told.
        if is_ours { Ok(()) } else { Err(std::io::Error::from_raw_os_error(libc::ESRCH)) }
    };
    // SAFETY: between fork and exec it makes system calls, and neither allocates nor takes a lock.
    unsafe { command.pre_exec(before_exec) };
}

/// Whether a command has ended. The command is not waited for, so its process number is not reused.
pub(super) fn has_ended(child: &mut Child) -> std::io::Result<bool> {
    // SAFETY: the structure is made of numbers, for which zeros are values, and lives longer than the call that fills it.
    let (result, pid) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let result = libc::waitid(libc::P_PID, child.id(), &mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT);
        (result, info.si_pid())
    };
    if result == 0 { Ok(pid != 0) } else { Err(std::io::Error::last_os_error()) }
}

/// Ends a command that has not been waited for, and every process of its group.
pub(super) fn end(child: &mut Child) -> std::io::Result<ExitStatus> {
    if let Ok(id) = i32::try_from(child.id()) {
        // SAFETY: the call takes numbers only. The command was made the first of a group that has its number, and has not been waited
        // for: no other process or group has that number.
        unsafe { libc::kill(-id, libc::SIGKILL) };
    }
    // It may have left the group for another. One that has ended cannot be killed any more, and need not.
    let _ = child.kill();
    child.wait()
}

/// The standard error of a command.
pub(super) struct Words {
    pipe: Option<ChildStderr>,
    kept: Vec<u8>,
}

impl Words {
    pub(super) fn of(pipe: Option<ChildStderr>) -> std::io::Result<Words> {
        if let Some(pipe) = &pipe {
            // SAFETY: the call takes numbers only, and the pipe is open.
            if unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } < 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(Words { pipe, kept: vec![] })
    }

    /// Reads what is available, since a full pipe would stop the command. One call reads a limited amount: the output may be
    /// endless.
    pub(super) fn read(&mut self) {
        let mut buffer = [0; 1 << 14];
        let mut n_read = 0;
        while let Some(pipe) = self.pipe.as_mut().filter(|_| n_read < KEPT) {
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(n) => {
                    n_read += n;
                    self.kept.extend_from_slice(&buffer[..n.min(KEPT - self.kept.len())]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Nothing is there now.
                Err(_) => return,
            }
        }
    }

    /// Waits until there is something to read, at most for `time`.
    pub(super) fn wait(&self, time: Duration) {
        let Some(pipe) = &self.pipe else { return std::thread::sleep(time) };
        let mut polled = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let millis = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one structure is given, which lives longer than the call. A call that fails waits less.
        unsafe { libc::poll(&mut polled, 1, millis) };
    }
    /// All that was kept. What the command said before it ended is there now; who else holds the pipe is not waited for.
    pub(super) fn last(mut self) -> Vec<u8> {
        self.read();
        self.kept
    }
}

/// The signal that came, or 0.
static INTERRUPTED: AtomicI32 = AtomicI32::new(0);

extern "C" fn note(signal: libc::c_int) {
    INTERRUPTED.store(signal, Ordering::Relaxed);
}

/// From now on the first signal that would end the process, such as that of Ctrl-C, is only noted ([`interrupted`]); a second one ends the
/// process. Ignored signals stay ignored, as `nohup` wants it.
pub fn note_interrupts() {
    note_all();
}

/// Does work that stops when the process is [`interrupted`], and leaves nothing behind. The signal ends the process after it.
pub fn interruptible<T>(work: impl FnOnce() -> T) -> T {
    let before = note_all();
    let done = work();
    for (&signal, before) in ENDING.iter().zip(&before) {
        // SAFETY: the handler is the one that the signal had.
        unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
    }
    match INTERRUPTED.swap(0, Ordering::Relaxed) {
        0 => {}
        // SAFETY: it takes a number only.
        signal => drop(unsafe { libc::raise(signal) }),
    }
    done
}

/// Sets the handlers that note signals. Gives those of before.
fn note_all() -> [libc::sigaction; ENDING.len()] {
    ENDING.map(|signal| {
        // SAFETY: the handler stores to an atomic and nothing else; the structures are made of numbers, for which zeros are values,
        // and live longer than the calls.
        unsafe {
            let (mut old, mut new): (libc::sigaction, libc::sigaction) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigaction(signal, std::ptr::null(), &mut old);
            if old.sa_sigaction != libc::SIG_IGN {
                new.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
                new.sa_flags = libc::SA_RESETHAND;
                libc::sigaction(signal, &new, std::ptr::null_mut());
            }
            old
        }
    })
}

/// Whether the process was asked to stop: the exit code that a shell has for the signal.
pub fn interrupted() -> Option<u8> {
    let signal = INTERRUPTED.load(Ordering::Relaxed);
    u8::try_from(signal).ok().filter(|&signal| signal > 0).map(|signal| signal.saturating_add(128))
}

#[cfg(test)]
mod tests {
    use super::super::run;
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::time::Instant;

    #[test]
    fn a_command_whose_time_is_over_is_killed_with_what_it_started() {
        let start = Instant::now();
        let shell = |script: &str, timeout| run(&["sh".into(), "-c".into(), script.into()], timeout).expect("there is a shell");
        let ended = shell("sleep 60 & sleep 60", Some(Duration::from_millis(50)));
        assert!(ended.timed_out && ended.code.is_none());
        // What it left running does not hold it up either, not even where it took leave of the group.
        let ended = shell("echo before >&2; setsid sleep 30 & sleep 0.05; echo behind >&2", None);
        assert_eq!((ended.code, ended.stderr), (Some(0), b"before\nbehind\n".to_vec()));
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_command_that_joined_another_group_is_killed() {
        // Of this process's group from the start: no group has its number, as when it has left its own.
        let mut child = Command::new("sleep").arg("60").spawn().expect("it is there");
        assert_eq!(end(&mut child).expect("it can be waited for").signal(), Some(libc::SIGKILL));
    }
}
