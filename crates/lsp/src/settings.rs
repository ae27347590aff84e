//! The settings of a client, `relayc.*`.

use serde_json::Value;

/// What a user may set.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Settings {
    pub(crate) inlay_hints: InlayHints,
}

#[derive(Clone, PartialEq, Debug)]
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
    /// Reads the section `relayc`. What is not set, or is of another kind, is as by default.
    pub(crate) fn of(section: &Value) -> Settings {
        let mut settings = Settings::default();
        let hints = &mut settings.inlay_hints;
        let value = |path: &str| section.pointer(path);
        if let Some(types) = value("/inlayHints/types").and_then(Value::as_bool) {
            hints.types = types;
        }
        if let Some(lines) = value("/inlayHints/closingBraceLines").and_then(Value::as_u64) {
            hints.closing_brace_lines = u32::try_from(lines).unwrap_or(u32::MAX);
        }
        if let Some(length) = value("/inlayHints/maxLength").and_then(Value::as_u64) {
            hints.max_length = usize::try_from(length).unwrap_or(usize::MAX);
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_wrong_leaves_the_rest() {
        let settings = Settings::of(&json!({ "inlayHints": { "types": false, "maxLength": "long", "closingBraceLines": 5 } }));
        let wanted = InlayHints { types: false, closing_brace_lines: 5, max_length: 60 };
        assert_eq!(settings.inlay_hints, wanted);
        assert_eq!(Settings::of(&json!(null)), Settings::default());
    }
}
