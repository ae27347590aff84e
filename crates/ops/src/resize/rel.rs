//! The type relations of resizing.

use super::{BOX_METHODS, CropAndResizeAttrs, METHODS, MODES, ROUNDINGS, Resize, Sampling};
use crate::choice::one_of;
use crate::prelude::*;
use relayc_base::text::count;

/// The words among the attributes: `C5` to `C7`.
fn require_words(cx: &RelCx, sampling: &Sampling) -> RelResult {
    one_of(cx, "C5", "method", &sampling.method, METHODS)?;
    one_of(cx, "C6", "coordinate_transformation_mode", &sampling.mode, MODES)?;
    one_of(cx, "C7", "rounding_method", &sampling.rounding, ROUNDINGS)
}

/// Requires a list to have `n` values: `rule`. It may not be written at all.
fn require_count(cx: &RelCx, rule: &'static str, attr: &'static str, found: usize, n: usize) -> RelResult {
    cx.require(rule, found == n, || {
        let found = if found == 0 { "none".to_owned() } else { found.to_string() };
        Fault::attr(attr, format!("expected {} of `{attr}`, found {found}", count(n, "value")))
    })
}

/// The values of an attribute as `n` dimensions of the result: `rule`.
fn require_size(cx: &RelCx, rule: &'static str, attr: &'static str, size: Option<&[Dim]>, n: usize) -> RelResult<Vec<SDim>> {
    let size = size.unwrap_or_default();
    require_count(cx, rule, attr, size.len(), n)?;
    let possible = size.iter().all(|dim| dim.value().is_none_or(|value| value >= 0));
    cx.require(rule, possible, || Fault::attr(attr, "expected values of at least 0"))?;
    Ok(size.iter().map(|&dim| SDim::new(dim, DimOrigin::Attr(attr))).collect())
}

pub(super) fn resize_rel(cx: &mut RelCx, resize: &Resize) -> RelResult {
    let layout = resize.layout()?;
    let n = resize.letters.len() - 2;
    let size = require_size(cx, "C3", "size", resize.size.as_deref(), n)?;
    require_count(cx, "C4", "roi", resize.roi.as_ref().map_or(0, Vec::len), 2 * n)?;
    require_words(cx, &resize.sampling)?;
    let data = cx.tensor(0)?;
    let mut dims = layout.dims(cx, "C2", &data, resize.letters)?;
    dims.truncate(2);
    dims.extend(size);
    let shape = layout.shape(cx, "C8", resize.letters, &dims)?;
    cx.set_out(shape, resize.out_dtype.unwrap_or(data.dtype))
}

pub(super) fn dyn_resize2d_rel(cx: &mut RelCx) -> RelResult {
    let resize = Resize::of("NCHW", cx.attrs);
    let layout = resize.layout()?;
    require_words(cx, &resize.sampling)?;
    for (arg, rule, n, what) in [(1, "C3", 2, "integers"), (2, "C4", 4, "floats")] {
        if let Some(vector) = cx.known_tensor(arg)? {
            let dtype = if arg == 1 { vector.dtype.is_int() } else { vector.dtype.is_float() };
            cx.require(rule, dtype && vector.rank() == 1 && vector.shape[0].compatible(Dim::known(n)), || {
                let found = format!("{} of `{}`", vector.shape_text(), vector.dtype);
                Fault::shape(format!("expected a vector of {n} {what}, found {found}")).at(vector.place(), "")
            })?;
        }
    }
    let data = cx.tensor(0)?;
    let mut dims = layout.dims(cx, "C2", &data, "NCHW")?;
    dims[2] = SDim::new(Dim::Any, DimOrigin::Op);
    dims[3] = dims[2];
    let shape = layout.shape(cx, "C2", "NCHW", &dims)?;
    cx.set_out(shape, resize.out_dtype.unwrap_or(data.dtype))
}

