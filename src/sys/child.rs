//! Other programs: run within a time, with nothing of them left behind; and the interruption of this one.

use std::io::{ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// So much of what a command says is kept.
const KEPT: usize = 1 << 20;

/// How a command ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The exit code; none of a command that was killed by a signal.
    pub code: Option<i32>,
    /// The beginning of what it wrote to standard error.
    pub stderr: Vec<u8>,
    /// Whether it was ended because its time was over.
    pub timed_out: bool,
}

/// Runs a command to its end, or until its time is over or this process is interrupted: then it is killed with what it started. It reads
/// nothing, and what it writes to standard output is dropped. If this process is killed, so is the command. Errors: why it cannot be run.
pub fn run(command: &[String], timeout: Option<Duration>) -> std::io::Result<Ended> {
    let (program, args) = command.split_first().ok_or(ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    // A group of its own, which can be ended as a whole.
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    end_with_us(&mut command);
    let mut child = command.spawn()?;
    let mut words = Words::of(child.stderr.take())?;
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    let timed_out = loop {
        words.read();
        if has_ended(&child)? {
            break false;
        }
        let timed_out = timeout.is_some_and(|timeout| start.elapsed() > timeout);
        if timed_out || interrupted() {
            break timed_out;
        }
        words.wait(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    };
    let status = end(&mut child)?;
    // What it said before it ended; who else holds the pipe is not waited for.
    words.read();
    Ok(Ended { code: status.code(), stderr: words.kept, timed_out })
}

/// Has the system kill a command when this process, whose thread starts it, is gone: then nobody is left to end it.
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

/// Whether a command has ended. It is left to be waited for, so its number stays its own.
fn has_ended(child: &Child) -> std::io::Result<bool> {
    // SAFETY: the structure is made of numbers, for which zeros are values, and lives longer than the call that fills it.
    let (result, pid) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let result = libc::waitid(libc::P_PID, child.id(), &mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT);
        (result, info.si_pid())
    };
    if result == 0 { Ok(pid != 0) } else { Err(std::io::Error::last_os_error()) }
}

/// Ends a command that has not been waited for, and what it left running.
fn end(child: &mut Child) -> std::io::Result<ExitStatus> {
    if let Ok(id) = i32::try_from(child.id()) {
        // SAFETY: the call takes numbers only. The command was made the first of a group that has its number, and has not been waited
        // for: no other process or group has that number.
        unsafe { libc::kill(-id, libc::SIGKILL) };
    }
    // It may have left the group for another. One that has ended cannot be killed any more, and need not.
    let _ = child.kill();
    child.wait()
}

/// What a command writes to standard error.
struct Words {
    pipe: Option<ChildStderr>,
    kept: Vec<u8>,
}

impl Words {
    fn of(pipe: Option<ChildStderr>) -> std::io::Result<Words> {
        if let Some(pipe) = &pipe {
            // SAFETY: the call takes numbers only, and the pipe is open.
            if unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } < 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(Words { pipe, kept: vec![] })
    }

    /// Takes what there is; what is not read would stop the command. Never more than so much at a time, since there may be no end.
    fn read(&mut self) {
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

    /// Waits until there is something to read, at most so long.
    fn wait(&self, time: Duration) {
        let Some(pipe) = &self.pipe else { return std::thread::sleep(time) };
        let mut polled = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let millis = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one structure is given, which lives longer than the call. A call that fails waits less.
        unsafe { libc::poll(&mut polled, 1, millis) };
    }
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// From now on the first Ctrl-C, and the first signal that asks the process to end, is noted only ([`interrupted`]); a second one ends
/// it. What is ignored stays ignored, as `nohup` wants it.
pub fn note_interrupts() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
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
        }
    }
}

/// Whether the process was asked to stop.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn shell(script: &str, timeout: Option<Duration>) -> Ended {
        run(&["sh".into(), "-c".into(), script.into()], timeout).expect("there is a shell")
    }

    #[test]
    fn a_command_ends_with_its_code_and_its_words() {
        let ended = shell("echo out; echo words >&2; exit 3", None);
        assert_eq!(ended, Ended { code: Some(3), stderr: b"words\n".to_vec(), timed_out: false });
        assert!(run(&["/no/such/program".into()], None).is_err());
        assert!(run(&[], None).is_err());
    }

    #[test]
    fn the_beginning_of_many_words_is_kept() {
        let ended = shell("head -c 3000000 /dev/zero >&2; echo done >&2; exit 4", None);
        assert_eq!((ended.code, ended.stderr.len()), (Some(4), KEPT));
        assert_eq!(shell("head -c 300000 /dev/zero >&2", None).stderr.len(), 300_000);
    }

    #[test]
    fn a_command_whose_time_is_over_is_killed_with_what_it_started() {
        let start = Instant::now();
        let ended = shell("sleep 60 & sleep 60", Some(Duration::from_millis(50)));
        assert!(ended.timed_out && ended.code.is_none());
        // What it left running does not hold it up either, not even where it took leave of the group.
        assert_eq!(shell("sleep 60 & exit 0", None).code, Some(0));
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
