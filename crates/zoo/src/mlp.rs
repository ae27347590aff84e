//! A perceptron of three dense layers, for hand-written digits.

use super::builder::Net;
use super::{Config, Flag, Network, Rule, ZooError};
use relayc_ir::Module;

pub(crate) const NETWORK: Network = Network {
    name: "mlp",
    doc: "A perceptron of three dense layers (128, 64, classes).",
    flags: &[Flag::BATCH, Flag::classes("10"), Flag::image("1,28,28"), Flag::DTYPE],
    rule: Rule::Xavier,
    build,
};

fn build(config: &Config) -> Result<Module, ZooError> {
    let mut net = Net::new();
    let ty = net.tensor(&config.batch_of("image-shape"), config.dtype());
    let data = net.var("data", ty);
    let mut body = net.flatten(data);
    for (name, units) in [("fc1", 128), ("fc2", 64)] {
        let dense = net.dense_bias(body, name, units);
        body = net.relu(dense);
    }
    let dense = net.dense_bias(body, "fc3", config.number("classes"));
    let out = net.softmax(dense);
    net.finish(out)
}
