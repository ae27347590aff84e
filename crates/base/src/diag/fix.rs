//! Applies the edits of helps to a text.

use super::{Diagnostic, Edit};
use crate::FileId;

/// Returns the text of `file` with the edits applied; `None` if two overlap or one lies outside the text.
pub fn apply(text: &str, file: FileId, edits: &[Edit]) -> Option<String> {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut out = String::with_capacity(text.len() + 64);
    let mut done = 0;
    for edit in edits {
        let (start, end) = (edit.span.start as usize, edit.span.end as usize);
        if edit.span.file != file || start < done || end < start {
            return None;
        }
        out.push_str(text.get(done..start)?);
        out.push_str(&edit.text);
        text.get(start..end)?;
        done = end;
    }
    out.push_str(text.get(done..)?);
    Some(out)
}

/// The edits marked as certain. Of two that overlap the first wins; the other is left for another round.
pub fn certain(diagnostics: &[Diagnostic], file: FileId) -> Vec<(&Diagnostic, &[Edit])> {
    let mut chosen: Vec<(&Diagnostic, &[Edit])> = Vec::new();
    let mut taken: std::collections::BTreeMap<u32, u32> = std::collections::BTreeMap::new();
    for diagnostic in diagnostics {
        let Some(help) = diagnostic.helps.iter().find(|help| help.certain && !help.edits.is_empty()) else { continue };
        // Edits that touch are kept apart too: what they give together nobody has thought of.
        let free = help.edits.iter().all(|edit| {
            let before = taken.range(..=edit.span.end).next_back().is_none_or(|(_, &end)| end < edit.span.start);
            edit.span.file == file && before
        });
        if free {
            taken.extend(help.edits.iter().map(|edit| (edit.span.start, edit.span.end)));
            chosen.push((diagnostic, &help.edits));
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;
    use crate::diag::codes;

    const FILE: FileId = FileId(0);

    fn edit(start: usize, end: usize, text: &str) -> Edit {
        Edit { span: Span::new(FILE, start, end), text: text.to_owned() }
    }

    #[test]
    fn edits_are_put_in_from_any_order() {
        assert_eq!(apply("f(a, b)", FILE, &[edit(5, 6, "a"), edit(2, 3, "b")]).as_deref(), Some("f(b, a)"));
        assert_eq!(apply("a", FILE, &[edit(1, 1, ")"), edit(0, 0, "(")]).as_deref(), Some("(a)"));
    }

    #[test]
    fn edits_that_do_not_fit_are_refused() {
        assert_eq!(apply("abc", FILE, &[edit(0, 2, "x"), edit(1, 3, "y")]), None);
        assert_eq!(apply("abc", FILE, &[edit(2, 9, "x")]), None);
        assert_eq!(apply("ä", FILE, &[edit(1, 2, "x")]), None);
        assert_eq!(apply("abc", FileId(7), &[edit(0, 1, "x")]), None);
    }

    #[test]
    fn of_two_that_touch_the_first_wins() {
        let fix = |start, end| {
            let diagnostic = Diagnostic::new(codes::E0101, "message").fix("write it", Span::new(FILE, start, end), "x");
            diagnostic.certain()
        };
        let diagnostics = [fix(0, 2), fix(2, 3), fix(4, 5)];
        let starts: Vec<u32> = certain(&diagnostics, FILE).iter().map(|(_, edits)| edits[0].span.start).collect();
        assert_eq!(starts, [0, 4]);
    }
}
