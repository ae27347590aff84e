//! Transposed convolution: each element of the data has a window in the result.

use super::Conv2dAttrs;
use super::eval::{self, Sizes};
use super::read_transpose;
use super::rel::{self, Conv, Kernel, letters};
use crate::prelude::*;
use relayc_base::text::count;
use relayc_ir::tensor::{Acc, Real};

pub(super) fn transpose_rel(cx: &mut RelCx, spatial: &'static str) -> RelResult {
    let (output_padding, attrs) = read_transpose(cx.attrs);
    let conv = rel::read(cx, attrs, spatial, 'I')?;
    let n = spatial.len();
    let own = output_padding.get(..n);
    cx.require("C5", own.is_some_and(|own| own.iter().all(|&value| value >= 0)), || {
        Fault::attr("output_padding", format!("expected {} of at least 0", count(n, "value")))
    })?;
    let data = cx.tensor(0)?;
    let dims = conv.data.dims(cx, "C3", &data, &letters("NC", spatial))?;
    require_inputs(cx, dims[1], conv.attrs.groups)?;
    let kernel = match cx.known_tensor(1)? {
        None => infer_weight(cx, &conv, dims[1], data.dtype)?,
        Some(weight) => {
            let weight = conv.weight.dims(cx, &weight)?;
            known_weight(cx, &conv, dims[1], &weight)?
        }
    };
    let mut out = Shape::from_slice(&[dims[0], kernel.channels]);
    for (at, letter) in spatial.chars().enumerate() {
        out.push(result_dim(cx, &conv, at, letter, dims[2 + at], kernel.size[at], output_padding[at])?);
    }
    conv.set_out(cx, &out, data.dtype)
}

/// `C7` of the data.
fn require_inputs(cx: &RelCx, c: SDim, groups: i64) -> RelResult {
    let Some(value) = c.value() else { return Ok(()) };
    cx.require("C7", value % groups == 0, || {
        Fault::shape(format!("{value} input channels do not fall into {groups} groups"))
            .at(Place::attr("groups"), "")
            .at(c.place(), "")
            .equation("data.C % groups == 0", format!("{value} % {groups} == 0"))
    })
}

/// Decides the weight's type from `channels` and `kernel_size`.
fn infer_weight(cx: &mut RelCx, conv: &Conv, data_c: SDim, dtype: DType) -> RelResult<Kernel> {
    let (Some(channels), Some(size)) = (conv.attrs.channels, &conv.attrs.kernel_size) else { return Err(Stop::NotYet) };
    let channels = SDim::known(channels, DimOrigin::Attr("channels"));
    rel::require_groups(cx, channels, conv.attrs.groups)?;
    let each = SDim::new(channels.dim.map(|channels| channels.checked_div(conv.attrs.groups)), channels.from);
    rel::set_weight(cx, conv, 1, each, data_c, dtype)?;
    Ok(Kernel { channels, size: rel::attr_size(size) })
}

/// Checks a weight whose type is known, given its dimensions O, I and the spatial axes.
fn known_weight(cx: &RelCx, conv: &Conv, data_c: SDim, weight: &Shape) -> RelResult<Kernel> {
    let (o, i, groups) = (weight[0], weight[1], conv.attrs.groups);
    let size = rel::kernel_size(cx, conv, &weight[2..])?;
    cx.require("C7", i.dim.compatible(data_c.dim), || {
        Fault::shape(format!("expected a weight for {} input channels, found one for {}", data_c.dim, i.dim))
            .at(i.place(), "")
            .at(data_c.place(), "")
            .equation("data.C == weight.I", format!("{} == {}", data_c.dim, i.dim))
    })?;
    let Some(value) = conv.attrs.channels else { return Ok(Kernel { channels: o, size }) };
    let channels = SDim::known(value, DimOrigin::Attr("channels"));
    rel::require_groups(cx, channels, groups)?;
    cx.require("C8", o.dim.compatible(Dim::known(value / groups)), || {
        let fault = Fault::shape(format!("expected a weight of {} output channels, found {}", value / groups, o.dim))
            .at(Place::attr("channels"), "")
            .at(o.place(), "")
            .equation("channels == weight.O * groups", format!("{value} == {} * {groups}", o.dim));
        match o.value().and_then(|o| o.checked_mul(groups)) {
            Some(fitting) => fault.set_attr("channels", fitting),
            None => fault,
        }
    })?;
    Ok(Kernel { channels, size })
}

