//! Sessions on the command line: `x.console`.
//!
//! ```text
//! //! What the session shows.
//! $ relayc check data/wrong.relay
//! data/wrong.relay: 1 error, 0 warnings
//! ? 1
//! ```
//!
//! A line `$ …` is a command for `sh`, with lines `> …` below it as its continuation. Its standard output and standard error
//! follow, then `? code` if the exit code is not 0. Commands run in the folder of the file; `$TMP` is the session's own folder. A
//! line `//! …` is a remark; `//! needs: jit` names features of relayc that the session needs.

use super::{Options, diff, read, rewrite};
use relayc_sys as sys;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the commands of a session, and compares or rewrites their outputs.
pub(crate) fn run(path: &Path, name: &str, options: &Options) -> Result<(), String> {
    let version = sys::Version::of(path);
    let text = read(path)?;
    let tmp = tempfile::tempdir().map_err(|error| format!("{name}: {error}"))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut now = String::new();
    let mut after_command = false;
    for part in parse(&text) {
        if after_command {
            now.push('\n');
        }
        after_command = matches!(part, Part::Command(_));
        match part {
            Part::Remark(remark) => now.push_str(&remark),
            Part::Command(lines) => {
                let output = execute(&script(&lines), folder, tmp.path(), &options.relayc)?;
                now.push_str(&format!("{lines}{output}"));
            }
        }
    }
    if now == text {
        return Ok(());
    }
    if options.bless {
        return rewrite(path, version, &now);
    }
    Err(diff::unified(name, &text, &now))
}

/// The features that the remarks of a session ask for.
pub(crate) fn needs(text: &str) -> Vec<String> {
    let lists = text.lines().filter_map(|line| line.strip_prefix("//!")?.trim().strip_prefix("needs:"));
    lists.flat_map(|list| list.split(',')).map(|name| name.trim().to_owned()).collect()
}

enum Part {
    Remark(String),
    /// The lines of a command, as written.
    Command(String),
}

/// Parses remarks and commands; drops the expected outputs between them.
fn parse(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut in_command = false;
    for line in text.lines() {
        match parts.last_mut() {
            _ if line.starts_with("$ ") => parts.push(Part::Command(format!("{line}\n"))),
            Some(Part::Command(lines)) if in_command && line.starts_with('>') => lines.push_str(&format!("{line}\n")),
            Some(Part::Remark(remark)) if line.starts_with("//!") => remark.push_str(&format!("{line}\n")),
            _ if line.starts_with("//!") => parts.push(Part::Remark(format!("{line}\n"))),
            _ => {}
        }
        in_command = line.starts_with("$ ") || (in_command && line.starts_with('>'));
    }
    parts
}

/// The command without its marks.
fn script(lines: &str) -> String {
    let bare =
        |line: &str| line.strip_prefix("$ ").or(line.strip_prefix("> ")).or(line.strip_prefix('>')).unwrap_or("").to_owned();
    lines.lines().map(bare).collect::<Vec<String>>().join("\n")
}

/// The output of a command, and its exit code if it is not 0.
fn execute(script: &str, folder: &Path, tmp: &Path, relayc: &Path) -> Result<String, String> {
    let bin = relayc.parent().unwrap_or(Path::new("")).display();
    let child = Command::new("sh")
        // Both streams go one way, in the order written.
        .args(["-c", &format!("exec 2>&1\n{script}")])
        .current_dir(folder)
        .env_clear()
        .env("PATH", format!("{bin}:/usr/local/bin:/usr/bin:/bin"))
        .env("TMP", tmp)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start `sh`: {error}"))?;
    let mut output = String::from_utf8_lossy(&child.stdout).replace(&tmp.display().to_string(), "$TMP");
    if output.lines().any(|line| line.starts_with("$ ") || line.starts_with("//!")) {
        return Err(format!("`{script}` prints a line that a session cannot hold:\n{output}"));
    }
    if !output.is_empty() && !output.ends_with('\n') {
        output.push_str("(no line break)\n");
    }
    match child.status.code() {
        Some(0) => {}
        Some(code) => output.push_str(&format!("? {code}\n")),
        None => output.push_str("? killed by a signal\n"),
    }
    Ok(output)
}
