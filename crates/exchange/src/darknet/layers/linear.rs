//! Layers that multiply with weights: convolutions, their transposes, connected and locally connected layers; and batch norms.

use super::super::cx::{Cx, Image, Layer, Result, unsupported, wrong};
use super::{Kind, activation, kind};
use crate::onnx::import::build::Val;
use relayc_ir::attrs::AttrValue;
use relayc_ir::tensor::Tensor;

pub(super) const FAMILY: &[Kind] = &[
    kind(&["convolutional", "conv"], convolutional),
    kind(&["deconvolutional", "deconv"], deconvolutional),
    kind(&["connected", "conn"], |cx| {
        let (units, norm) = (cx.positive("output", 1)?, cx.flag("batch_normalize")?);
        cx.refuse(PARTIAL)?;
        let data = cx.flat()?;
        let name = cx.name.to_owned();
        let val = Dense { units, inputs: cx.input.size, norm }.take(cx, &name)?.call(cx, data)?;
        let val = activation::activated(cx, val, "logistic")?;
        Ok(vector(val, units))
    }),
    kind(&["local"], local),
    kind(&["batchnorm"], batchnorm),
];

/// Keys that change what a layer reads from the file.
const PARTIAL: &[&str] = &["dontload", "numload", "dontloadscales"];

/// A column of numbers, which Darknet sees as an image of one pixel.
pub(super) fn vector(val: Val, size: i64) -> Layer {
    Layer { val, image: Some(Image { c: size, h: 1, w: 1 }), size }
}

/// What follows a product: a bias, or a batch norm whose beta is the bias.
///
/// TVM adds the epsilon to the variance. Darknet adds it to its root.
struct Norm {
    gamma: Val,
    mean: Val,
    var: Val,
}

impl Norm {
    fn take(cx: &mut Cx, name: &str, n: i64) -> Result<Norm> {
        let mut next = |part| cx.supply.take(cx.b, name, part, &[n]);
        Ok(Norm { gamma: next("gamma")?, mean: next("moving_mean")?, var: next("moving_var")? })
    }

    fn call(&self, cx: &mut Cx, val: Val, beta: Val) -> Result<Val> {
        let all = [val, self.gamma, beta, self.mean, self.var];
        let norm = cx.call("nn.batch_norm", &all, &[("epsilon", AttrValue::float(1e-6))])?;
        Ok(cx.b.field(norm, 0)?)
    }
}

/// The bias of a layer as the file has it, before anything else.
fn bias(cx: &mut Cx, name: &str, n: i64, norm: bool) -> Result<Val> {
    Ok(cx.supply.take(cx.b, name, if norm { "beta" } else { "bias" }, &[n])?)
}

fn with_bias(cx: &mut Cx, val: Val, bias: Val, norm: Option<&Norm>) -> Result<Val> {
    match norm {
        Some(norm) => norm.call(cx, val, bias),
        None => cx.call("nn.bias_add", &[val, bias], &[]),
    }
}

/// The length of a window's result.
fn windows(length: i64, pad: i64, size: i64, stride: i64) -> Result<i64> {
    let room = length.saturating_add(pad).saturating_sub(size);
    if room < 0 {
        return Err(wrong(format!("a window of {size} does not fit into {length} with padding {pad}")));
    }
    Ok(room.checked_div(stride).unwrap_or(0).saturating_add(1))
}

/// A convolution of a square window.
pub(super) struct Conv {
    pub(super) filters: i64,
    pub(super) size: i64,
    pub(super) strides: [i64; 2],
    pub(super) pad: i64,
    pub(super) dilation: i64,
    pub(super) groups: i64,
    pub(super) norm: bool,
    /// Whether the file has the weights with the filters last.
    pub(super) flipped: bool,
}

