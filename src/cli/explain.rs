//! `relayc explain`: prints the page of a diagnostic code.

use super::Console;
use relayc_base::diag::Code;
use relayc_base::diag::codes::ALL;
use relayc_base::text::nearest;
use relayc_driver::lint;
use serde_json::json;

/// Explain a diagnostic code or a lint: its meaning, a wrong and a right program.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The code, such as `E0301`, or the name of a lint, such as `unused-let`; without one, list all codes.
    code: Option<String>,
    /// Print the JSON Schema of `--message-format json`.
    #[arg(long, conflicts_with = "code")]
    schema: bool,
    /// Print the list of codes as JSON, `relayc.code/1`: one code a line.
    #[arg(long, conflicts_with_all = ["code", "schema"])]
    json: bool,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    if args.schema {
        return console.data(relayc_base::diag::render::SCHEMA);
    }
    let Some(wanted) = &args.code else {
        let line = |code: &Code| match args.json || console.is_json() {
            true => json!({ "schema": "relayc.code/1", "code": code.id(), "title": code.title(), "lint": lint::name(*code) })
                .to_string(),
            false => format!("{}  {}", code.id(), code.title()),
        };
        return console.data(&ALL.iter().map(|code| line(code) + "\n").collect::<String>());
    };
    match Code::find(wanted).or_else(|| lint::code(wanted)) {
        Some(code) => console.data(code.page()),
        None => {
            let upper = wanted.to_ascii_uppercase();
            // `308` and `W10`.
            let digits = upper.trim_start_matches(['E', 'W']);
            let letter = if upper.starts_with('W') { 'W' } else { 'E' };
            let upper = if digits.bytes().all(|byte| byte.is_ascii_digit()) { format!("{letter}{digits:0>4}") } else { upper };
            let written_out = Code::find(&upper).map(|code| code.id());
            let near = written_out.or_else(|| nearest(&upper, ALL.iter().map(|code| code.id())));
            let near = near.or_else(|| nearest(wanted, lint::names()));
            let hint = near.map_or("`relayc explain` lists all".to_owned(), |near| format!("there is `{near}`"));
            console.usage(format_args!("there is no code and no lint `{wanted}`: {hint}"))
        }
    }
}
