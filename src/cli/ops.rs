//! `relayc ops`: the manual of the operators.

use super::{Console, exit};
use crate::base::text::shortened;
use crate::driver::manual;

/// The width of a list.
const WIDTH: usize = 120;

/// The manual of an operator: its signature, attributes, rules and an example.
#[derive(clap::Args)]
pub struct Args {
    /// The operator, `nn.conv2d`; a part of a name lists those that hold it, and without one, all are listed.
    name: Option<String>,
}

pub fn run(console: &Console, args: &Args) -> u8 {
    let wanted = args.name.as_deref().unwrap_or("");
    let found = match manual::look_up(wanted) {
        Ok(found) => found,
        Err(near) => {
            let hint = near.map_or("`relayc ops` lists all".to_owned(), |near| format!("there is `{near}`"));
            console.words(&format!("error: there is no operator `{wanted}`: {hint}\n"));
            return exit::USAGE;
        }
    };
    if console.is_json() {
        found.iter().for_each(|def| println!("{}", manual::object(def)));
    } else if let ([def], true) = (&found[..], args.name.is_some()) {
        print!("{}", def.page());
    } else {
        let width = found.iter().map(|def| def.name.len()).filter(|&len| len <= 32).max().unwrap_or(0);
        found.iter().for_each(|def| println!("{}", shortened(&format!("{:width$}  {}", def.name, def.summary()), WIDTH)));
    }
    exit::FINE
}
