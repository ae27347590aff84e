//! SqueezeNet (Iandola and others, 2016): *fire* modules that squeeze the channels, then expand them twice.

use super::builder::Net;
use super::layers::{Conv, Layout, Window};
use super::{Config, Flag, FlagKind, Network, Rule, ZooError};
use relayc_ir::{ExprId, Module};

pub(crate) const NETWORK: Network = Network {
    name: "squeezenet",
    doc: "SqueezeNet: eight fire modules, no dense layer.",
    flags: &[
        Flag { name: "version", kind: FlagKind::Word(&["1.0", "1.1"]), default: "1.0", doc: "1.1 pools earlier and costs less." },
        Flag::BATCH,
        Flag::CLASSES,
        Flag::IMAGE,
        Flag::DTYPE,
    ],
    rule: Rule::Xavier,
    build,
};

/// The channels of each fire module: the squeeze, and each expansion.
const FIRES: [(i64, i64); 8] = [(16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256)];

fn build(config: &Config) -> Result<Module, ZooError> {
    let mut net = Net::new();
    let ty = net.tensor(&config.batch_of("image-shape"), config.dtype());
    let data = net.var("data", ty);
    // The first convolution, and the fire modules that a pool follows.
    let (first, pooled) = match config.word("version") {
        "1.0" => (Conv { strides: &[2, 2], padding: &[3, 3], ..Conv::of(96, &[7, 7]) }, [3, 7]),
        _ => (Conv { strides: &[2, 2], padding: &[1, 1], ..Conv::of(64, &[3, 3]) }, [2, 4]),
    };
    let pool = Window::of(&[3, 3], &[2, 2]);
    let conv = conv_relu(&mut net, data, "conv1", first);
    let mut body = net.max_pool(conv, pool);
    for (i, channels) in (1..).zip(FIRES) {
        body = fire(&mut net, body, &format!("fire{i}"), channels);
        if pooled.contains(&i) {
            body = net.max_pool(body, pool);
        }
    }
    body = net.dropout(body);
    body = conv_relu(&mut net, body, "conv_final", Conv::of(config.number("classes"), &[1, 1]));
    body = net.global_avg_pool(body, Layout::NCHW);
    body = net.flatten(body);
    let out = net.softmax(body);
    net.finish(out)
}

fn fire(net: &mut Net, data: ExprId, name: &str, (squeeze, expand): (i64, i64)) -> ExprId {
    let input = conv_relu(net, data, &format!("{name}_input_conv"), Conv::of(squeeze, &[1, 1]));
    let left = conv_relu(net, input, &format!("{name}_left_conv"), Conv::of(expand, &[1, 1]));
    let right = conv_relu(net, input, &format!("{name}_right_conv"), Conv { padding: &[1, 1], ..Conv::of(expand, &[3, 3]) });
    net.concat(&[left, right])
}

fn conv_relu(net: &mut Net, data: ExprId, name: &str, conv: Conv) -> ExprId {
    let conv = net.conv(data, name, conv);
    let biased = net.bias(conv, name, 1);
    net.relu(biased)
}
