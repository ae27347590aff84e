//! Tests of the parser as a whole.

use super::ast::{Ast, Root};
use super::parse;
use crate::base::FileId;
use crate::diag::{Diagnostic, has_errors};
use std::path::Path;

fn parsed(text: &str) -> (Ast, Vec<Diagnostic>) {
    parse(FileId(0), text.into())
}

/// The examples of the language's description that TVM rejects but this parser reads: its extensions, and what later
/// rooms check (spec/grammar-notes.md 6).
const READ_ALTHOUGH_REJECTED: &[u32] = &[16, 73, 94, 106, 129, 162, 190, 193, 234, 254, 36, 17, 38, 189, 191, 255];

#[test]
fn conformance_texts_parse() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/conformance");
    let Ok(kinds) = std::fs::read_dir(&root) else { return };
    for kind in kinds.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
        for path in std::fs::read_dir(&kind).unwrap().flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !name.ends_with(".relay") {
                continue;
            }
            let broken = kind.ends_with("reject") && (name.starts_with("m-brace") || name.starts_with("m-paren"));
            let (ast, diagnostics) = parsed(&std::fs::read_to_string(&path).unwrap());
            assert_eq!(has_errors(&diagnostics), broken, "{}: {diagnostics:#?}", path.display());
            assert!(broken || !matches!(ast.root, Root::Error));
        }
    }
}
