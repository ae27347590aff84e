//! Runs the blocks of a page.
//!
//! Each page has a folder of its own: a copy of `tests/data/book/`, if the page names that folder, with the repository's `examples/`
//! beside it. Its blocks run in order:
//!
//! | block | is |
//! |---|---|
//! | any language, `file=NAME` | written to that file |
//! | `relay` | a program that `relayc check` accepts; with `wrong` one that it rejects |
//! | `relay test` | a program that `relayc test` checks against its comments |
//! | `console` | commands after `$ `, each with what it prints; a line `…` stands for any number of lines |
//! | `console varies` | the same, but numbers, the width of blanks and what limits a kernel are not compared |
//! | `console machine` | the same, but only the first word of each line is compared, numbers alike |
//!
//! A failing command shows its output. Other blocks (`text`, `sh`) are not run, so they contain no command of relayc.

use crate::markdown::{Block, Page};
use std::path::Path;
use std::process::{Command, Output};

/// The line that stands for any number of lines.
const ELLIPSIS: &str = "…";

/// A command of a console block and the lines under it.
struct Step {
    command: String,
    /// The command as it is written, with its `$ `.
    written: String,
    expected: String,
}

/// Runs a page; gives its text with the outputs found, and what is not as the page says.
pub(crate) fn run(text: &str, relayc: &Path, folder: &Path) -> (String, Vec<String>) {
    let page = Page::parse(text);
    let shell = Shell { relayc, folder };
    let (mut blessed, mut copied, mut wrong) = (String::new(), 0, Vec::new());
    for block in &page.blocks {
        let body = &text[block.range.clone()];
        if let Some(name) = block.file() {
            std::fs::write(folder.join(name), body).expect("the file is written");
            if block.has("wrong") || block.has("test") {
                wrong.extend(shell.program(block, body));
            }
        } else if block.language() == "console" {
            blessed.push_str(&text[copied..block.range.start]);
            blessed.push_str(&shell.session(block, body, &mut wrong));
            copied = block.range.end;
        } else if block.language() == "relay" {
            wrong.extend(shell.program(block, body));
        } else if body.lines().any(|line| line.trim_start_matches("$ ").starts_with("relayc ")) {
            wrong.push(format!("line {}: a command of relayc in a block that is not run", block.line));
        }
    }
    blessed.push_str(&text[copied..]);
    (blessed, wrong)
}

struct Shell<'a> {
    relayc: &'a Path,
    folder: &'a Path,
}

impl Shell<'_> {
    fn run(&self, command: &str) -> Output {
        let bin = self.relayc.parent().expect("relayc lies in a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("RELAYC_")) {
            shell.env_remove(name);
        }
        shell.args(["-c", &format!("exec 2>&1\n{command}")]).current_dir(self.folder);
        shell.env("PATH", format!("{}:{path}", bin.display())).env("LC_ALL", "C").env("NO_COLOR", "1").env("TMPDIR", self.folder);
        shell.env("XDG_CACHE_HOME", self.folder.join("cache"));
        shell.output().expect("a shell runs")
    }

    /// A program between fences: what is wrong with it.
    fn program(&self, block: &Block, body: &str) -> Option<String> {
        std::fs::write(self.folder.join("block.relay"), body).expect("the program is written");
        let (command, fine) = match () {
            () if block.has("test") => ("relayc test block.relay", true),
            () if block.has("wrong") => ("relayc check block.relay", false),
            () => ("relayc check block.relay", true),
        };
        let out = self.run(command);
        let said = String::from_utf8_lossy(&out.stdout);
        (out.status.success() != fine).then(|| format!("line {}: `{command}` says\n{said}", block.line))
    }

    /// The text of a console block with the outputs found.
    fn session(&self, block: &Block, body: &str, wrong: &mut Vec<String>) -> String {
        let mut blessed = String::new();
        for step in steps(body) {
            let out = self.run(&step.command);
            let found = String::from_utf8_lossy(&out.stdout);
            let found = found.trim_end();
            blessed.push_str(&step.written);
            let expected = step.expected.trim_end();
            let compared = match () {
                () if block.has("varies") => masked,
                () if block.has("machine") => first_word,
                () => |line: &str| line.trim_end().to_owned(),
            };
            let fits = fits(expected, found, compared);
            let shown = if fits { expected } else { found };
            if !shown.is_empty() {
                blessed.push_str(shown);
                blessed.push('\n');
            }
            // What separates it from the next command stays.
            let blank = step.expected.len() - expected.len();
            (usize::from(!expected.is_empty())..blank).for_each(|_| blessed.push('\n'));
            let code = out.status.code();
            if !matches!(code, Some(0..=3)) || (code != Some(0) && shown.is_empty()) {
                wrong.push(format!("line {}: `{}` ends with {code:?}", block.line, step.command));
            }
            if !fits {
                wrong.push(format!("line {}: `{}` prints\n{found}", block.line, step.command));
            }
        }
        blessed
    }
}

/// The commands of a console block. A command goes on in the next line after a backslash.
fn steps(body: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut goes_on = false;
    for line in body.split_inclusive('\n') {
        let command = line.strip_prefix("$ ");
        if let Some(command) = command.filter(|_| !goes_on) {
            steps.push(Step { command: command.to_owned(), written: line.to_owned(), expected: String::new() });
        } else if let Some(step) = steps.last_mut() {
            if goes_on {
                step.command.push_str(line);
                step.written.push_str(line);
            } else {
                step.expected.push_str(line);
            }
        }
        goes_on = line.ends_with("\\\n") && steps.last().is_some_and(|step| step.expected.is_empty());
    }
    steps
}

/// Whether an output is the one shown, in that of its lines which is compared.
fn fits(expected: &str, found: &str, compared: fn(&str) -> String) -> bool {
    let expected: Vec<String> = expected.lines().map(compared).collect();
    let found: Vec<String> = found.lines().map(compared).collect();
    fit(&expected, &found)
}

fn fit(expected: &[String], found: &[String]) -> bool {
    let Some(at) = expected.iter().position(|line| line.trim() == ELLIPSIS) else { return expected == found };
    let (before, after) = (&expected[..at], &expected[at + 1..]);
    if !found.starts_with(before) {
        return false;
    }
    (at..=found.len()).any(|from| fit(after, &found[from..]))
}

fn first_word(line: &str) -> String {
    masked(line.split_whitespace().next().unwrap_or(""))
}

/// What limits a kernel, in the table of `relayc profile`: the measured machine decides.
const LIMITS: &[&str] = &[" compute ", " memory ", " L1 ", " L2 ", " L3 "];

/// The units that a time is written in, by how long it is.
const UNITS: &[&str] = &["# ns", "# µs", "# ms"];

/// The line with a `#` for each number, one blank for each run of them, and no unit of time or limit of a kernel.
fn masked(line: &str) -> String {
    let line = LIMITS.iter().fold(line.to_owned(), |line, limit| line.replace(limit, " … "));
    let mut out = String::new();
    let mut chars = line.trim().chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_ascii_digit() {
            while chars.next_if(|c| c.is_ascii_digit() || matches!(c, '.' | ',')).is_some() {}
            out.push('#');
        } else if c.is_whitespace() {
            while chars.next_if(|c| c.is_whitespace()).is_some() {}
            out.push(' ');
        } else {
            out.push(c);
        }
    }
    UNITS.iter().fold(out, |out, unit| out.replace(unit, "# …"))
}
