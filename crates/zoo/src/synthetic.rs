//! A small network that mixes layers for tests: dense and convolution in parallel, twice.

use super::builder::Net;
use super::layers::Norm;
use super::{Config, Flag, FlagKind, Network, Rule, ZooError};
use relayc_ir::types::Ty;
use relayc_ir::{AttrValue, ExprId, Module};

pub(crate) const NETWORK: Network = Network {
    name: "synthetic",
    doc: "A small network for tests: dense layers beside convolutions.",
    flags: &[
        Flag {
            name: "input-shape",
            kind: FlagKind::Shape(&["batch", "channels", "height", "width"]),
            default: "1,3,24,12",
            doc: "The shape of the input.",
        },
        Flag::DTYPE,
    ],
    rule: Rule::Constant,
    build,
};

fn build(config: &Config) -> Result<Module, ZooError> {
    let shape = config.shape("input-shape");
    let (channels, width) = (shape[1], shape[3]);
    let mut net = Net::new();
    let data_ty = net.tensor(shape, config.dtype());
    let dense_ty = net.tensor(&[width, width], config.dtype());
    let conv_ty = net.tensor(&[channels, channels, 3, 3], config.dtype());
    let data = net.var("data", data_ty);

    let dense = dense_relu(&mut net, data, data, width, ("dense_weight", dense_ty));
    let conv = conv_softmax(&mut net, data, ("conv_weight", conv_ty));
    let added = net.add(dense, conv);
    let bias = net.untyped("bias");
    let biased = net.call("nn.bias_add", &[added, bias], &[]);
    let norm = net.batch_norm(biased, "batch_norm", Norm::DEFAULT);

    let dense = dense_relu(&mut net, norm, data, width, ("dense2_weight", dense_ty));
    let conv = conv_softmax(&mut net, norm, ("conv2_weight", conv_ty));
    let out = net.add(dense, conv);
    net.finish(out)
}

/// A dense layer over the rows, reshaped to the shape of `like`.
///
/// TVM's layer does not state its number of units; inference takes it from the weight.
fn dense_relu(net: &mut Net, rows: ExprId, like: ExprId, width: i64, (name, ty): (&str, Ty)) -> ExprId {
    let rows = net.reshape(rows, &[-1, width]);
    let weight = net.var(name, ty);
    let dense = net.call("nn.dense", &[rows, weight], &[("units", AttrValue::None)]);
    let act = net.relu(dense);
    net.call("reshape_like", &[act, like], &[])
}

/// A convolution that keeps the shape; the weight gives its channels.
fn conv_softmax(net: &mut Net, data: ExprId, (name, ty): (&str, Ty)) -> ExprId {
    let weight = net.var(name, ty);
    let attrs = [("padding", AttrValue::ints(&[1; 4])), ("kernel_size", AttrValue::ints(&[3; 2]))];
    let conv = net.call("nn.conv2d", &[data, weight], &attrs);
    net.softmax(conv)
}
