//! The type relations of pools.

use super::{AdaptivePool2dAttrs, GlobalPool2dAttrs, MaxPool2dAttrs};
use crate::prelude::*;
use crate::window;

pub(super) fn pool_rel(cx: &mut RelCx, spatial: &'static str) -> RelResult {
    let data = cx.tensor(0)?;
    let shape = pooled(cx, &data, spatial)?;
    cx.set_out(shape, data.dtype)
}

/// The shape of the pool's result.
fn pooled(cx: &mut RelCx, data: &TensorTy, spatial: &str) -> RelResult<Shape> {
    let attrs = MaxPool2dAttrs::read(cx.attrs);
    let n = spatial.len();
    let layout = pool_layout(cx, &attrs.layout, &attrs.out_layout, spatial)?;
    window::sizes(cx, "C3", "pool_size", &attrs.pool_size, n)?;
    window::sizes(cx, "C3", "strides", &attrs.strides, n)?;
    window::sizes(cx, "C3", "dilation", &attrs.dilation, n)?;
    window::padding(cx, "C4", &attrs.padding, n)?;
    cx.require("C2", data.rank() == layout.rank(), || Fault::rank(layout.rank(), data))?;
    let windows = window::windows(&attrs.pool_size, &attrs.strides, &attrs.dilation, &attrs.padding);
    let mut shape = data.dims();
    for (letter, window) in spatial.chars().zip(windows) {
        if let Some(axis) = layout.axis(letter) {
            shape[axis] = match shape[axis].dim {
                dim @ Dim::Symbol(_) => {
                    let positions = window::symbolic_out(&mut cx.types.symbols, dim, &window, attrs.ceil_mode);
                    SDim::new(positions, DimOrigin::Rule("C5"))
                }
                _ => window::out_dim(cx, "C5", letter, shape[axis], Some(window), attrs.ceil_mode)?,
            };
        }
    }
    Ok(shape)
}

/// Whether attributes of a maximum leave room for a window over nothing but padding, for some size of the data.
pub(super) fn may_cover_nothing(attrs: &[AttrValue]) -> bool {
    let attrs = MaxPool2dAttrs::read(attrs);
    let windows = window::windows(&attrs.pool_size, &attrs.strides, &attrs.dilation, &attrs.padding);
    windows.iter().any(|window| {
        // The last window may begin behind the padding that it must have in common with the data.
        let over = if attrs.ceil_mode { window.stride - 1 } else { 0 };
        let padding = i128::from(window.before).max(i128::from(window.after) + i128::from(over));
        padding >= i128::from(window.kernel) || window.dilation > 1 && padding > 0
    })
}

pub(super) fn global_pool_rel(cx: &mut RelCx) -> RelResult {
    let attrs = GlobalPool2dAttrs::read(cx.attrs);
    let layout = pool_layout(cx, &attrs.layout, &attrs.out_layout, "HW")?;
    let data = cx.tensor(0)?;
    cx.require("C2", data.rank() == layout.rank(), || Fault::rank(layout.rank(), &data))?;
    let mut shape = data.dims();
    for axis in "HW".chars().filter_map(|letter| layout.axis(letter)) {
        shape[axis] = SDim::known(1, DimOrigin::Op);
    }
    cx.set_out(shape, data.dtype)
}

pub(super) fn adaptive_pool_rel(cx: &mut RelCx, spatial: &str) -> RelResult {
    let attrs = AdaptivePool2dAttrs::read(cx.attrs);
    let n = spatial.len();
    let layout = pool_layout(cx, &attrs.layout, &attrs.out_layout, spatial)?;
    let size = attrs.output_size.0.unwrap_or_default();
    cx.require("C3", size.len() <= 1 || size.len() == n, || {
        let counts = if n == 1 { "at most 1 value".to_owned() } else { format!("0, 1 or {n} values") };
        Fault::attr("output_size", format!("expected {counts}, found {}", size.len()))
    })?;
    cx.require("C3", size.iter().all(|size| size.value().is_some_and(|size| size >= 0)), || {
        Fault::attr("output_size", "expected numbers of at least 0")
    })?;
    let data = cx.tensor(0)?;
    cx.require("C2", data.rank() == layout.rank(), || Fault::rank(layout.rank(), &data))?;
    let mut shape = data.dims();
    for (at, letter) in spatial.chars().enumerate() {
        if let (Some(axis), Some(&dim)) = (layout.axis(letter), size.get(at).or(size.first())) {
            shape[axis] = SDim::new(dim, DimOrigin::Attr("output_size"));
        }
    }
    cx.set_out(shape, data.dtype)
}

