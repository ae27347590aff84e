//! `relayc explain`: the page of a diagnostic code.

use super::{Console, exit};
use crate::base::text::nearest;
use crate::diag::Code;
use crate::diag::codes::ALL;

/// Explain a diagnostic code: what it means, a wrong and a right program.
#[derive(clap::Args)]
pub struct Args {
    /// The code, `E0301`; without one, all codes are listed.
    code: Option<String>,
    /// Print the JSON Schema of what `--message-format json` writes.
    #[arg(long, conflicts_with = "code")]
    schema: bool,
}

pub fn run(console: &Console, args: &Args) -> u8 {
    if args.schema {
        print!("{}", crate::diag::render::SCHEMA);
        return exit::FINE;
    }
    let Some(wanted) = &args.code else {
        for code in ALL {
            println!("{}  {}", code.id(), code.title());
        }
        return exit::FINE;
    };
    match Code::find(wanted) {
        Some(code) => {
            print!("{}", code.page());
            exit::FINE
        }
        None => {
            let upper = wanted.to_ascii_uppercase();
            let near = nearest(&upper, ALL.iter().map(|code| code.id()));
            let hint = near.map_or("`relayc explain` lists all".to_owned(), |near| format!("there is `{near}`"));
            console.words(&format!("error: there is no code `{wanted}`: {hint}\n"));
            exit::USAGE
        }
    }
}
