//! The networks of relay.testing as text and weights.

use crate::base::text::thousands;
use crate::diag::Diagnostic;
use crate::formats::params;
use crate::ir::print::{self, Options};
use crate::zoo::{self, Config, Network, ZooError};
use crate::{infer, ops};

/// A network that was built.
pub struct Model {
    pub text: String,
    /// The bytes of a .params file, if weights were wanted.
    pub weights: Option<Vec<u8>>,
    /// `11,689,512 parameters in 102 tensors`.
    pub size: String,
}

/// What stops it.
pub enum ModelError {
    /// Wrong usage, with what to write instead.
    Usage { message: String, help: String },
    Found(Vec<Diagnostic>),
}

impl From<ZooError> for ModelError {
    fn from(error: ZooError) -> ModelError {
        ModelError::Usage { message: error.message, help: error.help }
    }
}

/// Builds a network from its flags; the weights come from `seed`, where there is one.
pub fn build(name: &str, flags: &[String], seed: Option<u32>) -> Result<Model, ModelError> {
    let network = zoo::find(name)?;
    let mut module = Config::parse(network, flags)?.build()?;
    let diagnostics = infer::infer(&mut module, ops::table());
    if !diagnostics.is_empty() {
        return Err(ModelError::Found(diagnostics));
    }
    let text = print::print(&module, ops::table(), Options { types: true, meta: false });
    let shapes = zoo::params_of(&module)?;
    let weights = seed.map(|seed| Ok::<_, ZooError>(params::write(&zoo::weights(&shapes, network.rule, seed)?))).transpose()?;
    Ok(Model { text, weights, size: size_of(&shapes) })
}

fn size_of(params: &[zoo::Param]) -> String {
    let n: u64 = params.iter().map(|param| param.shape.iter().map(|&dim| dim as u64).product::<u64>()).sum();
    format!("{} parameters in {} tensors", thousands(n), params.len())
}

/// One network with its flags, in words.
pub fn describe(name: &str) -> Result<String, ModelError> {
    Ok(description(zoo::find(name)?))
}

fn description(network: &Network) -> String {
    let mut out = format!("{}: {}\n", network.name, network.doc);
    for flag in network.flags {
        out.push_str(&format!("    --{:<14} {:<14} {}\n", flag.name, flag.default, flag.doc));
    }
    out
}

/// All networks, with the size of each at its default flags.
pub fn list() -> String {
    let mut out = String::new();
    for network in zoo::networks() {
        out.push_str(&description(network));
        let size = Config::new(network).build().ok().and_then(|mut module| {
            let found = infer::infer(&mut module, ops::table());
            found.is_empty().then(|| zoo::params_of(&module).ok()).flatten()
        });
        let size = size.map_or("not buildable: an operator is missing".to_owned(), |params| size_of(&params));
        out.push_str(&format!("    {size}\n\n"));
    }
    out
}
