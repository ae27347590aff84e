//! Evaluates convolutions, over any number of spatial axes.
//!
//! One and two spatial axes become three, with leading axes of length 1. Every sum is computed in a fixed order, whatever the
//! number of threads.

use super::Conv2dAttrs;
use super::rel::letters;
use crate::prelude::*;
use crate::window::{self, Window};
use relayc_ir::tensor::{Acc, Real};
use std::ops::Range;

/// The geometry of windows that convolutions, their transposes and their gradients share.
pub(super) struct Sizes {
    pub(crate) windows: [Window; 3],
    pub(crate) kernel: [usize; 3],
    /// The axes in which the windows lie.
    pub(crate) data: [usize; 3],
    /// How many windows there are along each axis.
    pub(crate) out: [usize; 3],
}

impl Sizes {
    /// The sizes for the last axes of operands.
    pub(crate) fn new(attrs: &Conv2dAttrs, data: &[usize], kernel: &[usize], out: &[usize]) -> Sizes {
        let size: Vec<i64> = kernel.iter().map(|&n| n as i64).collect();
        let windows = window::windows(&size, &attrs.strides, &attrs.dilation, &attrs.padding);
        Sizes { windows: three(&windows, Window::ONE), kernel: three(kernel, 1), data: three(data, 1), out: three(out, 1) }
    }

    pub(crate) fn kernel_len(&self) -> usize {
        self.kernel.iter().product()
    }

    pub(crate) fn data_len(&self) -> usize {
        self.data.iter().product()
    }

    pub(crate) fn out_len(&self) -> usize {
        self.out.iter().product()
    }

    /// Calls `row(out, data, n)` for each row of windows whose point `at` lies inside the data. `at` counts the window's points
    /// in row-major order. The `n` windows from `out` on have this point at `data`, `data + stride`, ….
    pub(crate) fn rows(&self, at: usize, mut row: impl FnMut(usize, usize, usize)) {
        let [deep, down, along] = &self.windows;
        let [_, kernel_height, kernel_width] = self.kernel;
        let (kz, ky, kx) = (at / (kernel_height * kernel_width), at / kernel_width % kernel_height, at % kernel_width);
        let ([depth, height, width], [out_depth, out_height, out_width]) = (self.data, self.out);
        let columns = along.inside(kx, width, out_width);
        if columns.is_empty() {
            return;
        }
        let first = along.input(columns.start, kx);
        for z in deep.inside(kz, depth, out_depth) {
            for y in down.inside(ky, height, out_height) {
                let out = (z * out_height + y) * out_width + columns.start;
                row(out, (deep.input(z, kz) * height + down.input(y, ky)) * width + first, columns.len());
            }
        }
    }

    /// The distance in the data between neighbouring windows of a row.
    pub(crate) fn stride(&self) -> usize {
        self.windows[2].stride as usize
    }
}

/// The last up to three values, with `one` before them.
fn three<T: Copy>(values: &[T], one: T) -> [T; 3] {
    [0, 1, 2].map(|at| (at + values.len()).checked_sub(3).map_or(one, |at| values[at]))
}

/// An operand with its axes in the order of `letters`, converted to the dtype of the result.
pub(super) fn operand(cx: &EvalCx, arg: usize, layout: &str, letters: &str) -> Result<Tensor, crate::eval::Trap> {
    Ok(read_layout(layout).unpack(letters, &cx.tensor_as(arg, cx.out_dtype())?))
}

/// The weight, operand `arg`, with O, I and the spatial axes. If groups have an axis of their own, it is merged into the axis
/// `whole`.
pub(super) fn weight(cx: &EvalCx, arg: usize, layout: &str, spatial: &str, whole: char) -> Result<Tensor, crate::eval::Trap> {
    if read_layout(layout).axis('G').is_none() {
        return operand(cx, arg, layout, &letters("OI", spatial));
    }
    let tensor = operand(cx, arg, layout, &letters(if whole == 'O' { "GOI" } else { "OGI" }, spatial))?;
    let mut shape = tensor.shape().to_vec();
    let at = usize::from(whole == 'I');
    shape[at] *= shape.remove(at + 1);
    Ok(tensor.reshape(&shape).expect("as many elements"))
}

/// Brings a result with N, C and the spatial axes into its layout.
pub(super) fn result(cx: &EvalCx, attrs: &Conv2dAttrs, spatial: &str, out: Acc) -> EvalResult {
    let layout = if attrs.out_layout.is_empty() { &attrs.data_layout } else { &attrs.out_layout };
    Ok(read_layout(layout).pack(&letters("NC", spatial), &out.into_tensor(cx.out_dtype())).into())
}

