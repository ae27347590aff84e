//! Pooling: a window moves over the spatial axes and takes the largest or the mean of what it covers.

use super::attrs::attrs;
use super::eval::{EvalCx, EvalResult};
use super::layout::{Layout, layout_attr};
use super::rel::{Fault, From, RelCx, RelResult, SDim};
use super::window::{self, Cover};
use super::{Fuse, OpDef};
use crate::ir::attrs::{Arg, AttrValue};
use crate::tensor::{Acc, ArrayT, Element, Real, Tensor, float_max, with_array};
use crate::types::DType;

attrs! {
    "relay.attrs.MaxPool2DAttrs" =>
    pub struct MaxPool2dAttrs {
        /// The window: height, width.
        pub pool_size: Vec<i64>;
        /// The step from one window to the next.
        pub strides: Vec<i64> = &[1, 1];
        /// The distance between neighbours in the window.
        pub dilation: Vec<i64> = &[1, 1];
        /// For all sides, or (height, width), or (top, left, bottom, right).
        pub padding: Vec<i64> = &[0, 0];
        /// The axes of `data`; `H` and `W` are pooled.
        pub layout: String = "NCHW";
        /// The same as `layout`, or empty.
        pub out_layout: String = "";
        /// Whether the last window may reach over the end.
        pub ceil_mode: bool = false;
    }

    "relay.attrs.AvgPool2DAttrs" =>
    pub struct AvgPool2dAttrs {
        /// The window: height, width.
        pub pool_size: Vec<i64>;
        /// The step from one window to the next.
        pub strides: Vec<i64> = &[1, 1];
        /// The distance between neighbours in the window.
        pub dilation: Vec<i64> = &[1, 1];
        /// For all sides, or (height, width), or (top, left, bottom, right).
        pub padding: Vec<i64> = &[0, 0];
        /// The axes of `data`; `H` and `W` are pooled.
        pub layout: String = "NCHW";
        /// The same as `layout`, or empty.
        pub out_layout: String = "";
        /// Whether the last window may reach over the end.
        pub ceil_mode: bool = false;
        /// Whether padding counts as elements of value 0.
        pub count_include_pad: bool = false;
    }

    "relay.attrs.GlobalPool2DAttrs" =>
    pub struct GlobalPool2dAttrs {
        /// The axes of `data`; `H` and `W` are pooled.
        pub layout: String = "NCHW";
        /// The same as `layout`, or empty.
        pub out_layout: String = "";
    }
}

/// The largest element of each window.
pub const MAX_POOL2D: OpDef = OpDef {
    name: "nn.max_pool2d",
    doc: "The largest of the elements a window covers, for each position of it; NaN wins, padding does not count, and a window \
          over nothing but padding gives the dtype's least number. The axes `H` and `W` of the result have \
          `floor((in + padding - ((pool_size - 1) * dilation + 1)) / strides) + 1` elements, with `ceil_mode` the ceiling \
          (`src/relay/op/nn/pooling.cc`, `include/tvm/topi/nn/pooling.h`).",
    args: &[Arg::tensor("data")],
    attrs: Some(MaxPool2dAttrs::SCHEMA),
    rules: &[
        "C1: layout has the axes H and W, not in blocks, and out_layout is the same or empty",
        "C2: rank(data) is the number of axes of layout",
        "C3: pool_size, strides and dilation have 2 values, each >= 1",
        "C4: padding has 1, 2 or 4 values, each >= 0",
        "C5: (in + padding - ((pool_size - 1) * dilation + 1)) / strides + 1 >= 1 for H and W, unless in is 0",
    ],
    rel: max_pool2d_rel,
    eval: max_pool2d_eval,
    fuse: Some(Fuse::OutEWiseFusable),
    ..OpDef::BASE
};

fn max_pool2d_rel(cx: &mut RelCx) -> RelResult {
    pool_rel(cx, &Pool::max2d(cx.attrs))
}

fn max_pool2d_eval(cx: &EvalCx) -> EvalResult {
    Ok(max_over(cx.tensor(0), &Pool::max2d(cx.attrs).moves(cx.tensor(0))).into())
}

/// The mean of each window.
pub const AVG_POOL2D: OpDef = OpDef {
    name: "nn.avg_pool2d",
    doc: "The mean of the elements a window covers, for each position of it. Padding is not counted, unless `count_include_pad` \
          counts it as zeros; a window over nothing gives 0. Integers are divided towards zero. The result's shape is that of \
          `nn.max_pool2d` (`src/relay/op/nn/pooling.cc`, `include/tvm/topi/nn/pooling.h`).",
    attrs: Some(AvgPool2dAttrs::SCHEMA),
    rel: avg_pool2d_rel,
    eval: avg_pool2d_eval,
    ..MAX_POOL2D
};

