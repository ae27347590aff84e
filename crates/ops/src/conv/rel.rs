//! The type relations of convolutions, over any number of spatial axes.

use super::Conv2dAttrs;
use crate::prelude::*;
use crate::window::{self, Window};

/// The attributes after parsing.
pub(super) struct Conv {
    pub(crate) attrs: Conv2dAttrs,
    /// The letters of the spatial axes.
    pub(crate) spatial: &'static str,
    pub(crate) data: Layout,
    pub(crate) weight: Weight,
    pub(crate) out: Layout,
    pub(crate) padding: Vec<(i64, i64)>,
}

/// The layout of a weight.
pub(super) struct Weight {
    pub(crate) layout: Layout,
    /// The groups, where they have an axis of their own.
    groups: Option<i64>,
    /// The axis, `O` or `I`, that counts for all groups if they have no axis of their own.
    whole: char,
    spatial: &'static str,
}

/// The weight's dimensions that the result depends on.
pub(super) struct Kernel {
    pub(crate) channels: SDim,
    pub(crate) size: Vec<SDim>,
}

pub(super) fn conv_rel(cx: &mut RelCx, spatial: &'static str) -> RelResult {
    let conv = read(cx, Conv2dAttrs::read(cx.attrs), spatial, 'O')?;
    let data = cx.tensor(0)?;
    let dims = conv.data.dims(cx, "C3", &data, &letters("NC", spatial))?;
    let kernel = kernel(cx, &conv, &dims, 1, data.dtype)?;
    let mut out = Shape::from_slice(&[dims[0], kernel.channels]);
    out.extend(conv.positions(cx, &dims[2..], &kernel)?);
    conv.set_out(cx, &out, data.dtype)
}

/// The letters of the channels followed by those of the spatial axes.
pub(super) fn letters(channels: &str, spatial: &str) -> String {
    format!("{channels}{spatial}")
}

impl Conv {
    fn window(&self, at: usize, kernel: i64) -> Window {
        let (before, after) = self.padding[at];
        Window { kernel, stride: self.attrs.strides[at], dilation: self.attrs.dilation[at], before, after }
    }

    /// The number of windows along each spatial axis: `C11`.
    pub(crate) fn positions(&self, cx: &mut RelCx, data: &[SDim], kernel: &Kernel) -> RelResult<Shape> {
        let along = |(at, letter): (usize, char)| {
            let window = kernel.size[at].value().map(|kernel| self.window(at, kernel));
            window::out_dim(cx, "C11", letter, data[at], window, false)
        };
        self.spatial.chars().enumerate().map(along).collect()
    }

    /// Sets the result's type from its dimensions: `C12`.
    pub(crate) fn set_out(&self, cx: &mut RelCx, dims: &[SDim], data: DType) -> RelResult {
        let shape = self.out.shape(cx, "C12", &letters("NC", self.spatial), dims)?;
        cx.set_out(shape, self.attrs.out_dtype.unwrap_or(data))
    }
}

impl Weight {
    /// Reads `kernel_layout`: `C2`. The axis that counts for all groups is `whole`.
    fn read(attrs: &Conv2dAttrs, spatial: &'static str, whole: char) -> RelResult<Weight> {
        let has_groups = |layout: &Layout| attrs.groups > 1 && layout.axis('G').is_some();
        let check = |layout: Layout| {
            let channels = if has_groups(&layout) { "GOI" } else { "OI" };
            layout.of(&letters(channels, spatial))
        };
        let layout = layout_attr("C2", "kernel_layout", &attrs.kernel_layout, check)?;
        let groups = has_groups(&layout).then_some(attrs.groups);
        Ok(Weight { layout, groups, whole, spatial })
    }

    /// The dimensions of O, I and the spatial axes of a weight: `C3`.
    pub(crate) fn dims(&self, cx: &RelCx, weight: &TensorTy) -> RelResult<Shape> {
        let Some(groups) = self.groups else { return self.layout.dims(cx, "C3", weight, &letters("OI", self.spatial)) };
        let mut dims = self.layout.dims(cx, "C3", weight, &letters("GOI", self.spatial))?;
        let own = dims.remove(0);
        cx.require("C3", own.dim.compatible(Dim::known(groups)), || {
            Fault::shape(format!("expected {groups} for the axis G, found {}", own.dim))
                .at(own.place(), "")
                .at(Place::attr("groups"), "")
                .equation("weight.G == groups", format!("{} == {groups}", own.dim))
        })?;
        let at = usize::from(self.whole == 'I');
        dims[at].dim = dims[at].dim.map(|dim| dim.checked_mul(groups));
        Ok(dims)
    }

