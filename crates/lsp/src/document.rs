//! An open text: its newest form, the last check of it, and the requests that wait for the next.

use crate::checked::Checked;
use crate::requests::commands::{Heat, Outcome};
use crate::rules::Rules;
use crate::text::Text;
use lsp_server::Request;
use lsp_types::SemanticTokens;
use std::sync::Arc;

/// An open text.
pub(crate) struct Document {
    /// What the client calls this form of it.
    pub(crate) version: i32,
    /// The server's own number of this form.
    pub(crate) revision: u64,
    pub(crate) text: Text,
    pub(crate) rules: Arc<Rules>,
    /// The last check that ended. While another goes on that starts from it, there is none.
    pub(crate) checked: Option<Box<Checked>>,
    /// The last answer with all of its semantic tokens.
    pub(crate) shown_tokens: Option<SemanticTokens>,
    /// Requests about the newest text, in the order they came.
    pub(crate) waiting: Vec<Request>,
    /// What tests that were run on the newest text gave.
    pub(crate) outcomes: Vec<Outcome>,
    /// What the lines of the newest text take, if that was asked for.
    pub(crate) heat: Vec<Heat>,
}

impl Document {
    pub(crate) fn new(version: i32, text: Text, rules: Arc<Rules>) -> Document {
        let (checked, shown_tokens, waiting, outcomes, heat) = (None, None, vec![], vec![], vec![]);
        Document { version, revision: 0, text, rules, checked, shown_tokens, waiting, outcomes, heat }
    }

    /// Whether the newest text has been checked.
    pub(crate) fn is_checked(&self) -> bool {
        self.checked.as_ref().is_some_and(|checked| checked.revision == self.revision)
    }
}
