//! The programs below a folder, for what looks at a whole workspace.
//!
//! Promises to end: links to folders are not followed. Links to files are programs, also broken ones, which then cannot be read.
//! Folders that hold what tools have made are left out.

use super::config::pattern::Pattern;
use std::path::{Path, PathBuf};

/// The programs of a workspace, and the entries of its folders that are looked at.
const MAX_PROGRAMS: usize = 10_000;
const MAX_ENTRIES: usize = 200_000;

/// The ending of programs.
const ENDING: &str = "relay";

/// Whether a file has the name of a program.
pub fn is_program(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ENDING)
}

/// The programs of a path that is a folder or a pattern; `None` for another path. A folder that cannot be read stands for what is in
/// it, and is reported when it is read.
pub fn of(path: &Path) -> Option<Vec<PathBuf>> {
    let here = |found: PathBuf| found.strip_prefix(".").map_or(found.clone(), Path::to_owned);
    if path.is_dir() {
        let found = walk(path, usize::MAX, usize::MAX, true);
        return Some(if path == Path::new(".") { found.into_iter().map(here).collect() } else { found });
    }
    let text = path.to_str().filter(|text| text.contains(['*', '?']) && !path.exists())?;
    // Where the first part with a star begins.
    let fixed = text[..text.find(['*', '?'])?].rfind('/').map_or(0, |slash| slash + 1);
    let (folder, pattern) = (Path::new(&text[..fixed]), Pattern::new(&text[fixed..]).ok()?);
    let folder = if fixed == 0 { Path::new(".") } else { folder };
    let fits = |found: &PathBuf| {
        let inside = found.strip_prefix(folder).unwrap_or(found);
        pattern.matches(&inside.iter().map(|part| part.to_string_lossy().into_owned()).collect::<Vec<String>>())
    };
    let found = walk(folder, usize::MAX, usize::MAX, false).into_iter().filter(fits);
    Some(if fixed == 0 { found.map(here).collect() } else { found.collect() })
}

/// The programs below a folder, sorted, as many as an editor can hold; folders that cannot be read are passed over.
pub fn below(folder: &Path) -> Vec<PathBuf> {
    walk(folder, MAX_PROGRAMS, MAX_ENTRIES, false)
}

/// The programs below a folder, sorted, and if asked for the folders that cannot be read.
fn walk(folder: &Path, max_programs: usize, max_entries: usize, unreadable: bool) -> Vec<PathBuf> {
    let (mut found, mut left) = (vec![], vec![folder.to_owned()]);
    let mut n_seen = 0;
    while let Some(folder) = left.pop() {
        let Ok(entries) = folder.read_dir() else {
            found.extend(Some(folder).filter(|_| unreadable));
            continue;
        };
        for entry in entries.flatten() {
            n_seen += 1;
            if n_seen > max_entries || found.len() == max_programs {
                found.sort();
                return found;
            }
            // Of the entry itself: links may lead back.
            let Ok(kind) = entry.file_type() else { continue };
            let (path, name) = (entry.path(), entry.file_name());
            let is_made = name.to_str().is_some_and(|name| name.starts_with('.') || matches!(name, "target" | "node_modules"));
            if kind.is_dir() && !is_made {
                left.push(path);
            } else if is_program(&path) && (kind.is_file() || kind.is_symlink() && is_file_or_nothing(&path)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Whether a link leads to a file or nowhere: no folder, pipe or device.
fn is_file_or_nothing(link: &Path) -> bool {
    !link.metadata().is_ok_and(|found| !found.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn programs_are_found_wherever_they_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for name in ["a/b", "c/target", ".git", "e.relay"] {
            fs::create_dir_all(root.join(name)).expect("a folder");
        }
        for name in ["z.relay", "a/b/y.relay", "a/x.npz", "c/target/w.relay", ".git/v.relay", "e.relay/u.relay"] {
            fs::write(root.join(name), "").expect("it is written");
        }
        let names =
            below(root).iter().map(|path| path.strip_prefix(root).expect("below").display().to_string()).collect::<Vec<_>>();
        assert_eq!(names, ["a/b/y.relay", "e.relay/u.relay", "z.relay"]);
        assert!(below(&root.join("not there")).is_empty());
        #[cfg(unix)]
        {
            let links = root.join("links");
            fs::create_dir(&links).expect("a folder");
            for (to, link) in [
                ("../z.relay", "y.relay"),
                ("nowhere", "broken.relay"),
                ("..", "up"),
                ("../a", "a.relay"),
                ("/dev/null", "null.relay"),
            ] {
                std::os::unix::fs::symlink(to, links.join(link)).expect("a link");
            }
            let found = super::of(&links).expect("a folder");
            assert_eq!(found, [links.join("broken.relay"), links.join("y.relay")]);
            fs::remove_dir_all(&links).expect("it goes");
        }
        let of = |path: &str| of(&root.join(path)).map(|found| found.len());
        assert_eq!(
            [of("a"), of("**/*.relay"), of("*.relay"), of("*/?/y.*"), of("z.relay"), of("x*")],
            [Some(1), Some(3), Some(1), Some(1), None, Some(0)]
        );
    }
}