    /// The shape of a weight with these O, I and spatial axes: `C12`. O and I are multiples of the groups.
    fn shape(&self, cx: &RelCx, dims: &[SDim]) -> RelResult<Shape> {
        let Some(groups) = self.groups else { return self.layout.shape(cx, "C12", &letters("OI", self.spatial), dims) };
        let mut dims = dims.to_vec();
        let at = usize::from(self.whole == 'I');
        dims[at].dim = dims[at].dim.map(|dim| dim.checked_div(groups));
        dims.insert(0, SDim::known(groups, DimOrigin::Attr("groups")));
        self.layout.shape(cx, "C12", &letters("GOI", self.spatial), &dims)
    }
}

/// Checks the rules on attributes alone, and parses the attributes.
pub(super) fn read(cx: &RelCx, attrs: Conv2dAttrs, spatial: &'static str, whole: char) -> RelResult<Conv> {
    let n = spatial.len();
    let layout = |attr, text: &str| layout_attr("C1", attr, text, |layout| layout.of(&letters("NC", spatial)));
    let data = layout("data_layout", &attrs.data_layout)?;
    let weight = Weight::read(&attrs, spatial, whole)?;
    let out = match attrs.out_layout.as_str() {
        "" => data.clone(),
        text => layout("out_layout", text)?,
    };
    window::sizes(cx, "C4", "strides", &attrs.strides, n)?;
    window::sizes(cx, "C4", "dilation", &attrs.dilation, n)?;
    if let Some(size) = &attrs.kernel_size {
        window::sizes(cx, "C4", "kernel_size", size, n)?;
    }
    let padding = window::padding(cx, "C5", &attrs.padding, n)?;
    require_positive(cx, "C6", "groups", attrs.groups)?;
    if let Some(channels) = attrs.channels {
        cx.require("C8", channels >= 0, || Fault::attr("channels", format!("expected at least 0, found {channels}")))?;
    }
    Ok(Conv { attrs, spatial, data, weight, out, padding })
}

pub(super) fn require_positive(cx: &RelCx, rule: &'static str, attr: &'static str, value: i64) -> RelResult {
    cx.require(rule, value >= 1, || Fault::attr(attr, format!("expected at least 1, found {value}")))
}

/// Checks the type of the weight, operand `arg`, or determines it if it is unknown. `data` are the dimensions of N, C and the
/// spatial axes.
pub(super) fn kernel(cx: &mut RelCx, conv: &Conv, data: &Shape, arg: usize, dtype: DType) -> RelResult<Kernel> {
    match cx.known_tensor(arg)? {
        None => infer_weight(cx, conv, data[1], arg, dtype),
        Some(weight) => {
            let weight = conv.weight.dims(cx, &weight)?;
            known_weight(cx, conv, data, &weight).map_err(|stop| other_kernel_layout(stop, conv))
        }
    }
}

/// Decides the weight's type from `channels` and `kernel_size`.
fn infer_weight(cx: &mut RelCx, conv: &Conv, data_c: SDim, arg: usize, dtype: DType) -> RelResult<Kernel> {
    let groups = conv.attrs.groups;
    let (Some(channels), Some(size)) = (conv.attrs.channels, &conv.attrs.kernel_size) else { return Err(Stop::NotYet) };
    let channels = SDim::known(channels, DimOrigin::Attr("channels"));
    require_groups(cx, channels, groups)?;
    let input = match data_c.value() {
        Some(c) => {
            cx.require("C7", c % groups == 0, || {
                Fault::shape(format!("{c} input channels do not fall into {groups} groups"))
                    .at(Place::attr("groups"), "")
                    .at(data_c.place(), "")
                    .equation("data.C == weight.I * groups", format!("{c} == weight.I * {groups}"))
            })?;
            SDim::known(c / groups, if groups == 1 { data_c.from } else { DimOrigin::Rule("C7") })
        }
        None if groups == 1 => data_c,
        None => {
            let each = cx.types.symbols.built(SymbolOp::FloorDiv, data_c.dim, Dim::known(groups));
            SDim::new(each, DimOrigin::Rule("C7"))
        }
    };
    set_weight(cx, conv, arg, channels, input, dtype)?;
    Ok(Kernel { channels, size: attr_size(size) })
}

