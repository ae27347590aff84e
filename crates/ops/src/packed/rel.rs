//! The type relations of operators on repacked operands.

use super::{
    BinaryConv2dAttrs, BinaryDenseAttrs, BitPackAttrs, FifoBufferAttrs, GemmTransformAttrs, NnpackTransformAttrs,
    WinogradTransformAttrs,
};
use crate::conv::Conv2dAttrs;
use crate::prelude::*;
use crate::qnn::DensePackAttrs;
use crate::rel::require_tensor_dtype;
use crate::window::{self, Window};

/// Sets the result's type, which does not depend on `weight`.
pub(super) fn conv_rel(cx: &mut RelCx, attrs: &Conv2dAttrs, spatial: &str) -> RelResult {
    let n = spatial.len();
    let letters = format!("NC{spatial}");
    let layout = |attr, text: &str| layout_attr("C1", attr, text, |layout| layout.of(&letters));
    let data_layout = layout("data_layout", &attrs.data_layout)?;
    let out_layout = match attrs.out_layout.as_str() {
        "" => data_layout.clone(),
        text => layout("out_layout", text)?,
    };
    layout_attr("C2", "kernel_layout", &attrs.kernel_layout, |layout| layout.of(&format!("OI{spatial}")))?;
    cx.require("C4", attrs.kernel_size.is_some(), || Fault::attr("kernel_size", "expected the window's size, found none"))?;
    let size = attrs.kernel_size.clone().unwrap_or_default();
    let channels = require_channels(cx, "C4", attrs.channels)?;
    for (attr, values) in [("strides", &attrs.strides), ("dilation", &attrs.dilation), ("kernel_size", &size)] {
        window::sizes(cx, "C5", attr, values, n)?;
    }
    window::padding(cx, "C6", &attrs.padding, n)?;
    let data = cx.tensor(0)?;
    let dims = data_layout.dims(cx, "C3", &data, &letters)?;
    let mut out = Shape::from_slice(&[dims[0], channels]);
    let windows = window::windows(&size, &attrs.strides, &attrs.dilation, &attrs.padding);
    for ((letter, window), &dim) in spatial.chars().zip(windows).zip(&dims[2..]) {
        out.push(window::out_dim(cx, "C7", letter, dim, Some(window), false)?);
    }
    let shape = out_layout.shape(cx, "C8", &letters, &out)?;
    cx.set_out(shape, attrs.out_dtype.unwrap_or(data.dtype))
}

/// The rule that `channels` is given, and not negative.
fn require_channels(cx: &RelCx, rule: &'static str, channels: Option<i64>) -> RelResult<SDim> {
    cx.require(rule, channels.is_some_and(|channels| channels >= 0), || {
        let found = channels.map_or("none".to_owned(), |channels| channels.to_string());
        Fault::attr("channels", format!("expected at least 0, found {found}"))
    })?;
    Ok(SDim::known(channels.unwrap_or(0), DimOrigin::Attr("channels")))
}

/// The attributes of a convolution, after `tile_size`.
pub(super) fn without_tile(values: &[AttrValue]) -> Conv2dAttrs {
    Conv2dAttrs::read(&values[1..])
}

/// A weight of this rank.
fn ranked(cx: &mut RelCx, rule: &'static str, rank: usize) -> RelResult<TensorTy> {
    let weight = cx.tensor(0)?;
    cx.require(rule, weight.rank() == rank, || Fault::rank(rank, &weight))?;
    Ok(weight)
}

/// `tile_size + dim - 1`: `C2`.
fn tiled(cx: &mut RelCx, weight: &TensorTy, axis: usize) -> RelResult<SDim> {
    let tile = WinogradTransformAttrs::read(cx.attrs).tile_size;
    let dim = weight.dim(axis);
    let fits = tile >= 1 && dim.value().is_none_or(|dim| dim.checked_add(tile).is_some());
    cx.require("C2", fits, || {
        Fault::attr("tile_size", format!("expected at least 1, and less than 2^63 with the weight, found {tile}"))
    })?;
    if let Some(dim) = dim.value() {
        return Ok(SDim::known(tile - 1 + dim, DimOrigin::Rule("C2")));
    }
    let symbols = &mut cx.types.symbols;
    let sum = symbols.built(SymbolOp::Add, Dim::known(tile), dim.dim);
    Ok(SDim::new(symbols.built(SymbolOp::Sub, sum, Dim::known(1)), DimOrigin::Rule("C2")))
}

