//! Evaluates pools.

use super::{AdaptivePool2dAttrs, AvgPool2dAttrs, GlobalPool2dAttrs, MaxPool2dAttrs};
use crate::eval::{MAX_TENSOR_BYTES, room, table};
use crate::prelude::*;
use crate::window::{self, Cover};
use relayc_ir::tensor::{Acc, Array, Element, Real};

pub(super) fn max_pool(cx: &EvalCx, spatial: &str) -> EvalResult {
    Ok(max_over(cx, &moves(cx, cx.tensor(0), spatial)?)?.into())
}

pub(super) fn avg_pool(cx: &EvalCx, spatial: &str) -> EvalResult {
    let include_pad = AvgPool2dAttrs::read(cx.attrs).count_include_pad;
    Ok(mean_over(cx, &moves(cx, cx.tensor(0), spatial)?, include_pad)?.into())
}

pub(super) fn global_max_pool(cx: &EvalCx) -> EvalResult {
    Ok(max_over(cx, &whole_axes(cx))?.into())
}

pub(super) fn global_avg_pool(cx: &EvalCx) -> EvalResult {
    Ok(mean_over(cx, &whole_axes(cx), false)?.into())
}

pub(super) fn adaptive_max_pool(cx: &EvalCx, spatial: &str) -> EvalResult {
    Ok(max_over(cx, &parts(cx, spatial)?)?.into())
}

pub(super) fn adaptive_avg_pool(cx: &EvalCx, spatial: &str) -> EvalResult {
    Ok(mean_over(cx, &parts(cx, spatial)?, false)?.into())
}

/// The positions of a window along an axis, and the elements that each covers.
pub(super) struct Move {
    pub(crate) axis: usize,
    pub(crate) covers: Vec<Cover>,
}

/// The positions of the window over a tensor.
pub(super) fn moves(cx: &EvalCx, data: &Tensor, spatial: &str) -> Result<Vec<Move>, Trap> {
    let attrs = MaxPool2dAttrs::read(cx.attrs);
    let windows = window::windows(&attrs.pool_size, &attrs.strides, &attrs.dilation, &attrs.padding);
    let moves = pooled_axes(&attrs.layout, spatial).into_iter().zip(windows).map(|(axis, window)| {
        let input = data.shape()[axis];
        let n = window.n_positions(input, attrs.ceil_mode);
        Ok(Move { axis, covers: table(n, cx.max_bytes, |o| window.cover(o, input))? })
    });
    moves.collect()
}

/// A single position that covers everything.
fn whole_axes(cx: &EvalCx) -> Vec<Move> {
    let axes = pooled_axes(&GlobalPool2dAttrs::read(cx.attrs).layout, "HW");
    axes.into_iter().map(|axis| Move { axis, covers: vec![Cover::all(cx.tensor(0).shape()[axis])] }).collect()
}

/// As many positions as the result has, which together cover everything and may overlap.
fn parts(cx: &EvalCx, spatial: &str) -> Result<Vec<Move>, Trap> {
    let axes = pooled_axes(&AdaptivePool2dAttrs::read(cx.attrs).layout, spatial);
    let along = |axis: usize| {
        let (input, n) = (cx.tensor(0).shape()[axis], cx.out_shape()[axis]);
        // In u128: the product of two sizes may be more than an usize holds.
        let at = |i: usize| i as u128 * input as u128;
        let cover = |i: usize| Cover::range((at(i) / n as u128) as usize, at(i + 1).div_ceil(n as u128) as usize);
        Ok(Move { axis, covers: table(n, cx.max_bytes, cover)? })
    };
    axes.into_iter().map(along).collect()
}

/// The axes of a layout that the relation has read.
fn pooled_axes(layout: &str, letters: &str) -> Vec<usize> {
    let layout = Layout::parse(layout).expect("the relation read it");
    letters.chars().filter_map(|letter| layout.axis(letter)).collect()
}

fn max_over(cx: &EvalCx, moves: &[Move]) -> Result<Tensor, Trap> {
    fn max<T: Element>(array: &Array<T>, moves: &[Move], least: &Tensor, larger: impl Fn(T, T) -> T) -> Result<Tensor, Trap> {
        let least = T::unwrap(least.data()).map_or(T::from_int(0), |least| least[0]);
        let largest = |largest: Option<T>, x| Some(largest.map_or(x, |largest| larger(largest, x)));
        over_windows(array, moves, largest, &|largest, _, _| largest.unwrap_or(least))
    }
    let data = cx.tensor(0);
    let least = Tensor::full(data.dtype(), &[1], least(data.dtype())).expect("the dtype of a tensor");
    // Accumulators hold and order the numbers of every dtype but this one.
    if let Some(array) = data.as_array::<u64>() {
        return max(array, moves, &least, Ord::max);
    }
    let max: Tensor = match (data.to_acc(), Tensor::from(least.to_acc())) {
        (Acc::F32(array), least) => max(&array, moves, &least, Real::max),
        (Acc::F64(array), least) => max(&array, moves, &least, Real::max),
        (Acc::I64(array), least) => max(&array, moves, &least, Real::max),
    }?;
    Ok(max.cast(data.dtype()).expect("the dtype of a tensor"))
}

