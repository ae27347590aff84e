//! A place where the grammar stopped.

use super::token::TokSet;

/// Where the grammar stopped, and what would have gone on.
pub(super) struct Failure {
    /// The index of the token that does not fit; the number of tokens at the end of the text.
    pub(crate) at: usize,
    pub(crate) expected: TokSet,
}
