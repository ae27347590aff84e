//! The types of convolution.

use super::Conv2dAttrs;
use crate::ops::layout::{Layout, layout_attr};
use crate::ops::rel::{Fault, From, Place, RelCx, RelResult, SDim, Shape, Stop};
use crate::ops::window::{self, Window};
use crate::types::{DType, Dim};

/// What was read of the attributes.
struct Conv {
    attrs: Conv2dAttrs,
    data: Layout,
    weight: Layout,
    out: Layout,
    padding: Vec<(i64, i64)>,
}

/// The weight's dimensions that the result depends on.
struct Kernel {
    channels: SDim,
    size: [SDim; 2],
}

pub(super) fn conv2d_rel(cx: &mut RelCx) -> RelResult {
    let conv = read(cx)?;
    let data = cx.tensor(0)?;
    let dims = conv.data.dims(cx, "C3", &data, "NCHW")?;
    let kernel = match cx.known_tensor(1)? {
        None => infer_weight(cx, &conv, dims[1], data.dtype)?,
        Some(weight) => {
            let weight = conv.weight.dims(cx, "C3", &weight, "OIHW")?;
            known_weight(cx, &conv, &dims, &weight)?
        }
    };
    let mut out = Shape::from_slice(&[dims[0], kernel.channels]);
    for (at, letter) in [(0, 'H'), (1, 'W')] {
        let window = kernel.size[at].value().map(|kernel| conv.window(at, kernel));
        out.push(window::out_dim(cx, "C11", letter, dims[2 + at], window, false)?);
    }
    let shape = conv.out.shape(cx, "C12", "NCHW", &out)?;
    cx.set_out(shape, conv.attrs.out_dtype.unwrap_or(data.dtype))
}

impl Conv {
    fn window(&self, at: usize, kernel: i64) -> Window {
        let (before, after) = self.padding[at];
        Window { kernel, stride: self.attrs.strides[at], dilation: self.attrs.dilation[at], before, after }
    }
}

/// The rules that only attributes are in.
fn read(cx: &RelCx) -> RelResult<Conv> {
    let attrs = Conv2dAttrs::read(cx.attrs);
    let data = layout_attr("C1", "data_layout", &attrs.data_layout, |layout| layout.of("NCHW"))?;
    let weight = layout_attr("C2", "kernel_layout", &attrs.kernel_layout, |layout| layout.of("OIHW"))?;
    let out = match attrs.out_layout.as_str() {
        "" => data.clone(),
        text => layout_attr("C1", "out_layout", text, |layout| layout.of("NCHW"))?,
    };
    window::sizes(cx, "C4", "strides", &attrs.strides, 2)?;
    window::sizes(cx, "C4", "dilation", &attrs.dilation, 2)?;
    if let Some(size) = &attrs.kernel_size {
        window::sizes(cx, "C4", "kernel_size", size, 2)?;
    }
    let padding = window::padding(cx, "C5", &attrs.padding, 2)?;
    cx.require("C6", attrs.groups >= 1, || Fault::attr("groups", format!("expected at least 1, found {}", attrs.groups)))?;
    if let Some(channels) = attrs.channels {
        cx.require("C8", channels >= 0, || Fault::attr("channels", format!("expected at least 0, found {channels}")))?;
    }
    Ok(Conv { attrs, data, weight, out, padding })
}

/// Decides the weight's type from `channels` and `kernel_size`.
fn infer_weight(cx: &mut RelCx, conv: &Conv, data_c: SDim, dtype: DType) -> RelResult<Kernel> {
    let groups = conv.attrs.groups;
    let (Some(channels), Some(size)) = (conv.attrs.channels, &conv.attrs.kernel_size) else { return Err(Stop::NotYet) };
    let channels = SDim::known(channels, From::Attr("channels"));
    require_groups(cx, channels, groups)?;
    let input = match data_c.value() {
        Some(c) => {
            cx.require("C7", c % groups == 0, || {
                Fault::shape(format!("{c} input channels do not fall into {groups} groups"))
                    .at(Place::attr("groups"), "")
                    .at(data_c.place(), "")
                    .equation("data.C == weight.I * groups", format!("{c} == weight.I * {groups}"))
            })?;
            SDim::known(c / groups, if groups == 1 { data_c.from } else { From::Rule("C7") })
        }
        None if groups == 1 => data_c,
        None => SDim::new(Dim::Any, From::Rule("C7")),
    };
    let size = [size[0], size[1]].map(|size| SDim::known(size, From::Attr("kernel_size")));
    let shape = conv.weight.shape(cx, "C12", "OIHW", &[channels, input, size[0], size[1]])?;
    cx.set_arg("C3", 1, shape, dtype)?;
    Ok(Kernel { channels, size })
}

