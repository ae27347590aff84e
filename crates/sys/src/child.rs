//! Runs other programs within a time limit and leaves no process behind; notes interrupts of this process.

#[cfg(feature = "linux")]
mod linux;
#[cfg(not(feature = "linux"))]
mod plain;

#[cfg(feature = "linux")]
use linux as system;
#[cfg(not(feature = "linux"))]
use plain as system;

use super::waiting;
use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use system::{Words, end, has_ended};
pub use system::{interrupted, interruptible, note_interrupts};

/// Bytes of a command's standard error that are kept.
const KEPT: usize = 1 << 20;

/// How a command ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The exit code; none if a signal killed the command.
    pub code: Option<i32>,
    /// The beginning of what it wrote to standard error.
    pub stderr: Vec<u8>,
    /// Whether it was killed because its time was over.
    pub timed_out: bool,
}

/// Runs a command to its end. When the timeout passes or this process is interrupted, the command is killed.
///
/// Its standard input is empty and its standard output is dropped. That it takes long without a timeout is told
/// ([`super::when_waiting`]). With the feature `linux` its descendants are killed with it, also if this process is killed. Errors: the
/// reason why the command cannot be run.
pub fn run(command: &[String], timeout: Option<Duration>) -> std::io::Result<Ended> {
    let (program, args) = command.split_first().ok_or(ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    system::prepare(&mut command);
    let mut child = command.spawn()?;
    let mut words = Words::of(child.stderr.take())?;
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    let mut is_told = timeout.is_some();
    let timed_out = loop {
        words.read();
        if has_ended(&mut child)? {
            break false;
        }
        let timed_out = timeout.is_some_and(|timeout| start.elapsed() > timeout);
        if timed_out || interrupted().is_some() {
            break timed_out;
        }
        if !is_told && start.elapsed() > waiting::PATIENCE {
            is_told = true;
            waiting::for_command(program);
        }
        words.wait(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    };
    let status = end(&mut child)?;
    Ok(Ended { code: status.code(), stderr: words.last(), timed_out })
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
    fn the_beginning_of_many_words_is_kept() {
        let ended = shell("head -c 3000000 /dev/zero >&2; echo done >&2; exit 4", None);
        assert_eq!((ended.code, ended.stderr.len()), (Some(4), KEPT));
        assert_eq!(shell("head -c 300000 /dev/zero >&2", None).stderr.len(), 300_000);
    }

    #[test]
    fn a_command_whose_time_is_over_is_killed() {
        let start = Instant::now();
        let ended = shell("exec sleep 60", Some(Duration::from_millis(50)));
        assert!(ended.timed_out && ended.code.is_none());
        // A command that it left running does not hold it up.
        assert_eq!(shell("sleep 30 & exit 0", None).code, Some(0));
        let ended = shell("echo before >&2; sleep 30 & sleep 0.05; echo behind >&2", None);
        assert_eq!((ended.code, ended.stderr), (Some(0), b"before\nbehind\n".to_vec()));
        assert!(start.elapsed() < Duration::from_secs(20));
    }
}
