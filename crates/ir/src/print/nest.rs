//! Inserts texts into other texts: a function's body, a branch, a clause.
//!
//! A mark replaces an inserted text. At the end, the printer writes the texts at the marks once, with their lines indented.
//! Copying and indenting each text into every enclosing text would take quadratic time in the depth.

/// Around the number of a text. No printed text holds these characters: strings are escaped, names have none.
const OPEN: char = '\u{1}';
const CLOSE: char = '\u{2}';
/// The first character of a mark whose text is not indented.
const FLAT: char = '\u{3}';

/// Deeper texts are indented no further, which TVM could not print: the blanks would make them quadratic.
const DEEPEST: usize = 1_000;

/// The inserted texts.
#[derive(Default)]
pub(super) struct Nest {
    texts: Vec<String>,
}

impl Nest {
    /// Returns a mark for a text whose lines, except the first, are indented by two more blanks.
    pub(crate) fn indent(&mut self, text: String) -> String {
        self.texts.push(text);
        format!("{OPEN}{}{CLOSE}", self.texts.len() - 1)
    }

    /// Returns a mark for a text whose lines stay where they are.
    pub(crate) fn flat(&mut self, text: String) -> String {
        self.texts.push(text);
        format!("{FLAT}{}{CLOSE}", self.texts.len() - 1)
    }

    /// The text with all marks replaced.
    pub(crate) fn expand(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        // What remains to be written of each text that is open, with its depth; the innermost is last.
        let mut open = vec![(text, 0)];
        while let Some((rest, depth)) = open.pop() {
            let Some(at) = rest.find(['\n', OPEN, FLAT]) else {
                out.push_str(rest);
                continue;
            };
            let (before, rest) = rest.split_at(at);
            out.push_str(before);
            if let Some(rest) = rest.strip_prefix('\n') {
                out.push('\n');
                out.extend(std::iter::repeat_n("  ", depth.min(DEEPEST)));
                open.push((rest, depth));
                continue;
            }
            let inner = depth + usize::from(rest.starts_with(OPEN));
            let (number, rest) = rest[1..].split_once(CLOSE).unwrap_or((rest, ""));
            open.push((rest, depth));
            open.extend(number.parse().ok().and_then(|number: usize| self.texts.get(number)).map(|text| (text.as_str(), inner)));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_indented_as_deep_as_their_text() {
        let mut nest = Nest::default();
        let inner = nest.indent("x;\ny".to_owned());
        let outer = nest.indent(format!("f {{\n  {inner}\n}};\n{inner}"));
        assert_eq!(nest.expand(&format!("g {{\n  {outer}\n}}")), "g {\n  f {\n    x;\n    y\n  };\n  x;\n    y\n}");
        assert_eq!(nest.expand("a\nb"), "a\nb");
    }

    #[test]
    fn flat_texts_stay_where_they_are() {
        let mut nest = Nest::default();
        let inner = nest.flat("x;\ny".to_owned());
        let outer = nest.indent(format!("{inner};\nz"));
        assert_eq!(nest.expand(&format!("g {{\n  {outer}\n}}")), "g {\n  x;\n  y;\n  z\n}");
    }

    #[test]
    fn very_deep_texts_stay_linear() {
        let mut nest = Nest::default();
        let text = (0..10_000).fold("x;\ny".to_owned(), |text, _| nest.indent(text));
        assert!(nest.expand(&text).ends_with(&format!("\n{}y", "  ".repeat(DEEPEST))));
    }
}
