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
        if let Some(mentions) = &mut self.mentions {
            mentions.push(Mention { span, meaning });
        }
    }
}