fn avg_pool2d_rel(cx: &mut RelCx) -> RelResult {
    pool_rel(cx, &Pool::avg2d(cx.attrs))
}

fn avg_pool2d_eval(cx: &EvalCx) -> EvalResult {
    let include_pad = AvgPool2dAttrs::read(cx.attrs).count_include_pad;
    Ok(mean_over(cx.tensor(0), &Pool::avg2d(cx.attrs).moves(cx.tensor(0)), include_pad).into())
}

/// The mean over all of `H` and `W`.
pub const GLOBAL_AVG_POOL2D: OpDef = OpDef {
    name: "nn.global_avg_pool2d",
    doc: "The mean of the elements along `H` and `W`, which have one element in the result; 0 where there are none. Integers are \
          divided towards zero (`src/relay/op/nn/pooling.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(GlobalPool2dAttrs::SCHEMA),
    rules: &[
        "C1: layout has the axes H and W, not in blocks, and out_layout is the same or empty",
        "C2: rank(data) is the number of axes of layout",
    ],
    rel: global_pool2d_rel,
    eval: global_avg_pool2d_eval,
    fuse: Some(Fuse::OutEWiseFusable),
    ..OpDef::BASE
};

fn global_avg_pool2d_eval(cx: &EvalCx) -> EvalResult {
    Ok(mean_over(cx.tensor(0), &whole_axes(cx), false).into())
}

/// The largest element of all of `H` and `W`.
pub const GLOBAL_MAX_POOL2D: OpDef = OpDef {
    name: "nn.global_max_pool2d",
    doc: "The largest of the elements along `H` and `W`, which have one element in the result; NaN wins, and the dtype's least \
          number stands where there are none (`src/relay/op/nn/pooling.cc`).",
    eval: global_max_pool2d_eval,
    ..GLOBAL_AVG_POOL2D
};

fn global_max_pool2d_eval(cx: &EvalCx) -> EvalResult {
    Ok(max_over(cx.tensor(0), &whole_axes(cx)).into())
}

/// What all pools with a window have in common.
struct Pool {
    /// The axes the window moves along.
    letters: &'static str,
    pool_size: Vec<i64>,
    strides: Vec<i64>,
    dilation: Vec<i64>,
    padding: Vec<i64>,
    layout: String,
    out_layout: String,
    ceil_mode: bool,
}

impl Pool {
    fn max2d(values: &[AttrValue]) -> Pool {
        let MaxPool2dAttrs { pool_size, strides, dilation, padding, layout, out_layout, ceil_mode } =
            MaxPool2dAttrs::read(values);
        Pool { letters: "HW", pool_size, strides, dilation, padding, layout, out_layout, ceil_mode }
    }

    fn avg2d(values: &[AttrValue]) -> Pool {
        let AvgPool2dAttrs { pool_size, strides, dilation, padding, layout, out_layout, ceil_mode, count_include_pad: _ } =
            AvgPool2dAttrs::read(values);
        Pool { letters: "HW", pool_size, strides, dilation, padding, layout, out_layout, ceil_mode }
    }

    /// How the window moves over a value.
    fn moves(&self, data: &Tensor) -> Vec<Move> {
        let windows = window::windows(&self.pool_size, &self.strides, &self.dilation, &self.padding);
        let moves = pooled_axes(&self.layout, self.letters).into_iter().zip(windows).map(|(axis, window)| {
            let input = data.shape()[axis];
            Move { axis, covers: (0..window.n_positions(input, self.ceil_mode)).map(|o| window.cover(o, input)).collect() }
        });
        moves.collect()
    }
}

fn pool_rel(cx: &mut RelCx, pool: &Pool) -> RelResult {
    let n = pool.letters.len();
    let layout = pool_layout(cx, &pool.layout, &pool.out_layout, pool.letters)?;
    window::sizes(cx, "C3", "pool_size", &pool.pool_size, n)?;
    window::sizes(cx, "C3", "strides", &pool.strides, n)?;
    window::sizes(cx, "C3", "dilation", &pool.dilation, n)?;
    window::padding(cx, "C4", &pool.padding, n)?;
    let data = cx.tensor(0)?;
    cx.require("C2", data.rank() == layout.rank(), || Fault::rank(layout.rank(), &data))?;
    let windows = window::windows(&pool.pool_size, &pool.strides, &pool.dilation, &pool.padding);
    let mut shape = data.dims();
    for (letter, window) in pool.letters.chars().zip(windows) {
        if let Some(axis) = layout.axis(letter) {
            shape[axis] = window::out_dim(cx, "C5", letter, shape[axis], Some(window), pool.ceil_mode)?;
        }
    }
    cx.set_out(shape, data.dtype)
}

