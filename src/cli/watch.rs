//! `relayc watch`: checks programs at each save, and runs a command after each check without errors.
//!
//! The system tells that something has changed in the folders of the files; what has changed is seen by comparing times and sizes, so
//! editors that replace files, files that vanish and come back, and many changes at once need no care of their own.

mod changes;

use super::check::Checking;
use super::projects::Projects;
use super::{Console, Format};
use changes::{Changes, Form};
use relayc_base::Sources;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::count;
use relayc_driver::config::{self, Reach};
use relayc_driver::lint::Levels;
use relayc_driver::{self as driver, Phase, programs};
use relayc_sys as sys;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How often an interrupt is looked for.
const TICK: Duration = Duration::from_millis(50);

/// Check programs again at each save, until Ctrl-C.
///
/// `relayc watch net.relay -- relayc test net.relay` also runs a command after each check without errors. What `relayc.toml` names is
/// watched too. The exit code is 130, as of every command that is interrupted.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    checking: Checking,
    /// The files, and folders with `.relay` files at any depth.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The command to run after each check without errors.
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    if let Err(message) = args.checking.set_levels(&mut Levels::default()) {
        return console.usage(message);
    }
    if args.paths.iter().any(|path| path.to_str() == Some("-")) {
        return console.usage("standard input cannot be watched: name files or folders");
    }
    sys::note_interrupts();
    let mut changes = Changes::new();
    let mut projects = Projects::new(console);
    let mut before: Option<Form> = None;
    loop {
        // Seen before the files are read: what changes meanwhile is seen as a change.
        changes.watch(&args.paths, projects.files());
        let above = configurations(args.paths.iter());
        let files = files(&args.paths);
        let form = Form::of(files.iter().chain(&configurations(files.iter())).map(PathBuf::as_path).chain(projects.files()));
        if before.as_ref() != Some(&form) {
            let is_fine = check(console, args, &files, &mut projects);
            // Only now it is known what the configurations name.
            before = Some(form.with(projects.files()));
            if is_fine && !args.command.is_empty() {
                execute(console, &args.command);
            }
            continue;
        }
        while !changes.wait(TICK) {
            if let Some(code) = sys::interrupted() {
                return code;
            }
            // Nobody tells of a configuration that is new far above.
            if changes.is_time_to_look()
                && (changes.watch(&args.paths, projects.files()) || configurations(args.paths.iter()) != above)
            {
                break;
            }
        }
    }
}

/// The programs, once each.
fn files(paths: &[PathBuf]) -> BTreeSet<PathBuf> {
    let below = |path: &PathBuf| if path.is_dir() { programs::below(path) } else { vec![path.clone()] };
    paths.iter().flat_map(below).collect()
}

/// The nearest configurations above paths: one may be new.
fn configurations<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> BTreeSet<PathBuf> {
    let folders: BTreeMap<Option<&Path>, &PathBuf> = paths.map(|path| (path.parent(), path)).collect();
    folders.values().filter_map(|path| config::find(path, &Reach::Everything)).collect()
}

/// Checks all programs; whether none has an error.
fn check(console: &Console, args: &Args, files: &BTreeSet<PathBuf>, projects: &mut Projects) -> bool {
    if std::io::stderr().is_terminal() && console.format != Format::Json {
        // Clears the screen, and what has been scrolled out of it stays.
        console.words("\x1b[2J\x1b[H");
    }
    let start = Instant::now();
    projects.forget();
    let (mut n_errors, mut n_warnings) = (0, 0);
    for path in files {
        // Reading it would wait for whoever writes to it, also when it is a file again.
        if sys::is_stream(path) {
            let words = format!("cannot read `{}`: it is a pipe or a device, which cannot be watched", path.display());
            console.diagnostics(&[Diagnostic::new(codes::E0701, words)], &Sources::default());
            n_errors += 1;
            continue;
        }
        let how = args.checking.how(path, projects);
        let program = driver::check_file(path, Phase::Lint, &how);
        console.diagnostics(&program.diagnostics, &program.sources);
        let errors = program.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
        n_errors += errors;
        n_warnings += program.diagnostics.len() - errors;
    }
    n_errors += projects.n_errors();
    report(console, files.len(), n_errors, n_warnings, start.elapsed());
    n_errors == 0
}

/// The closing line of a check.
fn report(console: &Console, n_files: usize, n_errors: usize, n_warnings: usize, time: Duration) {
    let ms = time.as_secs_f64() * 1e3;
    if console.format == Format::Json {
        let line = json!({
            "schema": "relayc.watch/1", "reason": "checked",
            "programs": n_files, "errors": n_errors, "warnings": n_warnings, "ms": ms,
        });
        console.words(&format!("{line}\n"));
    } else if !console.quiet {
        let (files, errors) = (count(n_files, "program"), count(n_errors, "error"));
        console.words(&format!("{files}: {errors}, {} ({ms:.0} ms)\n", count(n_warnings, "warning")));
    }
}

/// Runs the command and says how it ended.
fn execute(console: &Console, command: &[String]) {
    let [program, args @ ..] = command else { return };
    let ended = Command::new(program).args(args).spawn().and_then(|mut child| {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if sys::interrupted().is_some() {
                // On a terminal Ctrl-C has reached it as well.
                let _ = child.kill();
                return child.wait();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let (code, how) = match &ended {
        Ok(status) => (status.code(), status.code().map_or("killed by a signal".to_owned(), |code| format!("exit {code}"))),
        Err(error) => (None, format!("cannot be run: {}", sys::reason(error))),
    };
    if console.format == Format::Json {
        let line = json!({ "schema": "relayc.watch/1", "reason": "command", "command": command, "exit": code });
        console.words(&format!("{line}\n"));
    } else if !console.quiet || code != Some(0) {
        console.words(&format!("`{}`: {how}\n", command.join(" ")));
    }
}

/// The folder in which a file that may not be there is watched: the nearest that is there.
fn folder_of(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().skip(1).find(|folder| folder.is_dir()).map(Path::to_owned)
}
