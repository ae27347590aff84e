//! Reads the text of `relayc.toml`: every key is one that is known here, or an error.

use super::pattern::Pattern;
use super::weights::Entry;
use super::{Project, errors, names};
use crate::lint::{Level, Levels};
use relayc_base::diag::{self, Diagnostic};
use relayc_base::{FileId, Span};
use relayc_syntax::fmt::Style;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The sections and their keys, for what is said of unknown ones.
const SECTIONS: [&str; 3] = ["format", "lints", "weights"];
const FORMAT: [&str; 1] = ["width"];
const WEIGHTS: [&str; 2] = ["files", "inputs"];

/// The levels of lints by their words.
pub const LEVELS: [(&str, Level); 3] = [("allow", Level::Allow), ("warn", Level::Warn), ("deny", Level::Deny)];

/// The narrowest and the widest line that can be asked for.
pub const WIDTHS: std::ops::RangeInclusive<u32> = 20..=1000;

/// Messages of one file.
const MAX_DIAGNOSTICS: usize = 100;

/// Reads the bytes of the file of a project, which messages call `name`.
pub(super) fn into(project: &mut Project, name: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let file = project.sources.add(name, &*text);
    if let Cow::Owned(lossy) = &text {
        let at = lossy.find(char::REPLACEMENT_CHARACTER).unwrap_or(0);
        project.diagnostics.push(errors::no_text(Span::new(file, at, at + char::REPLACEMENT_CHARACTER.len_utf8())));
        return;
    }
    let (root, wrong) = DeTable::parse_recoverable(&text);
    let mut reader = Reader { file, name, project };
    if wrong.is_empty() {
        reader.sections(root.get_ref());
    } else {
        let place = |error: &toml::de::Error| error.span().map_or(Span::new(file, 0, 0), |span| reader.span(span));
        let wrong: Vec<Diagnostic> = wrong.iter().map(|error| errors::no_toml(place(error), error.message())).collect();
        reader.project.diagnostics.extend(wrong);
    }
    // Of patterns that match one program, the later weights win.
    project.weights.sort_by_key(|entry| entry.at);
    diag::sort_and_limit(&mut project.diagnostics, MAX_DIAGNOSTICS, 0);
}

type Key<'i> = Spanned<Cow<'i, str>>;
type Value<'i> = Spanned<DeValue<'i>>;

struct Reader<'p> {
    file: FileId,
    name: &'p str,
    project: &'p mut Project,
}

