//! Lists the files of the repository, and strips from source text what the compiler ignores.

use std::path::Path;

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The content of a file, by its path from the root.
pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What git, cargo, npm and tools of Python keep beside the sources.
const NOT_OURS: [&str; 6] = [".git", "target", "node_modules", "__pycache__", ".mypy_cache", ".pytest_cache"];

/// The paths from the root of all files under a folder with an extension (`""` for all), sorted.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default();
            let is_built = path.extension().is_some_and(|extension| extension == "so");
            if is_built || NOT_OURS.iter().any(|other| name == *other) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if extension.is_empty() || path.extension().is_some_and(|found| found == extension) {
                found.push(from_root(&path));
            }
        }
    }
    found.sort();
    found
}

/// The Rust files of the command line, of every crate and of the module of Python.
pub(crate) fn sources() -> Vec<String> {
    [files("src", "rs"), files("crates", "rs"), files("python/src", "rs")].concat()
}

fn from_root(path: &Path) -> String {
    path.strip_prefix(root()).expect("it lies under the root").display().to_string()
}

/// Fails with a list, if there is anything in it.
pub(crate) fn none(what: &str, found: Vec<String>) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}

/// A piece of Rust text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Piece {
    Code,
    Comment,
    /// A string or character literal, with its delimiters.
    Literal,
}

/// Rust text cut into code, comments and literals.
pub(crate) fn pieces(text: &str) -> Vec<(Piece, &str)> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut code = 0;
    while let Some(tail) = rest.get(code..).filter(|tail| !tail.is_empty()) {
        let before = rest[..code].chars().next_back();
        let (piece, len) = match literal_or_comment(tail, before) {
            Some(found) => found,
            None => {
                code += tail.chars().next().map_or(1, char::len_utf8);
                continue;
            }
        };
        pieces.push((Piece::Code, &rest[..code]));
        pieces.push((piece, &tail[..len]));
        (rest, code) = (&tail[len..], 0);
    }
    pieces.push((Piece::Code, rest));
    pieces
}

/// The comment or literal a text begins with, and its length.
fn literal_or_comment(text: &str, before: Option<char>) -> Option<(Piece, usize)> {
    let to = |end: Option<usize>| end.unwrap_or(text.len());
    if text.starts_with("//") {
        return Some((Piece::Comment, to(text.find('\n'))));
    }
    if text.starts_with("/*") {
        return Some((Piece::Comment, to(text.find("*/").map(|at| at + 2))));
    }
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if text.starts_with('r') && !in_word {
        let hashes = text[1..].bytes().take_while(|b| *b == b'#').count();
        let open = 1 + hashes;
        if text[open..].starts_with('"') {
            let close = format!("\"{}", "#".repeat(hashes));
            return Some((Piece::Literal, to(text[open + 1..].find(&close).map(|at| open + 1 + at + close.len()))));
        }
    }
    if text.starts_with('"') {
        return Some((Piece::Literal, quoted(text, b'"')));
    }
    // A quotation mark that is not a character's begins a lifetime.
    let mut chars = text.strip_prefix('\'')?.chars();
    let is_char = chars.next() == Some('\\') || chars.next() == Some('\'');
    is_char.then(|| (Piece::Literal, quoted(text, b'\'')))
}

fn quoted(text: &str, mark: u8) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() && bytes[at] != mark {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// The code of a source file: comments gone, literals empty, what only tests compile left out.
pub(crate) fn code(text: &str) -> String {
    let code: String = pieces(text)
        .into_iter()
        .map(|(piece, text)| match piece {
            Piece::Code => text,
            Piece::Comment => " ",
            Piece::Literal => "\"\"",
        })
        .collect();
    without_tests(&code)
}

/// The string literals of a source file outside what only tests compile.
pub(crate) fn literals(text: &str) -> Vec<String> {
    let shipped = match text.find("#[cfg(test)]\nmod tests {") {
        Some(at) => &text[..at],
        None => text,
    };
    let literals = pieces(shipped).into_iter().filter(|(piece, _)| *piece == Piece::Literal);
    literals.map(|(_, text)| text.trim_start_matches(['r', '#']).trim_matches(['"', '#']).to_owned()).collect()
}

fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = String::new();
    let mut rest = code;
    while let Some((before, after)) = rest.split_once(MARK) {
        out.push_str(before);
        rest = &after[item_len(after)..];
    }
    out + rest
}

/// The length of the item a text begins with: to its `;`, or to the brace that closes its first one.
fn item_len(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[test]
fn code_is_told_from_comments_and_literals() {
    let text = "let a = \"// no \\\" {\"; // yes \"\nfn f<'a>(c: char) { c == '\"' } r#\"x\"y\"# /* \" */ end";
    assert_eq!(code(text), "let a = \"\";  \nfn f<'a>(c: char) { c == \"\" } \"\"   end");
    assert_eq!(code("a #[cfg(test)] mod tests { { } } b #[cfg(test)] mod t; c"), "a  b  c");
    assert_eq!(literals(text), [r#"// no \" {"#, "'\"'", "x\"y"].map(|s| s.trim_matches('"').to_owned()));
}
