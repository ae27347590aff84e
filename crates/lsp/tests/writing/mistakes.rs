//! The mistakes of `tests/golden/mistakes/`: what the code actions make of them.

use crate::editor::{edited, position};
use crate::support::{Client, URI};
use relayc_driver::{Dialect, Phase, ReadOptions, check_text_as, fix};
use serde_json::{Value, json};
use std::path::Path;

/// The actions of a kind over the whole text.
fn actions(client: &mut Client, text: &str, kind: &str) -> Vec<Value> {
    let params = json!({
        "textDocument": { "uri": URI },
        "range": { "start": position(text, 0), "end": position(text, text.len()) },
        "context": { "diagnostics": [], "only": [kind] },
    });
    client.ask("textDocument/codeAction", params).expect("an answer").as_array().cloned().unwrap_or_default()
}

/// Whether two texts differ in blanks only.
fn same(a: &str, b: &str) -> bool {
    a.split_whitespace().flat_map(str::chars).eq(b.split_whitespace().flat_map(str::chars))
}

#[test]
fn code_actions_mend_what_the_command_line_mends() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/mistakes");
    let read = |path: &Path| std::fs::read_to_string(path).expect("it can be read");
    let mut files: Vec<_> = std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "relay"));
    files.sort();
    let mut client = Client::start();
    let (mut n, mut n_fixed, mut n_undone) = (0, 0, 0);
    for path in files {
        let text = read(&path);
        let right: String = text.split_inclusive('\n').filter(|line| !line.starts_with("//") && *line != "\n").collect();
        let report = read(&path.with_extension("out"));
        for mistake in text.split("// mistake: ").skip(1) {
            let name = mistake.lines().next().unwrap_or("");
            let part = |sign: &str| {
                let line = mistake.lines().find_map(|line| line.strip_prefix(sign));
                line.unwrap_or("").replace("\\n", "\n")
            };
            let wrong = right.replacen(&part("// - "), &part("// + "), 1);
            client.open(&wrong);
            let fix_all = actions(&mut client, &wrong, "source.fixAll");
            let fixed = fix_all.first().map_or(wrong.clone(), |action| edited(&wrong, &action["edit"]));
            let how = ReadOptions::of(Dialect::Today);
            let wanted = fix::fix_all(check_text_as("net.relay", &wrong, Phase::Lint, &how), &how);
            assert_eq!(fixed, fix::text(&wanted.program), "{}: {name}", path.display());
            n += 1;
            n_fixed += usize::from(!wanted.fixed.is_empty());
            let undoes = |action: &Value| same(&edited(&wrong, &action["edit"]), &right);
            let undone = actions(&mut client, &wrong, "quickfix").iter().any(undoes);
            // The golden says which mistakes a suggestion undoes.
            let said = report.split("\n\n").find(|part| part.trim_start().lines().next() == Some(name)).expect("a report");
            assert!(undone || !said.contains("\n  fix: "), "{}: {name}: no action undoes it", path.display());
            n_undone += usize::from(undone);
        }
    }
    println!("of {n} mistakes `source.fixAll` mends {n_fixed} as `relayc check --fix` does, a quick fix undoes {n_undone}");
    assert!(n >= 149, "{n} mistakes");
    client.stop();
}
