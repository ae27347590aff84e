//! Cuts long lines to excerpts around a diagnostic's labels.
//!
//! TVM prints a network's `@main` as one line of thousands of columns; a message about one call shows only that call.
//! [`Excerpt::of`] cuts the texts and moves the labels; [`Excerpt::column`] maps back to the columns of the whole text. Promises:
//! both ends of each label stay visible, short lines stay whole, and lines keep their numbers.

use super::Diagnostic;
use crate::{FileId, Idx, SourceFile, Sources, Span};
use std::collections::BTreeMap;
use std::ops::Range;

/// Longest line, in bytes, that is shown whole.
const LONG: usize = 240;
/// Bytes shown on each side of the end of a label.
const AROUND: usize = 60;
/// Marks bytes that are left out.
const CUT: &str = "…";

/// Texts with long lines cut, and a diagnostic that points into them.
pub(crate) struct Excerpt {
    pub(crate) sources: Sources,
    pub(crate) diagnostic: Diagnostic,
    pieces: BTreeMap<FileId, Vec<Piece>>,
}

/// A part of a text that is shown, and its offset in the cut text.
struct Piece {
    whole: Range<usize>,
    shown: usize,
}

impl Excerpt {
    /// Cuts the texts that a diagnostic points into; `None` if none of them has a long line.
    pub(crate) fn of(diagnostic: &Diagnostic, sources: &Sources) -> Option<Excerpt> {
        let mut pieces = BTreeMap::new();
        for label in &diagnostic.labels {
            let id = label.span.file;
            if let (Some(file), false) = (sources.file(id), pieces.contains_key(&id)) {
                let spans: Vec<Span> = diagnostic.labels.iter().map(|label| label.span).filter(|span| span.file == id).collect();
                pieces.insert(id, cut(file, &spans));
            }
        }
        if pieces.values().all(|pieces| pieces.len() == 1) {
            return None;
        }
        let mut shown = Sources::new();
        for (index, file) in sources.files().enumerate() {
            let text = match pieces.get(&FileId::from_usize(index)) {
                Some(pieces) => pieces.iter().map(|piece| &file.text[piece.whole.clone()]).collect::<Vec<_>>().join(CUT).into(),
                None => file.text.clone(),
            };
            shown.add(file.name.clone(), text);
        }
        let mut diagnostic = diagnostic.clone();
        for label in &mut diagnostic.labels {
            if let Some(pieces) = pieces.get(&label.span.file) {
                let at = |whole: u32| to_shown(pieces, whole as usize);
                label.span = Span::new(label.span.file, at(label.span.start), at(label.span.end));
            }
        }
        Some(Excerpt { sources: shown, diagnostic, pieces })
    }

    /// The column in the whole text, in bytes from 1, of byte `shown` of the cut text.
    pub(crate) fn column(&self, file: FileId, shown: usize, whole: &SourceFile) -> usize {
        let at = self.pieces.get(&file).map_or(shown, |pieces| to_whole(pieces, shown));
        whole.line_col(at).1
    }
}

fn to_shown(pieces: &[Piece], whole: usize) -> usize {
    let piece = &pieces[pieces.partition_point(|piece| piece.whole.end < whole).min(pieces.len() - 1)];
    // In a gap nothing is pointed at but from further out: a whole line's label ends with its line.
    if whole < piece.whole.start { piece.shown - CUT.len() } else { piece.shown + whole.min(piece.whole.end) - piece.whole.start }
}

fn to_whole(pieces: &[Piece], shown: usize) -> usize {
    let piece = &pieces[pieces.partition_point(|piece| piece.shown <= shown).max(1) - 1];
    (piece.whole.start + shown - piece.shown).min(piece.whole.end)
}

/// The pieces of a text that are shown, in order; one piece if no line is long.
fn cut(file: &SourceFile, spans: &[Span]) -> Vec<Piece> {
    let mut pieces = vec![];
    let mut begin = 0;
    let mut shown = 0;
    let mut keep = |whole: Range<usize>| {
        let at = shown;
        shown += whole.len() + CUT.len();
        pieces.push(Piece { whole, shown: at });
    };
    for line in (0..file.n_lines()).filter_map(|line| file.line_range(line)) {
        let line = line.start..line.start + file.text[line.clone()].trim_end_matches(['\r', '\n']).len();
        if line.len() <= LONG {
            continue;
        }
        let mut from = line.start;
        for window in windows(&file.text, &line, spans) {
            // A gap no longer than its sign is no gain.
            if window.start > from + CUT.len() {
                keep(begin..from);
                begin = window.start;
            }
            from = window.end;
        }
        if line.end > from + CUT.len() {
            keep(begin..from);
            begin = line.end;
        }
    }
    keep(begin..file.text.len());
    pieces
}

