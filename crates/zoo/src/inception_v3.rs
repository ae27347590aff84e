//! Inception v3 (Szegedy and others, 2015): modules of several parallel towers, concatenated.
//!
//! The tables list each tower's convolutions; the suffix of a name distinguishes them, as in TVM.

use super::builder::Net;
use super::layers::{Conv, Norm, Window};
use super::{Config, Flag, Network, Rule, ZooError};
use relayc_ir::{ExprId, Module};

pub(crate) const NETWORK: Network = Network {
    name: "inception_v3",
    doc: "Inception v3: modules of several towers.",
    flags: &[Flag::BATCH, Flag::CLASSES, Flag::image("3,299,299"), Flag::DTYPE],
    rule: Rule::Xavier,
    build,
};

/// A convolution of a tower: channels, kernel and stride; padded so that stride 1 keeps the size, unless it is *valid*.
#[derive(Clone, Copy)]
struct Step {
    channels: i64,
    kernel: [i64; 2],
    stride: i64,
    valid: bool,
}

const fn step(channels: i64, height: i64, width: i64) -> Step {
    Step { channels, kernel: [height, width], stride: 1, valid: false }
}

/// A 3×3 convolution without padding.
const fn valid(channels: i64, stride: i64) -> Step {
    Step { channels, kernel: [3, 3], stride, valid: true }
}

/// The pool beside the towers.
#[derive(Clone, Copy, PartialEq)]
enum Pool {
    Max,
    Avg,
}

fn build(config: &Config) -> Result<Module, ZooError> {
    let mut net = Net::new();
    let ty = net.tensor(&config.batch_of("image-shape"), config.dtype());
    let mut body = net.var("data", ty);
    for (name, step) in [("conv", valid(32, 2)), ("conv_1", valid(32, 1)), ("conv_2", step(64, 3, 3))] {
        body = conv(&mut net, body, name, step);
    }
    body = net.max_pool(body, HALVING);
    for (name, step) in [("conv_3", step(80, 1, 1)), ("conv_4", valid(192, 1))] {
        body = conv(&mut net, body, name, step);
    }
    body = net.max_pool(body, HALVING);
    for (name, projection) in [("mixed", 32), ("mixed_1", 64), ("mixed_2", 64)] {
        body = module_a(&mut net, body, name, projection);
    }
    body = module_b(&mut net, body, "mixed_3");
    for (name, inner) in [("mixed_4", 128), ("mixed_5", 160), ("mixed_6", 160), ("mixed_7", 192)] {
        body = module_c(&mut net, body, name, inner);
    }
    body = module_d(&mut net, body, "mixed_8");
    body = module_e(&mut net, body, "mixed_9", Pool::Avg);
    body = module_e(&mut net, body, "mixed_10", Pool::Max);
    body = net.avg_pool(body, Window::of(&[8, 8], &[1, 1]), true);
    body = net.flatten(body);
    body = net.dense(body, "fc1", config.number("classes"));
    // The name of the bias is TVM's.
    body = net.bias(body, "fc2", -1);
    let out = net.softmax(body);
    net.finish(out)
}

const HALVING: Window = Window::of(&[3, 3], &[2, 2]);

/// Towers of 1×1, 5×5 and twice 3×3.
fn module_a(net: &mut Net, data: ExprId, name: &str, projection: i64) -> ExprId {
    let one = conv(net, data, &format!("{name}_conv"), step(64, 1, 1));
    let five = tower(net, data, &format!("{name}_tower"), &[step(48, 1, 1), step(64, 5, 5)]);
    let three = tower(net, data, &format!("{name}_tower_1"), &[step(64, 1, 1), step(96, 3, 3), step(96, 3, 3)]);
    let pooled = pool_project(net, data, name, Pool::Avg, projection);
    net.concat(&[one, five, three, pooled])
}