/// The least number of a dtype, which TVM pads with; minus infinity is none (`tir/op/op.cc`, `min_value`).
pub(super) fn least(dtype: DType) -> f64 {
    match dtype {
        DType::BOOL => 0.0,
        DType::F16 => half::f16::MIN.to_f64(),
        DType::BF16 => half::bf16::MIN.to_f64(),
        DType::F32 => f32::MIN.into(),
        // Saturates to that of the integers.
        _ => f64::MIN,
    }
}

fn mean_over(cx: &EvalCx, moves: &[Move], include_pad: bool) -> Result<Tensor, Trap> {
    fn mean<T: Real>(array: &Array<T>, moves: &[Move], include_pad: bool) -> Result<Tensor, Trap> {
        let add = |sum: Option<T>, x| Some(sum.unwrap_or(T::ZERO).add(x));
        over_windows(array, moves, add, &|sum, covered, padded| match if include_pad { padded } else { covered as i64 } {
            0 => T::ZERO,
            n => sum.unwrap_or(T::ZERO).div(T::from_int(n.into())),
        })
    }
    let data = cx.tensor(0);
    let mean: Tensor = match data.to_acc() {
        Acc::F32(array) => mean(&array, moves, include_pad),
        Acc::F64(array) => mean(&array, moves, include_pad),
        Acc::I64(array) => mean(&array, moves, include_pad),
    }?;
    Ok(mean.cast(data.dtype()).expect("the dtype of a tensor"))
}