/// Checks a weight whose type is known, given its dimensions O, I, H and W.
fn known_weight(cx: &RelCx, conv: &Conv, data: &Shape, weight: &Shape) -> RelResult<Kernel> {
    let (o, i, groups) = (weight[0], weight[1], conv.attrs.groups);
    let channels = conv.attrs.channels.map(|channels| SDim::known(channels, From::Attr("channels")));
    if let Some(size) = &conv.attrs.kernel_size {
        kernel_size(cx, size, weight)?;
    }
    // TVM's test for a depthwise weight, whose axis I counts the outputs of each input channel.
    let one_each = groups > 1 && data[1].value() == Some(groups) && o.value() == Some(groups);
    if let (true, Some(channels), Some(_)) = (one_each, channels, &conv.attrs.kernel_size) {
        depthwise_inputs(cx, channels, i, groups)?;
        return Ok(Kernel { channels, size: [weight[2], weight[3]] });
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
    Ok(Kernel { channels, size: [weight[2], weight[3]] })
}

/// `C10`.
fn kernel_size(cx: &RelCx, size: &[i64], weight: &Shape) -> RelResult {
    let (h, w) = (weight[2], weight[3]);
    for (found, &expected, letter) in [(h, &size[0], 'H'), (w, &size[1], 'W')] {
        cx.require("C10", found.dim.compatible(Dim::known(expected)), || {
            let fault = Fault::shape(format!("expected a weight with {letter} = {expected}, found {}", found.dim))
                .at(Place::attr("kernel_size"), "")
                .at(found.place(), "")
                .equation("(weight.H, weight.W) == kernel_size", format!("({}, {}) == ({}, {})", h.dim, w.dim, size[0], size[1]));
            match (h.value(), w.value()) {
                (Some(h), Some(w)) => fault.set_attr("kernel_size", format!("[{h}, {w}]")),
                _ => fault,
            }
        })?;
    }
    Ok(())
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
    let last = data[3].value().is_some_and(|w| i128::from(w) == taken);
    if conv.attrs.data_layout == "NCHW" && last { fault.set_attr("data_layout", "\"NHWC\"") } else { fault }
}

/// `C9`.
fn require_groups(cx: &RelCx, channels: SDim, groups: i64) -> RelResult {
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
    use crate::ir::attrs::AttrValue;
    use crate::ops::conv::CONV2D;
    use crate::ops::rel::FaultHelp;
    use crate::ops::trial::{Trial, call, extremes};

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
        assert_eq!(origins, [From::Attr("channels"), From::Rule("C7"), From::Attr("kernel_size"), From::Attr("kernel_size")]);
        assert_eq!(inferred.origins.out[0][2].from, From::Rule("C11"));
        let turned = conv(6, 3).text("kernel_layout", "HWIO").infer(&["(1, ?, 10, 9) float32", "_"]).expect("it holds");
        assert_eq!(turned.args[1], "Tensor[(3, 3, ?, 6), float32]");
        assert!(matches!(call(&CONV2D).int("channels", 6).infer(&[DATA, "_"]), Err(Stop::NotYet)));
        assert_eq!(conv(6, 3).int("groups", 3).fault(&[DATA, "_"]).rule, "C7");
        assert_eq!(conv(7, 3).int("groups", 2).fault(&[DATA, "_"]).rule, "C9");
    }

    #[test]
    fn depthwise_weights() {
        let depthwise = |channels| conv(channels, 3).int("groups", 8);
        assert_eq!(depthwise(8).out(&[DATA, "(8, 1, 3, 3) float32"]), "Tensor[(1, 8, 8, 10), float32]");
        assert_eq!(depthwise(16).out(&[DATA, "(8, 2, 3, 3) float32"]), "Tensor[(1, 16, 8, 10), float32]");
        assert_eq!(depthwise(16).out(&[DATA, "(16, 1, 3, 3) float32"]), "Tensor[(1, 16, 8, 10), float32]");
        let fault = depthwise(8).fault(&[DATA, "(8, 2, 3, 3) float32"]);
        assert_eq!((fault.rule, &fault.helps[..]), ("C7", &[FaultHelp::SetAttr { name: "channels", value: "16".into() }][..]));
    }

    #[test]
    fn channel_faults_offer_what_fits() {
        let help = |name, value: &str| vec![FaultHelp::SetAttr { name, value: value.into() }];
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