pub(super) fn gemm_weight_rel(cx: &mut RelCx) -> RelResult {
    let GemmTransformAttrs { tile_rows, tile_cols } = GemmTransformAttrs::read(cx.attrs);
    let weights = ranked(cx, "C1", 4)?;
    let columns = tile_cols.checked_mul(4).filter(|_| tile_cols >= 1);
    for (name, value, fits) in [("tile_rows", tile_rows, tile_rows >= 1), ("tile_cols", tile_cols, columns.is_some())] {
        cx.require("C2", fits, || Fault::attr(name, format!("expected at least 1, and less than 2^61, found {value}")))?;
    }
    let k = weights.shape[..3].iter().try_fold(1i64, |k, dim| k.checked_mul(dim.value()?));
    // The next multiple of a tile, in tiles.
    let tiles = |value: Option<i64>, pad: i64, tile: i64| {
        let padded = value.and_then(|value| value.checked_add((pad - value % pad) % pad));
        SDim::new(padded.map_or(Dim::Any, |padded| Dim::known(padded / tile)), DimOrigin::Rule("C2"))
    };
    let overflows = |value: Option<i64>, axes: &[Dim]| value.is_none() && axes.iter().all(|dim| dim.value().is_some());
    let (rows, cols) = (tiles(weights.shape[3].value(), tile_rows, tile_rows), tiles(k, columns.unwrap_or(1), tile_cols));
    cx.require("C2", !overflows(rows.value(), &weights.shape[3..]) && !overflows(cols.value(), &weights.shape[..3]), || {
        Fault::new(codes::E0803, "the tiles are more than an int64").at(weights.place(), "")
    })?;
    let [n, k] =
        [("tile_rows", tile_rows), ("tile_cols", tile_cols)].map(|(name, tile)| SDim::known(tile, DimOrigin::Attr(name)));
    cx.set_out(Shape::from_slice(&[rows, cols, n, k]), weights.dtype)
}

pub(super) fn dense_pack_rel(cx: &mut RelCx) -> RelResult {
    let (data, weight) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require("C1", data.rank() == 2, || Fault::rank(2, &data))?;
    cx.require("C2", (3..=4).contains(&weight.rank()), || Fault::rank("3 or 4", &weight))?;
    let (n, block) = (weight.shape[0], weight.shape[2]);
    let fits = n.value().zip(block.value()).is_none_or(|(n, block)| n.checked_mul(block).is_some());
    cx.require("C3", fits, || {
        Fault::new(codes::E0803, format!("{n} times {block} is more than an int64")).at(weight.place(), "")
    })?;
    let units = SDim::new(cx.types.symbols.built(SymbolOp::Mul, n, block), DimOrigin::Rule("C3"));
    let dtype = DensePackAttrs::read(cx.attrs).out_dtype.unwrap_or(data.dtype);
    cx.set_out(Shape::from_slice(&[data.dim(0), units]), dtype)
}

pub(super) fn bitpack_rel(cx: &mut RelCx) -> RelResult {
    let attrs = BitPackAttrs::read(cx.attrs);
    let pack_type = require_tensor_dtype(cx, "C1", "pack_type", attrs.pack_type)?;
    cx.require("C2", attrs.bits >= 0, || Fault::attr("bits", format!("expected at least 0, found {}", attrs.bits)))?;
    let data = cx.tensor(0)?;
    let bits = SDim::known(attrs.bits, DimOrigin::Attr("bits"));
    let mut shape = Shape::new();
    for axis in 0..data.rank() {
        let mut dim = data.dim(axis);
        if axis as i64 == attrs.bit_axis {
            shape.push(bits);
        }
        if axis as i64 == attrs.pack_axis {
            dim.dim = cx.types.symbols.built(SymbolOp::FloorDiv, dim.dim, Dim::known(i64::from(pack_type.bits.max(1))));
        }
        shape.push(dim);
    }
    if attrs.bit_axis == data.rank() as i64 {
        shape.push(bits);
    }
    cx.set_out(shape, pack_type)
}

