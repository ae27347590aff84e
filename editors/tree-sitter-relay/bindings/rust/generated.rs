//! The parser that is committed, which editors compile, is made of the grammar that is committed.
//!
//! `BLESS=1 cargo test` writes it again. node runs `grammar.js`.

use std::path::Path;
use tree_sitter_generate::{ABI_VERSION_MAX, OptLevel, generate_parser_in_directory};

const FILES: [&str; 6] =
    ["grammar.json", "node-types.json", "parser.c", "tree_sitter/alloc.h", "tree_sitter/array.h", "tree_sitter/parser.h"];

#[test]
fn the_parser_is_made_of_the_grammar() {
    let grammar = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a folder");
    let (out, none) = (Some(folder.path()), None::<&Path>);
    let node = Some("node");
    let made =
        generate_parser_in_directory(grammar, out, none, ABI_VERSION_MAX, None, node, true, OptLevel::default(), &mut Vec::new());
    made.expect("the grammar has no conflicts, and node is here");
    for name in FILES {
        let (made, committed) = (folder.path().join(name), grammar.join("src").join(name));
        if std::env::var_os("BLESS").is_some() {
            std::fs::copy(&made, &committed).expect("the parser can be written");
        }
        let read = |path: &Path| std::fs::read(path).unwrap_or_default();
        assert!(read(&made) == read(&committed), "src/{name} is old: BLESS=1 cargo test");
    }
}
