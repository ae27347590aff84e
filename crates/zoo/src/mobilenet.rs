//! MobileNet (Howard and others, 2017): depthwise and pointwise convolutions.

use super::builder::Net;
use super::layers::{Conv, Layout, Norm};
use super::{Config, Flag, Network, Rule, ZooError};
use relayc_ir::types::DType;
use relayc_ir::{ExprId, Module};

pub(crate) const NETWORK: Network = Network {
    name: "mobilenet",
    doc: "MobileNet: thirteen depthwise separable convolutions.",
    flags: &[Flag::BATCH, Flag::CLASSES, Flag::IMAGE, Flag::LAYOUT, Flag::DTYPE],
    rule: Rule::Xavier,
    build,
};

/// The input channels, output channels and stride of each block.
const BLOCKS: [(i64, i64, i64); 13] = [
    (32, 64, 1),
    (64, 128, 2),
    (128, 128, 1),
    (128, 256, 2),
    (256, 256, 1),
    (256, 512, 2),
    (512, 512, 1),
    (512, 512, 1),
    (512, 512, 1),
    (512, 512, 1),
    (512, 512, 1),
    (512, 1024, 2),
    (1024, 1024, 1),
];

fn build(config: &Config) -> Result<Module, ZooError> {
    let layout = Layout::of(config.word("layout"));
    let dtype = config.dtype();
    let mut net = Net::new();
    let ty = net.tensor(&config.batch_of("image-shape"), dtype);
    let data = net.var("data", ty);
    let first = Conv { strides: &[2, 2], padding: &[1, 1], layout, ..Conv::of(32, &[3, 3]) };
    let conv = net.conv(data, "conv_block_1_conv", first);
    // The first normalisation is along axis 1 whatever the layout; with NHWC that is the height, as in TVM.
    let norm = net.batch_norm(conv, "conv_block_1_bn", Norm::DEFAULT);
    let mut body = net.relu(norm);
    for (i, block) in (1..).zip(BLOCKS) {
        body = separable(&mut net, body, &format!("separable_conv_block_{i}"), block, layout, dtype);
    }
    body = net.global_avg_pool(body, layout);
    body = net.flatten(body);
    body = net.dense(body, "fc", config.number("classes"));
    body = net.bias(body, "fc", 1);
    let out = net.softmax(body);
    net.finish(out)
}

fn separable(
    net: &mut Net,
    data: ExprId,
    name: &str,
    (inputs, outputs, stride): (i64, i64, i64),
    layout: Layout,
    dtype: DType,
) -> ExprId {
    let norm = Norm { axis: layout.channels, ..Norm::DEFAULT };
    let shape = if layout.channels == 1 { [inputs, 1, 3, 3] } else { [3, 3, inputs, 1] };
    let ty = net.tensor(&shape, dtype);
    let weight = net.var(&format!("{name}_weight"), ty);
    let depthwise = Conv { strides: &[stride; 2], padding: &[1, 1], layout, ..Conv::of(inputs, &[3, 3]) };
    let mut body = net.depthwise_conv(data, weight, depthwise);
    body = net.batch_norm(body, &format!("{name}_bn1"), norm);
    body = net.relu(body);
    body = net.conv(body, &format!("{name}_conv2"), Conv { layout, ..Conv::of(outputs, &[1, 1]) });
    body = net.batch_norm(body, &format!("{name}_bn2"), norm);
    net.relu(body)
}
