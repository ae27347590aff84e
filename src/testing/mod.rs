//! The golden harness: tests that are files.
//!
//! `x.relay` is a program whose head says what is done with it: `// test: infer, interp`. Each word is a kind, one small
//! file in `kinds/`. What a kind prints is compared with `x.out` beside it; what it checks in place stands in the file:
//! a type or a diagnostic under an expression (`annotate.rs`), `// run: @f(1) == 2` lines (`driver::example`).
//! `x.console` is a session on the command line (`session.rs`). Blessing rewrites `.out` files and the outputs of
//! sessions, never what was written by hand.
//!
//! Reads and writes the files it is given and starts the program under test; a new test is a new file, no Rust.

mod annotate;
mod diff;
mod head;
mod kinds;
mod session;

use std::path::{Path, PathBuf};

/// How tests are run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether expectations are rewritten instead of compared.
    pub bless: bool,
    /// The program under test, for sessions.
    pub relayc: PathBuf,
    /// The command that reruns a test when its name is put behind it.
    pub rerun: String,
    /// The command that blesses it.
    pub bless_command: String,
}

/// A test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Golden {
    /// Its path from the root of the tests, with `/`.
    pub name: String,
    path: PathBuf,
}

/// All tests under a folder, sorted by name. Folders called `data` hold what tests read, no tests.
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

    /// Runs the test. What went wrong ends with the commands that rerun and bless it.
    pub fn run(&self, options: &Options) -> Result<(), String> {
        let result = match self.extension() {
            "relay" => self.run_program(options),
            "console" => session::run(&self.path, &self.name, options),
            "out" => Err(format!("{}: there is no program of this name", self.name)),
            _ => Err(format!("{}: not a test; data lies in a folder called `data`", self.name)),
        };
        let (rerun, bless) = (&options.rerun, &options.bless_command);
        result.map_err(|why| format!("{}\n\nrerun: {rerun} {}\nbless: {bless} {}", why.trim_end(), self.name, self.name))
    }

    fn run_program(&self, options: &Options) -> Result<(), String> {
        let bytes = std::fs::read(&self.path).map_err(|error| format!("{}: {error}", self.name))?;
        let text = String::from_utf8(bytes).map_err(|_| format!("{}: not UTF-8", self.name))?;
        let kinds = head::kinds(&text)?;
        let case = Case { name: &self.name, text: &text };
        let (mut outputs, mut failures) = (Vec::new(), Vec::new());
        for kind in kinds {
            match kind.run(&case) {
                Ok(output) => outputs.extend(output.map(|output| (kind.name(), output))),
                Err(why) => failures.push(format!("{}: {why}", kind.name())),
            }
        }
        let several = outputs.len() > 1;
        let text = |(kind, text): &(&str, String)| if several { format!("---- {kind} ----\n{text}") } else { text.clone() };
        let output = (!outputs.is_empty()).then(|| outputs.iter().map(text).collect::<String>());
        if let Err(why) = self.compare_out(output, options) {
            failures.push(why);
        }
        if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
    }

    /// Compares with the `.out` file, which exists exactly if there is an output; rewrites it when blessing.
    fn compare_out(&self, output: Option<String>, options: &Options) -> Result<(), String> {
        let path = self.path.with_extension("out");
        let expected = match std::fs::read_to_string(&path) {
            Ok(expected) => Some(expected),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        if output == expected {
            return Ok(());
        }
        if options.bless {
            let done = match output {
                Some(output) => std::fs::write(&path, output),
                None => std::fs::remove_file(&path),
            };
            return done.map_err(|error| format!("{}: {error}", path.display()));
        }
        let name = Path::new(&self.name).with_extension("out").display().to_string();
        match (output, expected) {
            (Some(output), Some(expected)) => Err(diff::unified(&name, &expected, &output)),
            (Some(output), None) => Err(diff::unified(&name, "", &output)),
            (None, _) => Err(format!("{name} is left over: nothing prints it")),
        }
    }
}

/// A program under test.
struct Case<'a> {
    /// As diagnostics call it.
    name: &'a str,
    text: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(bless: bool) -> Options {
        Options { bless, relayc: "relayc".into(), rerun: "again".into(), bless_command: "bless".into() }
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
        assert_eq!(golden.run(&options(true)), Ok(()));
        assert_eq!(golden.run(&options(false)), Ok(()));
        assert_eq!(std::fs::read_to_string(folder.path().join("x.relay")).expect("it is there"), text);
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