pub(super) fn set_weight(cx: &mut RelCx, conv: &Conv, arg: usize, o: SDim, i: SDim, dtype: DType) -> RelResult {
    let mut dims = vec![o, i];
    dims.extend(attr_size(conv.attrs.kernel_size.as_deref().unwrap_or_default()));
    let shape = conv.weight.shape(cx, &dims)?;
    cx.set_arg("C3", arg, shape, dtype)
}

/// The window size from `kernel_size`.
pub(super) fn attr_size(size: &[i64]) -> Vec<SDim> {
    size.iter().map(|&size| SDim::known(size, DimOrigin::Attr("kernel_size"))).collect()
}

/// The window's size: that of the weight, which must equal `kernel_size` if that is given (`C10`).
pub(super) fn kernel_size(cx: &RelCx, conv: &Conv, weight: &[SDim]) -> RelResult<Vec<SDim>> {
    let Some(size) = &conv.attrs.kernel_size else { return Ok(weight.to_vec()) };
    for ((found, &expected), letter) in weight.iter().zip(size).zip(conv.spatial.chars()) {
        cx.require("C10", found.dim.compatible(Dim::known(expected)), || {
            let fault = Fault::shape(format!("expected a weight with {letter} = {expected}, found {}", found.dim))
                .at(Place::attr("kernel_size"), "")
                .at(found.place(), "")
                .equation(format!("weight.{letter} == kernel_size"), format!("{} == {expected}", found.dim));
            let sizes: Option<Vec<i64>> = weight.iter().map(|dim| dim.value()).collect();
            match sizes {
                Some(sizes) => fault.set_attr("kernel_size", format!("{sizes:?}")),
                None => fault,
            }
        })?;
    }
    Ok(attr_size(size))
}

/// Checks a weight whose type is known, given its dimensions O, I and the spatial axes.
fn known_weight(cx: &RelCx, conv: &Conv, data: &Shape, weight: &Shape) -> RelResult<Kernel> {
    let (o, i, groups) = (weight[0], weight[1], conv.attrs.groups);
    let channels = conv.attrs.channels.map(|channels| SDim::known(channels, DimOrigin::Attr("channels")));
    let size = kernel_size(cx, conv, &weight[2..])?;
    // TVM's test for a depthwise weight, whose axis I counts the outputs of each input channel.
    let one_each = groups > 1 && data[1].value() == Some(groups) && o.value() == Some(groups) && conv.weight.groups.is_none();
    if let (true, Some(channels), Some(_)) = (one_each, channels, &conv.attrs.kernel_size) {
        depthwise_inputs(cx, channels, i, groups)?;
        return Ok(Kernel { channels, size });
    }
    if let Some(channels) = channels {
        cx.require("C8", o.dim.compatible(channels.dim), || {
            Fault::shape(format!("expected a weight of {} output channels, found {}", channels.dim, o.dim))
                .at(Place::attr("channels"), "")
                .at(o.place(), "")
                .equation("weight.O == channels", format!("{} == {}", o.dim, channels.dim))
                .set_attr("channels", o.dim)
        })?;
    }
    input_channels(cx, conv, data, weight)?;
    let channels = channels.unwrap_or(o);
    require_groups(cx, channels, groups)?;
    Ok(Kernel { channels, size })
}

/// `C7` of a depthwise weight.
fn depthwise_inputs(cx: &RelCx, channels: SDim, i: SDim, groups: i64) -> RelResult {
    let (Some(total), Some(multiplier)) = (channels.value(), i.value()) else { return Ok(()) };
    cx.require("C7", i128::from(multiplier) * i128::from(groups) == i128::from(total), || {
        let fault = Fault::shape(format!("expected {total} output channels, found {multiplier} for each of {groups}"))
            .at(i.place(), "")
            .at(Place::attr("channels"), "")
            .equation("weight.I * groups == channels", format!("{multiplier} * {groups} == {total}"));
        match multiplier.checked_mul(groups) {
            Some(fitting) => fault.set_attr("channels", fitting),
            None => fault,
        }
    })
}

