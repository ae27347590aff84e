//! ResNet with normalisation before each convolution (He and others, *Identity Mappings in Deep Residual Networks*, 2016).
//!
//! `resnet_3d.rs` shares the plan of the stages and the residual unit.

use super::builder::Net;
use super::layers::{Conv, Layout, Norm, Window};
use super::{Config, Flag, FlagKind, Network, Rule, ZooError};
use relayc_base::text::join_words;
use relayc_ir::{ExprId, Module};

pub(crate) const NETWORK: Network = Network {
    name: "resnet",
    doc: "ResNet v2: residual units, normalised before each convolution.",
    flags: &[LAYERS, Flag::BATCH, Flag::CLASSES, Flag::IMAGE, Flag::LAYOUT, Flag::DTYPE],
    rule: Rule::Xavier,
    build,
};

/// The networks for small images have any depth; the bound keeps a mistyped one from filling the memory.
pub(crate) const LAYERS: Flag = Flag {
    name: "layers",
    kind: FlagKind::Count(100_001),
    default: "18",
    doc: "18, 34, 50, 101, 152, 200 or 269; up to height 28 6n+2 below 164 and 9n+2 from 164 on.",
};

fn build(config: &Config) -> Result<Module, ZooError> {
    let layout = Layout::of(config.word("layout"));
    let height = config.shape("image-shape")[layout.height];
    let plan = Plan::of(config.number("layers"), height)?;
    let residual = Residual { layout, axis: layout.channels, rank: 2, bottleneck: plan.bottleneck };
    let mut net = Net::new();
    let ty = net.tensor(&config.batch_of("image-shape"), config.dtype());
    let data = net.var("data", ty);
    let data = net.batch_norm(data, "bn_data", Norm { scale: false, ..residual.norm() });
    let body = if height <= 32 {
        residual.conv(&mut net, data, "conv0", plan.first, 3, 1)
    } else {
        let conv = residual.conv(&mut net, data, "conv0", plan.first, 7, 2);
        let act = residual.norm_relu(&mut net, conv, "bn0");
        net.max_pool(act, Window { padding: &[1, 1], layout, ..Window::of(&[3, 3], &[2, 2]) })
    };
    let body = residual.stages(&mut net, body, &plan);
    let out = residual.head(&mut net, body, config.number("classes"));
    net.finish(out)
}

/// The number of units in each stage, and their widths.
pub(crate) struct Plan {
    /// The channels of the first convolution.
    pub(crate) first: i64,
    /// Units and channels of each stage.
    pub(crate) stages: Vec<(i64, i64)>,
    pub(crate) bottleneck: bool,
}

impl Plan {
    /// The plan for a depth and an image height; the height selects the ImageNet or the CIFAR networks.
    pub(crate) fn of(layers: i64, height: i64) -> Result<Plan, ZooError> {
        if height <= 28 { Plan::small(layers) } else { Plan::large(layers) }
    }

    fn small(layers: i64) -> Result<Plan, ZooError> {
        let (per_unit, channels, bottleneck) = if layers >= 164 { (9, [64, 128, 256], true) } else { (6, [16, 32, 64], false) };
        if layers < 2 || (layers - 2) % per_unit != 0 {
            let near = |layers: i64| ((layers - 2).max(per_unit) / per_unit * per_unit + 2).to_string();
            let help = join_words(&[near(layers), near(layers + per_unit)], "or");
            return Err(ZooError::new(
                format!("expected {per_unit}n+2 layers for an image of at most 28 rows, found {layers}"),
                format!("write `--layers {help}`"),
            ));
        }
        // Each stage has its first unit in any case.
        let units = ((layers - 2) / per_unit).max(1);
        Ok(Plan { first: 16, stages: channels.into_iter().map(|c| (units, c)).collect(), bottleneck })
    }

