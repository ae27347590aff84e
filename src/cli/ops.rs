//! `relayc ops`: prints the manual of the operators.

use super::Console;
use relayc_base::text::shortened;
use relayc_driver::manual;

/// The width of a list.
const WIDTH: usize = 120;

/// Show the manual of an operator: its signature, attributes, rules and an example.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The operator, such as `nn.conv2d`; a part of a name lists the operators that contain it; without a name, list all.
    name: Option<String>,
    /// Print JSON, `relayc.op/1`: one operator a line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    let wanted = args.name.as_deref().unwrap_or("");
    let found = match manual::look_up(wanted) {
        Ok(found) => found,
        Err(near) => {
            let hint = near.map_or("`relayc ops` lists all".to_owned(), |near| format!("there is `{near}`"));
            return console.usage(format_args!("there is no operator `{wanted}`: {hint}"));
        }
    };
    console.data(&if args.json || console.is_json() {
        found.iter().map(|def| format!("{}\n", manual::object(def))).collect()
    } else if let ([def], true) = (&found[..], args.name.is_some()) {
        def.page()
    } else {
        let width = found.iter().map(|def| def.name.len()).filter(|&len| len <= 32).max().unwrap_or(0);
        let lines = found.iter().map(|def| shortened(&format!("{:width$}  {}", def.name, def.summary()), WIDTH) + "\n");
        lines.collect::<String>()
    })
}
