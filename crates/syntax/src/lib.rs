//! Parses Relay text to a syntax tree: tokens (logos), the tree, the parser around `grammar/relay.lalrpop`, syntax errors, and
//! the formatter.
//!
//! Promises: parsing never fails and never recurses. [`parse`] returns a tree with `Error` nodes for text that it does not
//! understand, and all syntax errors of the file in text order. Absent: the meaning of names.

mod again;
pub mod ast;
mod brackets;
mod build;
mod conflict;
mod decode;
pub mod dialect;
mod errors;
mod failure;
pub mod fmt;
mod foreign_operators;
mod hints;
pub mod lexer;
pub mod literal;
pub mod old_calls;
mod parse;
mod python;
mod recover;
mod starts;
pub mod token;
mod token_context;
mod type_hints;
mod unexpected;
mod unfinished;
mod version;
pub mod walk;

pub use again::Parsed;
pub use decode::decode;
pub use dialect::Dialect;
pub use foreign_operators::{divisor, is_ambiguous_method};
pub use parse::{parse, parse_again, parse_as};

#[cfg(test)]
mod tests;
