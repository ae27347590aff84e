//! The settings of a client, `relayc.*`.

use relayc_driver::config;
use relayc_driver::lint::{Level, Levels};
use relayc_syntax::fmt::Style;
use serde_json::Value;

/// What a user may set.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Settings {
    pub(crate) inlay_hints: InlayHints,
    /// The longest line of formatted text.
    width: Option<u32>,
    /// Levels of lints.
    lints: Vec<(String, Level)>,
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
        let width = value("/format/width").and_then(Value::as_u64).and_then(|width| u32::try_from(width).ok());
        settings.width = width.filter(|width| config::WIDTHS.contains(width));
        let lints = value("/lints").and_then(Value::as_object).into_iter().flatten();
        let level = |word: &Value| config::LEVELS.iter().find(|(name, _)| word == name).map(|&(_, level)| level);
        settings.lints = lints.filter_map(|(name, word)| Some((name.clone(), level(word)?))).collect();
        settings
    }

    /// Puts the user's choices above those of a project.
    pub(crate) fn apply(&self, levels: &mut Levels, style: &mut Style) {
        style.width = self.width.unwrap_or(style.width);
        for (name, level) in &self.lints {
            // A name that no lint has changes nothing.
            let _ = levels.set(name, *level);
        }
    }

    /// Whether texts are checked and formatted alike under both.
    pub(crate) fn has_rules_of(&self, other: &Settings) -> bool {
        self.width == other.width && self.lints == other.lints
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
