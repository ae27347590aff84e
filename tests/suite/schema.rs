//! The output of `--message-format json` conforms to `crates/base/src/diag/diag.schema.json`, for every golden of an error.

use crate::support;
use boon::{Compiler, SchemaIndex, Schemas};
use relayc_base::diag::render::{Format, SCHEMA, fixed, render, summary};
use relayc_driver::{Phase, Program, check_text};
use serde_json::{Value, json};

struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    fn read() -> Schema {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let text = serde_json::from_str(SCHEMA).expect("the schema is JSON");
        compiler.add_resource("diag.schema.json", text).expect("the schema has a place");
        let index = compiler.compile("diag.schema.json", &mut schemas).expect("the schema is one");
        Schema { schemas, index }
    }

    fn check(&self, value: &Value) -> Result<(), String> {
        self.schemas.validate(value, self.index).map_err(|error| format!("{error:#}"))
    }
}

/// Every golden program that is checked, with its name.
fn programs() -> Vec<(String, Program)> {
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a golden");
        let program = check_text(&name, &text, Phase::Lint);
        (name, program)
    };
    support::programs::under("tests/golden/errors", &["relay"]).into_iter().map(read).collect()
}

#[test]
fn every_message_is_as_the_schema_says() {
    let schema = Schema::read();
    let programs = programs();
    assert!(programs.len() >= 120, "{} goldens", programs.len());
    for (name, Program { sources, diagnostics, .. }) in &programs {
        let mut lines = render(diagnostics, sources, Format::Json, false);
        lines.push_str(&summary(diagnostics, name, Format::Json));
        diagnostics.iter().for_each(|diagnostic| lines.push_str(&fixed(diagnostic, sources, Format::Json)));
        assert_eq!(lines.lines().count(), 2 * diagnostics.len() + 1, "{name}");
        for line in lines.lines() {
            let value = serde_json::from_str(line).expect("a line is an object");
            schema.check(&value).unwrap_or_else(|why| panic!("{name}: {line}\n{why}"));
        }
    }
}

/// A schema that takes everything would prove nothing.
#[test]
fn the_schema_refuses_what_is_not_a_message() {
    let schema = Schema::read();
    let sources = relayc_base::Sources::new();
    let diagnostic = relayc_base::diag::Diagnostic::new(relayc_base::diag::codes::E0101, "message").help("help");
    let line = render(&[diagnostic], &sources, Format::Json, false);
    let right: Value = serde_json::from_str(&line).expect("an object");
    assert_eq!(schema.check(&right), Ok(()));
    for (key, value) in [("code", json!("X1")), ("level", json!("note")), ("fixes", json!([{}])), ("more", json!(1))] {
        let mut wrong = right.clone();
        wrong[key] = value;
        assert!(schema.check(&wrong).is_err(), "{key}");
    }
}

/// One line a message: `file:line:col: error[CODE]: message`.
#[test]
fn short_messages_are_lines() {
    for (name, Program { sources, diagnostics, .. }) in &programs() {
        let short = render(diagnostics, sources, Format::Short, false);
        assert_eq!(short.lines().count(), diagnostics.len(), "{name}");
        for (line, diagnostic) in short.lines().zip(diagnostics) {
            let level = if diagnostic.is_error() { "error" } else { "warning" };
            let rest = line.strip_prefix(&format!("{name}:")).unwrap_or_else(|| panic!("{name}: {line}"));
            let (place, message) = rest.split_once(": ").expect("a place and a message");
            assert!(place.split(':').all(|number| number.parse::<u32>().is_ok_and(|n| n > 0)), "{line}");
            let head = format!("{level}[{}]: ", diagnostic.code.id());
            assert!(message.strip_prefix(&head).is_some_and(|text| !text.is_empty()), "{line}");
        }
    }
}

/// An edit lies in the text, and those of one fix can be carried out together.
#[test]
fn every_fix_can_be_carried_out() {
    let mut n_fixes = 0;
    for (name, Program { sources, diagnostics, .. }) in &programs() {
        let Some(file) = sources.files().next() else { continue };
        for help in diagnostics.iter().flat_map(|diagnostic| &diagnostic.helps).filter(|help| !help.edits.is_empty()) {
            n_fixes += 1;
            let fixed = relayc_base::diag::fix::apply(&file.text, relayc_base::FileId(0), &help.edits);
            assert!(fixed.is_some_and(|fixed| fixed != *file.text), "{name}: {}", help.text);
        }
    }
    assert!(n_fixes >= 80, "{n_fixes} fixes");
}
