//! Layers: an operator with the weights it needs, named after the layer (`python/tvm/relay/testing/layers.py`).

use super::builder::Net;
use crate::ir::{AttrValue, ExprId};

/// The order of the axes of images and of convolution weights.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub data: &'static str,
    pub kernel: &'static str,
    pub depthwise_kernel: &'static str,
    /// Where the channels are.
    pub channels: i64,
    /// Where the height is, counted without the batch.
    pub height: usize,
}

impl Layout {
    pub const NCHW: Layout = Layout { data: "NCHW", kernel: "OIHW", depthwise_kernel: "OIHW", channels: 1, height: 1 };
    pub const NHWC: Layout = Layout { data: "NHWC", kernel: "HWIO", depthwise_kernel: "HWOI", channels: 3, height: 0 };
    pub const NCDHW: Layout = Layout { data: "NCDHW", kernel: "OIDHW", depthwise_kernel: "OIDHW", channels: 1, height: 2 };
    pub const NDHWC: Layout = Layout { data: "NDHWC", kernel: "DHWIO", depthwise_kernel: "DHWOI", channels: 4, height: 1 };

    /// The layout of this name, which a flag has checked.
    pub fn of(name: &str) -> Layout {
        let all = [Layout::NCHW, Layout::NHWC, Layout::NCDHW, Layout::NDHWC];
        all.into_iter().find(|layout| layout.data == name).unwrap_or_else(|| panic!("zoo: no layout {name}"))
    }
}

/// A convolution without bias; its rank is that of the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Conv<'a> {
    pub channels: i64,
    pub kernel: &'a [i64],
    pub strides: &'a [i64],
    /// On both sides of each axis.
    pub padding: &'a [i64],
    pub layout: Layout,
}

const ONES: [i64; 3] = [1; 3];
const ZEROS: [i64; 3] = [0; 3];

impl<'a> Conv<'a> {
    /// Stride 1, no padding, channels first.
    pub fn of(channels: i64, kernel: &'a [i64]) -> Conv<'a> {
        let rank = kernel.len();
        let layout = if rank == 3 { Layout::NCDHW } else { Layout::NCHW };
        Conv { channels, kernel, strides: &ONES[..rank], padding: &ZEROS[..rank], layout }
    }

    fn attrs(&self) -> Vec<(&'static str, AttrValue)> {
        vec![
            ("strides", AttrValue::ints(self.strides)),
            ("padding", AttrValue::ints(&both_sides(self.padding))),
            ("channels", AttrValue::int(self.channels)),
            ("kernel_size", AttrValue::ints(self.kernel)),
            ("data_layout", AttrValue::str(self.layout.data)),
        ]
    }
}

/// A window that moves over an image.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    pub size: &'a [i64],
    pub strides: &'a [i64],
    /// On both sides of each axis.
    pub padding: &'a [i64],
    pub layout: Layout,
}

impl<'a> Window<'a> {
    /// No padding, channels first.
    pub const fn of(size: &'a [i64], strides: &'a [i64]) -> Window<'a> {
        Window { size, strides, padding: &[0, 0], layout: Layout::NCHW }
    }

    fn attrs(&self) -> Vec<(&'static str, AttrValue)> {
        vec![
            ("pool_size", AttrValue::ints(self.size)),
            ("strides", AttrValue::ints(self.strides)),
            ("padding", AttrValue::ints(&both_sides(self.padding))),
            ("layout", AttrValue::str(self.layout.data)),
        ]
    }
}

/// How a batch normalisation differs from the operator's defaults.
#[derive(Clone, Copy, Debug)]
pub struct Norm {
    pub axis: i64,
    pub epsilon: f64,
    pub scale: bool,
}

impl Norm {
    pub const DEFAULT: Norm = Norm { axis: 1, epsilon: 1e-5, scale: true };
}

impl Net {
    /// A convolution with the weight `<name>_weight`.
    pub fn conv(&mut self, data: ExprId, name: &str, conv: Conv) -> ExprId {
        let weight = self.untyped(&format!("{name}_weight"));
        let op = if conv.kernel.len() == 3 { "nn.conv3d" } else { "nn.conv2d" };
        let mut attrs = conv.attrs();
        attrs.push(("kernel_layout", AttrValue::str(conv.layout.kernel)));
        self.call(op, &[data, weight], &attrs)
    }

    /// A convolution that filters each channel alone.
    pub fn depthwise_conv(&mut self, data: ExprId, weight: ExprId, conv: Conv) -> ExprId {
        let mut attrs = conv.attrs();
        attrs.push(("kernel_layout", AttrValue::str(conv.layout.depthwise_kernel)));
        attrs.push(("groups", AttrValue::int(conv.channels)));
        self.call("nn.conv2d", &[data, weight], &attrs)
    }

