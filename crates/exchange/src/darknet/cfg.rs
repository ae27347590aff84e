//! Reads a `.cfg` file of Darknet: sections `[convolutional]` with lines `filters=32` (`src/parser.c` and `src/option_list.c`
//! of Darknet).
//!
//! Blanks mean nothing. Lines that begin with `#` or `;` are comments, and so is the rest of a value from `#`. Of two lines with
//! one key, Darknet reads the first; here they must agree, unless they are for training. Everything has its place in the text.

use super::super::onnx::import::errors::shown;
use super::training::TRAINING;
use crate::nodes::MAX_NODES;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::{FileId, Span};
use relayc_weights::errors::entry_limit;

/// A section: a layer, or the network itself.
#[derive(Debug)]
pub(super) struct Section {
    /// The word between the brackets.
    pub(super) kind: String,
    /// The line with the brackets.
    pub(super) span: Span,
    pub(super) options: Vec<Opt>,
}

impl Section {
    pub(super) fn is_network(&self) -> bool {
        matches!(self.kind.as_str(), "net" | "network")
    }
}

/// A line `key=value`.
#[derive(Debug)]
pub(super) struct Opt {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) key_span: Span,
    pub(super) span: Span,
}

/// The greatest length of a file.
const MAX_TEXT: usize = 1 << 24;

/// The most mistakes that are reported.
const MAX_WRONG: usize = 20;

/// Reads the sections, `[net]` first. Errors: E0703 for lines that are neither, with their places; E0804 for limits.
pub(super) fn read(name: &str, file: FileId, text: &str) -> Result<Vec<Section>, Vec<Diagnostic>> {
    if text.len() > MAX_TEXT {
        return Err(vec![entry_limit(name, 0, format_args!("{} bytes, the limit is {MAX_TEXT}", text.len()))]);
    }
    let mut reader = Reader { name, file, sections: vec![], wrong: vec![] };
    let mut start = 0usize;
    for line in text.split_inclusive('\n') {
        reader.line(start, line);
        start = start.saturating_add(line.len());
        if reader.sections.len() > MAX_NODES {
            return Err(vec![entry_limit(name, start, format_args!("more than {MAX_NODES} sections"))]);
        }
    }
    match reader.sections.first() {
        Some(first) if !first.is_network() => {
            let words = format!("the first section is `[{}]`, expected `[net]`", shown(&first.kind));
            let error = reader.error(&words, first.span);
            reader.wrong.insert(0, error.help("`[net]` says the input: `width=416`, `height=416`, `channels=3`"));
        }
        None if reader.wrong.is_empty() => reader.wrong.push(reader.error("there are no sections, expected `[net]`", Span::NONE)),
        _ => {}
    }
    reader.wrong.truncate(MAX_WRONG);
    if reader.wrong.is_empty() { Ok(reader.sections) } else { Err(reader.wrong) }
}

struct Reader<'a> {
    name: &'a str,
    file: FileId,
    sections: Vec<Section>,
    wrong: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn error(&self, words: &str, span: Span) -> Diagnostic {
        let error = Diagnostic::new(codes::E0703, format!("`{}`: {words}", self.name));
        if span.is_none() { error } else { error.at(span, "") }
    }

    /// The place of a part of a line, without the blanks around it.
    fn place(&self, start: usize, part: &str) -> Span {
        let from = start.saturating_add(part.len().saturating_sub(part.trim_start().len()));
        Span::new(self.file, from, from.saturating_add(part.trim().len()))
    }

    fn line(&mut self, start: usize, line: &str) {
        let body = line.trim();
        let span = self.place(start, line);
        match body.chars().next() {
            None | Some('#' | ';') => {}
            Some('[') => match body.strip_prefix('[').and_then(|body| body.split_once(']')) {
                Some((kind, _)) => self.sections.push(Section { kind: without_blanks(kind), span, options: vec![] }),
                None => self.mistake("a section without `]`", span, "a section is `[convolutional]`"),
            },
            Some(_) => self.option(start, line, span),
        }
    }

    fn option(&mut self, start: usize, line: &str, span: Span) {
        let Some((key, value)) = line.split_once('=') else {
            return self.mistake("a line that is neither a section nor `key=value`", span, "a comment begins with `#`");
        };
        let value_at = start.saturating_add(key.len()).saturating_add(1);
        let value = value.split_once('#').map_or(value, |(value, _)| value);
        let (key_span, value_span) = (self.place(start, key), self.place(value_at, value));
        let option = Opt { key: without_blanks(key), value: without_blanks(value), key_span, span: value_span };
        if option.value.is_empty() || option.key.is_empty() {
            return self.mistake("a line without a key or a value", span, "a line is `key=value`");
        }
        let Some(section) = self.sections.last_mut() else {
            return self.mistake("a key before the first section", span, "the first section is `[net]`");
        };
        match section.options.iter().find(|other| other.key == option.key) {
            None => section.options.push(option),
            Some(first) if first.value == option.value || TRAINING.contains(&first.key.as_str()) => {}
            Some(first) => {
                let first = first.key_span;
                let words = format!("a second `{}` with another value", shown(&option.key));
                let error = self.error(&words, key_span).also(first, "the first one");
                self.wrong.push(error.help("Darknet reads the first one: remove the second"));
            }
        }
    }

    fn mistake(&mut self, words: &str, span: Span, help: &str) {
        if self.wrong.len() < MAX_WRONG {
            self.wrong.push(self.error(words, span).help(help));
        }
    }
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections(text: &str) -> Result<Vec<Section>, Vec<Diagnostic>> {
        read("net.cfg", FileId(0), text)
    }

    #[test]
    fn blanks_and_comments_mean_nothing() {
        let text =
            "# a network\n\n[net]\r\nwidth = 4 1 6 # wide\n; old\n[ conv ] # 0\nanchors = 10,13,  16,30\nsize=3\nsize = 3\n";
        let sections = sections(text).expect("sound");
        let found: Vec<(&str, Vec<(&str, &str)>)> = sections
            .iter()
            .map(|section| {
                let options = section.options.iter().map(|option| (option.key.as_str(), option.value.as_str()));
                (section.kind.as_str(), options.collect())
            })
            .collect();
        assert_eq!(found, [("net", vec![("width", "416")]), ("conv", vec![("anchors", "10,13,16,30"), ("size", "3")])]);
        let width = &sections[0].options[0];
        assert_eq!(&text[width.span.start as usize..width.span.end as usize], "4 1 6");
        assert_eq!(&text[width.key_span.start as usize..width.key_span.end as usize], "width");
    }

    #[test]
    fn each_mistake_is_found() {
        for (text, words) in [
            ("", "no sections"),
            ("[conv]\n", "the first section is `[conv]`"),
            ("width=1\n[net]\n", "before the first section"),
            ("[net\n", "without `]`"),
            ("[net]\nwidth\n", "neither a section nor"),
            ("[net]\nwidth=\n", "without a key or a value"),
            ("[net]\n=3\n", "without a key or a value"),
            ("[net]\nwidth=1\nwidth=2\n", "a second `width`"),
        ] {
            let errors = sections(text).expect_err(text);
            assert_eq!(errors[0].code, codes::E0703, "{text}");
            assert!(errors[0].message.contains(words), "{text}: {}", errors[0].message);
        }
        assert_eq!(sections("[net]\na\nb\n").expect_err("two").len(), 2);
        let many = "x\n".repeat(100);
        assert_eq!(sections(&many).expect_err("many").len(), MAX_WRONG);
    }
}
