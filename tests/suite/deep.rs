//! Constructs inside each other: with its limit raised, a check of any is linear in their number, on the stack of a thread.
//!
//! 20,000 of each; `RELAYC_DEPTH=N` sets another number, as `.ci/long` does with a million.

use std::process::Command;

/// A body for `@main(%x)`: what stands before each level, in the middle, and behind each level.
const CONSTRUCTS: [(&str, &str, &str, &str, &str); 14] = [
    ("parentheses", "int32", "(", "%x", ")"),
    ("calls", "float32", "exp(", "%x", ")"),
    ("tuples", "int32", "(", "%x", ",)"),
    ("ifs", "bool", "if (%x) { ", "1", " } else { 2 }"),
    ("else ifs", "bool", "if (%x) { 1 } else { ", "1", " }"),
    ("functions", "int32", "fn () { ", "1", " }"),
    ("blocks", "int32", "{ ", "1", " }"),
    ("lets in values", "int32", "let %y = { ", "1", " }; %y"),
    ("lets one after the other", "int32", "let %y = add(%x, 1); ", "%y", ""),
    ("sums on the right", "int32", "%x + (", "%x", ")"),
    ("sums on the left", "int32", "", "%x", " + %x"),
    ("matches", "int32", "match (%x) { _ => ", "1", " }"),
    ("comments", "int32", "/*", "%x", "*/"),
    ("projections", "int32", "(", "%x", ",).0"),
];

#[test]
fn constructs_inside_each_other() {
    let depth = std::env::var("RELAYC_DEPTH").ok().map_or(20_000, |text| text.parse().expect("a number"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("deep.relay");
    let types = ["(", "fn ("].map(|open| {
        let (close, what) = if open == "(" { (",)", "types of tuples") } else { (") -> int32", "types of functions") };
        (what, format!("{}int32{}", open.repeat(depth), close.repeat(depth)), "1".to_owned())
    });
    let bodies = CONSTRUCTS.map(|(what, ty, before, middle, behind)| {
        // A comment has nothing inside of it: what it is about stands behind.
        let (inside, after) = if before == "/*" { ("", middle) } else { (middle, "") };
        (what, ty.to_owned(), format!("{}{inside}{}{after}", before.repeat(depth), behind.repeat(depth)))
    });
    for (what, ty, body) in types.into_iter().chain(bodies) {
        std::fs::write(&path, format!("#[version = \"0.0.5\"]\ndef @main(%x: {ty}) {{ {body} }}\n")).expect("written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
        let begin = std::time::Instant::now();
        let output = command.args(["check", "--quiet", "--limit", "nesting=16M"]).arg(&path).output().expect("relayc runs");
        println!("{what}: {:.1?}", begin.elapsed());
        let said = String::from_utf8_lossy(&output.stderr).chars().take(400).collect::<String>();
        assert!(output.status.success(), "{what}: {} {said}", output.status);
    }
}
