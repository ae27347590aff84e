//! The language server: what an editor asks about Relay text while it is written.
//!
//! [`serve`] speaks the language server protocol over standard input and output (`server.rs`). Each open text is a
//! [`document::Document`] that is checked anew, on a thread of its own, whenever it changes; a request waits for the check of the
//! text it was asked about. Each file in `requests/` answers one kind of request from a [`checked::Checked`] text.
//!
//! Promises that no request ends the server: a panic is one error answer. Reads `relayc.toml`, the names and types in files of weights, and
//! the programs of the workspace for their symbols (`workspace.rs`). What runs tests and passes is a process of its own (`jobs.rs`), and only
//! for a workspace that the user trusts. Absent: machine code, and anything known of one editor.

mod checked;
mod client;
mod cursor;
mod document;
mod frames;
mod index;
mod jobs;
mod paths;
mod requests;
mod rules;
mod server;
mod settings;
mod text;
mod wire;
mod words;
mod workspace;

pub use frames::serve;
pub use jobs::perform;
pub use server::serve_over;
