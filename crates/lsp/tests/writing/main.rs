//! Writing with the server: a network by completion only, and programs with mistakes mended by code actions.

mod editor;
mod keys;
mod mistakes;
#[path = "../support/mod.rs"]
mod support;