/// Parses a layout that the relation has checked.
pub(super) fn read_layout(text: &str) -> Layout {
    Layout::parse(text).expect("the relation read it")
}

pub(super) fn conv_eval(cx: &EvalCx, spatial: &str) -> EvalResult {
    let attrs = Conv2dAttrs::read(cx.attrs);
    let data = operand(cx, 0, &attrs.data_layout, &letters("NC", spatial))?;
    let weight = weight(cx, 1, &attrs.kernel_layout, spatial, 'O')?;
    let out = match data.to_acc() {
        Acc::F32(_) => convolve::<f32>(&attrs, &data, &weight),
        Acc::F64(_) => convolve::<f64>(&attrs, &data, &weight),
        Acc::I64(_) => convolve::<i64>(&attrs, &data, &weight),
    };
    result(cx, &attrs, spatial, out)
}

/// How many windows are computed together, and how many products of each at a time: what fits a cache.
const CHUNK: usize = 512;
const BLOCK: usize = 128;

fn convolve<T: Real>(attrs: &Conv2dAttrs, data: &Tensor, weight: &Tensor) -> Acc {
    let groups = attrs.groups as usize;
    let (data_shape, weight_shape) = (data.shape(), weight.shape());
    // The outputs of a depthwise weight lie on both axes; in memory, they are those of a grouped weight with I = 1.
    let inputs = data_shape[1] / groups;
    let outputs = if inputs == 1 { weight_shape[0] * weight_shape[1] } else { weight_shape[0] };
    let size: Vec<i64> = weight_shape[2..].iter().map(|&n| n as i64).collect();
    let windows = window::windows(&size, &attrs.strides, &attrs.dilation, &attrs.padding);
    let positions = windows.iter().zip(&data_shape[2..]).map(|(window, &input)| window.n_positions(input, false));
    let mut shape = vec![data_shape[0], outputs];
    shape.extend(positions);

    let sizes = Sizes::new(attrs, &data_shape[2..], &weight_shape[2..], &shape[2..]);
    let (data, weight) = (T::elements(&data.to_acc()), T::elements(&weight.to_acc()));
    let (image_len, weight_len, out_len) = (inputs * sizes.data_len(), inputs * sizes.kernel_len(), sizes.out_len());
    let of_group = outputs / groups;
    let starts = || (0..out_len).step_by(CHUNK);
    let tasks: Vec<(usize, usize)> = (0..shape[0] * groups).flat_map(|image| starts().map(move |start| (image, start))).collect();
    let task_len = of_group * CHUNK.min(out_len);
    let mut sums = vec![T::ZERO; tasks.len() * task_len];
    T::each_part(&mut sums, task_len, &|task, sums| {
        let (image, start) = tasks[task];
        let weight = &weight[image % groups * of_group * weight_len..][..of_group * weight_len];
        chunk(sums, &data[image * image_len..][..image_len], weight, of_group, &sizes, start..out_len.min(start + CHUNK));
    });
    let mut out = vec![T::ZERO; shape.iter().product()];
    for (task, (image, start)) in tasks.into_iter().enumerate() {
        let n = CHUNK.min(out_len - start);
        for (o, sums) in sums[task * task_len..][..of_group * n].chunks(n).enumerate() {
            out[(image * of_group + o) * out_len + start..][..n].copy_from_slice(sums);
        }
    }
    T::from_elements(&shape, out)
}

/// Adds up the outputs of one group for some of its windows, one output after the other. Products are added in the order of the
/// weight's elements, so that no sum depends on how windows are parted.
fn chunk<T: Real>(sums: &mut [T], image: &[T], weight: &[T], outputs: usize, sizes: &Sizes, windows: Range<usize>) {
    let n = windows.len();
    let weight_len = weight.len() / outputs.max(1);
    let mut columns = vec![T::ZERO; BLOCK.min(weight_len) * n];
    for first in (0..weight_len).step_by(BLOCK) {
        let taps = BLOCK.min(weight_len - first);
        for (tap, column) in (first..first + taps).zip(columns.chunks_mut(n)) {
            let (i, at) = (tap / sizes.kernel_len(), tap % sizes.kernel_len());
            covered(column, &image[i * sizes.data_len()..][..sizes.data_len()], sizes, at, windows.start);
        }
        for (o, sums) in sums[..outputs * n].chunks_mut(n).enumerate() {
            T::add_products(sums, &weight[o * weight_len + first..][..taps], &columns);
        }
    }
}