    fn large(layers: i64) -> Result<Plan, ZooError> {
        const UNITS: [(i64, [i64; 4]); 7] = [
            (18, [2, 2, 2, 2]),
            (34, [3, 4, 6, 3]),
            (50, [3, 4, 6, 3]),
            (101, [3, 4, 23, 3]),
            (152, [3, 8, 36, 3]),
            (200, [3, 24, 36, 3]),
            (269, [3, 30, 48, 8]),
        ];
        let Some((_, units)) = UNITS.into_iter().find(|(depth, _)| *depth == layers) else {
            let depths = join_words(&UNITS.map(|(depth, _)| depth.to_string()), "or");
            return Err(ZooError::new(
                format!("expected {depths} layers for an image of more than 28 rows, found {layers}"),
                "other depths are for an `--image-shape` of at most 28 rows".to_string(),
            ));
        };
        let bottleneck = layers >= 50;
        let channels = if bottleneck { [256, 512, 1024, 2048] } else { [64, 128, 256, 512] };
        Ok(Plan { first: 64, stages: units.into_iter().zip(channels).collect(), bottleneck })
    }
}

/// The settings that all units of a network share.
#[derive(Clone, Copy)]
pub(crate) struct Residual {
    pub(crate) layout: Layout,
    /// The axis of the batch normalisations.
    pub(crate) axis: i64,
    /// Two for images, three for volumes.
    pub(crate) rank: usize,
    pub(crate) bottleneck: bool,
}

impl Residual {
    pub(crate) fn norm(&self) -> Norm {
        Norm { axis: self.axis, epsilon: 2e-5, scale: true }
    }

    /// A convolution with a cube as kernel, padded so that stride 1 keeps the size.
    pub(crate) fn conv(&self, net: &mut Net, data: ExprId, name: &str, channels: i64, kernel: i64, stride: i64) -> ExprId {
        let (size, strides, padding) = ([kernel; 3], [stride; 3], [kernel / 2; 3]);
        let rank = self.rank;
        let conv = Conv {
            strides: &strides[..rank],
            padding: &padding[..rank],
            layout: self.layout,
            ..Conv::of(channels, &size[..rank])
        };
        net.conv(data, name, conv)
    }

    pub(crate) fn norm_relu(&self, net: &mut Net, data: ExprId, name: &str) -> ExprId {
        let norm = net.batch_norm(data, name, self.norm());
        net.relu(norm)
    }

    /// All stages; each except the first halves the size.
    pub(crate) fn stages(&self, net: &mut Net, mut body: ExprId, plan: &Plan) -> ExprId {
        for (stage, &(units, channels)) in (1..).zip(&plan.stages) {
            for unit in 1..=units {
                let stride = if unit == 1 && stage > 1 { 2 } else { 1 };
                body = self.unit(net, body, &format!("stage{stage}_unit{unit}"), channels, stride, unit == 1);
            }
        }
        body
    }

    /// The convolutions of a unit, added to its input. The first unit of a stage projects the shortcut to the new shape.
    fn unit(&self, net: &mut Net, data: ExprId, name: &str, channels: i64, stride: i64, first: bool) -> ExprId {
        // Kernel and channels of each convolution; the first has the stride.
        let convs: &[(i64, i64)] = if self.bottleneck {
            &[(1, channels / 4), (3, channels / 4), (1, channels)]
        } else {
            &[(3, channels), (3, channels)]
        };
        let mut body = data;
        let mut shortcut = data;
        for (i, &(kernel, channels)) in (1..).zip(convs) {
            let act = self.norm_relu(net, body, &format!("{name}_bn{i}"));
            if i == 1 {
                shortcut = act;
            }
            body = self.conv(net, act, &format!("{name}_conv{i}"), channels, kernel, if i == 1 { stride } else { 1 });
        }
        let shortcut = if first { self.conv(net, shortcut, &format!("{name}_sc"), channels, 1, stride) } else { data };
        net.add(body, shortcut)
    }

    /// The layers from the last unit to the probabilities.
    pub(crate) fn head(&self, net: &mut Net, body: ExprId, classes: i64) -> ExprId {
        let act = self.norm_relu(net, body, "bn1");
        let pool = net.global_avg_pool(act, self.layout);
        let flat = net.flatten(pool);
        let dense = net.dense_bias(flat, "fc1", classes);
        net.softmax(dense)
    }
}