/// The parts of a long line that are shown, in order and disjoint.
fn windows(text: &str, line: &Range<usize>, spans: &[Span]) -> Vec<Range<usize>> {
    let mut windows: Vec<Range<usize>> = vec![];
    for span in spans {
        let (start, end) = (span.start as usize, span.end as usize);
        let inside = |at: usize| line.start <= at && at <= line.end;
        match (inside(start), inside(end)) {
            (true, true) if end.saturating_sub(start) <= 2 * AROUND => windows.push(around(text, line, start, end)),
            (first, last) => {
                windows.extend(first.then(|| around(text, line, start, start)));
                windows.extend(last.then(|| around(text, line, end, end)));
            }
        }
    }
    if windows.is_empty() {
        windows.push(line.start..text.floor_char_boundary(line.start + LONG));
    }
    windows.sort_by_key(|window| window.start);
    windows.dedup_by(|next, before| {
        let touching = next.start <= before.end;
        if touching {
            before.end = before.end.max(next.end);
        }
        touching
    });
    windows
}

/// The bytes around a range, extended to blanks on both sides.
fn around(text: &str, line: &Range<usize>, start: usize, end: usize) -> Range<usize> {
    let from = start.saturating_sub(AROUND);
    let from = if from <= line.start { line.start } else { text.floor_char_boundary(from) };
    let to = end + AROUND;
    let to = if to >= line.end { line.end } else { text.floor_char_boundary(to).max(end) };
    let first = if from == line.start { 0 } else { text[from..start].find(' ').map_or(0, |blank| blank + 1) };
    let last = if to == line.end { to } else { text[end..to].rfind(' ').map_or(to, |blank| end + blank) };
    from + first..last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::codes;

    /// A line of many words between two short lines.
    fn long() -> String {
        let words: Vec<String> = (0..200).map(|word| format!("wörd{word}")).collect();
        format!("short\n{}\nend\n", words.join(" "))
    }

    fn pointing_at(text: &str, spans: &[(usize, usize)]) -> (Sources, Diagnostic) {
        let mut sources = Sources::new();
        let file = sources.add("x.relay", text);
        let mut diagnostic = Diagnostic::new(codes::E0101, "message");
        for &(start, end) in spans {
            diagnostic = diagnostic.at(Span::new(file, start, end), "label");
        }
        (sources, diagnostic)
    }

    #[test]
    fn what_is_pointed_at_stays() {
        let text = long();
        let places: Vec<usize> = (0..=text.len()).filter(|&at| text.is_char_boundary(at)).collect();
        for (&start, far) in places.iter().zip([0, 3, 50, 119, 120, 121, 400, 5000].iter().cycle()) {
            let end = *places.iter().find(|&&end| end >= (start + far).min(text.len())).unwrap_or(&text.len());
            let (sources, diagnostic) = pointing_at(&text, &[(start, end), (9, 11)]);
            let excerpt = Excerpt::of(&diagnostic, &sources).expect("a long line");
            let (file, shown) = (&sources.file(FileId(0)).unwrap(), &excerpt.sources.file(FileId(0)).unwrap());
            let span = excerpt.diagnostic.labels[0].span;
            assert_eq!(file.line_col(start).0, shown.line_col(span.start as usize).0);
            let column = excerpt.column(FileId(0), span.start as usize, file);
            assert_eq!(column, file.line_col(start).1);
            let (then, now) = (&text[start..end], excerpt.sources.slice(span));
            assert!(now == then || now.contains(CUT), "{then} became {now}");
            let ends = |text: &str| (text.chars().next(), text.chars().next_back());
            assert_eq!(ends(then), ends(now));
            assert!(shown.text.lines().all(|line| line.len() < 600), "{}", shown.text);
            assert!(shown.text.starts_with("short\n") && shown.text.ends_with("\nend\n"));
        }
    }

    #[test]
    fn short_lines_are_left_alone() {
        let (sources, diagnostic) = pointing_at(&"a line\n".repeat(1000), &[(8, 10)]);
        assert!(Excerpt::of(&diagnostic, &sources).is_none());
        let (sources, diagnostic) = pointing_at("", &[(0, 0)]);
        assert!(Excerpt::of(&diagnostic, &sources).is_none());
    }
}
