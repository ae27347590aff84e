//! `relayc model`: the networks of relay.testing, as text and weights.

use super::{Console, exit};
use crate::base::text::thousands;
use crate::diag::Diagnostic;
use crate::formats::params;
use crate::infer;
use crate::ir::print::{self, Options};
use crate::ops;
use crate::sys;
use crate::zoo::{self, Config, Network, ZooError};
use std::path::{Path, PathBuf};

/// Write a network of relay.testing, and its initial weights.
///
/// `relayc model resnet --layers 18 -o r.relay --params r.params`. Every network has flags of its own:
/// `relayc model --list` shows them.
#[derive(clap::Args)]
pub struct Args {
    /// Show all networks with their flags and sizes.
    #[arg(long)]
    list: bool,
    /// The network.
    #[arg(required_unless_present = "list")]
    name: Option<String>,
    /// -o FILE (the text; standard output without it), --params FILE (the weights), --seed N, and the network's own flags.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FLAGS")]
    flags: Vec<String>,
}

/// The flags that every network has.
#[derive(Default)]
struct Target {
    text: Option<PathBuf>,
    params: Option<PathBuf>,
    seed: u32,
    help: bool,
}

/// What stops it: wrong usage in words, or diagnostics.
enum Failed {
    Usage(ZooError),
    Found(Vec<Diagnostic>),
}

impl From<ZooError> for Failed {
    fn from(error: ZooError) -> Failed {
        Failed::Usage(error)
    }
}

impl From<Diagnostic> for Failed {
    fn from(diagnostic: Diagnostic) -> Failed {
        Failed::Found(vec![diagnostic])
    }
}

pub fn run(console: &Console, args: &Args) -> u8 {
    match (args.list, &args.name) {
        (false, Some(name)) => match write(console, name, &args.flags) {
            Ok(()) => exit::FINE,
            Err(Failed::Usage(error)) => {
                console.words(&format!("error: {}\n\nhelp: {}\n", error.message, error.help));
                exit::USAGE
            }
            Err(Failed::Found(diagnostics)) => {
                console.diagnostics(&diagnostics, &Default::default());
                exit::of_files(&diagnostics)
            }
        },
        _ => match sys::stdout(&list()) {
            Ok(()) => exit::FINE,
            Err(diagnostic) => {
                console.diagnostics(&[diagnostic], &Default::default());
                exit::USAGE
            }
        },
    }
}

fn write(console: &Console, name: &str, flags: &[String]) -> Result<(), Failed> {
    let network = zoo::find(name)?;
    let (target, own_flags) = split_flags(flags)?;
    if target.help {
        return Ok(sys::stdout(&describe(network))?);
    }
    let config = Config::parse(network, &own_flags)?;
    let mut module = config.build()?;
    let diagnostics = infer::infer(&mut module, ops::table());
    if !diagnostics.is_empty() {
        return Err(Failed::Found(diagnostics));
    }
    let text = print::print(&module, ops::table(), Options { types: true });
    let weights = match &target.params {
        Some(_) => params::write(&zoo::weights(&zoo::params_of(&module)?, network.rule, target.seed)?),
        None => vec![],
    };
    let mut files: Vec<(&Path, &[u8])> = Vec::new();
    files.extend(target.text.as_deref().map(|path| (path, text.as_bytes())));
    files.extend(target.params.as_deref().map(|path| (path, &*weights)));
    sys::write_atomic(&files)?;
    if target.text.is_none() {
        sys::stdout(&text)?;
    }
    if console.verbose {
        console.words(&format!("{} of {name}\n", size_of(&zoo::params_of(&module)?)));
    }
    Ok(())
}

/// Takes the flags that every network has out of the others.
fn split_flags(flags: &[String]) -> Result<(Target, Vec<String>), ZooError> {
    let mut target = Target::default();
    let mut own = Vec::new();
    let mut rest = flags.iter();
    while let Some(flag) = rest.next() {
        let (key, inline) = match flag.split_once('=') {
            Some((key, value)) if flag.starts_with("--") => (key, Some(value.to_owned())),
            _ => (flag.as_str(), None),
        };
        let mut value = |what: &str| {
            let value = inline.clone().or_else(|| rest.next().cloned());
            value.ok_or_else(|| ZooError { message: format!("`{key}` needs {what}"), help: format!("write `{key} …`") })
        };
        match key {
            "-o" | "--output" => target.text = Some(value("a file")?.into()),
            "--params" => target.params = Some(value("a file")?.into()),
            "--seed" => {
                let text = value("a number")?;
                let error =
                    |_| ZooError { message: format!("`{text}` is no seed"), help: "a seed is a number below 2^32".into() };
                target.seed = text.parse().map_err(error)?;
            }
            "-h" | "--help" => target.help = true,
            _ => own.push(flag.clone()),
        }
    }
    Ok((target, own))
}

fn size_of(params: &[zoo::Param]) -> String {
    let n: u64 = params.iter().map(|param| param.shape.iter().map(|&dim| dim as u64).product::<u64>()).sum();
    format!("{} parameters in {} tensors", thousands(n), params.len())
}

/// One network with its flags.
fn describe(network: &Network) -> String {
    let mut out = format!("{}: {}\n", network.name, network.doc);
    for flag in network.flags {
        out.push_str(&format!("    --{:<14} {:<14} {}\n", flag.name, flag.default, flag.doc));
    }
    out
}

/// All networks, with the size of each at its default flags.
fn list() -> String {
    let mut out = String::new();
    for network in zoo::networks() {
        out.push_str(&describe(network));
        let size = Config::new(network).build().ok().and_then(|mut module| {
            let found = infer::infer(&mut module, ops::table());
            found.is_empty().then(|| zoo::params_of(&module).ok()).flatten()
        });
        let size = size.map_or("not buildable: an operator is missing".to_owned(), |params| size_of(&params));
        out.push_str(&format!("    {size}\n\n"));
    }
    out
}
