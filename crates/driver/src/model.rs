//! Builds the networks of relay.testing as text and weights.

use relayc_base::diag::Diagnostic;
use relayc_base::text::thousands;
use relayc_check::infer;
use relayc_ir::Module;
use relayc_ir::print::{self, Options};
use relayc_ops as ops;
use relayc_weights::Named;
use relayc_zoo::{self as zoo, Config, Library, Network, ZooError};
use serde_json::{Value, json};

/// A built network.
pub struct Model {
    pub text: String,
    /// The weights, if requested.
    pub weights: Option<Named>,
    /// `109,386 parameters in 6 tensors, 109,184 multiply-accumulates`; for a library, its contents.
    pub size: String,
}

/// Why a network cannot be built.
pub enum ModelError {
    /// Wrong usage, with a help.
    Usage {
        message: String,
        help: String,
    },
    Found(Vec<Diagnostic>),
}

impl From<ZooError> for ModelError {
    fn from(error: ZooError) -> ModelError {
        ModelError::Usage { message: error.message, help: error.help }
    }
}

/// Builds a network from its flags; the weights come from `seed`, if given.
pub fn build(name: &str, flags: &[String], seed: Option<u32>) -> Result<Model, ModelError> {
    if let Some(library) = library(name) {
        if let Some(flag) = flags.first().map(String::as_str).or(seed.map(|_| "--params")) {
            let message = format!("`{name}` has no weights and no flags, found `{flag}`");
            return Err(ModelError::Usage { message, help: format!("write `relayc model {name} -o FILE`") });
        }
        return Ok(Model { text: library.text.to_owned(), weights: None, size: library.doc.to_owned() });
    }
    let network = zoo::find(name)?;
    let mut module = Config::parse(network, flags)?.build()?;
    let diagnostics = infer::infer(&mut module, ops::table());
    if !diagnostics.is_empty() {
        return Err(ModelError::Found(diagnostics));
    }
    let text = print::print(&module, ops::table(), Options { types: true, meta: false, exact: false, dim_names: false });
    let shapes = zoo::params_of(&module)?;
    let weights = seed.map(|seed| zoo::weights(&shapes, network.rule, seed)).transpose()?;
    Ok(Model { text, weights, size: size_of(&module, &shapes) })
}

fn size_of(module: &Module, params: &[zoo::Param]) -> String {
    let grouped = |n: u128| thousands(u64::try_from(n).unwrap_or(u64::MAX));
    let size = format!("{} parameters in {} tensors", grouped(zoo::n_parameters(params)), params.len());
    zoo::macs(module).map_or(size.clone(), |macs| format!("{size}, {} multiply-accumulates", grouped(macs)))
}

/// One network with its flags, in words.
pub fn describe(name: &str) -> Result<String, ModelError> {
    match library(name) {
        Some(library) => Ok(format!("{}: {}\n", library.name, library.doc)),
        None => Ok(description(zoo::find(name)?)),
    }
}

fn library(name: &str) -> Option<&'static Library> {
    zoo::LIBRARIES.iter().find(|library| library.name == name)
}

fn description(network: &Network) -> String {
    let mut out = format!("{}: {}\n", network.name, network.doc);
    for flag in network.flags {
        out.push_str(&format!("    --{:<14} {:<14} {}\n", flag.name, flag.default, flag.doc));
    }
    out
}

/// All networks and libraries as JSON, `relayc.model/1`, one a line.
pub fn list_json() -> String {
    let network = |network: &&Network| {
        let flags = network.flags.iter();
        let flags = flags.map(|flag| json!({ "name": flag.name, "default": flag.default, "doc": flag.doc }));
        let flags: Vec<Value> = flags.collect();
        json!({ "schema": "relayc.model/1", "name": network.name, "doc": network.doc, "flags": flags })
    };
    let library =
        |library: &Library| json!({ "schema": "relayc.model/1", "name": library.name, "doc": library.doc, "flags": [] });
    let lines = zoo::networks().iter().map(network).chain(zoo::LIBRARIES.iter().map(library));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The names of all networks and libraries.
pub fn names() -> Vec<&'static str> {
    zoo::networks().iter().map(|network| network.name).chain(zoo::LIBRARIES.iter().map(|library| library.name)).collect()
}

/// The flags of all networks, each once.
pub fn flags() -> Vec<&'static str> {
    let mut flags: Vec<&str> = zoo::networks().iter().flat_map(|network| network.flags).map(|flag| flag.name).collect();
    flags.sort_unstable();
    flags.dedup();
    flags
}

/// All networks, with the size of each at its default flags.
pub fn list() -> String {
    let mut out = String::new();
    for network in zoo::networks() {
        out.push_str(&description(network));
        let size = Config::new(network).build().ok().and_then(|mut module| {
            let found = infer::infer(&mut module, ops::table());
            let params = found.is_empty().then(|| zoo::params_of(&module).ok()).flatten()?;
            Some(size_of(&module, &params))
        });
        let size = size.unwrap_or_else(|| "not buildable: an operator is missing".to_owned());
        out.push_str(&format!("    {size}\n\n"));
    }
    out.push_str("Modules without weights, for programs to start with:\n\n");
    for library in zoo::LIBRARIES {
        out.push_str(&format!("{}: {}\n", library.name, library.doc));
    }
    out
}
