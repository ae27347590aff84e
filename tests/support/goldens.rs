//! The goldens that say what their functions give.

use std::path::{Path, PathBuf};

/// The programs with `// run:` lines, and their text.
pub fn programs() -> Vec<(PathBuf, String)> {
    let (mut found, mut folders) = (Vec::new(), vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")]);
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "relay") {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                // A program of another kind may be wrong on purpose.
                let runs = |line: &str| line.starts_with("// test:") && (line.contains("interp") || line.contains("pass"));
                if text.lines().any(runs) {
                    found.push((path, text));
                }
            }
        }
    }
    found.sort();
    found
}
