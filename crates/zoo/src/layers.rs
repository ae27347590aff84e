//! Layers: an operator with its weights, named after the layer (`python/tvm/relay/testing/layers.py`).

use super::builder::Net;
use relayc_ir::{AttrValue, ExprId};

/// The order of the axes of images and of convolution weights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) data: &'static str,
    pub(crate) kernel: &'static str,
    pub(crate) depthwise_kernel: &'static str,
    /// The axis of the channels.
    pub(crate) channels: i64,
    /// The axis of the height, counted without the batch.
    pub(crate) height: usize,
}

impl Layout {
    pub(crate) const NCHW: Layout = Layout { data: "NCHW", kernel: "OIHW", depthwise_kernel: "OIHW", channels: 1, height: 1 };
    pub(crate) const NHWC: Layout = Layout { data: "NHWC", kernel: "HWIO", depthwise_kernel: "HWOI", channels: 3, height: 0 };
    pub(crate) const NCDHW: Layout = Layout { data: "NCDHW", kernel: "OIDHW", depthwise_kernel: "OIDHW", channels: 1, height: 2 };
    pub(crate) const NDHWC: Layout = Layout { data: "NDHWC", kernel: "DHWIO", depthwise_kernel: "DHWOI", channels: 4, height: 1 };

    /// The layout with this name, which a flag has checked.
    pub(crate) fn of(name: &str) -> Layout {
        let all = [Layout::NCHW, Layout::NHWC, Layout::NCDHW, Layout::NDHWC];
        all.into_iter().find(|layout| layout.data == name).unwrap_or_else(|| panic!("zoo: no layout {name}"))
    }
}

/// A convolution without bias; its rank is that of the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conv<'a> {
    pub(crate) channels: i64,
    pub(crate) kernel: &'a [i64],
    pub(crate) strides: &'a [i64],
    /// Padding on both sides of each axis.
    pub(crate) padding: &'a [i64],
    pub(crate) layout: Layout,
}

const ONES: [i64; 3] = [1; 3];
const ZEROS: [i64; 3] = [0; 3];

