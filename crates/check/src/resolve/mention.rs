//! What names in the text mean, for tools that follow them: definitions and uses alike.
//!
//! Promises one [`Mention`] for each name that was understood. Absent: attributes, and names in the metadata section.

use super::Resolver;
use relayc_base::Span;
use relayc_ir::attrs::OpId;
use relayc_ir::types::{SymbolId, Ty};
use relayc_ir::{AdtId, CtorId, ExprId, GlobalId, VarId};

/// A name in the text, sigil included, and what it means. A binder is a mention of what it binds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mention {
    pub span: Span,
    pub meaning: Meaning,
}

/// What a name means. Two names mean the same thing if these are equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Meaning {
    Local(VarId),
    /// A graph variable: its node, and the place of the name that binds it. Several may be names of one node.
    Graph {
        node: ExprId,
        binder: Span,
    },
    Global(GlobalId),
    Type(AdtId),
    Ctor(CtorId),
    TypeParam(Ty),
    Operator(OpId),
    /// The name of a size in a type.
    Size(SymbolId),
}

impl Resolver<'_> {
    /// Notes what a name means.
    pub(super) fn mention(&mut self, span: Span, meaning: Meaning) {
        // A binder stands before its value, which is resolved first: what is nearly in order is sorted at once.
        const NEAR: usize = 64;
        if let Some(mentions) = &mut self.mentions {
            let is_behind = |other: &&Mention| (other.span.start, other.span.end) > (span.start, span.end);
            let n_behind = mentions.iter().rev().take(NEAR).take_while(is_behind).count();
            mentions.insert(mentions.len() - n_behind, Mention { span, meaning });
        }
    }
}
