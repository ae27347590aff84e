//! `relayc man`: writes manual pages.

use super::{Console, exit};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::nearest;
use relayc_sys as sys;
use std::path::PathBuf;

/// Write the manual page of a command: `relayc man run | man -l -`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The command, such as `run` or `params bind`; without one, the page of relayc itself.
    #[arg(num_args = 0..=2)]
    command: Vec<String>,
    /// Write the pages of all commands to this folder: `relayc.1`, `relayc-run.1`, `relayc-params-bind.1`, ….
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    all: Option<PathBuf>,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    let mut whole = super::Args::command();
    whole.build();
    let written = match (&args.all, &args.command) {
        (Some(folder), _) => pages(&whole).and_then(|pages| {
            let files: Vec<(PathBuf, Vec<u8>)> = pages.into_iter().map(|(name, page)| (folder.join(name), page)).collect();
            let files: Vec<_> = files.iter().map(|(path, page)| (path.as_path(), page.as_slice())).collect();
            sys::write_atomic(&files)
        }),
        (None, names) => {
            let mut command = &whole;
            for name in names {
                let Some(inner) = command.find_subcommand(name) else {
                    let near = nearest(name, command.get_subcommands().map(Command::get_name));
                    let hint = near.map_or("`relayc help` lists all".to_owned(), |near| format!("there is `{near}`"));
                    return console.usage(format_args!("there is no command `{name}`: {hint}"));
                };
                command = inner;
            }
            page(command).and_then(|page| sys::stdout_bytes(&page))
        }
    };
    written.map_or_else(|wrong| console.files(&[wrong], &Default::default()), |()| exit::FINE)
}

/// The pages of relayc, of all commands and of those inside of them, with the names of their files.
fn pages(whole: &Command) -> Result<Vec<(String, Vec<u8>)>, Diagnostic> {
    let inner = whole.get_subcommands().flat_map(|command| std::iter::once(command).chain(command.get_subcommands()));
    let commands = std::iter::once(whole).chain(inner);
    commands.map(|command| Ok((Man::new(command.clone()).get_filename(), page(command)?))).collect()
}

fn page(command: &Command) -> Result<Vec<u8>, Diagnostic> {
    let mut page = Vec::new();
    let rendered = Man::new(command.clone()).render(&mut page);
    rendered.map_err(|error| Diagnostic::new(codes::E0702, format!("the manual page cannot be written: {error}")))?;
    Ok(page)
}