/// The elements under point `at` of the windows from `start` on, 0 where it lies in the padding.
fn covered<T: Real>(column: &mut [T], image: &[T], sizes: &Sizes, at: usize, start: usize) {
    column.fill(T::ZERO);
    let end = start + column.len();
    sizes.rows(at, |out, data, n| {
        let (from, to) = (out.max(start), (out + n).min(end));
        if from < to {
            let elements = image[data + (from - out) * sizes.stride()..].iter().step_by(sizes.stride());
            column[from - start..to - start].iter_mut().zip(elements).for_each(|(column, &x)| *column = x);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conv::{CONV1D, CONV2D, CONV3D};
    use crate::trial::call;
    use relayc_ir::attrs::AttrValue;
    use relayc_ir::types::DType;

    /// The definition, one output after the other.
    fn reference(
        data: &Tensor,
        weight: &Tensor,
        strides: [i64; 2],
        padding: [i64; 4],
        dilation: [i64; 2],
        groups: usize,
    ) -> Vec<f64> {
        let ([n, c, h, w], [o, i, kh, kw]) = (data.shape(), weight.shape()) else { panic!("four axes each") };
        let (x, k) = (data.to_f64s(), weight.to_f64s());
        let size = |input: usize, kernel: usize, at: usize| {
            (input as i64 + padding[at] + padding[at + 2] - (kernel as i64 - 1) * dilation[at] - 1) / strides[at] + 1
        };
        let mut out = vec![];
        for (b, oc) in (0..*n).flat_map(|b| (0..*o).map(move |oc| (b, oc))) {
            for (oy, ox) in (0..size(*h, *kh, 0)).flat_map(|y| (0..size(*w, *kw, 1)).map(move |x| (y, x))) {
                let mut sum = 0.0;
                for at in 0..i * kh * kw {
                    let (ic, ky, kx) = (at / (kh * kw), at / kw % kh, at % kw);
                    let y = oy * strides[0] + ky as i64 * dilation[0] - padding[0];
                    let x_at = ox * strides[1] + kx as i64 * dilation[1] - padding[1];
                    if (0..*h as i64).contains(&y) && (0..*w as i64).contains(&x_at) {
                        let channel = oc / (o / groups) * i + ic;
                        sum += x[((b * c + channel) * h + y as usize) * w + x_at as usize] * k[oc * i * kh * kw + at];
                    }
                }
                out.push(sum);
            }
        }
        out
    }

    /// Small whole numbers, whose sums are exact.
    fn ramp(shape: &[usize]) -> Tensor {
        Tensor::from_fn(shape, |i| (i * 7 % 11) as f32 - 5.0)
    }

    #[test]
    fn agrees_with_the_definition() {
        let (data, weight) = (ramp(&[2, 4, 9, 7]), ramp(&[6, 2, 3, 2]));
        for (strides, padding, dilation) in [
            ([1, 1], [0, 0, 0, 0], [1, 1]),
            ([1, 1], [1, 2, 3, 0], [1, 2]),
            ([2, 3], [0, 1, 2, 5], [2, 1]),
            ([3, 1], [9, 9, 9, 9], [1, 3]),
        ] {
            let conv =
                call(&CONV2D).ints("strides", &strides).ints("padding", &padding).ints("dilation", &dilation).int("groups", 2);
            let expected = reference(&data, &weight, strides, padding, dilation, 2);
            assert_eq!(conv.values(&[&data, &weight]), expected, "{strides:?} {padding:?} {dilation:?}");
        }
    }

    #[test]
    fn a_value_by_hand() {
        let data = Tensor::from_vec(&[1, 1, 2, 2], vec![1i8, 2, 3, 100]);
        let weight = Tensor::from_vec(&[1, 1, 1, 2], vec![2i8, 1]);
        assert_eq!(call(&CONV2D).values(&[&data, &weight]), [4.0, 106.0]);
        let padded = call(&CONV2D).ints("padding", &[0, 0, 0, 1]);
        assert_eq!(padded.values(&[&data, &weight]), [4.0, 4.0, 106.0, -56.0]);
        let wide = call(&CONV2D).ints("padding", &[0, 0, 0, 1]).attr("out_dtype", AttrValue::DType(Some(DType::I32)));
        assert_eq!(wide.values(&[&data, &weight]), [4.0, 4.0, 106.0, 200.0]);
    }

    #[test]
    fn layouts_only_move_elements() {
        let (data, weight) = (ramp(&[1, 4, 5, 6]), ramp(&[8, 4, 3, 3]));
        let plain = call(&CONV2D).eval(&[&data, &weight]).expect("it runs").remove(0);
        let nhwc = call(&CONV2D).text("data_layout", "NHWC").text("kernel_layout", "HWIO");
        let (data_nhwc, weight_hwio) = (data.permute(&[0, 2, 3, 1]), weight.permute(&[2, 3, 1, 0]));
        let moved = [&data_nhwc, &weight_hwio];
        assert_eq!(nhwc.eval(&moved).expect("it runs")[0], plain.permute(&[0, 2, 3, 1]));
        let nchw = nhwc.text("out_layout", "NCHW");
        assert_eq!(nchw.eval(&moved).expect("it runs")[0], plain);
        let blocked = call(&CONV2D).text("out_layout", "NCHW4c").eval(&[&data, &weight]).expect("it runs").remove(0);
        let expected = plain.reshape(&[1, 2, 4, 3, 4]).expect("as many").permute(&[0, 1, 3, 4, 2]);
        assert_eq!(blocked, expected);
    }

    /// A convolution along fewer or more axes is one over the others of length 1, or a sum of slices.
    #[test]
    fn one_and_three_axes_agree_with_two() {
        let (data, weight) = (ramp(&[2, 4, 9]), ramp(&[6, 2, 3]));
        let as_two = |x: &Tensor| x.reshape(&[x.shape()[0], x.shape()[1], 1, x.shape()[2]]).expect("as many");
        let line = call(&CONV1D).ints("strides", &[2]).ints("padding", &[2, 1]).ints("dilation", &[2]).int("groups", 2);
        let plane =
            call(&CONV2D).ints("strides", &[1, 2]).ints("padding", &[0, 2, 0, 1]).ints("dilation", &[1, 2]).int("groups", 2);
        assert_eq!(line.values(&[&data, &weight]), plane.values(&[&as_two(&data), &as_two(&weight)]));

        // A kernel of depth 2 adds the results of its two slices.
        let (data, weight) = (ramp(&[1, 2, 2, 5, 4]), ramp(&[3, 2, 2, 3, 2]));
        let slice = |x: &Tensor, z: i64| {
            let [a, b, _, h, w] = x.shape() else { panic!("five axes") };
            x.take_range(2, z, 1, 1).reshape(&[*a, *b, *h, *w]).expect("as many")
        };
        let space = call(&CONV3D).ints("padding", &[0, 1, 0]).ints("strides", &[1, 1, 2]);
        let plane = call(&CONV2D).ints("padding", &[1, 0]).ints("strides", &[1, 2]);
        let [first, second] = [0, 1].map(|z| plane.values(&[&slice(&data, z), &slice(&weight, z)]));
        let sum: Vec<f64> = first.iter().zip(&second).map(|(a, b)| a + b).collect();
        assert_eq!(space.values(&[&data, &weight]), sum);
    }

    #[test]
    fn an_axis_of_groups_is_part_of_the_outputs() {
        let (data, weight) = (ramp(&[1, 4, 5, 6]), ramp(&[6, 2, 3, 3]));
        let flat = call(&CONV2D).int("groups", 2);
        let grouped = call(&CONV2D).int("groups", 2).text("kernel_layout", "HWGOI");
        let moved = weight.reshape(&[2, 3, 2, 3, 3]).expect("as many").permute(&[3, 4, 0, 1, 2]);
        assert_eq!(grouped.values(&[&data, &moved]), flat.values(&[&data, &weight]));
    }

    #[test]
    fn depthwise_weights_with_several_outputs() {
        let (data, weight) = (ramp(&[1, 3, 4, 4]), ramp(&[3, 2, 2, 2]));
        let conv = call(&CONV2D).int("groups", 3).int("channels", 6).ints("kernel_size", &[2, 2]);
        let flat = weight.reshape(&[6, 1, 2, 2]).expect("as many");
        let expected = reference(&data, &flat, [1, 1], [0; 4], [1, 1], 3);
        assert_eq!(conv.values(&[&data, &weight]), expected);
    }

    #[test]
    fn empty_operands() {
        let none = |shape: &[usize]| Tensor::from_vec::<f32>(shape, vec![]);
        assert_eq!(call(&CONV2D).values(&[&none(&[1, 0, 2, 2]), &none(&[1, 0, 2, 2])]), [0.0]);
        assert!(call(&CONV2D).values(&[&none(&[0, 1, 2, 2]), &ramp(&[1, 1, 2, 2])]).is_empty());
        assert!(call(&CONV2D).int("groups", 2).values(&[&ramp(&[1, 2, 2, 2]), &none(&[0, 1, 2, 2])]).is_empty());
    }
}
