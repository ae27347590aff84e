//! The goldens that state the results of their functions.

use crate::support::programs;
use std::path::PathBuf;

/// The programs with `// run:` lines that are right on purpose, and their text.
pub(crate) fn programs() -> Vec<(PathBuf, String)> {
    let runs = |line: &str| line.starts_with("// test:") && (line.contains("interp") || line.contains("pass"));
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        (path, text)
    };
    let goldens = programs::under("tests/golden", &["relay"]).into_iter().map(read);
    goldens.filter(|(_, text)| text.lines().any(runs)).collect()
}
