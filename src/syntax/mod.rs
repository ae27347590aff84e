//! Relay text to a syntax tree: tokens (logos), the tree, the parser around `grammar/relay.lalrpop`, syntax errors.
//!
//! Parsing never fails and never recurses: [`parse`] gives a tree with `Error` nodes where text was not understood, and
//! all syntax errors of the file, in text order. Deliberately not here: what names mean.

pub mod ast;
mod brackets;
mod build;
mod decode;
pub mod dialect;
mod errors;
pub mod lexer;
pub mod literal;
mod meant;
mod parse;
mod recover;
pub mod token;
mod unexpected;

pub use decode::decode;
pub use dialect::Dialect;
pub use parse::{parse, parse_as};

#[cfg(test)]
mod tests;
