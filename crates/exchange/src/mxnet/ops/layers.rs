//! Converters of layers with weights, windows and norms.

use super::super::cx::{Cx, Result};
use super::{Operator, op};
use crate::onnx::import::build::Val;
use crate::onnx::import::errors::Refusal;
use relayc_ir::attrs::AttrValue;

pub(crate) const FAMILY: &[Operator] = &[
    op(&["Convolution", "Convolution_v1"], convolution),
    op(&["Deconvolution"], deconvolution),
    op(&["FullyConnected"], fully_connected),
    op(&["BatchNorm", "BatchNorm_v1", "_contrib_SyncBatchNorm"], batch_norm),
    op(&["InstanceNorm"], instance_norm),
    op(&["LayerNorm"], layer_norm),
    op(&["LRN"], lrn),
    op(&["Pooling", "Pooling_v1"], pooling),
    op(&["_contrib_AdaptiveAvgPooling2D"], adaptive_avg_pooling),
    op(&["UpSampling"], upsampling),
];

/// The names of a layer for one, two or three spatial axes.
struct Axes {
    n: usize,
    layouts: &'static [&'static str],
}

const AXES: [Axes; 3] =
    [Axes { n: 1, layouts: &["NCW"] }, Axes { n: 2, layouts: &["NCHW", "NHWC"] }, Axes { n: 3, layouts: &["NCDHW", "NDHWC"] }];

/// The layout of the data; MXNet has one default for each number of axes.
fn layout(cx: &mut Cx, n: usize) -> Result<String> {
    let axes = AXES.iter().find(|axes| axes.n == n);
    let axes = axes.ok_or_else(|| Refusal::unsupported(format!("a window of {n} axes")))?;
    let first = axes.layouts.first().copied().unwrap_or_default();
    let layout = cx.text("layout").unwrap_or(first).to_owned();
    match axes.layouts.contains(&layout.as_str()) {
        true => Ok(layout),
        false => Err(Refusal::unsupported(format!("the layout `{layout}`"))),
    }
}

/// One number for each axis; a single given number applies to all.
fn each_axis(cx: &mut Cx, name: &'static str, n: usize, default: i64) -> Result<Vec<i64>> {
    match cx.ints(name)? {
        None => Ok(vec![default; n]),
        Some(values) if values.is_empty() => Ok(vec![default; n]),
        Some(values) if values.len() == n => Ok(values),
        Some(values) => Err(Refusal::wrong(format!("`{name}` has {} numbers, the window has {n} axes", values.len()))),
    }
}

/// The required window of a convolution.
fn kernel(cx: &mut Cx) -> Result<Vec<i64>> {
    cx.ints("kernel")?.ok_or_else(|| Refusal::wrong("the attribute `kernel` is missing"))
}

/// The channel axis.
fn channel_axis(layout: &str) -> i64 {
    layout.find('C').and_then(|axis| i64::try_from(axis).ok()).unwrap_or(1)
}

/// Adds the third operand as a bias, unless there is none.
fn with_bias(cx: &mut Cx, result: Val, no_bias: bool, axis: i64) -> Result {
    if no_bias {
        return Ok(result);
    }
    let bias = cx.input(2)?;
    cx.call("nn.bias_add", &[result, bias], &[("axis", AttrValue::int(axis))])
}

/// The window attributes that convolutions and their transposes share.
fn window_attrs(cx: &mut Cx, kernel: &[i64], layout: &str, kernel_layout: &str) -> Result<Vec<(&'static str, AttrValue)>> {
    let n = kernel.len();
    Ok(vec![
        ("strides", AttrValue::ints(&each_axis(cx, "stride", n, 1)?)),
        ("padding", AttrValue::ints(&each_axis(cx, "pad", n, 0)?)),
        ("dilation", AttrValue::ints(&each_axis(cx, "dilate", n, 1)?)),
        ("groups", AttrValue::int(cx.int("num_group")?.unwrap_or(1))),
        ("channels", AttrValue::int(cx.need_int("num_filter")?)),
        ("kernel_size", AttrValue::ints(kernel)),
        ("data_layout", AttrValue::str(layout)),
        ("kernel_layout", AttrValue::str(kernel_layout)),
    ])
}

