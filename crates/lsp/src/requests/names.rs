//! Names for values that have none: after the operator that makes them, and not in the text yet.

use relayc_syntax::token::{Tok, Token};
use rustc_hash::{FxHashMap, FxHashSet};

/// The names of variables in a text, and those that were made for it.
pub(super) struct Names {
    taken: FxHashSet<String>,
    /// The number after the last one given to each base: those before are taken.
    tried: FxHashMap<String, usize>,
}

impl Names {
    pub(super) fn of(text: &str, tokens: &[Token]) -> Names {
        let locals = tokens.iter().filter(|token| token.tok == Tok::Local).map(|token| token.text(text).to_owned());
        Names { taken: locals.collect(), tried: FxHashMap::default() }
    }

    /// A name that is not taken: `%conv` for the value of `nn.conv2d`, `%conv1` if there is one.
    pub(super) fn free(&self, operator: &str) -> String {
        self.numbered(&base(operator)).1
    }

    /// As [`Names::free`]; the name is taken then.
    pub(super) fn fresh(&mut self, operator: &str) -> String {
        let base = base(operator);
        let (n, name) = self.numbered(&base);
        self.taken.insert(name.clone());
        self.tried.insert(base, n + 1);
        name
    }

    fn numbered(&self, base: &str) -> (usize, String) {
        let from = self.tried.get(base).copied().unwrap_or(0);
        let name = |n: usize| if n == 0 { format!("%{base}") } else { format!("%{base}{n}") };
        let mut free = (from..).map(|n| (n, name(n))).skip_while(|(_, name)| self.taken.contains(name));
        free.next().unwrap_or_default()
    }
}

/// The last part of an operator's name without its number of dimensions: `max_pool` for `nn.max_pool2d`.
fn base(operator: &str) -> String {
    let last = operator.rsplit('.').next().unwrap_or(operator);
    let words = last.split('_').map(|word| {
        let digits = word.strip_suffix('d').filter(|rest| rest.ends_with(|c: char| c.is_ascii_digit()));
        digits.map_or(word, |rest| rest.trim_end_matches(|c: char| c.is_ascii_digit()))
    });
    let name = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { "value".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_base::FileId;
    use relayc_syntax::lexer;

    #[test]
    fn names_are_after_the_operator() {
        let text = "def @f(%relu) { let %conv1 = 1; %relu }";
        let mut names = Names::of(text, &lexer::lex(FileId(0), text).tokens);
        let fresh =
            ["nn.conv2d", "nn.conv2d", "nn.relu", "nn.max_pool2d", "nn.conv2d_transpose", "add", "3d"].map(|op| names.fresh(op));
        assert_eq!(fresh, ["%conv", "%conv2", "%relu1", "%max_pool", "%conv_transpose", "%add", "%value"]);
    }
}
