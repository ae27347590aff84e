//! DenseNet (Huang and others, 2016) as in TVM: a block concatenates its own layers only, not its input.

use super::builder::Net;
use super::layers::{Conv, Norm, Window};
use super::{Config, Flag, FlagKind, Network, Rule, ZooError};
use relayc_ir::{ExprId, Module};

pub(crate) const NETWORK: Network = Network {
    name: "densenet",
    doc: "DenseNet: blocks whose layers are concatenated.",
    flags: &[
        Flag { name: "size", kind: FlagKind::OneOf(&[121, 161, 169, 201]), default: "121", doc: "How many layers have weights." },
        Flag::batch("4"),
        Flag::CLASSES,
        Flag::IMAGE,
        Flag::DTYPE,
    ],
    rule: Rule::Xavier,
    build,
};

/// The width of a layer's inner convolution, as a multiple of the layer's.
const BOTTLENECK: i64 = 4;

fn build(config: &Config) -> Result<Module, ZooError> {
    // The first channels (69 of size 169 are TVM's), those each layer makes, and the layers of each block.
    let (first, growth, blocks) = match config.number("size") {
        121 => (64, 32, [6, 12, 24, 16]),
        161 => (96, 48, [6, 12, 36, 24]),
        169 => (69, 32, [6, 12, 32, 32]),
        _ => (64, 32, [6, 12, 48, 32]),
    };
    let mut net = Net::new();
    let ty = net.tensor(&config.batch_of("image-shape"), config.dtype());
    let data = net.var("data", ty);
    let conv = net.conv(data, "conv1", Conv { strides: &[2, 2], padding: &[3, 3], ..Conv::of(first, &[7, 7]) });
    let act = norm_relu(&mut net, conv, "batch1");
    let mut body = net.max_pool(act, Window { padding: &[1, 1], ..Window::of(&[3, 3], &[2, 2]) });
    let mut channels = first;
    for (block, n_layers) in blocks.into_iter().enumerate() {
        let mut layers: Vec<ExprId> = vec![];
        for i in 0..n_layers {
            body = layer(&mut net, body, growth, &format!("{block}_{i}"));
            layers.push(body);
        }
        body = net.concat(&layers);
        channels += n_layers * growth;
        if block + 1 < blocks.len() {
            channels /= 2;
            let act = norm_relu(&mut net, body, &format!("batch_t_{block}"));
            let conv = net.conv(act, &format!("conv_t_{block}"), Conv::of(channels, &[1, 1]));
            body = net.avg_pool(conv, Window::of(&[2, 2], &[2, 2]), false);
        }
    }
    let act = norm_relu(&mut net, body, "batch2");
    let pool = net.avg_pool(act, Window::of(&[7, 7], &[1, 1]), false);
    let flat = net.flatten(pool);
    let out = net.dense_bias(flat, "dense", config.number("classes"));
    net.finish(out)
}

fn layer(net: &mut Net, data: ExprId, growth: i64, at: &str) -> ExprId {
    let act = norm_relu(net, data, &format!("batch_1_{at}"));
    let inner = net.conv(act, &format!("conv2d_1_{at}"), Conv::of(BOTTLENECK * growth, &[1, 1]));
    let act = norm_relu(net, inner, &format!("batch_2_{at}"));
    net.conv(act, &format!("conv2d_2_{at}"), Conv { padding: &[1, 1], ..Conv::of(growth, &[3, 3]) })
}

fn norm_relu(net: &mut Net, data: ExprId, name: &str) -> ExprId {
    let norm = net.batch_norm(data, name, Norm::DEFAULT);
    net.relu(norm)
}