fn convolution(cx: &mut Cx) -> Result {
    let kernel = kernel(cx)?;
    let layout = layout(cx, kernel.len())?;
    let op = ["nn.conv1d", "nn.conv2d", "nn.conv3d"].get(kernel.len().saturating_sub(1)).copied().unwrap_or_default();
    // Weights have the channels where the data has them.
    let kernel_layout = layout.replacen('N', "O", 1).replacen('C', "I", 1);
    let attrs = window_attrs(cx, &kernel, &layout, &kernel_layout)?;
    let no_bias = cx.flag("no_bias", false)?;
    let (data, weight) = (cx.input(0)?, cx.input(1)?);
    let result = cx.call(op, &[data, weight], &attrs)?;
    with_bias(cx, result, no_bias, channel_axis(&layout))
}

fn deconvolution(cx: &mut Cx) -> Result {
    let kernel = kernel(cx)?;
    let n = kernel.len();
    let layout = layout(cx, n)?;
    let op = ["nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose"];
    let op = op.get(n.saturating_sub(1)).copied().unwrap_or_default();
    if cx.ints("target_shape")?.is_some_and(|shape| !shape.is_empty()) {
        return Err(Refusal::unsupported("`target_shape`"));
    }
    if channel_axis(&layout) != 1 {
        return Err(Refusal::unsupported(format!("the layout `{layout}`")));
    }
    let mut attrs = window_attrs(cx, &kernel, &layout, &layout.replacen("NC", "IO", 1))?;
    attrs.push(("output_padding", AttrValue::ints(&each_axis(cx, "adj", n, 0)?)));
    let no_bias = cx.flag("no_bias", true)?;
    let (data, weight) = (cx.input(0)?, cx.input(1)?);
    let result = cx.call(op, &[data, weight], &attrs)?;
    with_bias(cx, result, no_bias, 1)
}

/// Flattens all axes but the first, unless `flatten=False`.
fn fully_connected(cx: &mut Cx) -> Result {
    let units = cx.need_int("num_hidden")?;
    let (no_bias, flatten) = (cx.flag("no_bias", false)?, cx.flag("flatten", true)?);
    let (mut data, weight) = (cx.input(0)?, cx.input(1)?);
    if flatten && cx.rank(data)? != 2 {
        data = cx.call("nn.batch_flatten", &[data], &[])?;
    }
    let result = cx.call("nn.dense", &[data, weight], &[("units", AttrValue::int(units))])?;
    with_bias(cx, result, no_bias, -1)
}

/// Uses the statistics of training; `fix_gamma` means a gamma of 1.
fn batch_norm(cx: &mut Cx) -> Result {
    cx.refuse_flag("output_mean_var")?;
    // Which statistics training takes.
    cx.flag("use_global_stats", false)?;
    for hint in ["min_calib_range", "max_calib_range", "key", "ndev"] {
        cx.text(hint);
    }
    let attrs = [
        ("axis", AttrValue::int(cx.int("axis")?.unwrap_or(1))),
        ("epsilon", AttrValue::float(cx.float("eps", 1e-3)?)),
        ("scale", AttrValue::Bool(!cx.flag("fix_gamma", true)?)),
    ];
    let mut args = vec![cx.input(0)?, cx.input(1)?, cx.input(2)?];
    for (index, name) in [(3, "moving_mean"), (4, "moving_var")] {
        let hidden = if cx.inputs.len() > index { cx.inputs.get(index).copied() } else { (cx.hidden)(cx.b, name) };
        args.push(hidden.ok_or_else(|| Refusal::wrong(format!("`{name}` is neither an operand nor among the weights")))?);
    }
    let all = cx.call("nn.batch_norm", &args, &attrs)?;
    cx.b.field(all, 0)
}

fn instance_norm(cx: &mut Cx) -> Result {
    let epsilon = AttrValue::float(cx.float("eps", 1e-3)?);
    let args = [cx.input(0)?, cx.input(1)?, cx.input(2)?];
    cx.call("nn.instance_norm", &args, &[("axis", AttrValue::int(1)), ("epsilon", epsilon)])
}

fn layer_norm(cx: &mut Cx) -> Result {
    cx.refuse_flag("output_mean_var")?;
    let attrs = [("axis", AttrValue::int(cx.int("axis")?.unwrap_or(-1))), ("epsilon", AttrValue::float(cx.float("eps", 1e-5)?))];
    let args = [cx.input(0)?, cx.input(1)?, cx.input(2)?];
    cx.call("nn.layer_norm", &args, &attrs)
}