/// The gradient comes first, and its type follows from that of the data. In TVM, only the data's type counts.
pub(super) fn pool_grad_rel(cx: &mut RelCx) -> RelResult {
    let data = cx.tensor(1)?;
    let expected = pooled(cx, &data, "HW")?;
    cx.set_arg("C6", 0, expected, data.dtype)?;
    cx.set_out(data.dims(), data.dtype)
}

/// The layout of a pool: `C1`.
fn pool_layout(cx: &RelCx, text: &str, out: &str, spatial: &str) -> RelResult<Layout> {
    let layout = layout_attr("C1", "layout", text, |layout| layout.with_whole(spatial))?;
    cx.require("C1", out.is_empty() || out == text, || {
        Fault::attr("out_layout", format!("expected {text:?}, found {out:?}")).set_attr("out_layout", format!("{text:?}"))
    })?;
    Ok(layout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::*;
    use crate::trial::{Trial, call, extremes};
    use relayc_ir::attrs::AttrValue;

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
        let origin = max2(3).infer(&["(1, 3, 12, 12) int8"]).expect("it holds").origins.out[2].from;
        assert_eq!(origin, DimOrigin::Rule("C5"));
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
    fn one_and_three_axes() {
        let line = || call(&MAX_POOL1D).ints("pool_size", &[2]);
        assert_eq!(line().ints("padding", &[1, 0]).out(&["(1, 3, 8i64) int8"]), "Tensor[(1, 3, 8i64), int8]");
        assert_eq!(line().ints("padding", &[1, 0, 1]).fault(&["(1, 3, 8) int8"]).rule, "C4");
        let space = || call(&AVG_POOL3D).ints("pool_size", &[2, 3, 1]).ints("strides", &[2, 1, 1]).text("layout", "NDHWC");
        assert_eq!(space().out(&["(1, 5, ?, 4, 3) int8"]), "Tensor[(1, 2, ?, 4, 3), int8]");
        extremes(line, &["(1, 3, 8) int8"]);
        extremes(space, &["(1, 5, 6, 4, 3) int8"]);
    }

    #[test]
    fn adaptive() {
        let pool = |size: &[i64]| call(&ADAPTIVE_AVG_POOL3D).ints("output_size", size).text("layout", "NDHWC");
        let data = ["(1i64, 16, 7, ?, 32i64) int32"];
        assert_eq!(pool(&[]).out(&data), "Tensor[(1i64, 16, 7, ?, 32i64), int32]");
        assert_eq!(pool(&[2]).out(&data), "Tensor[(1i64, 2, 2, 2, 32i64), int32]");
        assert_eq!(pool(&[1, 2, 3]).out(&data), "Tensor[(1i64, 1, 2, 3, 32i64), int32]");
        assert_eq!(pool(&[1, 2]).fault(&data).rule, "C3");
        assert_eq!(pool(&[-1]).fault(&data).rule, "C3");
        assert_eq!(pool(&[1]).attr("output_size", AttrValue::List([AttrValue::Any].into())).fault(&data).rule, "C3");
        assert_eq!(pool(&[1]).text("layout", "NCHW").fault(&data).rule, "C1");
        extremes(|| pool(&[1]), &data);
    }

    #[test]
    fn gradients() {
        let grad = || call(&MAX_POOL2D_GRAD).ints("pool_size", &[2, 2]);
        assert_eq!(grad().out(&["(1, 3, 7, ?) float32", "(1, 3, 8, 9) float32"]), "Tensor[(1, 3, 8, 9), float32]");
        let inferred = grad().infer(&["_", "(1, 3, 8, 9) float32"]).expect("it holds");
        assert_eq!(inferred.args[0], "Tensor[(1, 3, 7, 8), float32]");
        for other in ["(1, 3, 8, 9) float32", "(1, 3, 7, 8) float16", "(1, 3, 7) float32"] {
            assert_eq!(grad().fault(&[other, "(1, 3, 8, 9) float32"]).rule, "C6");
        }
        extremes(grad, &["(1, 3, 7, 8) float32", "(1, 3, 8, 9) float32"]);
    }
}