/// A convolution with its weights.
pub(super) struct ConvWeights {
    attrs: Vec<(&'static str, AttrValue)>,
    bias: Val,
    weight: Val,
    norm: Option<Norm>,
    /// The size of the result.
    pub(super) image: Image,
}

impl Conv {
    /// Takes the weights of a name for images of a size; they come next in the file.
    pub(super) fn take(&self, cx: &mut Cx, name: &str, image: Image) -> Result<ConvWeights> {
        let each = image.c.checked_div(self.groups).unwrap_or(0);
        if each.saturating_mul(self.groups) != image.c || self.filters.checked_rem(self.groups) != Some(0) {
            let words = format!("{} groups do not divide {} channels and {} filters", self.groups, image.c, self.filters);
            return Err(wrong(words));
        }
        let pad = self.pad.saturating_mul(self.dilation);
        let twice = pad.saturating_mul(2);
        let reach = self.size.saturating_sub(1).saturating_mul(self.dilation).saturating_add(1);
        let image = Image {
            c: self.filters,
            h: windows(image.h, twice, reach, self.strides[0])?,
            w: windows(image.w, twice, reach, self.strides[1])?,
        };
        let attrs = vec![
            ("strides", AttrValue::ints(&self.strides)),
            ("padding", AttrValue::ints(&[pad; 4])),
            ("dilation", AttrValue::ints(&[self.dilation; 2])),
            ("groups", AttrValue::int(self.groups)),
            ("channels", AttrValue::int(self.filters)),
            ("kernel_size", AttrValue::ints(&[self.size; 2])),
        ];
        let bias = bias(cx, name, self.filters, self.norm)?;
        let norm = if self.norm { Some(Norm::take(cx, name, self.filters)?) } else { None };
        let weight = if self.flipped {
            let stored = cx.supply.take(cx.b, name, "weight", &[each, self.size, self.size, self.filters])?;
            cx.transpose(stored, &[3, 0, 1, 2])?
        } else {
            cx.supply.take(cx.b, name, "weight", &[self.filters, each, self.size, self.size])?
        };
        Ok(ConvWeights { attrs, bias, weight, norm, image })
    }
}

impl ConvWeights {
    pub(super) fn call(&self, cx: &mut Cx, data: Val) -> Result<Val> {
        let val = cx.call("nn.conv2d", &[data, self.weight], &self.attrs)?;
        with_bias(cx, val, self.bias, self.norm.as_ref())
    }
}

/// The padding: half a window, or a number.
fn padding(cx: &mut Cx, size: i64) -> Result<i64> {
    let (half, padding) = (cx.flag("pad")?, cx.natural("padding", 0)?);
    Ok(if half { size / 2 } else { padding })
}

fn convolutional(cx: &mut Cx) -> Result {
    cx.refuse(&[
        "binary",
        "xnor",
        "bin_output",
        "share_index",
        "antialiasing",
        "assisted_excitation",
        "sway",
        "rotate",
        "stretch",
        "stretch_sway",
        "reverse",
        "coordconv",
        "cbn",
    ])?;
    cx.refuse(PARTIAL)?;
    let (filters, size) = (cx.positive("filters", 1)?, cx.positive("size", 1)?);
    let stride = cx.positive("stride", 1)?;
    let strides = [cx.positive("stride_y", stride)?, cx.positive("stride_x", stride)?];
    let dilation = cx.positive("dilation", 1)?;
    let conv = Conv {
        filters,
        size,
        strides,
        pad: padding(cx, size)?,
        dilation: if size == 1 { 1 } else { dilation },
        groups: cx.positive("groups", 1)?,
        norm: cx.flag("batch_normalize")?,
        flipped: cx.flag("flipped")?,
    };
    let (data, image) = cx.image()?;
    let name = cx.name.to_owned();
    let conv = conv.take(cx, &name, image)?;
    let val = conv.call(cx, data)?;
    activation::image(cx, val, conv.image)
}

fn deconvolutional(cx: &mut Cx) -> Result {
    cx.refuse(PARTIAL)?;
    let (filters, size, stride) = (cx.positive("filters", 1)?, cx.positive("size", 1)?, cx.positive("stride", 1)?);
    let (pad, norm) = (padding(cx, size)?, cx.flag("batch_normalize")?);
    let (data, image) = cx.image()?;
    let name = cx.name.to_owned();
    let bias = bias(cx, &name, filters, norm)?;
    let norm = if norm { Some(Norm::take(cx, &name, filters)?) } else { None };
    let weight = cx.weight("weight", &[image.c, filters, size, size])?;
    let attrs = [
        ("strides", AttrValue::ints(&[stride; 2])),
        ("padding", AttrValue::ints(&[pad; 4])),
        ("channels", AttrValue::int(filters)),
        ("kernel_size", AttrValue::ints(&[size; 2])),
    ];
    let length = |length: i64| {
        let covered = length.saturating_sub(1).saturating_mul(stride).saturating_add(size);
        match covered.saturating_sub(pad.saturating_mul(2)) {
            length if length > 0 => Ok(length),
            _ => Err(wrong(format!("padding {pad} takes away all of {covered} rows or columns"))),
        }
    };
    let image = Image { c: filters, h: length(image.h)?, w: length(image.w)? };
    let val = cx.call("nn.conv2d_transpose", &[data, weight], &attrs)?;
    let val = with_bias(cx, val, bias, norm.as_ref())?;
    activation::image(cx, val, image)
}

/// A product of rows with a matrix.
pub(super) struct Dense {
    pub(super) units: i64,
    pub(super) inputs: i64,
    pub(super) norm: bool,
}

/// The weights of a product.
pub(super) struct DenseWeights {
    units: i64,
    bias: Val,
    weight: Val,
    norm: Option<Norm>,
}

impl Dense {
    /// Takes the weights of a name, which come next in the file.
    pub(super) fn take(&self, cx: &mut Cx, name: &str) -> Result<DenseWeights> {
        let (units, inputs) = (self.units, self.inputs);
        let bias = bias(cx, name, units, self.norm)?;
        let weight = if cx.supply.transposed() {
            let stored = cx.supply.take(cx.b, name, "weight", &[inputs, units])?;
            cx.transpose(stored, &[1, 0])?
        } else {
            cx.supply.take(cx.b, name, "weight", &[units, inputs])?
        };
        let norm = if self.norm { Some(Norm::take(cx, name, units)?) } else { None };
        Ok(DenseWeights { units, bias, weight, norm })
    }
}

impl DenseWeights {
    pub(super) fn call(&self, cx: &mut Cx, data: Val) -> Result<Val> {
        let val = cx.call("nn.dense", &[data, self.weight], &[("units", AttrValue::int(self.units))])?;
        with_bias(cx, val, self.bias, self.norm.as_ref())
    }
}

/// A convolution with other weights at each place: the windows become columns, one matrix for each.
fn local(cx: &mut Cx) -> Result {
    cx.refuse(PARTIAL)?;
    let (filters, size, stride) = (cx.positive("filters", 1)?, cx.positive("size", 1)?, cx.positive("stride", 1)?);
    let pad = i64::from(cx.flag("pad")?);
    let (data, image) = cx.image()?;
    // Darknet takes the result to be that of windows of 3 if there is padding, whatever they are.
    if pad == 1 && size != 3 {
        return Err(unsupported("`pad=1` with another `size` than 3"));
    }
    let twice = pad.saturating_mul(2);
    let (h, w) = (windows(image.h, twice, size, stride)?, windows(image.w, twice, size, stride)?);
    let places = h.saturating_mul(w);
    let inputs = image.c.saturating_mul(size).saturating_mul(size);
    let numbers = filters.saturating_mul(places);
    let bias = cx.weight("bias", &[numbers])?;
    let weight = cx.weight("weight", &[places, filters, inputs])?;
    let zero = cx.scalar(0.0)?;
    let sides = [[0, 0], [0, 0], [pad, pad], [pad, pad]];
    let widths = AttrValue::List(sides.iter().map(|side| AttrValue::ints(side)).collect());
    let padded = if pad == 0 { data } else { cx.call("nn.pad", &[data, zero], &[("pad_width", widths)])? };
    // More windows than this are no layer that anyone trained.
    const MAX_WINDOW: i64 = 64;
    if size > MAX_WINDOW {
        return Err(unsupported(format!("windows of {size}, the limit is {MAX_WINDOW}")));
    }
    let reach = |n: i64| n.saturating_sub(1).saturating_mul(stride).saturating_add(1);
    let mut parts = vec![];
    for y in 0..size {
        for x in 0..size {
            let end = [y.saturating_add(reach(h)), x.saturating_add(reach(w))];
            parts.push(cx.slice(padded, &[2, 3], &[y, x], &end, &[stride, stride])?);
        }
    }
    let parts = cx.b.tuple(&parts);
    let columns = cx.call("stack", &[parts], &[("axis", AttrValue::int(2))])?;
    let columns = cx.reshape(columns, &[inputs, places])?;
    let columns = cx.transpose(columns, &[2, 0, 1])?;
    let products = cx.call("nn.batch_matmul", &[columns, weight], &[("transpose_b", AttrValue::Bool(true))])?;
    let val = cx.transpose(products, &[1, 2, 0])?;
    let val = cx.reshape(val, &[numbers])?;
    let val = cx.call("nn.bias_add", &[val, bias], &[])?;
    let val = cx.reshape(val, &[filters, h, w])?;
    activation::image(cx, val, Image { c: filters, h, w })
}

/// Darknet saves no beta of it; AlexeyAB's does, first.
fn batchnorm(cx: &mut Cx) -> Result {
    cx.refuse(PARTIAL)?;
    let (data, image) = cx.image()?;
    let n = image.c;
    cx.supply.beta = cx.supply.beta.saturating_add(u64::try_from(n).unwrap_or(u64::MAX));
    let beta = if cx.supply.with_beta() {
        cx.weight("beta", &[n])?
    } else {
        let zeros = Tensor::from_vec(&[usize::try_from(n).unwrap_or(0)], vec![0f32; usize::try_from(n).unwrap_or(0)]);
        cx.supply.known(cx.b, &format!("{}_beta", cx.name), zeros)
    };
    let name = cx.name.to_owned();
    let norm = Norm::take(cx, &name, n)?;
    let val = norm.call(cx, data, beta)?;
    Ok(Layer::of(val, image))
}
