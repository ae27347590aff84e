//! `relayc passes`: the list of passes, from their declarations.

use super::{Console, exit};
use crate::base::text::shortened;
use crate::driver::optimise::{self, ON_REQUEST};

/// The width of the list.
const WIDTH: usize = 120;

/// The passes of `relayc opt` in the order in which they run, with the lowest -O that runs each.
#[derive(clap::Args)]
pub struct Args {}

pub fn run(console: &Console, _args: &Args) -> u8 {
    let passes = optimise::all();
    if console.is_json() {
        passes.iter().for_each(|pass| println!("{}", optimise::object(pass)));
        return exit::FINE;
    }
    let width = passes.iter().map(|pass| pass.name.len()).max().unwrap_or(0);
    for pass in passes {
        let level = if pass.level == ON_REQUEST { "   ".to_owned() } else { format!("-O{}", pass.level) };
        println!("{}", shortened(&format!("{:width$}  {level}  {}", pass.name, pass.summary()), WIDTH));
    }
    exit::FINE
}
