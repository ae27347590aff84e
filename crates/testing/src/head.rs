//! Reads the head of a test: `// test: infer, interp` among the comments before the program. Guesses the kinds without one.

use super::kinds::{self, Kind};
use super::lines;
use relayc_base::text::{join_words, nearest};

/// The kinds of test that the first comment lines name, in the order written.
pub(crate) fn kinds(text: &str) -> Result<Vec<&'static dyn Kind>, String> {
    let names: Vec<&str> = asked(text).collect();
    if names.is_empty() {
        return Err(format!("the comments above the first definition lack `// test: …`; the kinds are {}", all()));
    }
    names.into_iter().map(|name| kinds::find(first(name)).ok_or_else(|| unknown(name.trim()))).collect()
}

/// The name of a kind; what follows it is the kind's own business, see `words`.
fn first(item: &str) -> &str {
    item.split_whitespace().next().unwrap_or_default()
}

/// The items of the head. It stands in the comments above the first definition, on either side of the version line.
fn asked(text: &str) -> impl Iterator<Item = &str> {
    let above = |line: &&str| line.is_empty() || line.starts_with("//") || line.starts_with("#[version");
    let comments = text.lines().map(str::trim).take_while(above).filter_map(|line| line.strip_prefix("//"));
    comments.filter_map(|line| line.trim().strip_prefix("test:")).flat_map(items)
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
    let of_kind = asked(text).map(str::split_whitespace).filter_map(|mut words| (words.next() == Some(kind)).then_some(words));
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

/// The comments that are written almost as expectations and would be none: in words, each with its line.
pub(crate) fn misspelt(text: &str) -> Option<String> {
    let found = text.lines().enumerate().filter_map(|(at, line)| {
        let line = comment(line)?;
        let end = line.find(|c: char| !c.is_ascii_alphabetic() && !matches!(c, '-' | '_')).unwrap_or(line.len());
        let (word, rest) = line.split_at(end);
        let help = match meant(word, rest)? {
            Some(mark) => format!("write `// {mark}: …`"),
            None => format!("there are {}", join_words(&CHECKS.map(|mark| format!("`// {mark}: …`")), "and")),
        };
        Some(format!("line {}: `// {word}` is no expectation; {help}", at + 1))
    });
    let found: Vec<String> = found.collect();
    (!found.is_empty()).then(|| found.join("\n"))
}

const CHECKS: [&str; 3] = ["CHECK", "CHECK-NEXT", "CHECK-NOT"];

/// The mark that a comment of this first word was to have, if it has none of them; `Some(None)` for one that FileCheck has besides.
fn meant(word: &str, rest: &str) -> Option<Option<&'static str>> {
    let behind_colon = rest.strip_prefix(':');
    if let Some(mark) = ["run", "test"].into_iter().find(|mark| mark.eq_ignore_ascii_case(word)) {
        let is_right = behind_colon.is_some() && word == mark;
        let said = behind_colon.unwrap_or(rest).trim();
        let is_meant = match mark {
            "run" => said.starts_with('@'),
            _ => !said.is_empty() && items(said).all(|name| kinds::find(first(name)).is_some()),
        };
        return (is_meant && !is_right).then_some(Some(mark));
    }
    let plain = word.replace('_', "-");
    let known = CHECKS.into_iter().find(|mark| *mark == plain);
    let is_capital = !word.is_empty() && !word.contains(|c: char| c.is_ascii_lowercase());
    match behind_colon {
        Some(_) if known.is_some_and(|mark| mark == word) => None,
        Some(_) if word.starts_with("CHECK") => Some(known),
        Some(_) if is_capital && word.starts_with('C') => nearest(&plain, CHECKS).map(Some),
        None if rest.starts_with(' ') => known.filter(|mark| *mark != CHECKS[0]).map(Some),
        _ => None,
    }
}

fn unknown(name: &str) -> String {
    format!("there is no kind of test `{name}`; the kinds are {}", all())
}

fn all() -> String {
    let names: Vec<String> = kinds::ALL.iter().map(|kind| format!("`{}`", kind.name())).collect();
    join_words(&names, "and")
}
