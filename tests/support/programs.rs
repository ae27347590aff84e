//! The programs of the repository.

use std::path::{Path, PathBuf};

/// Every `.relay` file of the repository, sorted.
pub fn all() -> Vec<PathBuf> {
    under("", &["relay"])
}

/// The files under a folder of the repository whose names end in one of these, sorted.
pub fn under(folder: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    // The fuzz targets are a package of their own, a folder down.
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = if package.ends_with("fuzz") { package.join("..") } else { package.to_owned() };
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("a folder of the repository").flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default();
            if path.is_dir() && name != ".git" && name != "target" && name != "node_modules" {
                folders.push(path);
            } else if path.extension().is_some_and(|found| extensions.iter().any(|extension| *found == **extension)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
