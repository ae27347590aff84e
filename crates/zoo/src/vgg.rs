//! VGG (Simonyan and Zisserman, 2014): five blocks of 3×3 convolutions, three dense layers.

use super::builder::Net;
use super::layers::{Conv, Norm, Window};
use super::{Config, Flag, FlagKind, Network, Rule, ZooError};
use relayc_ir::Module;

pub(crate) const NETWORK: Network = Network {
    name: "vgg",
    doc: "VGG: five blocks of 3x3 convolutions, three dense layers.",
    flags: &[
        Flag { name: "layers", kind: FlagKind::OneOf(&[11, 13, 16, 19]), default: "11", doc: "How many layers have weights." },
        Flag { name: "batch-norm", kind: FlagKind::Switch, default: "", doc: "Normalise after each convolution." },
        Flag::BATCH,
        Flag::CLASSES,
        Flag::IMAGE,
        Flag::DTYPE,
    ],
    rule: Rule::Xavier,
    build,
};

fn build(config: &Config) -> Result<Module, ZooError> {
    let n_convs = match config.number("layers") {
        11 => [1, 1, 2, 2, 2],
        13 => [2, 2, 2, 2, 2],
        16 => [2, 2, 3, 3, 3],
        _ => [2, 2, 4, 4, 4],
    };
    let mut net = Net::new();
    let ty = net.tensor(&config.batch_of("image-shape"), config.dtype());
    let mut body = net.var("data", ty);
    for (block, (n, channels)) in n_convs.into_iter().zip([64, 128, 256, 512, 512]).enumerate() {
        for i in 1..=n {
            let at = format!("{}_{i}", block + 1);
            let name = format!("conv{at}");
            body = net.conv(body, &name, Conv { padding: &[1, 1], ..Conv::of(channels, &[3, 3]) });
            body = net.bias(body, &name, 1);
            if config.switch("batch-norm") {
                body = net.batch_norm(body, &format!("bn{at}"), Norm::DEFAULT);
            }
            body = net.relu(body);
        }
        body = net.max_pool(body, Window::of(&[2, 2], &[2, 2]));
    }
    body = net.flatten(body);
    for name in ["fc6", "fc7"] {
        body = net.dense_bias(body, name, 4096);
        body = net.relu(body);
        body = net.dropout(body);
    }
    body = net.dense_bias(body, "fc8", config.number("classes"));
    let out = net.softmax(body);
    net.finish(out)
}
