//! Reads the head of a test: `// test: infer, interp` among the comments before the program. Guesses the kinds without one.

use super::kinds::{self, Kind};
use super::lines;
use relayc_base::text::join_words;

/// The kinds of test that the first comment lines name, in the order written.
pub(crate) fn kinds(text: &str) -> Result<Vec<&'static dyn Kind>, String> {
    let comments = text.lines().map_while(|line| line.trim().strip_prefix("//"));
    let names: Vec<&str> = comments.filter_map(|line| line.trim().strip_prefix("test:")).flat_map(items).collect();
    if names.is_empty() {
        return Err(format!("the first lines lack `// test: …`; the kinds are {}", all()));
    }
    // What follows a kind's name is the kind's own business, see `words`.
    let first = |name: &str| name.split_whitespace().next().unwrap_or_default().to_owned();
    names.into_iter().map(|name| kinds::find(&first(name)).ok_or_else(|| unknown(name.trim()))).collect()
}

/// The items of a list; commas between brackets belong to arguments of passes.
fn items(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    list.split(move |c| {
        depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
        c == ',' && depth == 0
    })
}

/// The words after the name of a kind in the head: `fold-constants` of `// test: pass fold-constants`.
pub(crate) fn words<'a>(text: &'a str, kind: &str) -> Vec<&'a str> {
    let comments = text.lines().map_while(|line| line.trim().strip_prefix("//"));
    let asked = comments.filter_map(|line| line.trim().strip_prefix("test:")).flat_map(items);
    let of_kind = asked.map(str::split_whitespace).filter_map(|mut words| (words.next() == Some(kind)).then_some(words));
    of_kind.flatten().collect()
}

/// The kinds that the head names, or else those of the file's expectations: `infer` for caret annotations, `interp` for `// run:`
/// lines, `print` for printed text. A program without expectations must infer without errors.
pub(crate) fn kinds_or_guess(text: &str, has_out: bool) -> Result<Vec<&'static dyn Kind>, String> {
    let says = |mark: &str| text.lines().any(|line| comment(line).is_some_and(|comment| comment.starts_with(mark)));
    if says("test:") {
        return kinds(text);
    }
    let prints = has_out || lines::has_block(text) || lines::has_checks(text);
    let wanted = [(says("^"), "infer"), (says("run:"), "interp"), (prints, "print")];
    let wanted: Vec<_> = wanted.into_iter().filter(|(wanted, _)| *wanted).filter_map(|(_, name)| kinds::find(name)).collect();
    // A program without any expectation is expected to be right.
    if wanted.is_empty() { Ok(kinds::find("infer").into_iter().collect()) } else { Ok(wanted) }
}

/// The text of a comment line.
fn comment(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("//").map(str::trim_start)
}

fn unknown(name: &str) -> String {
    format!("there is no kind of test `{name}`; the kinds are {}", all())
}

fn all() -> String {
    let names: Vec<String> = kinds::ALL.iter().map(|kind| format!("`{}`", kind.name())).collect();
    join_words(&names, "and")
}
