//! `relayc completions`: writes a shell script that completes commands, flags and names.

use super::{Console, exit};
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory, ValueHint};
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
    let commands: Vec<&'static str> = command.get_subcommands().flat_map(with_inner).collect();
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
    command =
        command.mut_subcommand("man", |man| man.mut_arg("command", |arg| arg.value_parser(PossibleValuesParser::new(commands))));
    // Which flags a network has is not known to the command line.
    let flags = model::flags().into_iter().map(|flag| Arg::new(flag).long(flag));
    command.mut_subcommand("model", |model| {
        let model = model
            .mut_arg("flags", |arg| arg.hide(true))
            .arg(Arg::new("output").short('o').long("output").value_hint(ValueHint::FilePath));
        model
            .arg(Arg::new("params").long("params").value_hint(ValueHint::FilePath))
            .arg(Arg::new("seed").long("seed"))
            .args(flags)
    })
}

/// The names of a command and of those inside of it, for as long as the script is written.
fn with_inner(command: &Command) -> Vec<&'static str> {
    let all = std::iter::once(command).chain(command.get_subcommands());
    all.map(|command| &*command.get_name().to_owned().leak()).collect()
}
