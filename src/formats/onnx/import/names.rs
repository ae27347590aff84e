//! Names of a model as names of a Relay text: letters, digits and `_`, each another.

use rustc_hash::{FxHashMap, FxHashSet};

/// The names that are taken.
#[derive(Default)]
pub struct Names {
    taken: FxHashSet<String>,
    /// The last number behind each wanted name.
    last: FxHashMap<String, usize>,
}

impl Names {
    /// A name as like the wanted one as can be. The printer gives each of them out as it is.
    pub fn free(&mut self, wanted: &str) -> String {
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

/// Longer names than this help nobody.
const MAX_NAME: usize = 200;

fn plain(wanted: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let text: String = wanted.chars().take(MAX_NAME).map(letter).collect();
    let text = text.trim_start_matches('_');
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) { text.to_owned() } else { format!("v{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_differ() {
        let mut names = Names::default();
        let found: Vec<String> =
            ["x", "layer1.0/conv:0", "x", "0", "", "x_1", "__ü", "x"].iter().map(|name| names.free(name)).collect();
        assert_eq!(found, ["x", "layer1_0_conv_0", "x_1", "v0", "v", "x_1_1", "v_1", "x_2"]);
    }
}
