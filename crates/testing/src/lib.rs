//! The golden harness: tests that are files. Used by `relayc test` and by relayc's own suite.
//!
//! `x.relay` is a program whose head names its kinds of test: `// test: infer, interp`. Each kind is one small file in `kinds/`.
//! Printed output is compared with `x.out` beside the program, or with the lines `//| …` or `// CHECK: …` in it (`lines.rs`).
//! Expectations in place are caret annotations with a type or a diagnostic (`annotate.rs`), and `// run: @f(1) == 2` lines
//! (`driver::example`). Without a head the expectations decide the kinds (`head.rs`). `x.console` is a session on the command
//! line (`session.rs`). Blessing rewrites `.out` files, `//|` lines and the outputs of sessions, never text written by hand.
//!
//! Promises that a new test is a new file, without Rust. Reads and writes the given files, and starts the program under test.
//! Absent: tests of internals, which are unit tests of their crates.

mod annotate;
mod diff;
mod head;
mod kinds;
mod lines;
mod session;

pub use kinds::run_lines;
use relayc_base::diag::Diagnostic;
use relayc_base::diag::render::{Format, render};
use relayc_driver::config::{Project, Reach};
use relayc_sys as sys;
use std::path::{Path, PathBuf};

/// The options of a test run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether expectations are rewritten instead of compared.
    pub bless: bool,
    /// The program under test, for sessions.
    pub relayc: PathBuf,
    /// Whether a test must name its kinds in its head.
    pub strict: bool,
    /// The command that reruns a test; the test's name is appended.
    pub rerun: String,
    /// The command that blesses a test; the test's name is appended.
    pub bless_command: String,
}

/// The result of a passed test.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Passed {
    /// The kinds of test, by their names in the head.
    pub kinds: Vec<&'static str>,
    /// Whether expectations were rewritten.
    pub blessed: bool,
}

/// A test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Golden {
    /// Its path from the root of the tests, with `/`.
    pub name: String,
    path: PathBuf,
}

/// Collects the tests of a path: a file, or all programs under a folder; `sessions` adds the sessions there. Other files are not
/// tests, nor are pipes and devices. Hidden folders, those called `data` or `target`, and links to folders are skipped.
///
/// Errors: a path that is not there, and a folder that cannot be read. A file below a folder is a test that fails then.
pub fn collect(path: &Path, sessions: bool) -> std::io::Result<Vec<Golden>> {
    std::fs::metadata(path)?;
    let mut found = Vec::new();
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                let entry = entry?;
                let path = entry.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let is_named = name.ends_with(".relay") || (sessions && name.ends_with(".console"));
                let is_test = is_named && !std::fs::metadata(&path).is_ok_and(|found| !found.is_file());
                // Of the entry itself: links may lead back.
                let is_room = entry.file_type()?.is_dir()
                    && !name.starts_with('.')
                    && !matches!(&*name, "data" | "target" | "node_modules");
                if is_test || is_room {
                    left.push(path);
                }
            }
        } else {
            let name = path.display().to_string();
            found.push(Golden { name: name.strip_prefix("./").unwrap_or(&name).to_owned(), path });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// All tests under a folder, sorted by name. Folders called `data` contain inputs of tests, and are skipped.
pub fn discover(root: &Path) -> std::io::Result<Vec<Golden>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "data" {
                    folders.push(path);
                }
            } else {
                let parts = path.strip_prefix(root).unwrap_or(&path).iter();
                let parts: Vec<String> = parts.map(|part| part.to_string_lossy().into_owned()).collect();
                found.push(Golden { name: parts.join("/"), path });
            }
        }
    }
    // Expectations belong to the program beside them; one without a program is a test that fails.
    let has_program = |golden: &Golden| golden.path.with_extension("relay").exists();
    found.retain(|golden| golden.extension() != "out" || !has_program(golden));
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

impl Golden {
    fn extension(&self) -> &str {
        self.path.extension().and_then(|extension| extension.to_str()).unwrap_or("")
    }

