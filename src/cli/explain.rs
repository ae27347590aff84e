//! `relayc explain`: prints the page of a diagnostic code.

use super::Console;
use relayc_base::diag::Code;
use relayc_base::diag::codes::ALL;
use relayc_base::text::nearest;

/// Explain a diagnostic code: its meaning, a wrong and a right program.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The code, such as `E0301`; without one, list all codes.
    code: Option<String>,
    /// Print the JSON Schema of `--message-format json`.
    #[arg(long, conflicts_with = "code")]
    schema: bool,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    if args.schema {
        return console.data(relayc_base::diag::render::SCHEMA);
    }
    let Some(wanted) = &args.code else {
        return console.data(&ALL.iter().map(|code| format!("{}  {}\n", code.id(), code.title())).collect::<String>());
    };
    match Code::find(wanted) {
        Some(code) => console.data(code.page()),
        None => {
            let upper = wanted.to_ascii_uppercase();
            let near = nearest(&upper, ALL.iter().map(|code| code.id()));
            let hint = near.map_or("`relayc explain` lists all".to_owned(), |near| format!("there is `{near}`"));
            console.usage(format_args!("there is no code `{wanted}`: {hint}"))
        }
    }
}