fn global_pool2d_rel(cx: &mut RelCx) -> RelResult {
    let attrs = GlobalPool2dAttrs::read(cx.attrs);
    let layout = pool_layout(cx, &attrs.layout, &attrs.out_layout, "HW")?;
    let data = cx.tensor(0)?;
    cx.require("C2", data.rank() == layout.rank(), || Fault::rank(layout.rank(), &data))?;
    let mut shape = data.dims();
    for axis in "HW".chars().filter_map(|letter| layout.axis(letter)) {
        shape[axis] = SDim::known(1, From::Op);
    }
    cx.set_out(shape, data.dtype)
}

/// The layout of a pool: `C1`.
fn pool_layout(cx: &RelCx, text: &str, out: &str, letters: &str) -> RelResult<Layout> {
    let layout = layout_attr("C1", "layout", text, |layout| layout.with_whole(letters))?;
    cx.require("C1", out.is_empty() || out == text, || {
        Fault::attr("out_layout", format!("expected {text:?}, found {out:?}")).set_attr("out_layout", format!("{text:?}"))
    })?;
    Ok(layout)
}

/// The axes of a layout that the relation has read.
fn pooled_axes(layout: &str, letters: &str) -> Vec<usize> {
    let layout = Layout::parse(layout).expect("the relation read it");
    letters.chars().filter_map(|letter| layout.axis(letter)).collect()
}

/// How a window moves along an axis: what each of its positions covers.
struct Move {
    axis: usize,
    covers: Vec<Cover>,
}

/// A single position that covers everything.
fn whole_axes(cx: &EvalCx) -> Vec<Move> {
    let axes = pooled_axes(&GlobalPool2dAttrs::read(cx.attrs).layout, "HW");
    axes.into_iter().map(|axis| Move { axis, covers: vec![Cover::all(cx.tensor(0).shape()[axis])] }).collect()
}

fn max_over(data: &Tensor, moves: &[Move]) -> Tensor {
    with_array!(data, |array: T| {
        let least = T::from_f64(least(T::DTYPE));
        let larger = |a: T, b: T| a.apply2(b, float_max, Ord::max);
        over_windows(array, moves, |covered, _| covered.iter().copied().reduce(larger).unwrap_or(least))
    })
}

/// The least number of a dtype, which TVM pads with; minus infinity is none (`tir/op/op.cc`, `min_value`).
fn least(dtype: DType) -> f64 {
    match dtype {
        DType::BOOL => 0.0,
        DType::F16 => half::f16::MIN.to_f64(),
        DType::BF16 => half::bf16::MIN.to_f64(),
        DType::F32 => f32::MIN.into(),
        // Saturates to that of the integers.
        _ => f64::MIN,
    }
}

fn mean_over(data: &Tensor, moves: &[Move], include_pad: bool) -> Tensor {
    fn mean<T: Real>(array: &ArrayT<T>, moves: &[Move], include_pad: bool) -> Tensor {
        over_windows(array, moves, |covered, padded| match if include_pad { padded } else { covered.len() as i64 } {
            0 => T::ZERO,
            n => covered.iter().copied().fold(T::ZERO, T::add).div(T::from_int(n.into())),
        })
    }
    let mean = match data.to_acc() {
        Acc::F32(array) => mean(&array, moves, include_pad),
        Acc::F64(array) => mean(&array, moves, include_pad),
        Acc::I64(array) => mean(&array, moves, include_pad),
    };
    mean.cast(data.dtype()).expect("the dtype of a tensor")
}