fn result_dim(cx: &mut RelCx, conv: &Conv, at: usize, letter: char, input: SDim, kernel: SDim, more: i64) -> RelResult<SDim> {
    let unknown = SDim::new(Dim::Any, DimOrigin::Rule("C11"));
    let Some(kernel) = kernel.value() else { return Ok(unknown) };
    let (stride, dilation, (before, after)) = (conv.attrs.strides[at], conv.attrs.dilation[at], conv.padding[at]);
    let extent = (i128::from(kernel) - 1) * i128::from(dilation) + 1;
    let padding = i128::from(before) + i128::from(after);
    let Some(size) = input.value() else {
        // Other results of no positions are none, which no multiple of a size and a rest says.
        let is_multiple = input.dim.is_named() && extent - padding + i128::from(more) == i128::from(stride);
        let scaled = is_multiple.then(|| cx.types.symbols.arith(SymbolOp::Mul, input.dim, Dim::known(stride)));
        return Ok(scaled.map_or(unknown, |scaled| SDim::new(scaled, DimOrigin::Rule("C11"))));
    };
    let reach = i128::from(stride) * (i128::from(size) - 1);
    // Below 2^127: the two products are each below 2^126.
    let out = if size == 0 { 0 } else { reach + extent - padding + i128::from(more) };
    let fits = i64::try_from(out).ok().filter(|&out| out >= 0);
    cx.require("C11", fits.is_some(), || {
        Fault::shape(format!("the result's {letter} would be {out}"))
            .at(input.place(), "")
            .at(Place::attr("padding"), "")
            .equation(
                format!("(data.{letter} - 1) * stride + (kernel - 1) * dilation + 1 - padding + output_padding >= 0"),
                format!("({size} - 1) * {stride} + {extent} - {padding} + {more} >= 0"),
            )
    })?;
    Ok(SDim::known(fits.unwrap_or(0), DimOrigin::Rule("C11")))
}

pub(super) fn transpose_eval(cx: &EvalCx, spatial: &str) -> EvalResult {
    let (_, attrs) = read_transpose(cx.attrs);
    if attrs.groups > 1 && attrs.channels.is_none() {
        let message = "without `channels`, the type of a transposed convolution has the channels of one group only";
        return Err(Trap::new(codes::E0506, message));
    }
    let data = eval::operand(cx, 0, &attrs.data_layout, &letters("NC", spatial))?;
    let weight = eval::weight(cx, 1, &attrs.kernel_layout, spatial, 'I')?;
    let layout = eval::read_layout(if attrs.out_layout.is_empty() { &attrs.data_layout } else { &attrs.out_layout });
    let shape = layout.whole(&letters("NC", spatial), cx.out_shape());
    let out = match data.to_acc() {
        Acc::F32(_) => spread::<f32>(&attrs, &data, &weight, &shape),
        Acc::F64(_) => spread::<f64>(&attrs, &data, &weight, &shape),
        Acc::I64(_) => spread::<i64>(&attrs, &data, &weight, &shape),
    };
    eval::result(cx, &attrs, spatial, out)
}

fn spread<T: Real>(attrs: &Conv2dAttrs, data: &Tensor, weight: &Tensor, shape: &[usize]) -> Acc {
    let (groups, outputs, inputs) = (attrs.groups as usize, shape[1], data.shape()[1]);
    let sizes = Sizes::new(attrs, &shape[2..], &weight.shape()[2..], &data.shape()[2..]);
    let (data, weight) = (T::elements(&data.to_acc()), T::elements(&weight.to_acc()));
    let (image_len, kernel_len) = (sizes.out_len(), sizes.kernel_len());
    let mut out = vec![T::ZERO; shape.iter().product()];
    T::each_part(&mut out, sizes.data_len(), &|plane, sums| {
        let (n, o) = (plane / outputs, plane % outputs);
        let group = o / (outputs / groups);
        for i in group * (inputs / groups)..(group + 1) * (inputs / groups) {
            let image = &data[(n * inputs + i) * image_len..][..image_len];
            let kernel = &weight[(o % (outputs / groups) * inputs + i) * kernel_len..][..kernel_len];
            add_windows(sums, image, kernel, &sizes);
        }
    });
    T::from_elements(shape, out)
}

