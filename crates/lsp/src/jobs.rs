//! Long work, each piece in a process of its own: this program again, as `relayc lsp --job`, with the work as JSON at its standard input;
//! or as `relayc profile`, with the text.
//!
//! A process can be ended at any moment, whatever it is in the middle of, and gives its memory back; one that fails takes nothing with it.
//! It works on the text as the editor has it, saved or not.

use crate::requests::commands::{self, What, Work};
use crossbeam_channel::{Receiver, Sender, unbounded};
use lsp_server::RequestId;
use lsp_types::{ProgressToken, Uri};
use relayc_base::diag::Diagnostic;
use relayc_sys as sys;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How many processes work at once; the others wait.
const MAX_RUNNING: usize = 2;

/// The longest that one may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// Work for a request.
pub(crate) struct Job {
    pub(crate) request: RequestId,
    pub(crate) uri: Uri,
    /// The form of the text that it works on.
    pub(crate) revision: u64,
    pub(crate) text: crate::text::Text,
    pub(crate) work: Work,
    /// Where the client wants to hear that it is under way.
    pub(crate) progress: Option<ProgressToken>,
}

/// What a process has written, by the number of its job.
pub(crate) type Output = (u64, Vec<u8>);

/// The jobs of a server.
pub(crate) struct Jobs {
    waiting: VecDeque<Job>,
    running: Vec<(u64, Job, Child)>,
    n_started: u64,
    outputs: Sender<Output>,
}

/// What a process says at its end.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Said {
    Done(Value),
    Refused(String),
}

impl Jobs {
    pub(crate) fn new() -> (Jobs, Receiver<Output>) {
        let (outputs, received) = unbounded();
        (Jobs { waiting: VecDeque::new(), running: vec![], n_started: 0, outputs }, received)
    }

    pub(crate) fn add(&mut self, job: Job) {
        self.waiting.push_back(job);
    }

    /// Starts those that there is room for. The jobs that could not be started, with why.
    pub(crate) fn start(&mut self) -> Vec<(Job, String)> {
        let mut failed = vec![];
        while self.running.len() < MAX_RUNNING {
            let Some(job) = self.waiting.pop_front() else { break };
            self.n_started += 1;
            match process(self.n_started, &job.work, &self.outputs) {
                Ok(child) => self.running.push((self.n_started, job, child)),
                Err(error) => failed.push((job, format!("no process could be started: {error}"))),
            }
        }
        failed
    }

    /// Takes what a process has written; `None` if nobody waits for it any more.
    pub(crate) fn ended(&mut self, (number, output): Output) -> Option<(Job, Result<Value, String>)> {
        let at = self.running.iter().position(|(own, ..)| *own == number)?;
        let (_, job, mut child) = self.running.remove(at);
        let status = child.wait();
        if job.work.what() == What::Profile {
            return Some((job, commands::profile(&output)));
        }
        let said = match serde_json::from_slice(&output) {
            Ok(Said::Done(value)) => Ok(value),
            Ok(Said::Refused(why)) => Err(why),
            Err(_) => Err(status.map_or_else(|error| error.to_string(), |status| format!("the process ended early: {status}"))),
        };
        Some((job, said))
    }

    /// Ends the work for a request.
    pub(crate) fn cancel(&mut self, request: &RequestId) -> Option<Job> {
        if let Some(at) = self.waiting.iter().position(|job| job.request == *request) {
            return self.waiting.remove(at);
        }
        let at = self.running.iter().position(|(_, job, _)| job.request == *request)?;
        let (_, job, child) = self.running.remove(at);
        end(child);
        Some(job)
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.running.drain(..).for_each(|(_, _, child)| end(child));
    }
}

fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Starts a process on some work, and a thread that hands over what it writes.
fn process(number: u64, work: &Work, outputs: &Sender<Output>) -> io::Result<Child> {
    // The program may have been replaced by a newer one since.
    let own = PathBuf::from("/proc/self/exe");
    let own = if own.exists() { own } else { std::env::current_exe()? };
    let (args, input) = work.process()?;
    let (mut stdout, theirs) = io::pipe()?;
    let mut command = Command::new(own);
    command.args(args).stdin(Stdio::piped()).stdout(theirs.try_clone()?);
    if work.what() == What::Profile {
        // Where it fails, that has its words.
        command.stderr(theirs);
    }
    let mut child = command.spawn()?;
    // Of the ends for writing none may be left here.
    drop(command);
    let stdin = child.stdin.take();
    let outputs = outputs.clone();
    let talk = move || {
        let mut output = vec![];
        if let Some(mut stdin) = stdin {
            // It reads everything before it writes. One that has ended is met again when its output is read.
            let _ = stdin.write_all(&input);
            drop(stdin);
            let _ = stdout.read_to_end(&mut output);
        }
        let _ = outputs.send((number, output));
    };
    if let Err(error) = std::thread::Builder::new().name("job".to_owned()).spawn(talk) {
        end(child);
        return Err(error);
    }
    Ok(child)
}

/// Does the work that is at standard input, and writes what came of it: what `relayc lsp --job` does. Errors: E0702 if that cannot be
/// written.
pub fn perform() -> Result<(), Diagnostic> {
    let watch = || {
        std::thread::sleep(DEADLINE);
        let why = format!("it took longer than {} seconds", DEADLINE.as_secs());
        let _ = say(&Said::Refused(why));
        std::process::exit(0);
    };
    drop(std::thread::Builder::new().name("deadline".to_owned()).spawn(watch));
    let mut input = vec![];
    let read = io::stdin().lock().read_to_end(&mut input).map_err(|error| error.to_string());
    let work = read.and_then(|_| serde_json::from_slice::<Work>(&input).map_err(|error| error.to_string()));
    say(&match work.and_then(|work| commands::perform(&work)) {
        Ok(value) => Said::Done(value),
        Err(why) => Said::Refused(why),
    })
}

fn say(said: &Said) -> Result<(), Diagnostic> {
    sys::stdout(&serde_json::to_string(said).unwrap_or_default())
}
