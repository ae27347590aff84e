//! ResNet over volumes, such as short videos: the units of `resnet.rs` with one more axis.
//!
//! As in TVM, every normalisation is along axis 1, whatever the layout, and no pool follows the first convolution.

use super::builder::Net;
use super::layers::{Conv, Layout, Norm};
use super::resnet::{LAYERS, Plan, Residual};
use super::{Config, Flag, FlagKind, Network, Rule, ZooError};
use relayc_ir::Module;

pub(crate) const NETWORK: Network = Network {
    name: "resnet_3d",
    doc: "ResNet v2 over volumes.",
    flags: &[
        LAYERS,
        Flag::BATCH,
        Flag::CLASSES,
        Flag {
            name: "image-shape",
            kind: FlagKind::Shape(&["channels", "depth", "height", "width"]),
            default: "3,16,112,112",
            doc: "The shape of one input, in the order of the layout.",
        },
        Flag { kind: FlagKind::Word(&["NCDHW", "NDHWC"]), default: "NCDHW", ..Flag::LAYOUT },
        Flag::DTYPE,
    ],
    rule: Rule::Xavier,
    build,
};

fn build(config: &Config) -> Result<Module, ZooError> {
    let layout = Layout::of(config.word("layout"));
    let height = config.shape("image-shape")[layout.height];
    let plan = Plan::of(config.number("layers"), height)?;
    let residual = Residual { layout, axis: 1, rank: 3, bottleneck: plan.bottleneck };
    let mut net = Net::new();
    let ty = net.tensor(&config.batch_of("image-shape"), config.dtype());
    let data = net.var("data", ty);
    let data = net.batch_norm(data, "bn_data", Norm { scale: false, ..residual.norm() });
    let body = if height <= 32 {
        residual.conv(&mut net, data, "conv0", plan.first, 3, 1)
    } else {
        let first = Conv { strides: &[1, 2, 2], padding: &[1, 3, 3], layout, ..Conv::of(plan.first, &[3, 7, 7]) };
        let conv = net.conv(data, "conv0", first);
        residual.norm_relu(&mut net, conv, "bn0")
    };
    let body = residual.stages(&mut net, body, &plan);
    let out = residual.head(&mut net, body, config.number("classes"));
    net.finish(out)
}
