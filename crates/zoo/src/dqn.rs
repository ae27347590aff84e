//! The deep Q-network for Atari games (Mnih and others, 2015): a value for each action.

use super::builder::Net;
use super::config::MAX_DIM;
use super::layers::{Conv, Layout};
use super::{Config, Flag, FlagKind, Network, Rule, ZooError};
use relayc_ir::Module;

pub(crate) const NETWORK: Network = Network {
    name: "dqn",
    doc: "The deep Q-network for Atari games: three convolutions, two dense layers.",
    flags: &[
        Flag::BATCH,
        Flag { name: "actions", kind: FlagKind::Count(MAX_DIM), default: "18", doc: "How many actions have a value." },
        Flag::image("4,84,84"),
        Flag::LAYOUT,
        Flag::DTYPE,
    ],
    rule: Rule::Xavier,
    build,
};

fn build(config: &Config) -> Result<Module, ZooError> {
    let layout = Layout::of(config.word("layout"));
    let mut net = Net::new();
    let ty = net.tensor(&config.batch_of("image-shape"), config.dtype());
    let mut body = net.var("data", ty);
    for (name, channels, kernel, stride) in [("conv1", 32, 8, 4), ("conv2", 64, 4, 2), ("conv3", 64, 3, 1)] {
        body = net.conv(body, name, Conv { strides: &[stride; 2], layout, ..Conv::of(channels, &[kernel; 2]) });
        body = net.bias(body, name, layout.channels);
        body = net.relu(body);
    }
    body = net.flatten(body);
    body = net.dense_bias(body, "dense1", 512);
    body = net.relu(body);
    let out = net.dense_bias(body, "dense2", config.number("actions"));
    net.finish(out)
}