/// Adds to the window of each element the kernel times that element, in the order of the kernel's elements.
fn add_windows<T: Real>(sums: &mut [T], image: &[T], kernel: &[T], sizes: &Sizes) {
    for (at, &tap) in kernel.iter().enumerate() {
        sizes.rows(at, |element, sum, n| {
            let sums = sums[sum..].iter_mut().step_by(sizes.stride());
            sums.zip(&image[element..][..n]).for_each(|(sum, &x)| *sum = sum.add(tap.mul(x)));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conv::{CONV1D_TRANSPOSE, CONV2D, CONV2D_TRANSPOSE, CONV3D_TRANSPOSE};
    use crate::trial::{Trial, call, extremes};

    const DATA: &str = "(1, 8, 5, 6) float32";

    fn conv(channels: i64, size: i64) -> Trial {
        call(&CONV2D_TRANSPOSE).int("channels", channels).ints("kernel_size", &[size, size])
    }

    #[test]
    fn types() {
        let strided = || conv(6, 3).ints("strides", &[2, 3]).ints("output_padding", &[1, 0]).ints("padding", &[1, 0, 0, 2]);
        assert_eq!(strided().out(&[DATA, "(8, 6, 3, 3) float32"]), "Tensor[(1, 6, 11, 16), float32]");
        let inferred = strided().int("groups", 2).infer(&["(?, 8, 5, ?) float32", "_"]).expect("it holds");
        assert_eq!((&*inferred.args[1], &*inferred.out), ("Tensor[(8, 3, 3, 3), float32]", "Tensor[(?, 6, 11, ?), float32]"));
        let grouped = conv(6, 3).int("groups", 2).text("kernel_layout", "GIOHW").infer(&[DATA, "_"]).expect("it holds");
        assert_eq!(grouped.args[1], "Tensor[(2, 4, 3, 3, 3), float32]");
        // As TVM says it.
        let no_channels = call(&CONV2D_TRANSPOSE).int("groups", 2);
        assert_eq!(no_channels.out(&[DATA, "(8, 3, 2, 2) float32"]), "Tensor[(1, 3, 6, 7), float32]");
        let line = call(&CONV1D_TRANSPOSE).text("data_layout", "NWC").text("kernel_layout", "WIO").ints("dilation", &[2]);
        assert_eq!(line.out(&["(1, 4, 8) int8", "(3, 8, 2) int8"]), "Tensor[(1, 8, 2), int8]");
        let space = call(&CONV3D_TRANSPOSE).ints("padding", &[0, 1, 0]);
        assert_eq!(space.out(&["(1, 8, 4, 5, 6) int8", "(8, 2, 1, 2, 3) int8"]), "Tensor[(1, 2, 4, 4, 8), int8]");
        assert_eq!(call(&CONV2D_TRANSPOSE).out(&["(1, 8, 0, 6) int8", "(8, 2, 3, 3) int8"]), "Tensor[(1, 2, 0, 8), int8]");
    }

    #[test]
    fn faults() {
        let weight = "(8, 6, 3, 3) float32";
        let rule = |trial: Trial, data: &str, weight: &str| trial.fault(&[data, weight]).rule;
        assert_eq!(rule(conv(6, 3).ints("output_padding", &[1]), DATA, weight), "C5");
        assert_eq!(rule(conv(6, 3).ints("output_padding", &[1, -1]), DATA, weight), "C5");
        assert_eq!(rule(conv(6, 3).int("groups", 3), DATA, weight), "C7");
        assert_eq!(rule(conv(6, 3), DATA, "(6, 8, 3, 3) float32"), "C7");
        assert_eq!(rule(conv(12, 3), DATA, weight), "C8");
        assert_eq!(rule(conv(9, 3).int("groups", 2), DATA, weight), "C9");
        assert_eq!(rule(conv(6, 2), DATA, weight), "C10");
        assert_eq!(rule(conv(6, 3).ints("padding", &[4]), "(1, 8, 1, 6) float32", weight), "C11");
        extremes(|| conv(6, 3), &[DATA, weight]);
        extremes(|| conv(6, 3).int("groups", 2), &[DATA, "_"]);
    }

    /// Small whole numbers, whose sums are exact.
    fn ramp(shape: &[usize]) -> Tensor {
        Tensor::from_fn(shape, |i| (i * 5 % 13) as f64 - 6.0)
    }

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    /// The property of the transpose: `y · conv(x) == x · transpose(y)` for all x and y.
    #[test]
    fn it_is_the_transpose_of_convolution() {
        for (strides, padding, dilation, groups) in [
            ([1, 1], [0, 0, 0, 0], [1, 1], 1),
            ([2, 1], [1, 0, 2, 3], [1, 2], 1),
            ([3, 2], [2, 1, 0, 1], [2, 1], 2),
            ([1, 2], [4, 4, 4, 4], [1, 1], 2),
        ] {
            let (x, weight) = (ramp(&[2, 4, 7, 6]), ramp(&[6, 4 / groups, 3, 2]));
            let forward = call(&CONV2D).ints("strides", &strides).ints("padding", &padding).ints("dilation", &dilation);
            let out = forward.int("groups", groups as i64).eval(&[&x, &weight]).expect("it runs").remove(0);
            let y = ramp(out.shape());
            // What the strides leave over at the end.
            let back = |at: usize| {
                let (kernel, input) = ([3, 2][at], [7, 6][at]);
                let room = input + padding[at] + padding[at + 2] - (kernel - 1) * dilation[at] - 1;
                room % strides[at]
            };
            let transposed =
                call(&CONV2D_TRANSPOSE).ints("strides", &strides).ints("padding", &padding).ints("dilation", &dilation);
            let transposed =
                transposed.ints("output_padding", &[back(0), back(1)]).int("groups", groups as i64).int("channels", 4);
            let z = transposed.eval(&[&y, &weight]).expect("it runs").remove(0);
            assert_eq!(z.shape(), x.shape());
            assert_eq!(dot(&y.to_f64s(), &out.to_f64s()), dot(&x.to_f64s(), &z.to_f64s()), "{strides:?} {groups}");
        }
    }

    #[test]
    fn layouts_and_axes() {
        let (data, weight) = (ramp(&[1, 4, 3, 2]), ramp(&[4, 2, 2, 3]));
        let plain = call(&CONV2D_TRANSPOSE).eval(&[&data, &weight]).expect("it runs").remove(0);
        let nhwc = call(&CONV2D_TRANSPOSE).text("data_layout", "NHWC").text("kernel_layout", "HWOI").text("out_layout", "NCHW2c");
        let moved = nhwc.eval(&[&data.permute(&[0, 2, 3, 1]), &weight.permute(&[2, 3, 1, 0])]).expect("it runs").remove(0);
        assert_eq!(moved, plain.reshape(&[1, 1, 2, 4, 4]).expect("as many").permute(&[0, 1, 3, 4, 2]));
        let flat = |x: &Tensor| x.reshape(&[x.shape()[0], x.shape()[1], x.len() / x.shape()[0] / x.shape()[1]]).expect("as many");
        let (data, weight) = (ramp(&[2, 3, 1, 5]), ramp(&[3, 2, 1, 2]));
        let plane = call(&CONV2D_TRANSPOSE).ints("strides", &[1, 3]).values(&[&data, &weight]);
        assert_eq!(call(&CONV1D_TRANSPOSE).ints("strides", &[3]).values(&[&flat(&data), &flat(&weight)]), plane);
        let grouped = call(&CONV2D_TRANSPOSE).int("groups", 2).int("channels", 6);
        let (data, weight) = (ramp(&[1, 4, 2, 2]), ramp(&[4, 3, 2, 2]));
        let plain = grouped.values(&[&data, &weight]);
        let of_groups = grouped.text("kernel_layout", "GIOHW").ints("kernel_size", &[2, 2]);
        assert_eq!(of_groups.values(&[&data, &weight.reshape(&[2, 2, 3, 2, 2]).expect("as many")]), plain);
    }

    #[test]
    fn groups_without_channels_do_not_run() {
        let trap = call(&CONV2D_TRANSPOSE).int("groups", 2).eval(&[&ramp(&[1, 2, 2, 2]), &ramp(&[2, 3, 1, 1])]);
        assert_eq!(trap.expect_err("it has no value").code, codes::E0506);
    }
}