impl Reader<'_> {
    fn span(&self, range: std::ops::Range<usize>) -> Span {
        Span::new(self.file, range.start, range.end)
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.project.diagnostics.push(diagnostic);
    }

    /// E0746 for a value of another kind.
    fn no(&mut self, value: &Value, expected: &str) {
        let at = self.span(value.span());
        self.report(errors::wrong_value(at, expected, value.get_ref().type_str()));
    }

    fn unknown(&mut self, key: &Key, what: &str, known: &[&str]) {
        let at = self.span(key.span());
        self.report(errors::unknown_key(at, key.get_ref(), what, known));
    }

    fn sections(&mut self, root: &DeTable) {
        for (key, value) in root {
            let read = match &**key.get_ref() {
                "format" => Self::format,
                "lints" => Self::lints,
                "weights" => Self::weights,
                _ => {
                    self.unknown(key, "a section", &SECTIONS);
                    continue;
                }
            };
            match value.get_ref() {
                DeValue::Table(table) => read(self, table),
                other => {
                    let at = self.span(key.span());
                    self.report(errors::wrong_value(at, &format!("the section `[{}]`", key.get_ref()), other.type_str()));
                }
            }
        }
    }

    fn format(&mut self, table: &DeTable) {
        for (key, value) in table {
            if key.get_ref() != "width" {
                self.unknown(key, "a key of `[format]`", &FORMAT);
                continue;
            }
            let DeValue::Integer(number) = value.get_ref() else {
                self.no(value, "a number of characters");
                continue;
            };
            let width = u32::from_str_radix(number.as_str(), number.radix()).ok().filter(|width| WIDTHS.contains(width));
            match width {
                Some(width) => self.project.style = Style { width },
                None => {
                    let at = self.span(value.span());
                    self.report(errors::wrong_width(at, &WIDTHS));
                }
            }
        }
    }

    fn lints(&mut self, table: &DeTable) {
        for (key, value) in table {
            let level = self.level(value);
            // The name is looked at whatever the level is.
            let (mut no_levels, levels) = (Levels::default(), &mut self.project.levels);
            let levels = if level.is_some() { levels } else { &mut no_levels };
            if let Err(near) = levels.set(key.get_ref(), level.unwrap_or(Level::Allow)) {
                let at = self.span(key.span());
                self.report(errors::no_lint(at, key.get_ref(), near));
            }
        }
    }

    /// The level that a value names.
    fn level(&mut self, value: &Value) -> Option<Level> {
        let Some(word) = value.get_ref().as_str() else {
            self.no(value, "`\"allow\"`, `\"warn\"` or `\"deny\"`");
            return None;
        };
        let found = LEVELS.iter().find(|(name, _)| *name == word).map(|&(_, level)| level);
        if found.is_none() {
            let at = self.span(value.span());
            self.report(errors::no_level(at, word, &LEVELS.map(|(name, _)| name)));
        }
        found
    }

    fn weights(&mut self, table: &DeTable) {
        for (key, value) in table {
            let at = self.span(key.span());
            let pattern = match Pattern::new(key.get_ref()) {
                Ok(pattern) => pattern,
                Err(why) => {
                    self.report(errors::bad_pattern(at, key.get_ref(), why));
                    continue;
                }
            };
            if pattern.is_plain() {
                self.path(at, key.get_ref());
            }
            let (line, _) = self.project.sources.line_col(at).unwrap_or_default();
            let mut entry = Entry { pattern, at: at.start, from: format!("{}:{line}", self.name), files: vec![], inputs: None };
            match value.get_ref() {
                DeValue::Table(fields) => {
                    for (key, value) in fields {
                        match &**key.get_ref() {
                            "files" => self.files(value, &mut entry),
                            "inputs" => entry.inputs = self.words(value, "a list of the names of parameters"),
                            _ => self.unknown(key, "a key of weights", &WEIGHTS),
                        }
                    }
                }
                _ => self.files(value, &mut entry),
            }
            if !entry.files.is_empty() {
                self.project.weights.push(entry);
            }
        }
    }

    /// The files of an entry: those that are there.
    fn files(&mut self, value: &Value, entry: &mut Entry) {
        let one = std::slice::from_ref(value);
        let values = match value.get_ref() {
            DeValue::Array(values) => &values[..],
            DeValue::String(_) => one,
            _ => return self.no(value, "a file of weights, a list of them, or `{ files = …, inputs = … }`"),
        };
        for value in values {
            let at = self.span(value.span());
            match value.get_ref().as_str() {
                Some(path) => entry.files.extend(self.path(at, path)),
                None => self.no(value, "a file of weights"),
            }
        }
    }

    /// The words of a list.
    fn words(&mut self, value: &Value, expected: &str) -> Option<Vec<String>> {
        let Some(values) = value.get_ref().as_array() else {
            self.no(value, expected);
            return None;
        };
        let wrong = values.iter().find(|value| value.get_ref().as_str().is_none());
        wrong.inspect(|value| self.no(value, "the name of a parameter"));
        let name = |value: &Value| value.get_ref().as_str().map(|name| name.trim_start_matches('%').to_owned());
        Some(values.iter().filter_map(name).collect())
    }

    /// A path from the folder of the file; reports one that leads nowhere.
    fn path(&mut self, at: Span, text: &str) -> Option<PathBuf> {
        let folder = self.project.path.as_deref().and_then(Path::parent).unwrap_or(Path::new("."));
        let path = folder.join(text);
        let reach = &self.project.reach;
        // What is outside is not even asked about.
        let is_outside = !reach.names(&path) || (!reach.allows(&path) && path.symlink_metadata().is_ok());
        let wrong = if is_outside {
            errors::outside(at, text)
        } else if !path.is_file() {
            let siblings = path.parent().filter(|folder| reach.allows(folder)).map_or(vec![], names);
            errors::no_file(at, text, path.is_dir(), &siblings)
        } else {
            return Some(path);
        };
        self.report(wrong);
        None
    }
}
