//! Tuning files: the strategies that were measured to be the fastest, by processor and by the shapes of a step.
//!
//! ```text
//! relayc.tuning/1
//! # a comment
//!
//! [AMD EPYC 7B13, x86-64-v3]
//! nn.conv2d+nn.relu float32[1,2,16,16,8] const float32[4,2,3,3,8,8] -> float32[1,4,14,14,8] = winograd F(2x2,3x3)
//! ```
//!
//! The lines of a section are sorted, so that two files can be compared. Absent: the measurement ([`super::tune`]).

use relayc_base::diag::{Diagnostic, codes};
use relayc_codegen::asm::Isa;
use relayc_codegen::cpu::Cpu;
use relayc_exec::listing::target_name;
use std::collections::BTreeMap;
use std::fmt::Write;

const HEADER: &str = "relayc.tuning/1";

/// The entries of a processor, by the shapes of a step.
pub type Entries = BTreeMap<String, Entry>;

/// The strategy of a step.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    pub strategy: String,
    /// What was measured, in words.
    pub comment: String,
    /// Its line in the file.
    pub(crate) line: usize,
}

impl Entry {
    /// Without a comment.
    pub fn of(strategy: &str) -> Entry {
        Entry { strategy: strategy.to_owned(), ..Entry::default() }
    }
}

/// The content of a tuning file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tuning {
    /// The file, for messages.
    pub(crate) name: String,
    processors: BTreeMap<String, Entries>,
}

/// The name of this machine's processor, as far as it decides which strategy is the fastest.
pub fn processor(isa: Isa) -> String {
    format!("{}, {}", Cpu::name(), target_name(isa))
}

impl Tuning {
    /// Reads a file. Errors: E0703, with the line.
    pub fn parse(name: &str, text: &str) -> Result<Tuning, Diagnostic> {
        let wrong = |line: usize, words: &str| Diagnostic::new(codes::E0703, format!("{name}:{line}: {words}"));
        let mut tuning = Tuning { name: name.to_owned(), processors: BTreeMap::new() };
        let mut section: Option<&mut Entries> = None;
        let mut lines = text.lines().map(str::trim).zip(1..);
        match lines.next() {
            Some((HEADER, _)) => {}
            Some((other, line)) if other.starts_with("relayc.tuning/") => {
                return Err(wrong(line, &format!("this version of relayc reads `{HEADER}`, found `{other}`")));
            }
            _ => return Err(wrong(1, &format!("a tuning file begins with `{HEADER}`"))),
        }
        for (text, line) in lines {
            let (content, comment) = text.split_once(" #").unwrap_or((text, ""));
            let content = content.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            if let Some(processor) = content.strip_prefix('[') {
                let processor = processor.strip_suffix(']').ok_or_else(|| wrong(line, "expected `[PROCESSOR]`"))?.trim();
                if tuning.processors.contains_key(processor) {
                    return Err(wrong(line, &format!("a second section of `{processor}`")));
                }
                section = Some(tuning.processors.entry(processor.to_owned()).or_default());
                continue;
            }
            let entries = section.as_deref_mut().ok_or_else(|| wrong(line, "expected `[PROCESSOR]` before the first entry"))?;
            let (key, strategy) = content.split_once('=').ok_or_else(|| wrong(line, "expected `STEP = STRATEGY`"))?;
            let (key, strategy) = (key.trim(), strategy.trim());
            if key.is_empty() || strategy.is_empty() {
                return Err(wrong(line, "expected `STEP = STRATEGY`"));
            }
            let entry = Entry { strategy: strategy.to_owned(), comment: comment.trim().to_owned(), line };
            if let Some(first) = entries.insert(key.to_owned(), entry) {
                return Err(wrong(line, &format!("a second strategy of the step in line {}", first.line)));
            }
        }
        Ok(tuning)
    }

    /// The content as a file.
    pub fn text(&self) -> String {
        let mut out =
            format!("{HEADER}\n# Strategies that are faster than the model's choice, as `relayc tune` measured them.\n");
        for (processor, entries) in &self.processors {
            let _ = writeln!(out, "\n[{processor}]");
            for (key, Entry { strategy, comment, .. }) in entries {
                let comment = if comment.is_empty() { String::new() } else { format!("  # {comment}") };
                let _ = writeln!(out, "{key} = {strategy}{comment}");
            }
        }
        out
    }

    /// The entries of a processor, if the file has any.
    pub(crate) fn of(&self, processor: &str) -> Option<&Entries> {
        self.processors.get(processor)
    }

    pub(crate) fn processors(&self) -> impl Iterator<Item = &str> {
        self.processors.keys().map(String::as_str)
    }

    /// Replaces what a processor has for the measured steps.
    pub fn replace(&mut self, processor: &str, measured: &[String], found: Entries) {
        let entries = self.processors.entry(processor.to_owned()).or_default();
        entries.retain(|key, _| !measured.contains(key));
        entries.extend(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_they_were_written() {
        let entry = |strategy: &str, comment: &str| Entry { strategy: strategy.into(), comment: comment.into(), line: 0 };
        let mut tuning = Tuning::default();
        let found = [("b f32[1] -> f32[1]", entry("nest", "0.5 of direct 6x2")), ("a", entry("lanes over axis 1", ""))];
        tuning.replace("one", &[], found.into_iter().map(|(key, entry)| (key.to_owned(), entry)).collect());
        tuning.replace("another", &[], Entries::new());
        let text = tuning.text();
        let read = Tuning::parse("x", &text).expect("it was written");
        assert_eq!(read.text(), text);
        assert_eq!(read.of("one").map(|entries| entries["a"].strategy.as_str()), Some("lanes over axis 1"));
        tuning.replace("one", &["a".to_owned()], Entries::new());
        assert_eq!(tuning.of("one").map(Entries::len), Some(1), "what was not measured stays");
    }

    #[test]
    fn a_mistake_has_a_line() {
        for (text, line) in [
            ("", 1),
            ("net", 1),
            ("relayc.tuning/9\n", 1),
            ("relayc.tuning/1\na = b", 2),
            ("relayc.tuning/1\n\n[x\n", 3),
            ("relayc.tuning/1\n[x]\nnothing\n", 3),
            ("relayc.tuning/1\n[x]\na =\n", 3),
            ("relayc.tuning/1\n[x]\na = b\n# c\na = d\n", 5),
            ("relayc.tuning/1\n[x]\n[y]\n[x]\n", 4),
        ] {
            let error = Tuning::parse("t", text).expect_err(text);
            assert!(error.message.starts_with(&format!("t:{line}: ")), "{}", error.message);
        }
    }
}