/// `C7` of any other weight.
fn input_channels(cx: &RelCx, conv: &Conv, data: &Shape, weight: &Shape) -> RelResult {
    let (Some(c), Some(i)) = (data[1].value(), weight[1].value()) else { return Ok(()) };
    let groups = conv.attrs.groups;
    let taken = i128::from(i) * i128::from(groups);
    cx.require("C7", i128::from(c) == taken, || {
        let fault = Fault::shape(format!("expected a weight for {c} input channels, found one for {taken}"))
            .at(weight[1].place(), "")
            .at(data[1].place(), "")
            .at(Place::attr("groups"), "")
            .equation("data.C == weight.I * groups", format!("{c} == {i} * {groups}"));
        let outputs = weight[0].value();
        let fitting = (i > 0 && c > 0 && c % i == 0).then(|| c / i).filter(|groups| outputs.is_none_or(|o| o % groups == 0));
        match fitting {
            Some(groups) => fault.set_attr("groups", groups),
            None => other_layout(fault, conv, data, taken),
        }
    })
}

/// Advice where the data's last axis has the channels that the weight takes.
fn other_layout(fault: Fault, conv: &Conv, data: &Shape, taken: i128) -> Fault {
    let last = data.last().and_then(|dim| dim.value()).is_some_and(|w| i128::from(w) == taken);
    let first = conv.attrs.data_layout == letters("NC", conv.spatial);
    if first && last { fault.set_attr("data_layout", format!("\"N{}C\"", conv.spatial)) } else { fault }
}

/// Advice to say that a weight is laid out as in TensorFlow, or as in TensorFlow Lite; what does not fit is not said.
fn other_kernel_layout(stop: Stop, conv: &Conv) -> Stop {
    match stop {
        Stop::Fault(fault) if conv.attrs.kernel_layout == letters("OI", conv.spatial) => {
            let layouts = [format!("\"{}IO\"", conv.spatial), format!("\"O{}I\"", conv.spatial)];
            layouts.into_iter().fold(*fault, |fault, layout| fault.set_attr("kernel_layout", layout)).into()
        }
        stop => stop,
    }
}

