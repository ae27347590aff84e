//! `relayc.toml`: what a project chooses, for all programs in its folder and below.
//!
//! ```toml
//! [format]
//! width = 120
//!
//! [lints]
//! unused-parameter = "allow"
//!
//! [weights]
//! "models/*.relay" = "weights/net.params"
//! "models/decoder.relay" = { files = ["a.npz", "b.safetensors"], inputs = ["tokens"] }
//! ```
//!
//! The file nearest above a program holds, alone. Everything wrong in it is reported with its place, and the rest is taken.
//! Promises to read no file outside of a [`Reach`]. Absent: flags, which win over the file (`src/cli`).

mod errors;
pub(crate) mod pattern;
mod read;
mod weights;

use crate::lint::Levels;
pub use read::{LEVELS, WIDTHS};
use relayc_base::Sources;
use relayc_base::diag::{Diagnostic, codes, has_errors};
use relayc_syntax::fmt::Style;
use relayc_sys::{self as sys, Limit};
use std::path::{Component, Path, PathBuf};
pub use weights::{WeightFiles, Weights};

/// The name of the file.
pub const NAME: &str = "relayc.toml";

/// The size of the file: nobody writes more.
const LIMIT: Limit = Limit { bytes: 1 << 20, code: codes::E0804, set_by: None };

/// The files that may be read.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Reach {
    #[default]
    Everything,
    /// Those inside of these folders, whatever links lead out of them.
    Inside(Vec<PathBuf>),
}

impl Reach {
    /// Only files inside of these folders.
    pub fn inside<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Reach {
        Reach::Inside(folders.into_iter().filter_map(|folder| folder.canonicalize().ok()).collect())
    }

    /// Whether a file or folder, which must be there, may be read.
    pub fn allows(&self, path: &Path) -> bool {
        // The system is asked about no path that leads out by itself.
        *self == Reach::Everything || (self.names(path) && path.canonicalize().is_ok_and(|path| self.names(&path)))
    }

    /// Whether a path leads inside, links aside.
    fn names(&self, path: &Path) -> bool {
        let Reach::Inside(folders) = self else { return true };
        let mut plain = PathBuf::new();
        for part in path.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => drop(plain.pop()),
                part => plain.push(part),
            }
        }
        folders.iter().any(|folder| plain.starts_with(folder))
    }
}

/// The choices of a project.
#[derive(Clone, Debug, Default)]
pub struct Project {
    /// The file, if there is one.
    path: Option<PathBuf>,
    pub style: Style,
    pub levels: Levels,
    weights: Vec<weights::Entry>,
    reach: Reach,
    /// The text of the file.
    pub sources: Sources,
    /// What is wrong in it, in text order.
    pub diagnostics: Vec<Diagnostic>,
}

impl Project {
    /// The project of a program: that of the nearest file above it, or one without choices.
    pub fn of(program: &Path, reach: &Reach) -> Project {
        find(program, reach).map_or_else(Project::default, |path| Project::open(&path, reach))
    }

    /// Reads the file at a path.
    pub fn open(path: &Path, reach: &Reach) -> Project {
        let mut project = Project { path: Some(path.to_owned()), reach: reach.clone(), ..Project::default() };
        // No pipe is waited for, and no device read.
        let is_other = path.metadata().is_ok_and(|metadata| !metadata.is_file());
        let read = if is_other { Err(errors::no_regular_file(&shown(path))) } else { sys::read_file(path, LIMIT) };
        match read {
            Ok(bytes) => read::into(&mut project, &shown(path), &bytes),
            Err(diagnostic) => project.diagnostics.push(diagnostic),
        }
        project
    }

    /// The file, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub fn has_errors(&self) -> bool {
        has_errors(&self.diagnostics)
    }

    /// Every file of weights that it names.
    pub fn weight_files(&self) -> impl Iterator<Item = &Path> {
        self.weights.iter().flat_map(|entry| &entry.files).map(PathBuf::as_path)
    }

    /// The weights that belong to a program, if any do.
    pub fn weights(&self, program: &Path, files: &mut WeightFiles) -> Option<Weights> {
        let folder = self.path.as_deref()?.parent()?;
        let program = real(program);
        let inside = program.strip_prefix(folder).ok()?;
        let parts: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let entries = self.weights.iter().filter(|entry| entry.pattern.matches(&parts));
        Weights::of(entries, &self.reach, files)
    }
}

/// The nearest file above a program, also one that cannot be read.
pub fn find(program: &Path, reach: &Reach) -> Option<PathBuf> {
    let program = real(program);
    program.ancestors().skip(1).map(|folder| folder.join(NAME)).find(|path| reach.allows(path) && path.symlink_metadata().is_ok())
}

/// Where a program lies, without links and relative parts in its folder; standard input lies in the current folder.
fn real(program: &Path) -> PathBuf {
    let absolute = std::path::absolute(program).unwrap_or_else(|_| program.to_owned());
    match (absolute.parent().and_then(|folder| folder.canonicalize().ok()), absolute.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => absolute,
    }
}

/// The names in a folder, as far as they are few enough to be looked through.
fn names(folder: &Path) -> Vec<String> {
    const MAX: usize = 1000;
    let entries = folder.read_dir().into_iter().flatten().take(MAX);
    let mut names: Vec<String> = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A path as messages show it: from the current folder if it is below that.
fn shown(path: &Path) -> String {
    let current = std::env::current_dir().and_then(|folder| folder.canonicalize());
    let below = current.as_ref().ok().and_then(|folder| path.strip_prefix(folder).ok());
    below.unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests;
