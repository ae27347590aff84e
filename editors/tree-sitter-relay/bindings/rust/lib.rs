//! The Relay text language for tree-sitter: what `tree_sitter::Parser::set_language` takes, and the queries of editors.

use tree_sitter_language::LanguageFn;

unsafe extern "C" {
    fn tree_sitter_relay() -> *const ();
}

/// The language.
// SAFETY: the function is the one the generator wrote into src/parser.c, with the interface that `LanguageFn` asks for.
pub const LANGUAGE: LanguageFn = unsafe { LanguageFn::from_raw(tree_sitter_relay) };

/// What is highlighted as what.
pub const HIGHLIGHTS: &str = include_str!("../../queries/highlights.scm");
