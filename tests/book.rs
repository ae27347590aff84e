//! Tests the book (`docs/`) and README.md: commands print what the pages show, links resolve, and every citation in code has
//! its heading.
//!
//! A page is a test: `cargo test --test book -- tutorial`. `cargo bless book` writes the commands' output into the pages; read the diff
//! like code. Pages below `docs/src/generated/` are written each time; `cargo test --test book -- generated` is the part that a
//! build of the book needs.

#[path = "book/citations.rs"]
mod citations;
#[path = "book/generated.rs"]
mod generated;
#[path = "book/links.rs"]
mod links;
#[path = "book/markdown.rs"]
mod markdown;
#[path = "book/session.rs"]
mod session;

use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The files of pages that no block of the page writes.
const FILES: &str = "tests/data/book";

/// The most bytes of README.md.
const README: usize = 6 << 10;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn relayc() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_relayc"))
}

/// The generated pages by their path from the root; they are written when first asked for.
fn generated() -> &'static BTreeMap<PathBuf, String> {
    static PAGES: OnceLock<BTreeMap<PathBuf, String>> = OnceLock::new();
    PAGES.get_or_init(|| {
        let folder = root().join("docs/src/generated");
        // Pages of operators and commands that are gone.
        let _ = std::fs::remove_dir_all(&folder);
        let write = |(path, text): (String, String)| {
            let path = Path::new("docs/src").join(path);
            let file = root().join(&path);
            std::fs::create_dir_all(file.parent().expect("it lies in a folder")).expect("the folder is made");
            std::fs::write(file, &text).expect("the page is written");
            (path, text)
        };
        generated::pages(relayc()).into_iter().map(write).collect()
    })
}

/// The pages written by hand, by their path from the root.
fn written() -> BTreeMap<PathBuf, String> {
    let mut pages = BTreeMap::new();
    let mut folders = vec![root().join("docs/src")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).expect("docs/src").flatten().map(|entry| entry.path()) {
            if path.is_dir() && !path.ends_with("generated") {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "md") {
                let text = std::fs::read_to_string(&path).expect("a page");
                pages.insert(path.strip_prefix(root()).expect("below the root").to_owned(), text);
            }
        }
    }
    for name in ["README.md", "CONTRIBUTING.md"] {
        pages.insert(name.into(), std::fs::read_to_string(root().join(name)).expect("a page"));
    }
    pages
}

fn none(found: &[String]) -> Result<(), Failed> {
    if found.is_empty() { Ok(()) } else { Err(found.join("\n\n").into()) }
}

/// Runs the commands of a page.
fn page(path: &Path, text: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    // A reader has these files only where the page says so.
    if text.contains(&format!("`{FILES}/`")) {
        for file in std::fs::read_dir(root().join(FILES))?.flatten() {
            std::fs::copy(file.path(), folder.path().join(file.file_name()))?;
        }
    }
    std::os::unix::fs::symlink(root().join("examples"), folder.path().join("examples"))?;
    let (blessed, wrong) = session::run(text, relayc(), folder.path());
    if std::env::var_os("BLESS").is_some() && blessed != text {
        std::fs::write(root().join(path), blessed)?;
    }
    let mut wrong = wrong;
    wrong.extend(images(folder.path())?);
    none(&wrong)
}

/// The images of the book that a page's commands have drawn, where they are others than those that are kept.
fn images(folder: &Path) -> Result<Vec<String>, Failed> {
    let mut wrong = Vec::new();
    for kept in std::fs::read_dir(root().join("docs/src/img"))?.flatten() {
        let Ok(drawn) = std::fs::read(folder.join(kept.file_name())) else { continue };
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(kept.path(), &drawn)?;
        } else if drawn != std::fs::read(kept.path())? {
            wrong.push(format!("docs/src/img/{} is not what its command draws", kept.file_name().display()));
        }
    }
    Ok(wrong)
}

/// README.md is short; every page of the book is in its table of contents.
fn contents() -> Result<(), Failed> {
    let pages = written();
    let readme = pages[Path::new("README.md")].len();
    let mut wrong = Vec::new();
    if readme > README {
        wrong.push(format!("README.md has {readme} bytes, {README} are the most"));
    }
    let summary = Path::new("docs/src/SUMMARY.md");
    let listed = markdown::Page::parse(&pages[summary]).links;
    let listed: Vec<PathBuf> = listed.iter().map(|link| Path::new("docs/src").join(&link.target)).collect();
    for path in pages.keys().chain(generated().keys()).filter(|path| path.starts_with("docs/src")) {
        if path != summary && !listed.contains(path) {
            wrong.push(format!("{} is not in SUMMARY.md", path.display()));
        }
    }
    none(&wrong)
}

fn links() -> Result<(), Failed> {
    let mut pages = written();
    pages.extend(generated().clone());
    none(&links::broken(root(), &pages))
}

/// The runner of pages sees what is not true.
fn runner() -> Result<(), Failed> {
    let cases: &[(&str, usize)] = &[
        ("```console\n$ echo 12 a\n12 a\n```\n", 0),
        ("```console\n$ echo 12 a\n13 a\n```\n", 1),
        ("```console varies\n$ echo 12 a\n  1.5  a\n```\n", 0),
        ("```console varies\n$ echo 12 a\n12 b\n```\n", 1),
        ("```console machine\n$ echo a 12\na 13 c\n```\n", 0),
        ("```console\n$ seq 5\n1\n…\n5\n```\n", 0),
        ("```console\n$ seq 5\n1\n…\n6\n```\n", 1),
        ("```console\n$ false\n```\n", 1),
        ("```text file=a\nb\n```\n```console\n$ cat \\\n  a\nb\n```\n", 0),
        ("```relay\n1 + 2\n```\n", 0),
        ("```relay\n1 +\n```\n", 1),
        ("```relay wrong\n1 + 2\n```\n", 1),
        ("```relay test\n#[version = \"0.0.5\"]\ndef @f() { 1 }\n// run: @f() == 2\n```\n", 1),
        ("```text\n$ relayc check a\n```\n", 1),
    ];
    let folder = tempfile::tempdir()?;
    let found = |page: &str| session::run(page, relayc(), folder.path()).1.len();
    none(&cases.iter().filter(|(page, n)| found(page) != *n).map(|(page, _)| (*page).to_owned()).collect::<Vec<_>>())
}

fn main() {
    let args = Arguments::from_args();
    let mut trials = vec![
        Trial::test("runner", runner),
        Trial::test("contents", contents),
        Trial::test("links", links),
        Trial::test("generated", || {
            generated();
            Ok(())
        }),
        Trial::test("citations", || none(&citations::unresolved(root()))),
    ];
    for (path, text) in written() {
        let name = path.strip_prefix("docs/src").unwrap_or(&path).display().to_string();
        // CONTRIBUTING.md speaks of the clone, and its diffs are held by another test.
        if name != "CONTRIBUTING.md" {
            trials.push(Trial::test(name, move || page(&path, &text)));
        }
    }
    libtest_mimic::run(&args, trials).exit();
}
