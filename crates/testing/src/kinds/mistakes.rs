//! `mistakes`: a correct program, and single mistakes in it.
//!
//! ```text
//! // mistake: units that are not the weight's
//! // - units=10
//! // + units=100
//! // & %fc: Tensor[(10, 32), float32]
//! ```
//!
//! The text after `-` occurs once in the program; replacing it by the text after `+` makes the program wrong (`\n` is a line
//! break). `&` names the other place of a disagreement, which a label must touch. The `.out` lists for each mistake the message,
//! whether a label is at the mistake, the suggestion that restores the correct program, whether `--fix` does so without being
//! asked, and every suggestion after which an error is left.

use super::{Case, Kind};
use relayc_base::diag::{Diagnostic, Edit, Help, fix};
use relayc_base::{FileId, Span};
use relayc_driver::fix::{fix_all, text};
use relayc_driver::{Dialect, Phase, Program, ReadOptions, check_text};

pub(crate) struct Mistakes;

/// A mistake and its place.
struct Mistake {
    name: String,
    right: String,
    wrong: String,
    other: Option<String>,
}

impl Kind for Mistakes {
    fn name(&self) -> &'static str {
        "mistakes"
    }

    fn run(&self, case: &Case) -> Result<Option<String>, String> {
        let comments = case.text.lines().filter_map(|line| line.strip_prefix("// "));
        let mistakes = read(comments)?;
        let lines = case.text.split_inclusive('\n').filter(|line| !line.starts_with("//") && *line != "\n");
        let right: String = lines.collect();
        super::without_errors(&check_text(case.name, &right, Phase::Infer))?;
        let mut out = String::new();
        let mut n_found = 0;
        for mistake in &mistakes {
            let (report, found) = report(case.name, &right, mistake)?;
            n_found += usize::from(found);
            out.push_str(&report);
        }
        out.push_str(&format!("{n_found} of {} are given back by a suggestion\n", mistakes.len()));
        Ok(Some(out))
    }
}

fn read<'a>(comments: impl Iterator<Item = &'a str>) -> Result<Vec<Mistake>, String> {
    let mut mistakes: Vec<Mistake> = Vec::new();
    for line in comments {
        if let Some(name) = line.strip_prefix("mistake: ") {
            mistakes.push(Mistake { name: name.to_owned(), right: String::new(), wrong: String::new(), other: None });
            continue;
        }
        let (Some(mistake), Some((sign, text))) = (mistakes.last_mut(), line.split_once(' ')) else { continue };
        let text = text.replace("\\n", "\n");
        match sign {
            "-" => mistake.right = text,
            "+" => mistake.wrong = text,
            "&" => mistake.other = Some(text),
            _ => return Err(format!("not understood: `// {line}`")),
        }
    }
    Ok(mistakes)
}

/// Reports one mistake, and whether a suggestion restores the correct text.
fn report(case: &str, right: &str, mistake: &Mistake) -> Result<(String, bool), String> {
    let Mistake { name, right: before, wrong: after, other } = mistake;
    if before.is_empty() || right.matches(before.as_str()).count() != 1 {
        return Err(format!("{name}: `{before}` does not stand once in the program"));
    }
    let at = right.find(before.as_str()).unwrap_or(0);
    let wrong = right.replacen(before.as_str(), after, 1);
    let program = check_text(case, &wrong, Phase::Infer);
    let Some(first) = program.diagnostics.first() else {
        return Err(format!("{name}: nothing is said about this"));
    };
    // What stands on both sides of the change is no mistake.
    let n_same = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
    let n_end = before.bytes().rev().zip(after.bytes().rev()).take_while(|(a, b)| a == b).count();
    let (start, end) = (at + n_same, (at + after.len().saturating_sub(n_end)).max(at + n_same));
    // Where something is left out, the blanks around the place are as good.
    let start = wrong[..start].trim_end().len();
    let end = wrong.len() - wrong[end..].trim_start().len();
    let changed = Span::new(FileId(0), start, end);
    let mut out = format!("{name}\n");
    for diagnostic in &program.diagnostics {
        let (line, column) = program.sources.line_col(diagnostic.span()).unwrap_or((0, 0));
        out.push_str(&format!("  {line}:{column} {}: {}\n", diagnostic.code.id(), diagnostic.message));
    }
    let touched = |span: Span| program.diagnostics.iter().any(|d| d.labels.iter().any(|label| touch(label.span, span)));
    if !touched(changed) {
        out.push_str("  not at the mistake\n");
    }
    if let Some(other) = other {
        let places: Vec<usize> = wrong.match_indices(other.as_str()).map(|(at, _)| at).collect();
        if places.is_empty() {
            return Err(format!("{name}: `{other}` does not stand in the program"));
        }
        if !places.into_iter().any(|at| touched(Span::new(FileId(0), at, at + other.len()))) {
            out.push_str("  the other place is not named\n");
        }
    }
    let found = fitting(&program, first, &wrong, right);
    let fixed = fixed(case, &wrong);
    let is_fixed = same(text(&fixed), right);
    if !is_fixed && text(&fixed) != wrong && !fixed.has_errors() {
        return Err(format!("{name}: a certain fix is wrong:\n{}", text(&fixed)));
    }
    match &found {
        Some(help) => out.push_str(&format!("  {}: {help}\n", if is_fixed { "fixed" } else { "fix" })),
        None => out.push_str("  no fix\n"),
    }
    for help in program.diagnostics.iter().filter(|d| d.is_error()).flat_map(|d| &d.helps).filter(|help| !help.edits.is_empty()) {
        if apply(case, &wrong, &help.edits).is_none_or(|after| after.has_errors()) {
            out.push_str(&format!("  leaves an error: {}\n", help.text));
        }
    }
    out.push('\n');
    Ok((out, found.is_some()))
}

fn touch(a: Span, b: Span) -> bool {
    a.start <= b.end && b.start <= a.end
}

/// The suggestion that restores the correct text, with what `--fix` does after it.
fn fitting(program: &Program, first: &Diagnostic, wrong: &str, right: &str) -> Option<String> {
    let helps = std::iter::once(first).chain(&program.diagnostics).flat_map(|d| &d.helps);
    let mut helps = helps.filter(|help| !help.edits.is_empty());
    let fits = |help: &&Help| {
        let once = fix::apply(wrong, FileId(0), &help.edits).is_some_and(|text| same(&text, right));
        once || apply("x", wrong, &help.edits).is_some_and(|after| same(text(&after), right))
    };
    helps.find(fits).map(|help| help.text.clone())
}

/// The program after some edits and `--fix`; `None` if the edits overlap.
fn apply(case: &str, text: &str, edits: &[Edit]) -> Option<Program> {
    fix::apply(text, FileId(0), edits).map(|text| fixed(case, &text))
}

fn fixed(case: &str, text: &str) -> Program {
    fix_all(check_text(case, text, Phase::Lint), &ReadOptions::of(Dialect::Today)).program
}

/// Whether two texts differ in blanks only.
fn same(a: &str, b: &str) -> bool {
    a.split_whitespace().flat_map(str::chars).eq(b.split_whitespace().flat_map(str::chars))
}
