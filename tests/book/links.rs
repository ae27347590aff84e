//! Checks links of pages: each leads to an existing page and heading. File paths in the text must exist too.

use crate::markdown::{Page, slug};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// Folders of the repository that pages name files of.
const FOLDERS: &[&str] =
    &["crates/", "src/", "tests/", "docs/", "examples/", "benches/", "grammar/", "editors/", "fuzz/", ".ci/"];

/// The page of the diagnostic codes.
const DIAGNOSTICS: &str = "docs/src/generated/diagnostics.md";

/// The diagnostic codes that a line names: a letter and four digits.
fn codes(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| word.len() == 5 && word.starts_with(['E', 'W']) && word[1..].bytes().all(|b| b.is_ascii_digit()))
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// The identifiers of a page's headings; of equal ones the second has `-1` behind it.
pub(crate) fn anchors(page: &Page) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut id = |text: &str| {
        let slug = slug(&text.replace('`', ""));
        let n = seen.entry(slug.clone()).or_default();
        *n += 1;
        if *n == 1 { slug } else { format!("{slug}-{}", *n - 1) }
    };
    page.headings.iter().map(|heading| id(heading)).collect()
}

/// The links of `pages` (paths from the root, with their texts) that lead nowhere.
pub(crate) fn broken(root: &Path, pages: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let parsed: BTreeMap<&PathBuf, Page> = pages.iter().map(|(path, text)| (path, Page::parse(text))).collect();
    let anchors: BTreeMap<&PathBuf, BTreeSet<String>> = parsed.iter().map(|(path, page)| (*path, anchors(page))).collect();
    let diagnostics = pages.get(Path::new(DIAGNOSTICS)).map_or("", String::as_str);
    let mut broken = Vec::new();
    for (path, text) in pages {
        for (number, line) in text.lines().enumerate() {
            for code in codes(line).filter(|code| !diagnostics.contains(&format!("## {code}: "))) {
                broken.push(format!("{}:{}: there is no code {code}", path.display(), number + 1));
            }
        }
    }
    for (path, page) in &parsed {
        let at = |line: usize, what: String| format!("{}:{line}: {what}", path.display());
        for link in &page.links {
            if link.target.is_empty() || link.target.contains("://") || link.target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.target.split_once('#').unwrap_or((&link.target, ""));
            let target = match file {
                "" => (*path).clone(),
                file => plain(&path.parent().unwrap_or(Path::new("")).join(file)),
            };
            let inside = |path: &Path| path.starts_with("docs/src");
            if inside(path) && !inside(&target) {
                broken.push(at(link.line, format!("`{}` is outside of the book", link.target)));
            } else if !pages.contains_key(&target) && !root.join(&target).exists() {
                broken.push(at(link.line, format!("there is no `{}`", target.display())));
            } else if !anchor.is_empty() && !anchors.get(&target).is_some_and(|anchors| anchors.contains(anchor)) {
                broken.push(at(link.line, format!("`{}` has no heading `#{anchor}`", target.display())));
            }
        }
        for code in &page.codes {
            let named = FOLDERS.iter().any(|folder| code.target.starts_with(folder));
            // Files of TVM are named by their path in TVM.
            let of_tvm = code.target.starts_with("src/") && [".cc", ".h"].iter().any(|ext| code.target.ends_with(ext));
            // `src/passes/NAME.rs` stands for any file.
            let is_path =
                !code.target.contains("NAME") && code.target.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
            if named && !of_tvm && is_path && !pages.contains_key(Path::new(&code.target)) && !root.join(&code.target).exists() {
                broken.push(at(code.line, format!("there is no file `{}`", code.target)));
            }
        }
    }
    broken
}