    /// A transposed convolution with the weight `<name>_weight`.
    pub fn conv_transpose(&mut self, data: ExprId, name: &str, kernel_layout: &str, conv: Conv) -> ExprId {
        let weight = self.untyped(&format!("{name}_weight"));
        let mut attrs = conv.attrs();
        attrs.push(("kernel_layout", AttrValue::str(kernel_layout)));
        self.call("nn.conv2d_transpose", &[data, weight], &attrs)
    }

    /// Adds `<name>_bias`.
    pub fn bias(&mut self, data: ExprId, name: &str, axis: i64) -> ExprId {
        let bias = self.untyped(&format!("{name}_bias"));
        self.call("nn.bias_add", &[data, bias], &[("axis", AttrValue::int(axis))])
    }

    /// A dense layer with `<name>_weight`.
    pub fn dense(&mut self, data: ExprId, name: &str, units: i64) -> ExprId {
        let weight = self.untyped(&format!("{name}_weight"));
        self.dense_by(data, weight, units)
    }

    pub fn dense_by(&mut self, data: ExprId, weight: ExprId, units: i64) -> ExprId {
        self.call("nn.dense", &[data, weight], &[("units", AttrValue::int(units))])
    }

    /// A dense layer with `<name>_weight` and `<name>_bias`.
    pub fn dense_bias(&mut self, data: ExprId, name: &str, units: i64) -> ExprId {
        let dense = self.dense(data, name, units);
        self.bias(dense, name, -1)
    }

    /// A batch normalisation with its four parameters, of which only the normalised value is used.
    pub fn batch_norm(&mut self, data: ExprId, name: &str, norm: Norm) -> ExprId {
        let [gamma, beta, mean, var] =
            ["gamma", "beta", "moving_mean", "moving_var"].map(|part| self.untyped(&format!("{name}_{part}")));
        let attrs = [
            ("axis", AttrValue::int(norm.axis)),
            ("epsilon", AttrValue::float(norm.epsilon)),
            ("scale", AttrValue::Bool(norm.scale)),
        ];
        let all = self.call("nn.batch_norm", &[data, gamma, beta, mean, var], &attrs);
        self.proj(all, 0)
    }

    pub fn relu(&mut self, data: ExprId) -> ExprId {
        self.call("nn.relu", &[data], &[])
    }

    pub fn max_pool(&mut self, data: ExprId, window: Window) -> ExprId {
        self.call("nn.max_pool2d", &[data], &window.attrs())
    }

    pub fn avg_pool(&mut self, data: ExprId, window: Window, count_include_pad: bool) -> ExprId {
        let mut attrs = window.attrs();
        attrs.push(("count_include_pad", AttrValue::Bool(count_include_pad)));
        self.call("nn.avg_pool2d", &[data], &attrs)
    }

    /// The mean of each channel; over volumes TVM has an adaptive pool for it (`python/tvm/relay/op/nn/nn.py`).
    pub fn global_avg_pool(&mut self, data: ExprId, layout: Layout) -> ExprId {
        let order = ("layout", AttrValue::str(layout.data));
        if layout.data.len() == 5 {
            return self.call("nn.adaptive_avg_pool3d", &[data], &[("output_size", AttrValue::ints(&ONES)), order]);
        }
        self.call("nn.global_avg_pool2d", &[data], &[order])
    }

    /// The identity outside training.
    pub fn dropout(&mut self, data: ExprId) -> ExprId {
        let both = self.call("nn.dropout", &[data], &[]);
        self.proj(both, 0)
    }

    pub fn flatten(&mut self, data: ExprId) -> ExprId {
        self.call("nn.batch_flatten", &[data], &[])
    }

    pub fn softmax(&mut self, data: ExprId) -> ExprId {
        self.call("nn.softmax", &[data], &[])
    }

    pub fn add(&mut self, lhs: ExprId, rhs: ExprId) -> ExprId {
        self.call("add", &[lhs, rhs], &[])
    }

    /// The values one after the other along the channels, which are axis 1.
    pub fn concat(&mut self, parts: &[ExprId]) -> ExprId {
        let parts = self.tuple(parts);
        self.call("concatenate", &[parts], &[("axis", AttrValue::int(1))])
    }

    pub fn reshape(&mut self, data: ExprId, shape: &[i64]) -> ExprId {
        self.call("reshape", &[data], &[("newshape", AttrValue::ints(shape))])
    }
}

/// The padding before each axis, then after each.
fn both_sides(padding: &[i64]) -> Vec<i64> {
    [padding, padding].concat()
}