impl<'a> Conv<'a> {
    /// A convolution with stride 1, no padding, channels first.
    pub(crate) fn of(channels: i64, kernel: &'a [i64]) -> Conv<'a> {
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
pub(crate) struct Window<'a> {
    pub(crate) size: &'a [i64],
    pub(crate) strides: &'a [i64],
    /// Padding on both sides of each axis.
    pub(crate) padding: &'a [i64],
    pub(crate) layout: Layout,
}

impl<'a> Window<'a> {
    /// A window without padding, channels first.
    pub(crate) const fn of(size: &'a [i64], strides: &'a [i64]) -> Window<'a> {
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

/// The differences of a batch normalisation from the operator's defaults.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Norm {
    pub(crate) axis: i64,
    pub(crate) epsilon: f64,
    pub(crate) scale: bool,
}

impl Norm {
    pub(crate) const DEFAULT: Norm = Norm { axis: 1, epsilon: 1e-5, scale: true };
}

impl Net {
    /// A convolution with the weight `<name>_weight`.
    pub(crate) fn conv(&mut self, data: ExprId, name: &str, conv: Conv) -> ExprId {
        let weight = self.untyped(&format!("{name}_weight"));
        let op = if conv.kernel.len() == 3 { "nn.conv3d" } else { "nn.conv2d" };
        let mut attrs = conv.attrs();
        attrs.push(("kernel_layout", AttrValue::str(conv.layout.kernel)));
        self.call(op, &[data, weight], &attrs)
    }

    /// A convolution that filters each channel alone.
    pub(crate) fn depthwise_conv(&mut self, data: ExprId, weight: ExprId, conv: Conv) -> ExprId {
        let mut attrs = conv.attrs();
        attrs.push(("kernel_layout", AttrValue::str(conv.layout.depthwise_kernel)));
        attrs.push(("groups", AttrValue::int(conv.channels)));
        self.call("nn.conv2d", &[data, weight], &attrs)
    }

    /// A transposed convolution with the weight `<name>_weight`.
    pub(crate) fn conv_transpose(&mut self, data: ExprId, name: &str, kernel_layout: &str, conv: Conv) -> ExprId {
        let weight = self.untyped(&format!("{name}_weight"));
        let mut attrs = conv.attrs();
        attrs.push(("kernel_layout", AttrValue::str(kernel_layout)));
        self.call("nn.conv2d_transpose", &[data, weight], &attrs)
    }

    /// Adds `<name>_bias`.
    pub(crate) fn bias(&mut self, data: ExprId, name: &str, axis: i64) -> ExprId {
        let bias = self.untyped(&format!("{name}_bias"));
        self.call("nn.bias_add", &[data, bias], &[("axis", AttrValue::int(axis))])
    }

    /// A dense layer with `<name>_weight`.
    pub(crate) fn dense(&mut self, data: ExprId, name: &str, units: i64) -> ExprId {
        let weight = self.untyped(&format!("{name}_weight"));
        self.dense_by(data, weight, units)
    }

    pub(crate) fn dense_by(&mut self, data: ExprId, weight: ExprId, units: i64) -> ExprId {
        self.call("nn.dense", &[data, weight], &[("units", AttrValue::int(units))])
    }

    /// A dense layer with `<name>_weight` and `<name>_bias`.
    pub(crate) fn dense_bias(&mut self, data: ExprId, name: &str, units: i64) -> ExprId {
        let dense = self.dense(data, name, units);
        self.bias(dense, name, -1)
    }

    /// A batch normalisation with its four parameters; only the normalised value is used.
    pub(crate) fn batch_norm(&mut self, data: ExprId, name: &str, norm: Norm) -> ExprId {
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

    pub(crate) fn relu(&mut self, data: ExprId) -> ExprId {
        self.call("nn.relu", &[data], &[])
    }

    pub(crate) fn max_pool(&mut self, data: ExprId, window: Window) -> ExprId {
        self.call("nn.max_pool2d", &[data], &window.attrs())
    }

    pub(crate) fn avg_pool(&mut self, data: ExprId, window: Window, count_include_pad: bool) -> ExprId {
        let mut attrs = window.attrs();
        attrs.push(("count_include_pad", AttrValue::Bool(count_include_pad)));
        self.call("nn.avg_pool2d", &[data], &attrs)
    }

    /// The mean of each channel; over volumes TVM uses an adaptive pool (`python/tvm/relay/op/nn/nn.py`).
    pub(crate) fn global_avg_pool(&mut self, data: ExprId, layout: Layout) -> ExprId {
        let order = ("layout", AttrValue::str(layout.data));
        if layout.data.len() == 5 {
            return self.call("nn.adaptive_avg_pool3d", &[data], &[("output_size", AttrValue::ints(&ONES)), order]);
        }
        self.call("nn.global_avg_pool2d", &[data], &[order])
    }

    /// The identity outside training.
    pub(crate) fn dropout(&mut self, data: ExprId) -> ExprId {
        let both = self.call("nn.dropout", &[data], &[]);
        self.proj(both, 0)
    }

    pub(crate) fn flatten(&mut self, data: ExprId) -> ExprId {
        self.call("nn.batch_flatten", &[data], &[])
    }

    pub(crate) fn softmax(&mut self, data: ExprId) -> ExprId {
        self.call("nn.softmax", &[data], &[])
    }

    pub(crate) fn add(&mut self, lhs: ExprId, rhs: ExprId) -> ExprId {
        self.call("add", &[lhs, rhs], &[])
    }

    /// Concatenates values along the channels, axis 1.
    pub(crate) fn concat(&mut self, parts: &[ExprId]) -> ExprId {
        let parts = self.tuple(parts);
        self.call("concatenate", &[parts], &[("axis", AttrValue::int(1))])
    }

    pub(crate) fn reshape(&mut self, data: ExprId, shape: &[i64]) -> ExprId {
        self.call("reshape", &[data], &[("newshape", AttrValue::ints(shape))])
    }
}

/// The padding before each axis, then after each.
fn both_sides(padding: &[i64]) -> Vec<i64> {
    [padding, padding].concat()
}