/// One element for each position of the windows, by `f(elements covered, in order; points in the data or its padding)`.
/// There are at most three windows.
fn over_windows<T: Element>(array: &ArrayT<T>, moves: &[Move], f: impl Fn(&[T], i64) -> T) -> Tensor {
    // The pooled axes last, so that each plane of them lies in one piece.
    let mut axes: Vec<usize> = (0..array.ndim()).filter(|&axis| moves.iter().all(|m| m.axis != axis)).collect();
    let mut shape: Vec<usize> = axes.iter().map(|&axis| array.shape()[axis]).collect();
    let n_planes = shape.iter().product();
    axes.extend(moves.iter().map(|m| m.axis));
    shape.extend(moves.iter().map(|m| m.covers.len()));
    let elements: Vec<T> = array.view().permuted_axes(axes.clone()).iter().copied().collect();

    let at = |i: usize| (i + moves.len()).checked_sub(3).map(|i| &moves[i]);
    let [depth, rows, columns] = [0, 1, 2].map(|i| at(i).map_or(&[Cover::ONE][..], |m| &m.covers));
    let [_, height, width] = [0, 1, 2].map(|i| at(i).map_or(1, |m| array.shape()[m.axis]));
    let plane_len: usize = moves.iter().map(|m| array.shape()[m.axis]).product();

    let (mut out, mut covered) = (Vec::with_capacity(shape.iter().product()), Vec::new());
    for plane in 0..n_planes {
        let plane = &elements[plane * plane_len..][..plane_len];
        let rows = depth.iter().flat_map(|z| rows.iter().map(move |y| (z, y)));
        for (z, y, x) in rows.flat_map(|(z, y)| columns.iter().map(move |x| (z, y, x))) {
            covered.clear();
            for row in z.inputs().flat_map(|z| y.inputs().map(move |y| (z * height + y) * width)) {
                covered.extend(x.inputs().map(|x| plane[row + x]));
            }
            out.push(f(&covered, z.padded.saturating_mul(y.padded).saturating_mul(x.padded)));
        }
    }
    let out = Tensor::from_vec(&shape, out);
    let mut back = vec![0; axes.len()];
    axes.iter().enumerate().for_each(|(at, &axis)| back[axis] = at);
    out.permute(&back)
}

pub const FAMILY: &[OpDef] = &[MAX_POOL2D, AVG_POOL2D, GLOBAL_AVG_POOL2D, GLOBAL_MAX_POOL2D];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::trial::{Trial, call, extremes};

    fn max2(size: i64) -> Trial {
        call(&MAX_POOL2D).ints("pool_size", &[size, size])
    }

    #[test]
    fn shapes() {
        let pool = || max2(3).ints("strides", &[2, 2]);
        assert_eq!(pool().out(&["(?, 3, 12i64, ?) float32"]), "Tensor[(?, 3, 5i64, ?), float32]");
        let ceil = || pool().attr("ceil_mode", AttrValue::Bool(true));
        assert_eq!(ceil().out(&["(1, 12, 5, 3) float32"]), "Tensor[(1, 12, 2, 1), float32]");
        assert_eq!(ceil().text("layout", "NHWC").out(&["(1, 12, 5, 3) float32"]), "Tensor[(1, 6, 2, 3), float32]");
        let sides = pool().ints("padding", &[1, 0, 2, 3]);
        assert_eq!(sides.out(&["(1, 12, 5, 3) int8"]), "Tensor[(1, 12, 3, 2), int8]");
        assert_eq!(max2(5).out(&["(1, 2, 0, 9) int8"]), "Tensor[(1, 2, 0, 5), int8]");
        assert_eq!(call(&GLOBAL_AVG_POOL2D).out(&["(?, 8, ?, 7) float32"]), "Tensor[(?, 8, 1, 1), float32]");
        let origin = max2(3).infer(&["(1, 3, 12, 12) int8"]).expect("it holds").origins.out[0][2].from;
        assert_eq!(origin, From::Rule("C5"));
    }

    #[test]
    fn faults() {
        let data = ["(1, 2, 6, 6) float32"];
        for layout in ["NCW", "NCHW2h", "NCHWc"] {
            assert_eq!(max2(2).text("layout", layout).fault(&data).rule, "C1");
        }
        assert_eq!(max2(2).text("out_layout", "NHWC").fault(&data).rule, "C1");
        assert_eq!(max2(2).fault(&["(2, 6, 6) float32"]).rule, "C2");
        assert_eq!(max2(0).fault(&data).rule, "C3");
        assert_eq!(max2(2).ints("strides", &[1, 1, 1]).fault(&data).rule, "C3");
        assert_eq!(max2(2).ints("padding", &[1, 1, 1]).fault(&data).rule, "C4");
        let fault = max2(7).fault(&data);
        assert_eq!((fault.rule, fault.places.len()), ("C5", 2));
        extremes(|| max2(2), &data);
        extremes(|| call(&AVG_POOL2D).ints("pool_size", &[2, 2]), &data);
        extremes(|| call(&GLOBAL_MAX_POOL2D), &data);
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
}
