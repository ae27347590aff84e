//! `relayc check --fix`: applies certain edits, round after round, until none is left.
//!
//! A round applies the certain edits of all messages (the first of two that overlap) and checks the text again. If the new text
//! has more errors, it is dropped. The edits are then tried one by one, and those that make it worse are skipped.

use super::{Phase, Program, ReadOptions, check_text_as};
use relayc_base::diag::{Diagnostic, Edit, codes, fix};
use relayc_base::{FileId, Sources};

/// The applied fixes, and the program afterwards.
pub struct Fixed {
    pub program: Program,
    /// The diagnostic of each fixed mistake, with the text that it referred to.
    pub fixed: Vec<(Diagnostic, Sources)>,
}

/// Limit of rounds. Each round fixes something, and this many are enough for edits that uncover others.
const MAX_ROUNDS: usize = 20;

/// Fixes the text of a checked program. Its other texts are not changed.
pub fn fix_all(program: Program, how: &ReadOptions) -> Fixed {
    let mut state = Fixed { program, fixed: vec![] };
    for _ in 0..MAX_ROUNDS {
        if !round(&mut state, how, true) {
            break;
        }
    }
    state
}

/// The text of the program.
pub fn text(program: &Program) -> &str {
    program.sources.file(FileId(0)).map_or("", |file| &file.text)
}

/// Runs one round; true if it fixed anything. `ahead` is whether a text with more errors is looked at further.
fn round(state: &mut Fixed, how: &ReadOptions, ahead: bool) -> bool {
    let chosen: Vec<(Diagnostic, Vec<Edit>)> = fix::certain(&state.program.diagnostics, FileId(0))
        .into_iter()
        .map(|(diagnostic, edits)| (diagnostic.clone(), edits.to_vec()))
        .collect();
    let all: Vec<Edit> = chosen.iter().flat_map(|(_, edits)| edits.clone()).collect();
    if chosen.is_empty() {
        return false;
    }
    if accept(state, &all, chosen.iter().map(|(diagnostic, _)| diagnostic.clone()).collect(), how, ahead) {
        return true;
    }
    // Together they do harm: the first that does none is taken, the others are for the next round.
    chosen.into_iter().any(|(diagnostic, edits)| accept(state, &edits, vec![diagnostic], how, ahead))
}

/// Accepts edits if the new text is different and no worse, at once or after further rounds.
fn accept(state: &mut Fixed, edits: &[Edit], fixed: Vec<Diagnostic>, how: &ReadOptions, ahead: bool) -> bool {
    let Some(file) = state.program.sources.file(FileId(0)) else { return false };
    let Some(text) = fix::apply(&file.text, FileId(0), edits).filter(|text| **text != *file.text) else { return false };
    let mut next = check_text_as(&file.name, &text, Phase::Lint, how);
    let n_errors = |program: &Program| program.diagnostics.iter().filter(|d| d.is_error()).count();
    // With fewer syntax errors more of the text is looked at, so more may be found wrong in it: what counts is that each
    // mistake that was fixed is not said again.
    let n_said = |program: &Program| program.diagnostics.iter().filter(|d| fixed.iter().any(|f| f.message == d.message)).count();
    // Of several like it in one statement only the first is said: what counts then is how much text is left behind it.
    let left = |program: &Program, len: usize| {
        let said = program.diagnostics.iter().filter(|d| fixed.iter().any(|f| f.message == d.message));
        said.map(|d| len.saturating_sub(d.span().start as usize)).max().unwrap_or(0)
    };
    let better = n_said(&next) < n_said(&state.program)
        || n_errors(&next) < n_errors(&state.program)
        || left(&next, text.len()) < left(&state.program, file.text.len());
    let count = |program: &Program, is: &dyn Fn(&Diagnostic) -> bool| program.diagnostics.iter().filter(|d| is(d)).count();
    let syntax = |program: &Program| count(program, &|d| d.code.id().starts_with("E00") || d.code.id().starts_with("E01"));
    // A name or an attribute that is there twice then: one of the two has lost its meaning.
    let doubts = |program: &Program| count(program, &|d| [codes::W0003, codes::W0004].contains(&d.code));
    let is_worse = |next: &Program| {
        let (before, after) = ((syntax(&state.program), n_errors(&state.program)), (syntax(next), n_errors(next)));
        after > before || doubts(next) > doubts(&state.program)
    };
    if !better || (is_worse(&next) && !ahead) {
        return false;
    }
    let before = &state.program.sources;
    let mut fixed: Vec<(Diagnostic, Sources)> = fixed.into_iter().map(|diagnostic| (diagnostic, before.clone())).collect();
    if is_worse(&next) {
        // In the body of a function that reads as one now, there may be more to fix.
        let mut further = Fixed { program: next, fixed: vec![] };
        for _ in 0..MAX_ROUNDS {
            if !round(&mut further, how, false) {
                break;
            }
        }
        if is_worse(&further.program) {
            return false;
        }
        fixed.append(&mut further.fixed);
        next = further.program;
    }
    state.fixed.append(&mut fixed);
    state.program = next;
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dialect;

    fn fixed(text: &str) -> (String, usize) {
        let how = ReadOptions::of(Dialect::Today);
        let fixed = fix_all(check_text_as("x", text, Phase::Lint, &how), &how);
        (super::text(&fixed.program).to_owned(), fixed.fixed.len())
    }

    #[test]
    fn rounds_go_on_until_nothing_is_certain() {
        let (text, n) = fixed("def @f(%c: bool) {\n  # a comment\n  logical_and(%c, true)\n}\n");
        assert_eq!(text, "#[version = \"0.0.5\"]\ndef @f(%c: bool) {\n  // a comment\n  logical_and(%c, True)\n}\n");
        assert_eq!(n, 3);
    }

    #[test]
    fn mistakes_of_one_statement_are_fixed_one_after_the_other() {
        let (text, n) = fixed("#[version = \"0.0.5\"]\ndef @f(%a: bool, %b: bool) { (not %a) == (not %b) }\n");
        assert_eq!(text, "#[version = \"0.0.5\"]\ndef @f(%a: bool, %b: bool) { (logical_not(%a)) == (logical_not(%b)) }\n");
        assert_eq!(n, 2);
    }

    #[test]
    fn a_second_time_there_is_nothing_to_do() {
        let (once, _) = fixed("def @f(%c: bool) { if (%c) { 1f } else if (%c) { 2f } else { 3f } }\n");
        assert_eq!(fixed(&once), (once.clone(), 0));
    }

    #[test]
    fn nothing_uncertain_is_touched() {
        let text = "#[version = \"0.0.5\"]\ndef @f(%x: float32) { nn.rleu(%x) }\n";
        assert_eq!(fixed(text), (text.to_owned(), 0));
    }
}
