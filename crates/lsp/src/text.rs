//! The text of a document: places as bytes and as the lines and columns of the protocol, and changes.
//!
//! Promises that any position of a client is some place in the text: one outside of it is the nearest inside.

use line_index::{LineCol, LineIndex, TextSize, WideEncoding, WideLineCol};
use lsp_types::{Position, PositionEncodingKind, Range, TextDocumentContentChangeEvent};
use relayc_base::Span;
use std::sync::Arc;

/// How columns are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Encoding {
    Utf8,
    Wide(WideEncoding),
}

impl Encoding {
    /// The best of those a client takes; UTF-16 where it says nothing.
    pub(crate) fn negotiated(offered: &[PositionEncodingKind]) -> Encoding {
        if offered.contains(&PositionEncodingKind::UTF8) {
            Encoding::Utf8
        } else if offered.contains(&PositionEncodingKind::UTF32) && !offered.contains(&PositionEncodingKind::UTF16) {
            Encoding::Wide(WideEncoding::Utf32)
        } else {
            Encoding::Wide(WideEncoding::Utf16)
        }
    }

    pub(crate) fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Wide(WideEncoding::Utf32) => PositionEncodingKind::UTF32,
            Encoding::Wide(_) => PositionEncodingKind::UTF16,
        }
    }
}

/// A text with the index of its lines.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) text: Arc<str>,
    index: Arc<LineIndex>,
    encoding: Encoding,
}

impl Text {
    pub(crate) fn new(text: &str, encoding: Encoding) -> Text {
        Text { text: text.into(), index: Arc::new(LineIndex::new(text)), encoding }
    }

    pub(crate) fn position(&self, offset: u32) -> Position {
        let offset = self.text.floor_char_boundary(offset as usize) as u32;
        let at = self.index.line_col(TextSize::from(offset));
        let (line, character) = match self.encoding {
            Encoding::Utf8 => (at.line, at.col),
            Encoding::Wide(encoding) => {
                let wide = self.index.to_wide(encoding, at).unwrap_or(WideLineCol { line: at.line, col: at.col });
                (wide.line, wide.col)
            }
        };
        Position { line, character }
    }

    pub(crate) fn range(&self, span: Span) -> Range {
        Range { start: self.position(span.start), end: self.position(span.end) }
    }

    /// The place of a position; a column past the end of its line is that end, a line past the last is the end of the text.
    pub(crate) fn offset(&self, at: Position) -> u32 {
        let Some(line) = self.index.line(at.line) else { return self.text.len() as u32 };
        let (start, end) = (u32::from(line.start()), u32::from(line.end()));
        let text = &self.text[start as usize..end as usize];
        let end = start + text.trim_end_matches(['\r', '\n']).len() as u32;
        let at = match self.encoding {
            Encoding::Utf8 => Some(LineCol { line: at.line, col: at.character }),
            Encoding::Wide(encoding) => {
                let wide = WideLineCol { line: at.line, col: at.character.min(end - start) };
                self.index.to_utf8(encoding, wide)
            }
        };
        let col = at.map_or(u32::MAX, |at| at.col);
        let offset = start.saturating_add(col).min(end);
        self.text.floor_char_boundary(offset as usize) as u32
    }

    /// The bytes of a range, the start before the end.
    pub(crate) fn bytes(&self, range: Range) -> std::ops::Range<usize> {
        let (start, end) = (self.offset(range.start) as usize, self.offset(range.end) as usize);
        start.min(end)..start.max(end)
    }

    /// The text after changes, each of which is about the text after those before it.
    pub(crate) fn changed(&self, changes: &[TextDocumentContentChangeEvent]) -> Text {
        let mut now = self.text.to_string();
        let mut indexed = self.clone();
        // The lines above this one are as the index has them: edits that come from below need no new one.
        let mut valid = u32::MAX;
        for change in changes {
            let Some(range) = change.range else {
                now.clone_from(&change.text);
                valid = 0;
                continue;
            };
            if range.start.line.max(range.end.line) >= valid {
                indexed = Text::new(&now, self.encoding);
            }
            let bytes = indexed.bytes(range);
            now.replace_range(bytes, &change.text);
            valid = range.start.line.min(range.end.line);
        }
        Text::new(&now, self.encoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str) -> Text {
        Text::new(text, Encoding::Wide(WideEncoding::Utf16))
    }

    #[test]
    fn columns_are_those_of_the_encoding() {
        let text = "a𐐀b\nüx";
        let at = |encoding, offset| {
            let at = Text::new(text, encoding).position(offset);
            (at.line, at.character)
        };
        assert_eq!(at(Encoding::Utf8, 5), (0, 5));
        assert_eq!(at(Encoding::Wide(WideEncoding::Utf16), 5), (0, 3));
        assert_eq!(at(Encoding::Wide(WideEncoding::Utf32), 5), (0, 2));
        assert_eq!(at(Encoding::Wide(WideEncoding::Utf16), 9), (1, 1));
    }

    #[test]
    fn every_position_is_a_place() {
        let text = utf16("a𐐀b\r\nc");
        let offset = |line, character| text.offset(Position { line, character });
        assert_eq!([offset(0, 0), offset(0, 1), offset(0, 3), offset(0, 4), offset(0, 99)], [0, 1, 5, 6, 6]);
        assert_eq!([offset(1, 0), offset(1, 9), offset(7, 0), offset(u32::MAX, u32::MAX)], [8, 9, 9, 9]);
        // Between the halves of a character is some place, too.
        assert!(text.text.is_char_boundary(offset(0, 2) as usize));
    }

    #[test]
    fn changes_follow_each_other() {
        let change = |range, text: &str| TextDocumentContentChangeEvent { range, range_length: None, text: text.to_owned() };
        let range = |a, b| Some(Range { start: Position { line: 0, character: a }, end: Position { line: 0, character: b } });
        let text = utf16("abc").changed(&[change(range(1, 2), "xyz"), change(range(4, 5), "\n"), change(range(9, 3), "!")]);
        assert_eq!(&*text.text, "axy!\n");
        assert_eq!(&*text.changed(&[change(None, "new")]).text, "new");
    }
}
