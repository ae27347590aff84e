//! Source texts and places in them.
//!
//! Offsets are bytes. Lines and columns count from 1; a column counts bytes, and a tab is one (language 1.11).

use super::IndexVec;
use crate::index_type;
use std::sync::Arc;

index_type! {
    /// Identifies a source text.
    pub struct FileId;
}

/// A half-open byte range of one text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// The place of nodes without source text: built by the zoo, by a pass or by a test.
    pub const NONE: Span = Span { file: FileId(u32::MAX), start: 0, end: 0 };

    pub fn new(file: FileId, start: usize, end: usize) -> Span {
        // A source text is limited to far less than 4 GiB, so the offsets fit.
        Span { file, start: start as u32, end: end as u32 }
    }

    /// Whether no source text belongs to it.
    pub fn is_none(self) -> bool {
        self.file == Span::NONE.file
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        match (self.is_none(), other.is_none()) {
            (true, _) => other,
            (_, true) => self,
            _ => Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) },
        }
    }

    /// The empty span at its end.
    pub fn end_point(self) -> Span {
        Span { start: self.end, ..self }
    }
}

/// One source text with its name and line index.
#[derive(Clone, Debug)]
pub struct SourceFile {
    pub name: String,
    pub text: Arc<str>,
    line_starts: Vec<usize>,
}

impl SourceFile {
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> SourceFile {
        let text: Arc<str> = text.into();
        let line_starts = codespan_reporting::files::line_starts(&text).collect();
        SourceFile { name: name.into(), text, line_starts }
    }

    /// The line and column of a byte offset, both from 1.
    pub fn line_col(&self, offset: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|&start| start <= offset).max(1);
        (line, offset - self.line_starts[line - 1] + 1)
    }

    /// The bytes of a line, counted from 0, with its line break.
    pub fn line_range(&self, line: usize) -> Option<std::ops::Range<usize>> {
        let start = *self.line_starts.get(line)?;
        Some(start..self.line_starts.get(line + 1).copied().unwrap_or(self.text.len()))
    }

    pub fn n_lines(&self) -> usize {
        self.line_starts.len()
    }
}

/// All source texts of one run, by [`FileId`].
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: IndexVec<FileId, SourceFile>,
}

impl Sources {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        self.files.push(SourceFile::new(name, text))
    }

    /// Gives a file another text.
    pub fn replace(&mut self, id: FileId, text: impl Into<Arc<str>>) {
        if let Some(name) = self.file(id).map(|file| file.name.clone()) {
            self.files[id] = SourceFile::new(name, text);
        }
    }

    /// The id the next text will have.
    pub fn next_id(&self) -> FileId {
        self.files.next_id()
    }

    /// All texts, in the order they were added.
    pub fn files(&self) -> std::slice::Iter<'_, SourceFile> {
        self.files.iter()
    }

    pub fn file(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id)
    }

    /// The text under a span; empty if there is none.
    pub fn slice(&self, span: Span) -> &str {
        self.files.get(span.file).and_then(|file| file.text.get(span.start as usize..span.end as usize)).unwrap_or("")
    }

    /// The line and column of a span's start, if it has a source text.
    pub fn line_col(&self, span: Span) -> Option<(usize, usize)> {
        self.files.get(span.file).map(|file| file.line_col(span.start as usize))
    }
}
