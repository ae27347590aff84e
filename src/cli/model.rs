//! `relayc model`: writes the networks of relay.testing as text and weights.

use super::{Console, exit};
use relayc_driver::endings;
use relayc_driver::model::{self, ModelError};
use relayc_driver::tensors::{self, params};
use relayc_sys::{self as sys, Content};
use std::path::{Path, PathBuf};

/// Write a network of relay.testing, and its initial weights.
///
/// `relayc model resnet --layers 18 -o r.relay --params r.params`. Every network has flags of its own: `relayc model --list`
/// shows them.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Show all networks with their flags and sizes.
    #[arg(long)]
    list: bool,
    /// Print the list as JSON, `relayc.model/1`: one network a line.
    #[arg(long, requires = "list")]
    json: bool,
    /// The network.
    #[arg(required_unless_present = "list")]
    name: Option<String>,
    /// The network's own flags, and: -o FILE (the text; standard output without it), --params FILE (the weights: .npz or
    /// .safetensors by its name, else .params), --seed N.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FLAGS")]
    flags: Vec<String>,
}

/// The flags of every network.
#[derive(Default)]
struct Target {
    text: Option<PathBuf>,
    params: Option<PathBuf>,
    seed: u32,
    help: bool,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    let result = match (args.list, &args.name) {
        (false, Some(name)) => write(console, name, &args.flags),
        _ if args.json || console.is_json() => {
            sys::stdout(&model::list_json()).map_err(|diagnostic| ModelError::Found(vec![diagnostic]))
        }
        _ => sys::stdout(&model::list()).map_err(|diagnostic| ModelError::Found(vec![diagnostic])),
    };
    match result {
        Ok(()) => exit::FINE,
        Err(ModelError::Usage { message, help }) => console.usage_with_help(message, help),
        Err(ModelError::Found(diagnostics)) => {
            console.diagnostics(&diagnostics, &Default::default());
            exit::of_files(&diagnostics)
        }
    }
}

fn write(console: &Console, name: &str, flags: &[String]) -> Result<(), ModelError> {
    let found = |diagnostic| ModelError::Found(vec![diagnostic]);
    let (target, own_flags) = split_flags(flags)?;
    if target.help {
        return sys::stdout(&model::describe(name)?).map_err(found);
    }
    target.text.as_deref().map_or(Ok(()), endings::program).map_err(found)?;
    let model = model::build(name, &own_flags, target.params.is_some().then_some(target.seed))?;
    let mut files: Vec<(&Path, Content)> = Vec::new();
    files.extend(target.text.as_deref().map(|path| (path, Content::Bytes(model.text.as_bytes()))));
    if let (Some(path), Some(weights)) = (&target.params, &model.weights) {
        let format = endings::of_tensors(path, Some(params::FORMAT)).map_err(found)?;
        files.push((path, tensors::making_of(path, format, weights)));
    }
    sys::write_all(files).map_err(found)?;
    if target.text.is_none() {
        sys::stdout(&model.text).map_err(found)?;
    }
    if console.verbose {
        console.words(&format!("{} of {name}\n", model.size));
    }
    Ok(())
}

/// Separates the flags of every network from the network's own.
fn split_flags(flags: &[String]) -> Result<(Target, Vec<String>), ModelError> {
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
            value
                .ok_or_else(|| ModelError::Usage { message: format!("`{key}` needs {what}"), help: format!("write `{key} …`") })
        };
        match key {
            "-o" | "--output" => target.text = Some(value("a file")?.into()),
            "--params" => target.params = Some(value("a file")?.into()),
            "--seed" => {
                let text = value("a number")?;
                let error = |_| ModelError::Usage {
                    message: format!("`{text}` is no seed"),
                    help: "a seed is a number below 2^32".into(),
                };
                target.seed = text.parse().map_err(error)?;
            }
            "-h" | "--help" => target.help = true,
            _ => own.push(flag.clone()),
        }
    }
    Ok((target, own))
}
