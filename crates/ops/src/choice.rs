//! Checks attributes that admit a few words only.

use super::rel::{Fault, RelCx, RelResult};
use relayc_base::text::{join_words, nearest};

/// Requires an attribute to be one of these words; cites `rule`.
pub(crate) fn one_of(cx: &RelCx, rule: &'static str, attr: &'static str, found: &str, words: &[&'static str]) -> RelResult {
    cx.require(rule, words.contains(&found), || {
        let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        let fault = Fault::attr(attr, format!("expected {}, found {found:?}", join_words(&quoted, "or")));
        match nearest(found, words.iter().copied()) {
            Some(near) => fault.set_attr(attr, format!("{near:?}")),
            None => fault,
        }
    })
}