pub(super) fn crop_and_resize_rel(cx: &mut RelCx) -> RelResult {
    let attrs = CropAndResizeAttrs::read(cx.attrs);
    let layout = layout_attr("C1", "layout", &attrs.layout, |layout| layout.of("NCHW"))?;
    let size = require_size(cx, "C3", "crop_size", attrs.crop_size.0.as_deref(), 2)?;
    one_of(cx, "C5", "method", &attrs.method.to_lowercase(), BOX_METHODS)?;
    let (data, boxes, indices) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let rows = boxes.rank() == 2 && boxes.shape[1].compatible(Dim::known(4)) && boxes.dtype.is_float();
    cx.require("C4", rows, || {
        Fault::shape(format!("expected rows of 4 floats, found {} of `{}`", boxes.shape_text(), boxes.dtype))
            .at(boxes.place(), "")
    })?;
    let each = indices.rank() == 1 && indices.shape[0].compatible(boxes.shape[0]) && indices.dtype.is_int();
    cx.require("C4", each, || {
        let found = format!("{} of `{}`", indices.shape_text(), indices.dtype);
        Fault::shape(format!("expected {} integers, found {found}", boxes.shape[0])).at(indices.place(), "").at(boxes.axis(0), "")
    })?;
    let dims = layout.dims(cx, "C2", &data, "NCHW")?;
    let shape = layout.shape(cx, "C6", "NCHW", &[boxes.dim(0), dims[1], size[0], size[1]])?;
    cx.set_out(shape, attrs.out_dtype.unwrap_or(data.dtype))
}

#[cfg(test)]
mod tests {
    use super::super::{CROP_AND_RESIZE, DYN_RESIZE2D, RESIZE1D, RESIZE2D};
    use crate::trial::{Trial, call, extremes};
    use relayc_ir::attrs::AttrValue;
    use relayc_ir::types::DType;

    fn floats(values: &[f64]) -> AttrValue {
        AttrValue::List(values.iter().map(|&value| AttrValue::Float { value, bits: 32 }).collect())
    }

    fn one(size: i64) -> Trial {
        call(&RESIZE1D).ints("size", &[size]).attr("roi", floats(&[0.0, 1.0]))
    }

    fn two(h: i64, w: i64) -> Trial {
        call(&RESIZE2D).ints("size", &[h, w]).attr("roi", floats(&[0.0; 4]))
    }

    fn crop(h: i64, w: i64) -> Trial {
        call(&CROP_AND_RESIZE).ints("crop_size", &[h, w])
    }

    #[test]
    fn shapes() {
        assert_eq!(one(9).out(&["(2, ?, 5i64) int8"]), "Tensor[(2, ?, 9), int8]");
        assert_eq!(two(9, 7).text("layout", "NHWC").out(&["(1i64, 5, 6, 3) float16"]), "Tensor[(1, 9, 7, 3), float16]");
        assert_eq!(two(9, 7).text("layout", "NCHW4c").out(&["(1, 2, 5, 6, 4) float32"]), "Tensor[(1, 2, 9, 7, 4), float32]");
        let int = two(0, 7).attr("out_dtype", AttrValue::DType(Some(DType::I32)));
        assert_eq!(int.out(&["(?, ?, ?, ?) float32"]), "Tensor[(?, ?, 0, 7), int32]");
        let data = "(1, 4, 4, 4) float32";
        assert_eq!(call(&DYN_RESIZE2D).out(&[data, "(2) int64", "(4) float32"]), "Tensor[(1, 4, ?, ?), float32]");
        assert_eq!(call(&DYN_RESIZE2D).text("layout", "NHWC").out(&[data, "_", "_"]), "Tensor[(1, ?, ?, 4), float32]");
        assert_eq!(crop(2, 3).out(&[data, "(?, 4) float32", "(7) int32"]), "Tensor[(?, 4, 2, 3), float32]");
    }

    #[test]
    fn extreme_calls() {
        extremes(|| one(9), &["(2, 3, 5) float32"]);
        extremes(|| two(9, 9), &["(2, 3, 5, 5) float32"]);
        extremes(|| call(&DYN_RESIZE2D), &["(2, 3, 5, 5) float32", "(2) int64", "(4) float32"]);
        extremes(|| crop(9, 9), &["(2, 3, 5, 5) float32", "(1, 4) float32", "(1) int32"]);
    }
}