    /// The features of relayc that the test needs: those of a session's lines `//! needs: …`.
    pub fn needs(&self) -> Vec<String> {
        let is_session = self.extension() == "console";
        let text = is_session.then(|| read(&self.path).ok()).flatten();
        text.map_or(vec![], |text| session::needs(&text))
    }

    /// Runs the test. A failure's message ends with the commands that rerun and bless it.
    pub fn run(&self, options: &Options) -> Result<Passed, String> {
        let result = match self.extension() {
            "relay" => self.run_program(options),
            "console" => session::run(&self.path, &self.name, options).map(|()| Passed::default()),
            "out" => Err(format!("{}: there is no program of this name", self.name)),
            _ => Err(format!("{}: not a test; data lies in a folder called `data`", self.name)),
        };
        result.map_err(|why| {
            let (rerun, bless) = (&options.rerun, &options.bless_command);
            // Only what was generated is shown as a diff, and only that can be blessed.
            let bless = if why.contains(diff::NEW) { format!("\nbless: {bless} {}", self.name) } else { String::new() };
            format!("{}\n\nrerun: {rerun} {}{bless}", why.trim_end(), self.name)
        })
    }

    fn run_program(&self, options: &Options) -> Result<Passed, String> {
        let version = sys::Version::of(&self.path);
        let text = read(&self.path)?;
        let out = self.path.with_extension("out");
        if let Some(why) = head::misspelt(&text) {
            return Err(why);
        }
        let kinds = if options.strict { head::kinds(&text)? } else { head::kinds_or_guess(&text, out.exists())? };
        let project = Project::of(&self.path, &Reach::Everything);
        if project.has_errors() {
            return Err(render(&project.diagnostics, &project.sources, Format::Plain, false));
        }
        let case = Case { name: &self.name, text: &text, path: &self.path, project: &project };
        let (mut outputs, mut failures) = (Vec::new(), Vec::new());
        for kind in &kinds {
            match kind.run(&case) {
                Ok(output) => outputs.extend(output.map(|output| (kind.name(), output))),
                Err(why) => failures.push(format!("{}: {why}", kind.name())),
            }
        }
        let several = outputs.len() > 1;
        let section = |(kind, text): &(&str, String)| if several { format!("---- {kind} ----\n{text}") } else { text.clone() };
        let output = (!outputs.is_empty()).then(|| outputs.iter().map(section).collect::<String>());
        let mut passed = Passed { kinds: kinds.iter().map(|kind| kind.name()).collect(), blessed: false };
        match self.compare((&text, version), output, options) {
            Ok(blessed) => passed.blessed = blessed,
            Err(why) => failures.push(why),
        }
        if failures.is_empty() { Ok(passed) } else { Err(failures.join("\n")) }
    }

    /// Compares the output of a test with its expectation: `CHECK` lines, lines `//|`, else the file beside it. Returns whether
    /// an expectation was rewritten.
    fn compare(&self, (text, version): (&str, sys::Version), output: Option<String>, options: &Options) -> Result<bool, String> {
        let in_file = lines::has_checks(text) || lines::has_block(text);
        if !in_file {
            return self.compare_out(output, options);
        }
        self.compare_out(None, options)?;
        let Some(output) = output else {
            return Err("nothing is printed that the lines `//|` or `CHECK` could be about; add `// test: print`".to_owned());
        };
        lines::check_lines(text, &output)?;
        match lines::compare_block(&self.name, text, &output) {
            Ok(()) => Ok(false),
            Err(_) if options.bless => {
                let blessed = lines::bless_block(text, &output);
                rewrite(&self.path, version, &blessed).map(|()| true)
            }
            Err(why) => Err(why),
        }
    }

