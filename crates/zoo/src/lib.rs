//! The networks of TVM's `relay.testing` as IR, and their initial weights (TVM v0.14.0, `python/tvm/relay/testing`).
//!
//! A network is one file with one [`Network`], registered by its line in the list below. Promises networks with types on their
//! inputs only; inference finds those of the weights. Absent: files, the command line, inference.

mod builder;
mod config;
mod counts;
mod layers;
mod library;
mod mt19937;
mod weights;

mod dcgan;
mod densenet;
mod dqn;
mod inception_v3;
mod lstm;
mod mlp;
mod mobilenet;
mod resnet;
mod resnet_3d;
mod squeezenet;
mod synthetic;
mod vgg;

pub use config::Config;
pub(crate) use config::Flag;
pub(crate) use config::FlagKind;
pub use counts::{macs, n_parameters};
pub use library::{LIBRARIES, Library};
pub(crate) use weights::Rule;
pub use weights::{Param, params_of, weights};

use relayc_base::text::{escape_control, join_words, nearest};
use relayc_ir::Module;

/// Every network, sorted by name.
const NETWORKS: &[&Network] = &[
    &dcgan::NETWORK,
    &densenet::NETWORK,
    &dqn::NETWORK,
    &inception_v3::NETWORK,
    &lstm::NETWORK,
    &mlp::NETWORK,
    &mobilenet::NETWORK,
    &resnet::NETWORK,
    &resnet_3d::NETWORK,
    &squeezenet::NETWORK,
    &synthetic::NETWORK,
    &vgg::NETWORK,
];

#[derive(Debug)]
pub struct Network {
    /// The name, as of TVM's module.
    pub name: &'static str,
    pub doc: &'static str,
    pub flags: &'static [Flag],
    /// The rule for its initial weights.
    pub rule: Rule,
    build: fn(&Config) -> Result<Module, ZooError>,
}

/// A wrong name, flag or value, or a network this build cannot make.
#[derive(Clone, PartialEq, Debug)]
pub struct ZooError {
    pub message: String,
    /// What to write instead.
    pub help: String,
}

impl ZooError {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> ZooError {
        ZooError { message: message.into(), help: help.into() }
    }
}

/// The names of all networks, sorted, then those of the libraries.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    NETWORKS.iter().map(|network| network.name).chain(LIBRARIES.iter().map(|library| library.name))
}

/// All networks, sorted by name.
pub fn networks() -> &'static [&'static Network] {
    NETWORKS
}

pub fn find(name: &str) -> Result<&'static Network, ZooError> {
    if let Some(network) = NETWORKS.iter().find(|network| network.name == name) {
        return Ok(network);
    }
    let all = format!("the networks are {}", join_words(&names().map(str::to_string).collect::<Vec<_>>(), "and"));
    let message = format!("there is no network `{}`", escape_control(name));
    if let Some(flags) = variant(name) {
        return Err(ZooError::new(message, format!("write `relayc model {flags}`; {all}")));
    }
    Err(match nearest(name, names()) {
        Some(near) => ZooError::new(message, format!("did you mean `{near}`? {all}")),
        None => ZooError::new(message, all),
    })
}

/// The words for a variant that other collections have under a name of its own: `resnet --layers 18` for `resnet18`.
fn variant(name: &str) -> Option<String> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || "._-".contains(c));
    let network = NETWORKS.iter().find(|network| network.name == stem)?;
    let flag = network.flags.iter().find(|flag| ["layers", "size", "version"].contains(&flag.name))?;
    let number = name[stem.len()..].trim_matches(['_', '-']).replace('_', ".");
    (!number.is_empty()).then(|| format!("{} --{} {number}", network.name, flag.name))
}

impl Network {
    fn flags_in_words(&self) -> String {
        let flags: Vec<String> = self.flags.iter().map(|flag| format!("--{}", flag.name)).collect();
        format!("the flags of `{}` are {}", self.name, join_words(&flags, "and"))
    }
}
