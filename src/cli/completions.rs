//! `relayc completions`: writes a shell script that completes commands, flags and names.

use super::{Console, exit};
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use relayc_base::diag::codes::ALL;
use relayc_driver::{lint, manual, model, optimise};
use relayc_sys as sys;

/// Write a script that completes commands, flags and the names of operators, passes, networks, codes and lints: `relayc completions
/// bash > /etc/bash_completion.d/relayc`.
#[derive(clap::Args)]
pub(crate) struct Args {
    shell: Shell,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut with_names(super::Args::command()), "relayc", &mut script);
    match sys::stdout_bytes(&script) {
        Ok(()) => exit::FINE,
        Err(wrong) => console.files(&[wrong], &Default::default()),
    }
}

/// The command line, where arguments that are names say which there are. Otherwise it leaves that to messages, so that its help stays
/// short.
fn with_names(mut command: Command) -> Command {
    let operators = manual::look_up("").unwrap_or_default().into_iter().map(|def| def.name).collect();
    let passes = optimise::all().into_iter().map(|pass| pass.name).collect();
    let codes = ALL.iter().map(|code| code.id()).chain(lint::names()).collect();
    let lints = lint::names().chain(lint::GROUPS).collect();
    let named: [(&[&str], &[&str], Vec<&'static str>); 5] = [
        (&["ops"], &["name"], operators),
        (&["explain"], &["code"], codes),
        (&["model"], &["name"], model::names()),
        (&["check", "watch"], &["allow", "warn", "deny"], lints),
        (&["opt", "run", "build", "bench", "viz"], &["passes", "print_after"], passes),
    ];
    for (commands, args, names) in named {
        let there: Vec<&str> = commands.iter().copied().filter(|name| command.find_subcommand(name).is_some()).collect();
        for name in there {
            let parser = PossibleValuesParser::new(names.clone());
            command =
                command.mut_subcommand(name, |subcommand| {
                    subcommand.mut_args(|arg| {
                        if args.contains(&arg.get_id().as_str()) { arg.value_parser(parser.clone()) } else { arg }
                    })
                });
        }
    }
    command
}