/// The first halving of the size.
fn module_b(net: &mut Net, data: ExprId, name: &str) -> ExprId {
    let three = conv(net, data, &format!("{name}_conv"), valid(384, 2));
    let twice = tower(net, data, &format!("{name}_tower"), &[step(64, 1, 1), step(96, 3, 3), valid(96, 2)]);
    let pooled = net.max_pool(data, HALVING);
    net.concat(&[three, twice, pooled])
}

/// Towers of 7×7 split into rows and columns.
fn module_c(net: &mut Net, data: ExprId, name: &str, inner: i64) -> ExprId {
    let one = conv(net, data, &format!("{name}_conv"), step(192, 1, 1));
    let once = [step(inner, 1, 1), step(inner, 1, 7), step(192, 7, 1)];
    let once = tower(net, data, &format!("{name}_tower"), &once);
    let twice = [step(inner, 1, 1), step(inner, 7, 1), step(inner, 1, 7), step(inner, 7, 1), step(192, 1, 7)];
    let twice = tower(net, data, &format!("{name}_tower_1"), &twice);
    let pooled = pool_project(net, data, name, Pool::Avg, 192);
    net.concat(&[one, once, twice, pooled])
}

/// The second halving of the size.
fn module_d(net: &mut Net, data: ExprId, name: &str) -> ExprId {
    let three = tower(net, data, &format!("{name}_tower"), &[step(192, 1, 1), valid(320, 2)]);
    let seven = [step(192, 1, 1), step(192, 1, 7), step(192, 7, 1), valid(192, 2)];
    let seven = tower(net, data, &format!("{name}_tower_1"), &seven);
    let pooled = net.max_pool(data, HALVING);
    net.concat(&[three, seven, pooled])
}

/// Towers that split into a row and a column at their end.
fn module_e(net: &mut Net, data: ExprId, name: &str, pool: Pool) -> ExprId {
    let one = conv(net, data, &format!("{name}_conv"), step(320, 1, 1));
    let mut parts = vec![one];
    let towers = [("tower", &[step(384, 1, 1)][..]), ("tower_1", &[step(448, 1, 1), step(384, 3, 3)])];
    for (suffix, steps) in towers {
        let name = format!("{name}_{suffix}");
        let stem = tower(net, data, &name, steps);
        parts.push(conv(net, stem, &format!("{name}_mixed_conv"), step(384, 1, 3)));
        parts.push(conv(net, stem, &format!("{name}_mixed_conv_1"), step(384, 3, 1)));
    }
    parts.push(pool_project(net, data, name, pool, 192));
    net.concat(&parts)
}

/// A chain of convolutions: `…_conv`, `…_conv_1`, ….
fn tower(net: &mut Net, data: ExprId, name: &str, steps: &[Step]) -> ExprId {
    steps.iter().enumerate().fold(data, |body, (i, &step)| {
        let suffix = if i == 0 { String::new() } else { format!("_{i}") };
        conv(net, body, &format!("{name}_conv{suffix}"), step)
    })
}

/// A pool that keeps the size, then a 1×1 convolution.
fn pool_project(net: &mut Net, data: ExprId, name: &str, pool: Pool, channels: i64) -> ExprId {
    let window = Window { padding: &[1, 1], ..Window::of(&[3, 3], &[1, 1]) };
    let pooled = match pool {
        Pool::Max => net.max_pool(data, window),
        Pool::Avg => net.avg_pool(data, window, true),
    };
    conv(net, pooled, &format!("{name}_tower_2_conv"), step(channels, 1, 1))
}

/// A convolution with batch normalisation.
fn conv(net: &mut Net, data: ExprId, name: &str, step: Step) -> ExprId {
    let padding = if step.valid { [0; 2] } else { step.kernel.map(|size| size / 2) };
    let conv = Conv { strides: &[step.stride; 2], padding: &padding, ..Conv::of(step.channels, &step.kernel) };
    let conv = net.conv(data, &format!("{name}_conv1"), conv);
    let norm = net.batch_norm(conv, &format!("{name}_bn"), Norm { axis: 1, epsilon: 2e-5, scale: false });
    net.relu(norm)
}
