//! Writing with the server: a network by completion only, programs with mistakes mended and weights declared by code actions.

mod editor;
mod keys;
mod mistakes;
mod rewritings;
#[path = "../support/mod.rs"]
mod support;
mod weights;