    /// Compares with the `.out` file, which must exist exactly if there is an output; rewrites it when blessing.
    fn compare_out(&self, output: Option<String>, options: &Options) -> Result<bool, String> {
        let path = self.path.with_extension("out");
        let version = sys::Version::of(&path);
        let expected = if path.exists() { Some(read(&path)?) } else { None };
        if output == expected {
            return Ok(false);
        }
        if options.bless {
            let done = match output {
                Some(output) => rewrite(&path, version, &output),
                None => std::fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display())),
            };
            return done.map(|()| true);
        }
        let name = Path::new(&self.name).with_extension("out").display().to_string();
        match (output, expected) {
            (Some(output), Some(expected)) => Err(diff::unified(&name, &expected, &output)),
            (Some(output), None) => Err(diff::unified(&name, "", &output)),
            (None, _) => Err(format!("{name} is left over: nothing prints it")),
        }
    }
}

/// Reads a text. Errors: why not, in words; a pipe or device, which may never end.
fn read(path: &Path) -> Result<String, String> {
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(format!("{}: not a regular file", path.display()));
    }
    let bytes = sys::read_file(path, sys::Limit::source()).map_err(in_words)?;
    String::from_utf8(bytes).map_err(|_| format!("{}: not UTF-8", path.display()))
}

/// Writes a file whole, or leaves it as it was or as somebody else has changed it. Errors: why not, in words.
fn rewrite(path: &Path, read: sys::Version, text: &str) -> Result<(), String> {
    sys::rewrite(path, read, text).map_err(in_words)
}

fn in_words(error: Diagnostic) -> String {
    format!("{}: {}", error.code.id(), error.message)
}

/// A program under test.
struct Case<'a> {
    /// Its name in diagnostics.
    name: &'a str,
    text: &'a str,
    path: &'a Path,
    /// What the nearest `relayc.toml` chooses.
    project: &'a Project,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(bless: bool) -> Options {
        Options { bless, strict: true, relayc: "relayc".into(), rerun: "again".into(), bless_command: "bless".into() }
    }

    fn write(folder: &Path, name: &str, text: &str) -> Golden {
        std::fs::write(folder.join(name), text).expect("the folder can be written");
        let goldens = discover(folder).expect("the folder can be read");
        goldens.into_iter().find(|golden| golden.name == name).expect("it is a test")
    }

    #[test]
    fn blessing_makes_a_test_pass_and_leaves_the_program_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "// test: check\n#[version = \"0.0.5\"]\ndef @f(%x: int32) { %y }\n";
        let golden = write(folder.path(), "x.relay", text);
        let failure = golden.run(&options(false)).expect_err("there is no expectation yet");
        assert!(failure.contains("+error[E0201]"), "{failure}");
        assert!(failure.ends_with("rerun: again x.relay\nbless: bless x.relay"), "{failure}");
        assert_eq!(golden.run(&options(true)), Ok(Passed { kinds: vec!["check"], blessed: true }));
        assert_eq!(golden.run(&options(false)), Ok(Passed { kinds: vec!["check"], blessed: false }));
        assert_eq!(std::fs::read_to_string(folder.path().join("x.relay")).expect("it is there"), text);
    }

    #[test]
    fn sessions_say_what_they_need() {
        let folder = tempfile::tempdir().expect("a folder");
        let golden = write(folder.path(), "x.console", "//! Machine code.\n//! needs: jit, more\n$ true\n");
        assert_eq!(golden.needs(), ["jit", "more"]);
        assert_eq!(write(folder.path(), "y.console", "//! Nothing is needed: true.\n$ true\n").needs(), Vec::<String>::new());
    }

    #[test]
    fn leftovers_and_strangers_fail() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(write(folder.path(), "gone.out", "").run(&options(false)).is_err());
        assert!(write(folder.path(), "notes.txt", "").run(&options(false)).is_err());
        std::fs::write(folder.path().join("y.out"), "old").expect("the folder can be written");
        let golden = write(folder.path(), "y.relay", "// test: infer\ndef @f(%x: int32) { %x }\n");
        assert!(golden.run(&options(false)).is_err_and(|why| why.contains("y.out is left over")));
    }
}
