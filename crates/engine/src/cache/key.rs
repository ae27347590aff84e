//! Keys of kept programs: the digest of all that the bytes of a compiled program depend on.
//!
//! These are relayc itself, the program's file and those of its weights, by their content; and the options that change what is
//! compiled, a tuning file among them. Names of files are not, nor are inputs: only programs whose sizes are known are kept.

use super::digests::{self, Digests, Known};
use crate::compile::{Isa, Settings};
use relayc_base::diag::Diagnostic;
use relayc_base::text::count;
use relayc_driver::Dialect;
use relayc_exec::listing::target_name;
use relayc_sys::PrivateFolder;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A program as the command line names it.
pub struct Wanted<'a> {
    pub program: &'a Path,
    pub params: &'a [PathBuf],
    pub dialect: Dialect,
    pub entry: &'a str,
    /// `--set`, as written.
    pub set: &'a [String],
    /// `--max-memory`.
    pub max_memory: Option<u64>,
    /// `--strategy`, as written.
    pub strategies: &'a [String],
    pub tuning: Option<&'a Path>,
    /// Without choices: those are made once the text is read.
    pub settings: &'a Settings,
}

/// The key of a program.
pub struct Key {
    digest: String,
    text: String,
    what: String,
    isa: Isa,
    /// The files whose content is in it.
    files: Vec<(PathBuf, Known)>,
}

/// relayc's own file, which stays the one that runs if another takes its name.
const OWN: &str = "/proc/self/exe";

/// The key of a program; `None` if one of its files cannot be read, or is none that stays the same.
pub(super) fn of(folder: &PrivateFolder, wanted: &Wanted, warnings: &mut Vec<Diagnostic>) -> Option<Key> {
    let mut digests = Digests::read(folder, warnings);
    let mut files = vec![];
    let params = wanted.params.iter().map(PathBuf::as_path);
    for path in [Path::new(OWN), wanted.program].into_iter().chain(params).chain(wanted.tuning) {
        files.push((path.to_owned(), digests.of(path)?));
    }
    // Those that cannot be written are computed again next time.
    let _ = digests.write(folder);
    let Wanted { program, dialect, entry, set, max_memory, strategies, tuning, settings, .. } = wanted;
    let mut text = format!("relayc {}\n", env!("CARGO_PKG_VERSION"));
    for (_, known) in &files {
        let _ = writeln!(text, "file {}", known.digest);
    }
    // An ending says how a file is read.
    let ending = program.extension().map(|ending| ending.to_ascii_lowercase());
    let _ = writeln!(text, "ending {ending:?} dialect {dialect:?} entry {entry:?} set {set:?} memory {max_memory:?}");
    let _ = writeln!(text, "strategies {strategies:?} tuned {}", tuning.is_some());
    let _ = writeln!(text, "{settings:?} {:?}", settings.target());
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let what = format!("{name} @{entry}, {}, {}", target_name(settings.isa), count(settings.threads, "thread"));
    Some(Key { digest: digests::of_bytes(text.as_bytes()), text, what, isa: settings.isa, files })
}

impl Key {
    /// The name of the kept program.
    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    /// What the digest is of.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The program in a line.
    pub(super) fn what(&self) -> &str {
        &self.what
    }

    /// The instruction set of its code.
    pub(super) fn isa(&self) -> Isa {
        self.isa
    }

    /// Whether the files are those that it was made of.
    pub(super) fn is_current(&self) -> bool {
        self.files.iter().all(|(path, known)| known.is_current(path))
    }
}