pub(super) fn bitserial_conv2d_rel(cx: &mut RelCx) -> RelResult {
    let attrs = BinaryConv2dAttrs::read(cx.attrs);
    let layout = layout_attr("C1", "data_layout", &attrs.data_layout, |layout| layout.of("NCHW"))?;
    let channels = require_channels(cx, "C3", attrs.channels)?;
    window::sizes(cx, "C4", "strides", &attrs.strides, 2)?;
    window::sizes(cx, "C4", "kernel_size", &attrs.kernel_size, 2)?;
    window::padding(cx, "C5", &attrs.padding, 2)?;
    let dtype = require_tensor_dtype(cx, "C7", "out_dtype", attrs.out_dtype)?;
    let data = cx.tensor(0)?;
    let dims = layout.dims(cx, "C2", &data, "NCHW")?;
    let windows: Vec<Window> = window::windows(&attrs.kernel_size, &attrs.strides, &[1, 1], &attrs.padding);
    let mut out = Shape::from_slice(&[dims[0], channels]);
    for ((letter, window), &dim) in "HW".chars().zip(windows).zip(&dims[2..]) {
        out.push(window::out_dim(cx, "C6", letter, dim, Some(window), false)?);
    }
    let shape = layout.shape(cx, "C8", "NCHW", &out)?;
    cx.set_out(shape, dtype)
}

pub(super) fn bitserial_dense_rel(cx: &mut RelCx) -> RelResult {
    let attrs = BinaryDenseAttrs::read(cx.attrs);
    let given = attrs.units.filter(|units| units.value().is_none_or(|units| units >= 0));
    cx.require("C2", given.is_some(), || Fault::attr("units", "expected at least 0"))?;
    let data = cx.tensor(0)?;
    cx.require("C1", data.rank() >= 1, || Fault::rank("1 or more", &data))?;
    let mut shape = data.dims();
    shape[data.rank() - 1] = SDim::new(given.unwrap_or(Dim::Any), DimOrigin::Attr("units"));
    cx.set_out(shape, attrs.out_dtype.unwrap_or(data.dtype))
}

pub(super) fn fifo_buffer_rel(cx: &mut RelCx) -> RelResult {
    let (data, buffer) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require("C1", data.rank() == buffer.rank(), || Fault::rank(buffer.rank(), &data).at(buffer.place(), ""))?;
    let axis = cx.axis("C2", "axis", FifoBufferAttrs::read(cx.attrs).axis, buffer.rank())?;
    for at in (0..buffer.rank()).filter(|&at| at != axis) {
        cx.require("C3", data.shape[at].compatible(buffer.shape[at]), || {
            Fault::shape(format!("expected {} for axis {at}, found {}", buffer.shape[at], data.shape[at]))
                .at(data.axis(at), "")
                .at(buffer.axis(at), "")
        })?;
    }
    let fits = data.shape[axis].value().zip(buffer.shape[axis].value()).is_none_or(|(data, buffer)| data < buffer);
    cx.require("C4", fits, || {
        Fault::shape(format!("expected less than {} for axis {axis}, found {}", buffer.shape[axis], data.shape[axis]))
            .at(data.axis(axis), "")
            .at(buffer.axis(axis), "")
            .equation("data[axis] < buffer[axis]", format!("{} < {}", data.shape[axis], buffer.shape[axis]))
    })?;
    cx.set_out(buffer.dims(), buffer.dtype)
}

pub(super) fn winograd2d_weight_rel(cx: &mut RelCx) -> RelResult {
    let weight = ranked(cx, "C1", 4)?;
    let [h, w] = [tiled(cx, &weight, 2)?, tiled(cx, &weight, 3)?];
    cx.set_out(Shape::from_slice(&[h, w, weight.dim(0), weight.dim(1)]), weight.dtype)
}

pub(super) fn winograd3d_weight_rel(cx: &mut RelCx) -> RelResult {
    let weight = ranked(cx, "C1", 5)?;
    let [d, h, w] = [tiled(cx, &weight, 2)?, tiled(cx, &weight, 3)?, tiled(cx, &weight, 4)?];
    let [a, b, c] = match weight.shape[2].value() {
        Some(3..8) => [d, h, w],
        Some(_) => [h, w, weight.dim(2)],
        // Which axis is which is not known.
        None => [SDim::new(Dim::Any, DimOrigin::Op); 3],
    };
    cx.set_out(Shape::from_slice(&[a, b, c, weight.dim(0), weight.dim(1)]), weight.dtype)
}

