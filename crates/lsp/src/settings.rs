//! The settings of a client, `relayc.*`.

use serde::Deserialize;

/// What a user may set. What is not set, or is of another kind, is as by default.
#[derive(Clone, PartialEq, Default, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Settings {
    pub(crate) inlay_hints: InlayHints,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct InlayHints {
    /// The types of bindings and of parameters without annotation.
    pub(crate) types: bool,
    /// The name of the function at its closing brace, from this many lines on; 0 shows none.
    pub(crate) closing_brace_lines: u32,
    /// The longest hint, in characters; what is longer ends in `…`.
    pub(crate) max_length: usize,
}

impl Default for InlayHints {
    fn default() -> Self {
        InlayHints { types: true, closing_brace_lines: 20, max_length: 60 }
    }
}

impl Settings {
    /// Reads the value of the section `relayc`; what is not understood is as by default.
    pub(crate) fn of(value: &serde_json::Value) -> Settings {
        let section = value.get("relayc").unwrap_or(value);
        serde_json::from_value(section.clone()).unwrap_or_default()
    }
}
