//! Converts names of a model to distinct names of Relay text: letters, digits and `_`.

use rustc_hash::{FxHashMap, FxHashSet};

/// The names in use.
#[derive(Default)]
pub(crate) struct Names {
    taken: FxHashSet<String>,
    /// The last number appended to each wanted name.
    last: FxHashMap<String, usize>,
}

impl Names {
    /// A free name, as similar to the wanted one as possible. The printer keeps it unchanged.
    pub(crate) fn free(&mut self, wanted: &str) -> String {
        let plain = plain(wanted);
        let mut name = plain.clone();
        let last = self.last.entry(plain.clone()).or_insert(0);
        while self.taken.contains(&name) {
            *last = last.saturating_add(1);
            name = format!("{plain}_{last}");
        }
        self.taken.insert(name.clone());
        name
    }
}

/// Maximum length of names.
const MAX_NAME: usize = 200;

pub(crate) fn plain(wanted: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let text: String = wanted.chars().take(MAX_NAME).map(letter).collect();
    let text = text.trim_start_matches('_');
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) { text.to_owned() } else { format!("v{text}") }
}

/// Whether a name of Relay text can be what [`Names::free`] made of a name of a model.
pub(crate) fn is_name_of(text: &str, model: &str) -> bool {
    let number = |behind: &str| behind.is_empty() || behind.strip_prefix('_').is_some_and(|n| n.parse::<usize>().is_ok());
    text.strip_prefix(&*plain(model)).is_some_and(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_differ() {
        let mut names = Names::default();
        let found: Vec<String> =
            ["x", "layer1.0/conv:0", "x", "0", "", "x_1", "__ü", "x"].iter().map(|name| names.free(name)).collect();
        assert!(is_name_of("pair_0", "pair.0") && is_name_of("x_2", "x") && !is_name_of("x_y", "x") && !is_name_of("y", "x"));
        assert_eq!(found, ["x", "layer1_0_conv_0", "x_1", "v0", "v", "x_1_1", "v_1", "x_2"]);
    }
}