pub(super) fn nnpack_weight_rel(cx: &mut RelCx) -> RelResult {
    let weight = ranked(cx, "C1", 4)?;
    let eight = SDim::known(8, DimOrigin::Op);
    let dtype = NnpackTransformAttrs::read(cx.attrs).out_dtype.unwrap_or(weight.dtype);
    cx.set_out(Shape::from_slice(&[weight.dim(0), weight.dim(1), eight, eight]), dtype)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpDef;
    use crate::packed::*;
    use crate::trial::{Trial, call, extremes};

    fn conv(def: &'static OpDef, size: &[i64]) -> Trial {
        call(def).int("channels", 8).ints("kernel_size", size)
    }

    #[test]
    fn convolutions() {
        let blocked =
            || conv(&NCHWC, &[3, 3]).text("data_layout", "NCHW4c").text("kernel_layout", "OIHW4i8o").ints("padding", &[1]);
        assert_eq!(blocked().out(&["(1, 2, 9, ?, 4) int8", "(1) int8"]), "Tensor[(1, 2, 9, ?, 4), int8]");
        let tiles = conv(&WINOGRAD3D, &[1, 3, 3]).int("tile_size", 4);
        assert_eq!(tiles.out(&["(1, 2, 5, 6, 7) int8", "_"]), "Tensor[(1, 8, 5, 4, 5), int8]");
        // Read from the second attribute on.
        let names = |def: &OpDef| def.attrs.map(|schema| schema.fields.iter().map(|field| field.name).collect::<Vec<_>>());
        for def in [&WINOGRAD2D, &WINOGRAD3D] {
            assert_eq!(names(def).expect("attributes")[1..], names(&NCHWC).expect("attributes"));
        }
        for def in [&NCHWC, &GEMM, &WINOGRAD2D] {
            extremes(|| conv(def, &[3, 3]), &["(1, 2, 9, 9) int8", "(1) int8"]);
        }
        extremes(|| conv(&WINOGRAD3D, &[3, 3, 3]), &["(1, 2, 9, 9, 9) int8", "(1) int8"]);
    }

    #[test]
    fn weights() {
        let tile = |def| move || call(def).int("tile_size", 4);
        assert_eq!(tile(&WINOGRAD2D_WEIGHT)().out(&["(8, 2, 3, ?) int8"]), "Tensor[(6, Sub(Add(4, ?), 1), 8, 2), int8]");
        assert_eq!(tile(&WINOGRAD3D_WEIGHT)().out(&["(8, 2, 3, 3, 3) int8"]), "Tensor[(6, 6, 6, 8, 2), int8]");
        assert_eq!(tile(&WINOGRAD3D_WEIGHT)().out(&["(8, 2, 1, 3, 3) int8"]), "Tensor[(6, 6, 1, 8, 2), int8]");
        assert_eq!(tile(&WINOGRAD3D_WEIGHT)().out(&["(8, 2, ?, 3, 3) int8"]), "Tensor[(?, ?, ?, 8, 2), int8]");
        let gemm = || call(&GEMM_WEIGHT).int("tile_rows", 4).int("tile_cols", 16);
        assert_eq!(gemm().out(&["(3, 3, 5, 9) int8"]), "Tensor[(3, 4, 4, 16), int8]");
        assert_eq!(gemm().out(&["(3, ?, 5, 9) int8"]), "Tensor[(3, ?, 4, 16), int8]");
        assert_eq!(gemm().fault(&["(9223372036854775807, 2, 1, 1) int8"]).rule, "C2");
        extremes(tile(&WINOGRAD2D_WEIGHT), &["(8, 2, 3, 3) int8"]);
        extremes(tile(&WINOGRAD3D_WEIGHT), &["(8, 2, 3, 3, 3) int8"]);
        extremes(gemm, &["(3, 3, 5, 9) int8"]);
        extremes(|| call(&NNPACK_WEIGHT), &["(8, 2, 3, 3) int8"]);
    }

    #[test]
    fn the_others() {
        let pack = || call(&BITPACK).int("bits", 2).attr("pack_type", AttrValue::DType(Some(DType::U8)));
        assert_eq!(pack().out(&["(1, 64, 7) int8"]), "Tensor[(1, 8, 7), uint8]");
        assert_eq!(pack().int("bit_axis", 1).out(&["(1, 64, 7) int8"]), "Tensor[(1, 2, 8, 7), uint8]");
        assert_eq!(pack().int("bit_axis", 3).out(&["(1, 64, 7) int8"]), "Tensor[(1, 8, 7, 2), uint8]");
        extremes(pack, &["(1, 64, 7) int8"]);
        extremes(|| call(&BITSERIAL_CONV2D).int("channels", 2), &["(1, 64, 7, 7) int8", "(1) int8"]);
        extremes(|| call(&BITSERIAL_DENSE).int("units", 2), &["(1, 64) int8", "(1) int8"]);
        extremes(|| call(&DENSE_PACK), &["(1, 64) int8", "(2, 64, 8) int8"]);
        extremes(|| call(&FIFO_BUFFER), &["(1, 64) int8", "(2, 64) int8"]);
    }
}