/// Normalizes across channels.
fn lrn(cx: &mut Cx) -> Result {
    let attrs = [
        ("size", AttrValue::int(cx.need_int("nsize")?)),
        ("axis", AttrValue::int(1)),
        ("alpha", AttrValue::float(cx.float("alpha", 1e-4)?)),
        ("beta", AttrValue::float(cx.float("beta", 0.75)?)),
        ("bias", AttrValue::float(cx.float("knorm", 2.0)?)),
    ];
    let data = cx.one()?;
    cx.call("nn.lrn", &[data], &attrs)
}

fn pooling(cx: &mut Cx) -> Result {
    let data = cx.one()?;
    let global = cx.flag("global_pool", false)?;
    let max = match cx.text("pool_type").unwrap_or("max") {
        "max" => true,
        "avg" => false,
        other => {
            let other = other.to_owned();
            return Err(Refusal::unsupported(format!("`pool_type={}`", relayc_base::text::escape_control(&other))));
        }
    };
    let kernel = cx.ints("kernel")?.filter(|kernel| !kernel.is_empty());
    let n = cx.rank(data)?.saturating_sub(2);
    let layout = layout(cx, n)?;
    let (strides, padding) = (each_axis(cx, "stride", n, 1)?, each_axis(cx, "pad", n, 0)?);
    let ceil = match cx.text("pooling_convention").unwrap_or("valid") {
        "valid" => false,
        "full" => true,
        "same" => return Err(Refusal::unsupported("`pooling_convention=same`")),
        _ => return Err(Refusal::wrong("`pooling_convention` is `valid`, `full` or `same`")),
    };
    let include_pad = cx.flag("count_include_pad", true)?;
    cx.int("p_value")?;
    if global {
        return global_pool(cx, data, max, &layout);
    }
    let kernel = kernel.ok_or_else(|| Refusal::wrong("the attribute `kernel` is missing"))?;
    if kernel.len() != n {
        return Err(Refusal::wrong(format!(
            "`kernel` has {} numbers, the data {n} axes besides batch and channels",
            kernel.len()
        )));
    }
    let mut attrs = vec![
        ("pool_size", AttrValue::ints(&kernel)),
        ("strides", AttrValue::ints(&strides)),
        ("padding", AttrValue::ints(&padding)),
        ("layout", AttrValue::str(&layout)),
        ("ceil_mode", AttrValue::Bool(ceil)),
    ];
    if !max {
        attrs.push(("count_include_pad", AttrValue::Bool(include_pad)));
    }
    let ops = if max {
        ["nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"]
    } else {
        ["nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d"]
    };
    let op = ops.get(n.saturating_sub(1)).copied().unwrap_or_default();
    cx.call(op, &[data], &attrs)
}

/// Pools along all axes but batch and channels, and keeps them with dimension 1.
fn global_pool(cx: &mut Cx, data: Val, max: bool, layout: &str) -> Result {
    if layout.len() == 4 {
        let op = if max { "nn.global_max_pool2d" } else { "nn.global_avg_pool2d" };
        return cx.call(op, &[data], &[("layout", AttrValue::str(layout))]);
    }
    let axes: Vec<i64> = (0i64..).zip(layout.chars()).filter(|(_, axis)| !['N', 'C'].contains(axis)).map(|(at, _)| at).collect();
    let attrs = [("axis", AttrValue::ints(&axes)), ("keepdims", AttrValue::Bool(true))];
    cx.call(if max { "max" } else { "mean" }, &[data], &attrs)
}

fn adaptive_avg_pooling(cx: &mut Cx) -> Result {
    let size = cx.ints("output_size")?.filter(|size| !size.is_empty()).unwrap_or_else(|| vec![1]);
    let data = cx.one()?;
    cx.call("nn.adaptive_avg_pool2d", &[data], &[("output_size", AttrValue::ints(&size))])
}

fn upsampling(cx: &mut Cx) -> Result {
    let scale = cx.need_int("scale")?;
    if cx.text("sample_type").is_some_and(|kind| kind != "nearest") {
        return Err(Refusal::unsupported("`sample_type` other than `nearest`"));
    }
    if cx.int("num_filter")?.is_some_and(|n| n != 0) {
        return Err(Refusal::unsupported("`num_filter`"));
    }
    cx.text("multi_input_mode");
    let data = cx.one()?;
    let scale = AttrValue::float(f64::from(i32::try_from(scale).unwrap_or(i32::MAX)));
    cx.call("nn.upsampling", &[data], &[("scale_h", scale.clone()), ("scale_w", scale)])
}
