//! Rules for dependencies: every direct dependency has its line in the table of `CONTRIBUTING.md`, and the table has no others.

use crate::tree::read;
use std::collections::BTreeSet;

#[test]
fn contributing_explains_every_dependency() {
    let manifest = read("Cargo.toml");
    let mut in_dependencies = false;
    let mut declared = BTreeSet::new();
    for line in manifest.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with('[') {
            in_dependencies = line.ends_with("dependencies]");
        } else if let (true, Some((name, _))) = (in_dependencies, line.split_once(['=', '.'])) {
            declared.insert(name.trim().to_owned());
        }
    }
    declared.retain(|name| !name.starts_with("relayc-"));
    let contributing = read("CONTRIBUTING.md");
    let (_, table) = contributing.split_once("## Dependencies").expect("CONTRIBUTING.md has a section `## Dependencies`");
    let rows = table.lines().take_while(|line| !line.starts_with("## "));
    let explained: BTreeSet<String> = rows
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, rest)| {
            let cells: Vec<&str> = rest.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
            assert!(cells.len() == 2, "the row of `{name}` says what for and why this one");
            name.to_owned()
        })
        .collect();
    assert_eq!(explained, declared, "the table in CONTRIBUTING.md and the dependencies in Cargo.toml");
}
