//! The output of `--message-format json` conforms to `crates/base/src/diag/diag.schema.json`, for every golden of an error.

use crate::support;
use relayc_base::diag::render::{Format, SCHEMA, fixed, render, summary};
use relayc_driver::{Phase, Program, check_text};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The schema, by the keywords of JSON Schema that it uses; a library for all of them brings thirty crates.
struct Schema(Value);

impl Schema {
    fn read() -> Schema {
        Schema(serde_json::from_str(SCHEMA).expect("the schema is JSON"))
    }

    fn check(&self, value: &Value) -> Result<(), String> {
        self.allows(&self.0, value).map(drop)
    }

    /// Checks a value. Returns the names of the fields that the schema describes.
    fn allows<'a>(&'a self, schema: &'a Value, value: &Value) -> Result<BTreeSet<&'a str>, String> {
        let rules = schema.as_object().expect("a schema is an object");
        let holds = |holds: bool, rule: &Value| if holds { Ok(()) } else { Err(format!("{value} breaks {rule}")) };
        let list = |rule: &'a Value| rule.as_array().expect("a list").iter();
        let string = |rule: &'a Value| rule.as_str().expect("a string");
        let mut described = BTreeSet::new();
        for (keyword, rule) in rules {
            match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" | "additionalProperties" | "unevaluatedProperties" => {}
                "$ref" => {
                    let at = string(rule).strip_prefix('#').expect("a place in the schema");
                    described.extend(self.allows(self.0.pointer(at).expect("a definition"), value)?);
                }
                "oneOf" => {
                    let fits: Vec<_> = list(rule).map(|schema| self.allows(schema, value)).collect();
                    let why: Vec<&String> = fits.iter().filter_map(|fits| fits.as_ref().err()).collect();
                    holds(fits.len() - why.len() == 1, &json!(why))?;
                }
                "type" if rule.is_array() => holds(list(rule).any(|ty| is(value, string(ty))), rule)?,
                "type" => holds(is(value, string(rule)), rule)?,
                "const" => holds(value == rule, rule)?,
                "enum" => holds(list(rule).any(|allowed| value == allowed), rule)?,
                "minLength" => {
                    holds(value.as_str().is_none_or(|text| text.len() as u64 >= rule.as_u64().expect("a length")), rule)?
                }
                "minimum" => holds(value.as_f64().is_none_or(|number| number >= rule.as_f64().expect("a number")), rule)?,
                "pattern" => {
                    let pattern = regex_lite::Regex::new(string(rule)).expect("a pattern");
                    holds(value.as_str().is_none_or(|text| pattern.is_match(text)), rule)?;
                }
                "required" => {
                    holds(value.as_object().is_none_or(|fields| list(rule).all(|name| fields.contains_key(string(name)))), rule)?;
                }
                "items" => value.as_array().into_iter().flatten().try_for_each(|item| self.allows(rule, item).map(drop))?,
                "properties" => {
                    for (name, schema) in rule.as_object().expect("schemas by name") {
                        described.insert(name.as_str());
                        value.get(name).map_or(Ok(()), |field| self.allows(schema, field).map(drop))?;
                    }
                }
                _ => panic!("the schema uses `{keyword}`, which this test does not know"),
            }
        }
        if let Some(more) = rules.get("additionalProperties").or(rules.get("unevaluatedProperties")) {
            assert_eq!(more, &json!(false), "this test knows no other rule");
            let known = value.as_object().is_none_or(|fields| fields.keys().all(|name| described.contains(name.as_str())));
            holds(known, &json!(described))?;
        }
        Ok(described)
    }
}

/// Whether a value is of a type of JSON Schema.
fn is(value: &Value, ty: &str) -> bool {
    match ty {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "null" => value.is_null(),
        _ => panic!("no type: {ty}"),
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
