//! Lenses: tests are run at their lines, which then say what came of it; functions are drawn, measured, and shown as passes make them.

use super::{Cx, commands};
use lsp_types::{CodeLens, CodeLensParams, Command, Range};
use relayc_base::text::{count, shortened};
use relayc_driver::example;
use relayc_syntax::ast::Def;
use serde_json::{Value, json};

/// The longest outcome shown, in characters.
const MAX_LENGTH: usize = 100;

pub(super) fn lenses(cx: &mut Cx, _: CodeLensParams) -> Option<Vec<CodeLens>> {
    if cx.client.trust == Some(false) {
        return None;
    }
    let mut lenses = vec![];
    for def in &cx.checked.ast().defs {
        let Def::Func { name, .. } = def else { continue };
        let range = cx.range(*name);
        let arguments = [json!(cx.uri), json!(cx.checked.slice(*name).trim_start_matches('@'))];
        let shown =
            [(cx.client.shows_pictures, "Picture", "relayc.showPicture"), (cx.client.shows_passes, "Passes", "relayc.showPass")];
        let shown = shown.into_iter().filter(|(is_able, ..)| *is_able);
        if cx.checked.slice(*name).get(1..) == Some(&*cx.rules.how.entry) {
            let (command, argument) = match cx.client.shows_profiles {
                true => ("relayc.showProfile", json!(cx.uri)),
                false => (commands::PROFILE, json!({ "textDocument": { "uri": cx.uri } })),
            };
            lenses.push(lens(range, "Profile", command, vec![argument]));
        }
        lenses.extend(shown.map(|(_, title, command)| lens(range, title, command, arguments.to_vec())));
    }
    let tests = example::lines(&cx.checked.text.text, example::RUN);
    for (at, (number, _)) in tests.iter().enumerate() {
        let line = *number as u32 - 1;
        let range = commands::line(&cx.checked.text, line);
        let run = |lines: Value| vec![json!({ "textDocument": { "uri": cx.uri }, "lines": lines })];
        let title = match cx.outcomes.iter().find(|outcome| outcome.line == line) {
            None => "▶ Run".to_owned(),
            Some(outcome) if outcome.holds => "✓ holds".to_owned(),
            Some(outcome) => {
                let message = outcome.message.as_deref().and_then(|message| message.lines().next());
                format!("✗ {}", shortened(message.unwrap_or("fails"), MAX_LENGTH))
            }
        };
        lenses.push(lens(range, &title, commands::RUN, run(json!([line]))));
        if at == 0 && tests.len() > 1 {
            lenses.push(lens(range, &format!("▶ Run all {}", count(tests.len(), "test")), commands::RUN, run(Value::Null)));
        }
    }
    Some(lenses)
}

fn lens(range: Range, title: &str, command: &str, arguments: Vec<Value>) -> CodeLens {
    let command = Command { title: title.to_owned(), command: command.to_owned(), arguments: Some(arguments) };
    CodeLens { range, command: Some(command), data: None }
}