/// One element for each position of the windows. `step` joins the elements covered, in order, and `last` makes the result of
/// them, of their number and of the number of points in the data or its padding.
fn over_windows<T: Element>(
    array: &Array<T>,
    moves: &[Move],
    step: impl Fn(Option<T>, T) -> Option<T>,
    last: &dyn Fn(Option<T>, usize, i64) -> T,
) -> Result<Tensor, Trap> {
    // The pooled axes last, so that each plane of them lies in one piece.
    let mut axes: Vec<usize> = (0..array.shape().len()).filter(|&axis| moves.iter().all(|m| m.axis != axis)).collect();
    let mut shape: Vec<usize> = axes.iter().map(|&axis| array.shape()[axis]).collect();
    let n_planes = shape.iter().product();
    axes.extend(moves.iter().map(|m| m.axis));
    shape.extend(moves.iter().map(|m| m.covers.len()));
    let elements = array.permuted(&axes);

    let at = |i: usize| (i + moves.len()).checked_sub(3).map(|i| &moves[i]);
    let [depth, rows, columns] = [0, 1, 2].map(|i| at(i).map_or(&[Cover::ONE][..], |m| &m.covers));
    let [_, height, width] = [0, 1, 2].map(|i| at(i).map_or(1, |m| array.shape()[m.axis]));
    let plane_len: usize = moves.iter().map(|m| array.shape()[m.axis]).product();

    let mut out = room(shape.iter().product(), MAX_TENSOR_BYTES)?;
    for plane in 0..n_planes {
        let plane = &elements[plane * plane_len..][..plane_len];
        let rows = depth.iter().flat_map(|z| rows.iter().map(move |y| (z, y)));
        for (z, y, x) in rows.flat_map(|(z, y)| columns.iter().map(move |x| (z, y, x))) {
            let mut joined = None;
            for row in z.inputs().flat_map(|z| y.inputs().map(move |y| (z * height + y) * width)) {
                for x in x.inputs() {
                    joined = step(joined, plane[row + x]);
                }
            }
            let covered = z.inputs().len() * y.inputs().len() * x.inputs().len();
            out.push(last(joined, covered, z.padded.saturating_mul(y.padded).saturating_mul(x.padded)));
        }
    }
    let out = Tensor::from_vec(&shape, out);
    let mut back = vec![0; axes.len()];
    axes.iter().enumerate().for_each(|(at, &axis)| back[axis] = at);
    Ok(out.permute(&back))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::*;
    use crate::trial::{Trial, call};
    use relayc_ir::attrs::AttrValue;

    fn max2(size: i64) -> Trial {
        call(&MAX_POOL2D).ints("pool_size", &[size, size])
    }

    #[test]
    fn the_largest() {
        let data = Tensor::from_vec(&[1, 1, 2, 3], vec![1f32, -2.0, 3.0, f32::NAN, -5.0, 6.0]);
        let out = max2(2).values(&[&data]);
        assert!(out[0].is_nan());
        assert_eq!(out[1], 6.0);
        assert_eq!(
            call(&GLOBAL_MAX_POOL2D).text("layout", "NHWC").values(&[&data.reshape(&[1, 3, 2, 1]).expect("as many")]).len(),
            1
        );
        let padding = max2(1).ints("padding", &[0, 1]).values(&[&Tensor::from_vec(&[1, 1, 1, 1], vec![-5i8])]);
        assert_eq!(padding, [-128.0, -5.0, -128.0]);
        for dtype in DType::RUNTIME {
            let padded = max2(1).ints("padding", &[0, 0, 0, 1]);
            let low = Tensor::full(dtype, &[1, 1, 1, 1], f64::NEG_INFINITY).expect("a tensor's dtype");
            let out = padded.values(&[&low]);
            let lowest = out[0] == out[1] || out[0] == f64::NEG_INFINITY && out[1].is_finite();
            assert!(lowest || dtype.is_bool(), "{dtype}: {out:?}");
        }
    }

    #[test]
    fn the_mean() {
        let data = Tensor::from_vec(&[1, 1, 1, 4], vec![1f32, 2.0, 3.0, 4.0]);
        let pool = || call(&AVG_POOL2D).ints("pool_size", &[1, 3]).ints("padding", &[0, 1]).ints("strides", &[1, 2]);
        assert_eq!(pool().values(&[&data]), [1.5, 3.0]);
        let ceil = || pool().attr("ceil_mode", AttrValue::Bool(true));
        let include = ceil().attr("count_include_pad", AttrValue::Bool(true));
        // The last window starts at input 3 and reaches over the padding's end.
        assert_eq!(ceil().values(&[&data]), [1.5, 3.0, 4.0]);
        assert_eq!(include.values(&[&data]), [1.0, 3.0, 2.0]);
        assert_eq!(call(&GLOBAL_AVG_POOL2D).values(&[&data]), [2.5]);
        let empty = call(&GLOBAL_AVG_POOL2D).values(&[&Tensor::from_vec::<f32>(&[1, 2, 0, 3], vec![])]);
        assert_eq!(empty, [0.0, 0.0]);
        let ints = Tensor::from_vec(&[1, 1, 1, 2], vec![-3i32, -4]);
        assert_eq!(call(&GLOBAL_AVG_POOL2D).values(&[&ints]), [-3.0]);
    }

    #[test]
    fn windows_of_blocks_and_dilation() {
        // Channel c of (h, w) holds 10 (3 h + w) + c; the layout has the channels last, in one block of 2.
        let data = Tensor::from_fn(&[1, 1, 3, 3, 2], |i| (i / 2 * 10 + i % 2) as i64);
        let pool = max2(2).ints("dilation", &[2, 1]).text("layout", "NCHW2c");
        assert_eq!(pool.values(&[&data]), [70.0, 71.0, 80.0, 81.0]);
    }

    #[test]
    fn one_and_three_axes() {
        let data = Tensor::from_fn(&[1, 1, 2, 2, 3], |i| i as i32);
        let space = call(&MAX_POOL3D).ints("pool_size", &[2, 1, 2]).values(&[&data]);
        assert_eq!(space, [7.0, 8.0, 10.0, 11.0]);
        let mean = call(&AVG_POOL3D).ints("pool_size", &[2, 1, 2]).values(&[&data.cast(DType::F32).expect("a tensor's dtype")]);
        assert_eq!(mean, [3.5, 4.5, 6.5, 7.5]);
        let line = Tensor::from_vec(&[1, 4, 1], vec![1f32, 5.0, 2.0, 4.0]);
        let pool = |def| call(def).ints("pool_size", &[2]).ints("dilation", &[2]).ints("padding", &[1, 0]).text("layout", "NWC");
        assert_eq!(pool(&MAX_POOL1D).values(&[&line]), [5.0, 2.0, 5.0]);
        assert_eq!(pool(&AVG_POOL1D).values(&[&line]), [5.0, 1.5, 4.5]);
    }

    #[test]
    fn adaptive_windows_cover_everything() {
        let line = Tensor::from_vec(&[1, 1, 5], vec![1f32, 2.0, 3.0, 4.0, 5.0]);
        let pool = |size: i64| call(&ADAPTIVE_AVG_POOL1D).ints("output_size", &[size]);
        // Of 5 elements, 3 windows cover 0..2, 1..4 and 3..5.
        assert_eq!(pool(3).values(&[&line]), [1.5, 3.0, 4.5]);
        assert_eq!(pool(5).values(&[&line]), [1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(pool(7).values(&[&line]), [1.0, 1.5, 2.5, 3.0, 3.5, 4.5, 5.0]);
        assert!(pool(0).values(&[&line]).is_empty());
        assert_eq!(call(&ADAPTIVE_MAX_POOL1D).ints("output_size", &[2]).values(&[&line]), [3.0, 5.0]);
        let none = Tensor::from_vec::<f32>(&[1, 1, 0], vec![]);
        assert_eq!(pool(2).values(&[&none]), [0.0, 0.0]);
    }
}