/// Requires the output channels to be a multiple of the groups: `C9`.
pub(super) fn require_groups(cx: &RelCx, channels: SDim, groups: i64) -> RelResult {
    let Some(value) = channels.value() else { return Ok(()) };
    cx.require("C9", value % groups == 0, || {
        Fault::shape(format!("{value} output channels do not fall into {groups} groups"))
            .at(Place::attr("groups"), "")
            .at(channels.place(), "")
            .equation("channels % groups == 0", format!("{value} % {groups} == 0"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conv::{CONV1D, CONV2D, CONV3D};
    use crate::rel::FaultHelp;
    use crate::trial::{Trial, call, extremes};
    use relayc_ir::attrs::AttrValue;

    fn conv(channels: i64, size: i64) -> Trial {
        call(&CONV2D).int("channels", channels).ints("kernel_size", &[size, size])
    }

    const DATA: &str = "(1, 8, 10, 12) float32";

    #[test]
    fn known_weights() {
        let plain = || call(&CONV2D).ints("padding", &[1, 0, 2, 3]).ints("strides", &[1, 2]);
        assert_eq!(plain().out(&[DATA, "(4, 8, 3, 3) float32"]), "Tensor[(1, 4, 11, 7), float32]");
        assert_eq!(plain().out(&["(?, 8, ?, 12) float32", "(4, ?, 3, ?) int8"]), "Tensor[(?, 4, ?, ?), float32]");
        let int = plain().attr("out_dtype", AttrValue::DType(Some(DType::I32)));
        assert_eq!(int.out(&["(1i64, 8i64, 10i64, 12i64) int8", "(4, 8, 3, 3) int8"]), "Tensor[(1, 4, 11, 7), int32]");
        let nhwc = call(&CONV2D).text("data_layout", "NHWC").text("kernel_layout", "HWIO").int("groups", 2);
        assert_eq!(nhwc.out(&["(1, 10, 12, 8) float32", "(3, 3, 4, 6) float32"]), "Tensor[(1, 8, 10, 6), float32]");
        let blocked = conv(16, 3).text("data_layout", "NCHW4n4c").text("kernel_layout", "OIHW4o4i").ints("padding", &[1]);
        let args = ["(1, 8, 24, 24, 4, 4) int8", "(4, 8, 3, 3, 4, 4) int8"];
        assert_eq!(blocked.out(&args), "Tensor[(1, 4, 24, 24, 4, 4), int8]");
    }

    #[test]
    fn inferred_weights() {
        let inferred = conv(6, 3).int("groups", 2).infer(&["(?, 8, 10, ?) float16", "_"]).expect("it holds");
        assert_eq!((&*inferred.args[1], &*inferred.out), ("Tensor[(6, 4, 3, 3), float16]", "Tensor[(?, 6, 8, ?), float16]"));
        let origins = inferred.origins.args[0].1.iter().map(|dim| dim.from).collect::<Vec<_>>();
        assert_eq!(
            origins,
            [DimOrigin::Attr("channels"), DimOrigin::Rule("C7"), DimOrigin::Attr("kernel_size"), DimOrigin::Attr("kernel_size")]
        );
        assert_eq!(inferred.origins.out[2].from, DimOrigin::Rule("C11"));
        let turned = conv(6, 3).text("kernel_layout", "HWIO").infer(&["(1, ?, 10, 9) float32", "_"]).expect("it holds");
        assert_eq!(turned.args[1], "Tensor[(3, 3, ?, 6), float32]");
        assert!(matches!(call(&CONV2D).int("channels", 6).infer(&[DATA, "_"]), Err(Stop::NotYet)));
        assert_eq!(conv(6, 3).int("groups", 3).fault(&[DATA, "_"]).rule, "C7");
        assert_eq!(conv(7, 3).int("groups", 2).fault(&[DATA, "_"]).rule, "C9");
    }

    /// A weight with an axis for the groups.
    fn grouped() -> Trial {
        conv(8, 3).int("groups", 2).text("kernel_layout", "GOIHW")
    }

    #[test]
    fn weights_with_an_axis_of_groups() {
        assert_eq!(grouped().out(&[DATA, "(2, 4, 4, 3, 3) float32"]), "Tensor[(1, 8, 8, 10), float32]");
        let inferred = grouped().infer(&[DATA, "_"]).expect("it holds");
        assert_eq!(inferred.args[1], "Tensor[(2, 4, 4, 3, 3), float32]");
        assert_eq!(grouped().fault(&[DATA, "(2, 2, 4, 3, 3) float32"]).rule, "C8");
    }

    #[test]
    fn one_and_three_axes() {
        let line = call(&CONV1D).ints("padding", &[1, 3]).text("data_layout", "NWC").text("kernel_layout", "WIO");
        assert_eq!(line.out(&["(1, 8, 4) float32", "(3, 4, 6) float32"]), "Tensor[(1, 10, 6), float32]");
        let line = call(&CONV1D).int("channels", 2).ints("kernel_size", &[3]).infer(&["(?, 10, 224) float32", "_"]);
        assert_eq!(line.expect("it holds").args[1], "Tensor[(2, 10, 3), float32]");
        let space = call(&CONV3D).ints("strides", &[1, 2, 3]).ints("padding", &[0, 1, 2, 1, 0, 0]);
        assert_eq!(space.out(&["(1, 2, 5, 6, 7) int8", "(4, 2, 3, 2, 1) int8"]), "Tensor[(1, 4, 4, 3, 3), int8]");
        let fault = call(&CONV1D).fault(&["(1, 8, 3) float32", "(6, 3, 2) float32"]);
        assert_eq!(fault.helps[0], FaultHelp::SetAttr { name: "data_layout", value: "\"NWC\"".into() });
        assert_eq!(fault.helps[1], FaultHelp::SetAttr { name: "kernel_layout", value: "\"WIO\"".into() });
        extremes(|| call(&CONV1D), &["(1, 8, 3) float32", "(6, 8, 2) float32"]);
        extremes(|| call(&CONV3D), &["(1, 2, 5, 6, 7) int8", "(4, 2, 3, 2, 1) int8"]);
        extremes(grouped, &[DATA, "_"]);
    }

    #[test]
    fn depthwise_weights() {
        let depthwise = |channels| conv(channels, 3).int("groups", 8);
        assert_eq!(depthwise(8).out(&[DATA, "(8, 1, 3, 3) float32"]), "Tensor[(1, 8, 8, 10), float32]");
        assert_eq!(depthwise(16).out(&[DATA, "(8, 2, 3, 3) float32"]), "Tensor[(1, 16, 8, 10), float32]");
        assert_eq!(depthwise(16).out(&[DATA, "(16, 1, 3, 3) float32"]), "Tensor[(1, 16, 8, 10), float32]");
        let fault = depthwise(8).fault(&[DATA, "(8, 2, 3, 3) float32"]);
        assert_eq!((fault.rule, &fault.helps[..1]), ("C7", &[FaultHelp::SetAttr { name: "channels", value: "16".into() }][..]));
    }

    #[test]
    fn channel_faults_offer_what_fits() {
        let layouts = [("kernel_layout", "\"HWIO\""), ("kernel_layout", "\"OHWI\"")];
        let help = |name, value| {
            let helps = [(name, value)].into_iter().chain(layouts);
            helps.map(|(name, value)| FaultHelp::SetAttr { name, value: value.into() }).collect::<Vec<_>>()
        };
        let fault = call(&CONV2D).fault(&["(1, 64, 9, 9) float32", "(64, 1, 3, 3) float32"]);
        assert_eq!(fault.equation, Some(("data.C == weight.I * groups".into(), "64 == 1 * 1".into())));
        assert_eq!((fault.rule, fault.places.len(), fault.helps), ("C7", 3, help("groups", "64")));
        let fault = call(&CONV2D).fault(&["(1, 9, 9, 64) float32", "(6, 64, 3, 3) float32"]);
        assert_eq!((fault.rule, fault.helps), ("C7", help("data_layout", "\"NHWC\"")));
        let fault = conv(5, 3).fault(&[DATA, "(4, 8, 3, 3) float32"]);
        assert_eq!((fault.rule, fault.helps), ("C8", help("channels", "4")));
        let fault = conv(4, 3).fault(&[DATA, "(4, 8, 3, 5) float32"]);
        assert_eq!((fault.rule, fault.helps), ("C10", help("kernel_size", "[3, 5]")));
    }

    #[test]
    fn other_faults() {
        let weight = "(4, 8, 3, 3) float32";
        let rule = |trial: Trial, data: &str, weight: &str| trial.fault(&[data, weight]).rule;
        assert_eq!(rule(call(&CONV2D).text("data_layout", "NCDHW"), DATA, weight), "C1");
        assert_eq!(rule(call(&CONV2D).text("out_layout", "NC"), DATA, weight), "C1");
        assert_eq!(rule(call(&CONV2D).text("kernel_layout", "GOIHW"), DATA, weight), "C2");
        assert_eq!(rule(grouped(), DATA, "(3, 4, 4, 3, 3) float32"), "C3");
        assert_eq!(rule(call(&CONV2D), "(1, 8, 10) float32", weight), "C3");
        assert_eq!(rule(call(&CONV2D).text("data_layout", "NCHW4c"), "(1, 2, 9, 9, 8) float32", weight), "C3");
        assert_eq!(rule(call(&CONV2D).ints("strides", &[0, 1]), DATA, weight), "C4");
        assert_eq!(rule(call(&CONV2D).ints("padding", &[1, 1, 1]), DATA, weight), "C5");
        assert_eq!(rule(call(&CONV2D).int("groups", 0), DATA, weight), "C6");
        assert_eq!(rule(call(&CONV2D), "(1, 8, 2, 9) float32", weight), "C11");
        assert_eq!(rule(call(&CONV2D).text("out_layout", "NCHW3c"), DATA, weight), "C12");
        assert_eq!(call(&CONV2D).out(&["(1, 8, 0, 9) float32", weight]), "Tensor[(1, 4, 0, 7), float32]");
        extremes(|| call(&CONV2D), &[DATA, weight]);
        extremes(|| conv(4, 3), &[DATA, "_"]);
    }
}
