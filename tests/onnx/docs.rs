//! `docs/onnx.md` is the table of the converters. `RELAYC_BLESS=1 cargo test --test onnx` writes it anew.

use relayc::formats::onnx::import::{refused, table};
use std::fmt::Write;
use std::path::Path;

const HEAD: &str = "\
# ONNX

`relayc import model.onnx -o net.relay --params net.params` makes a Relay program and its weights of a model. Shapes are inferred
and the arithmetic of shapes is computed on the way, so what is static in the model is static in the program; an open dimension
becomes `?`, and `--shape NAME=1,3,224,224` gives an input a shape; `-i NAME=SPEC` makes an input a constant, for what only a run
would know. What cannot be imported is said at once, and nothing is written; with `--keep-going` the results of such nodes become
inputs of the program. Tensors in other files are read with `--external-data`, from the model's own folder.

Functions of the model are written out where they are called, and so are a `Scan`, whose length must be known, the branch of an `If`
whose condition is known, and a `Loop` of up to 64 turns, if their number is known. Any other `If` becomes an `if`, any other `Loop`
a function that calls itself. A `Loop` with a trip count and without a condition does not look at the condition of its body, as the
standard says.

Operator sets from 7 on are read, and those before as far as the operators meant the same. A number in the second column is an
operator set that gave the operator the meaning it has up to the next number. This page is written by a test.

## What is imported

| operator | since operator sets | but not |
|---|---|---|
";

const REFUSED: &str = "
## What Relay has nothing for

| operator | why |
|---|---|
";

#[test]
fn the_page_is_the_table() {
    let mut page = HEAD.to_owned();
    for row in table() {
        let versions: Vec<String> = row.versions.iter().map(i64::to_string).collect();
        let _ = writeln!(page, "| `{}` | {} | {} |", row.kind, versions.join(", "), row.limits);
    }
    page.push_str(REFUSED);
    for row in refused() {
        let _ = writeln!(page, "| `{}` | {} |", row.kind, row.why);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/onnx.md");
    if std::env::var_os("RELAYC_BLESS").is_some() {
        std::fs::write(&path, &page).expect("docs/ can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/onnx.md is not the table: RELAYC_BLESS=1 cargo test --test onnx writes it");
}
