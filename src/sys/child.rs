//! Other programs: run within a time, with nothing of them left behind; and the interruption of this one.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// So much of what a command says is kept.
const KEPT: u64 = 1 << 20;

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
/// nothing, and what it writes to standard output is dropped. Errors: why it cannot be run.
pub fn run(command: &[String], timeout: Option<Duration>) -> std::io::Result<Ended> {
    let (program, args) = command.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        // A group of its own, which can be ended as a whole.
        .process_group(0)
        .spawn()?;
    let mut pipe = child.stderr.take();
    let reader = std::thread::spawn(move || {
        let mut kept = vec![];
        if let Some(pipe) = &mut pipe {
            let _ = pipe.take(KEPT).read_to_end(&mut kept);
            // What is not read would stop the command.
            let _ = std::io::copy(pipe, &mut std::io::sink());
        }
        kept
    });
    let start = Instant::now();
    let (mut pause, mut timed_out) = (Duration::from_micros(200), false);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        timed_out = timeout.is_some_and(|timeout| start.elapsed() > timeout);
        if timed_out || interrupted() {
            break kill(&mut child)?;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    };
    // What it left running may hold the pipe open.
    end_group(child.id());
    Ok(Ended { code: status.code(), stderr: reader.join().unwrap_or_default(), timed_out })
}

fn kill(child: &mut std::process::Child) -> std::io::Result<std::process::ExitStatus> {
    end_group(child.id());
    child.kill()?;
    child.wait()
}

fn end_group(id: u32) {
    if let Ok(id) = i32::try_from(id) {
        // SAFETY: the call takes numbers only. The group was made for the command, and is gone or still its own.
        unsafe { libc::kill(-id, libc::SIGKILL) };
    }
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// From now on the first Ctrl-C is noted only ([`interrupted`]); a second one ends the process.
pub fn note_interrupts() {
    // SAFETY: the handler stores to an atomic and nothing else, and the structure is set whole before it is used.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESETHAND;
        libc::sigaction(libc::SIGINT, &action, std::ptr::null_mut());
    }
}

/// Whether the process was asked to stop.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_command_whose_time_is_over_is_killed_with_what_it_started() {
        let start = Instant::now();
        let ended = shell("sleep 60 & sleep 60", Some(Duration::from_millis(50)));
        assert!(ended.timed_out && ended.code.is_none());
        // What it left running does not hold it up either.
        assert_eq!(shell("sleep 60 & exit 0", None).code, Some(0));
        assert!(start.elapsed() < Duration::from_secs(20));
    }
}
