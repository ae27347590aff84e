//! The generator of DCGAN (Radford and others, 2015): from random numbers to an image of 64×64.

use super::builder::Net;
use super::config::MAX_DIM;
use super::layers::{Conv, Layout, Norm};
use super::{Config, Flag, FlagKind, Network, Rule, ZooError};
use relayc_ir::Module;

pub(crate) const NETWORK: Network = Network {
    name: "dcgan",
    doc: "The generator of DCGAN: transposed convolutions, from random numbers to a picture.",
    flags: &[
        Flag::BATCH,
        Flag {
            name: "oshape",
            kind: FlagKind::Shape(&["channels", "height", "width"]),
            default: "3,64,64",
            doc: "The shape of the picture, channels first in any layout; height and width are 64.",
        },
        // The first layer makes 128 times as many values.
        Flag { name: "ngf", kind: FlagKind::Count(MAX_DIM / 128), default: "128", doc: "The channels before the picture." },
        Flag { name: "random-len", kind: FlagKind::Count(MAX_DIM), default: "100", doc: "How many random numbers come in." },
        Flag::LAYOUT,
        Flag::DTYPE,
    ],
    rule: Rule::Xavier,
    build,
};

fn build(config: &Config) -> Result<Module, ZooError> {
    let [channels, 64, 64] = config.shape("oshape")[..] else {
        let message = format!("expected a picture of 64 by 64, found {:?} after `--oshape`", config.shape("oshape"));
        return Err(ZooError::new(message, "write `--oshape 3,64,64`"));
    };
    let ngf = config.number("ngf");
    let layout = Layout::of(config.word("layout"));
    // Of the weights of a transposed convolution the first channel axis is the input's.
    let (kernel_layout, small) = if layout.channels == 1 { ("IOHW", [-1, ngf * 8, 4, 4]) } else { ("HWOI", [-1, 4, 4, ngf * 8]) };
    let conv = |channels| Conv { strides: &[2, 2], padding: &[1, 1], layout, ..Conv::of(channels, &[4, 4]) };
    let norm = Norm { axis: layout.channels, epsilon: 1e-5 + 1e-12, scale: false };

    let mut net = Net::new();
    let ty = net.tensor(&[config.number("batch"), config.number("random-len")], config.dtype());
    let data = net.var("data", ty);
    let dense = net.dense(data, "dense", 4 * 4 * ngf * 8);
    let act = net.relu(dense);
    let mut body = net.reshape(act, &small);
    for (name, channels) in [("g2", ngf * 4), ("g3", ngf * 2), ("g4", ngf)] {
        body = net.conv_transpose(body, &format!("{name}_deconv"), kernel_layout, conv(channels));
        body = net.batch_norm(body, &format!("{name}_batch_norm"), norm);
        body = net.relu(body);
    }
    body = net.conv_transpose(body, "g5_deconv", kernel_layout, conv(channels));
    let out = net.call("tanh", &[body], &[]);
    net.finish(out)
}
