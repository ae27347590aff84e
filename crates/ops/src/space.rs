//! Moves elements between the spatial axes and the channels or the batch, in blocks.

use super::gather_lowering::{constant, copy, counted, read};
use super::lower::{lane, tabled};
use crate::prelude::*;
use relayc_base::text::count;
use relayc_ir::types::{Arith, Symbols};

attrs! {
    "relay.attrs.SubPixelAttrs" =>
    pub(crate) struct SubPixelAttrs {
        /// The height and width of a block.
        pub(crate) block_size: i64 = 1;
        /// The axes of `data`.
        pub(crate) layout: String = "NCHW";
        /// The order of channels: `DCR`, the position in the block first, or `CDR`, the channel first. `nn.space_to_depth` always
        /// takes the position first.
        pub(crate) mode: String = "DCR";
    }

    "relay.attrs.SpaceToBatchNDAttrs" =>
    pub(crate) struct SpaceToBatchNdAttrs {
        /// The size of a block along each axis from axis 1 on.
        pub(crate) block_shape: Vec<i64> = &[1, 1];
        /// The number of positions to add before and after each of these axes.
        pub(crate) paddings: Vec<Vec<i64>>;
        /// The value of the new positions.
        pub(crate) pad_value: f64 = 0.0;
    }

    "relay.attrs.BatchToSpaceNDAttrs" =>
    pub(crate) struct BatchToSpaceNdAttrs {
        /// The size of a block along each axis from axis 1 on.
        pub(crate) block_shape: Vec<i64> = &[1, 1];
        /// The number of positions to remove at the start and end of each of these axes.
        pub(crate) crops: Vec<Vec<i64>>;
    }
}

pub(crate) const SPACE_TO_DEPTH: OpDef = OpDef {
    name: "nn.space_to_depth",
    doc: "In the layout NCHW, with `b = block_size`: `out[n, (h * b + w) * C + c, y, x] = data[n, c, y * b + h, x * b + w]`. `H` \
          and `W` are divided by `b`, incomplete blocks are dropped (`src/relay/op/nn/nn.cc`, \
          `python/tvm/topi/nn/space_to_depth.py`).",
    args: &[Arg::tensor("data")],
    attrs: Some(SubPixelAttrs::SCHEMA),
    rules: &[
        "C1: layout is a permutation of N, C, H and W, blocks allowed",
        "C2: data has the axes of layout, and blocks their size",
        "C3: block_size >= 1, and the dimensions of the result are int64",
        "C4: blocks of the layout divide the dimensions of the result",
    ],
    rel: |cx| depth_rel(cx, (SymbolOp::Mul, SymbolOp::FloorDiv)),
    eval: space_to_depth_eval,
    lower: Some(Lower::Nest(|call| depth_nest(call, true))),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

pub(crate) const DEPTH_TO_SPACE: OpDef = OpDef {
    name: "nn.depth_to_space",
    doc: "In the layout NCHW, with `b = block_size` and `C` the channels of the result: `out[n, c, y * b + h, x * b + w] = \
          data[n, (h * b + w) * C + c, y, x]`, in the mode `CDR` `data[n, (c * b + h) * b + w, y, x]`. The channels are divided \
          by `b * b`, the rest is dropped (`src/relay/op/nn/nn.cc`, `python/tvm/topi/nn/depth_to_space.py`).",
    rules: &[
        "C1: layout is a permutation of N, C, H and W, blocks allowed",
        "C2: data has the axes of layout, and blocks their size",
        "C3: block_size >= 1, and the dimensions of the result are int64",
        "C4: blocks of the layout divide the dimensions of the result",
        "C5: mode is \"DCR\" or \"CDR\"",
    ],
    rel: depth_to_space_rel,
    eval: depth_to_space_eval,
    lower: Some(Lower::Nest(|call| depth_nest(call, false))),
    ..SPACE_TO_DEPTH
};

pub const SPACE_TO_BATCH_ND: OpDef = OpDef {
    name: "nn.space_to_batch_nd",
    work: Work::None,
    doc: "Pads the axes from 1 on by `paddings` with `pad_value`, then moves the place in each block to the batch: with the block \
          `B`, `out[(h * B[1] + w) * N + n, y, x, …] = padded[n, y * B[0] + h, x * B[1] + w, …]`, and so on for other numbers of axes \
          (`src/relay/op/nn/nn.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(SpaceToBatchNdAttrs::SCHEMA),
    rules: &[
        "C1: paddings has a pair for each value of block_shape",
        "C2: rank(data) > length(block_shape)",
        "C3: block_shape >= 1, paddings >= 0, and the dimensions of the result are int64",
        "C4: block_shape divides the padded dimensions",
    ],
    rel: space_to_batch_rel,
    eval: space_to_batch_eval,
    lower: Some(Lower::Nest(space_to_batch_nest)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

pub const BATCH_TO_SPACE_ND: OpDef = OpDef {
    name: "nn.batch_to_space_nd",
    work: Work::None,
    doc: "The inverse of `nn.space_to_batch_nd`: images of the batch become places in blocks along the axes from 1 on, then `crops` \
          are taken away from those axes (`src/relay/op/nn/nn.cc`).",
    attrs: Some(BatchToSpaceNdAttrs::SCHEMA),
    rules: &[
        "C1: crops has a pair for each value of block_shape",
        "C2: rank(data) > length(block_shape)",
        "C3: block_shape >= 1, crops >= 0, and the dimensions of the result are int64",
        "C4: the product of block_shape divides the batch",
        "C5: the crops of an axis are not longer than it",
    ],
    rel: batch_to_space_rel,
    eval: batch_to_space_eval,
    lower: Some(Lower::Nest(batch_to_space_nest)),
    ..SPACE_TO_BATCH_ND
};

// ---- Depth ----

fn depth_to_space_rel(cx: &mut RelCx) -> RelResult {
    let mode = SubPixelAttrs::read(cx.attrs).mode;
    cx.require("C5", ["DCR", "CDR"].contains(&mode.as_str()), || {
        Fault::attr("mode", format!("expected \"DCR\" or \"CDR\", found {mode:?}")).set_attr("mode", "\"DCR\"")
    })?;
    depth_rel(cx, (SymbolOp::FloorDiv, SymbolOp::Mul))
}

/// The result's type, given what becomes of the channels and of the spatial axes.
fn depth_rel(cx: &mut RelCx, (channels, spatial): (SymbolOp, SymbolOp)) -> RelResult {
    let attrs = SubPixelAttrs::read(cx.attrs);
    let layout = layout_attr("C1", "layout", &attrs.layout, |layout| layout.of("NCHW"))?;
    let block = attrs.block_size;
    cx.require("C3", block >= 1 && block.checked_mul(block).is_some(), || {
        Fault::attr("block_size", format!("expected at least 1, with a square that is an int64, found {block}"))
    })?;
    let data = cx.tensor(0)?;
    let mut dims = layout.dims(cx, "C2", &data, "NCHW")?;
    for (at, op, by) in [(1, channels, block * block), (2, spatial, block), (3, spatial, block)] {
        dims[at] = scaled(cx, Symbols::arith, op, dims[at], by)?;
    }
    let shape = layout.shape(cx, "C4", "NCHW", &dims)?;
    cx.set_out(shape, data.dtype)
}

/// A dimension times a number, or divided by it: `C3`. `of` determines the result for `?`.
fn scaled(cx: &mut RelCx, of: Arith, op: SymbolOp, dim: SDim, by: i64) -> RelResult<SDim> {
    let fits = op != SymbolOp::Mul || dim.value().is_none_or(|value| value.checked_mul(by).is_some());
    cx.require("C3", fits, || {
        Fault::new(codes::E0803, format!("a dimension of {} times {by} is more than an int64", dim.dim)).at(dim.place(), "")
    })?;
    let from = if by == 1 { dim.from } else { DimOrigin::Rule("C3") };
    Ok(SDim::new(of(&mut cx.types.symbols, op, dim.dim, Dim::known(by)), from))
}

fn space_to_depth_eval(cx: &EvalCx) -> EvalResult {
    let attrs = SubPixelAttrs::read(cx.attrs);
    let block = attrs.block_size as usize;
    Ok(repack(cx, &attrs.layout, |[n, c, y, x], [_, channels, ..]| {
        let (place, c) = (c / channels, c % channels);
        [n, c, y * block + place / block, x * block + place % block]
    }))
}

fn depth_to_space_eval(cx: &EvalCx) -> EvalResult {
    let attrs = SubPixelAttrs::read(cx.attrs);
    let block = attrs.block_size as usize;
    Ok(repack(cx, &attrs.layout, |[n, c, y, x], [_, channels, ..]| {
        let place = y % block * block + x % block;
        let c = if attrs.mode == "CDR" { c * block * block + place } else { place * (channels / (block * block)) + c };
        [n, c, y / block, x / block]
    }))
}

/// Loops over the rows and columns of a block, then over the axes of the layout.
fn depth_nest(call: &Call, to_depth: bool) -> Option<Template> {
    let attrs = SubPixelAttrs::read(call.attrs);
    let block = u64::try_from(attrs.block_size).ok()?;
    let layout = Layout::parse(&attrs.layout).ok()?;
    let [channels, rows, columns] = ['C', 'H', 'W'].map(|letter| layout.axis(letter).filter(|_| layout.block(letter) == 1));
    let (channels, rows, columns) = (channels?, rows?, columns?);
    let (data, out) = (&call.arg(0).shape, &call.out().shape);
    // The side whose pixels lie in blocks, and the other.
    let fine = if to_depth { out } else { data };
    let mut dims = vec![block, block];
    dims.extend(fine);
    dims[2 + channels] = if to_depth { data[channels] } else { out[channels] };
    let plain: Vec<AxisMap> = (0..fine.len()).map(|axis| AxisMap::of(2 + axis)).collect();
    let (mut deep, mut wide) = (plain.clone(), plain);
    let own = (2 + channels, dims[2 + channels]);
    deep[channels] = match attrs.mode == "CDR" && !to_depth {
        true => counted(&[own, (0, block), (1, block)]),
        false => counted(&[(0, block), (1, block), own]),
    };
    // What is left over of the channels of a pixel stands behind them.
    let left_over = !to_depth && data[channels] != own.1 * block * block;
    (!left_over).then_some(())?;
    wide[rows] = counted(&[(2 + rows, dims[2 + rows]), (0, block)]);
    wide[columns] = counted(&[(2 + columns, dims[2 + columns]), (1, block)]);
    let (from, to) = if to_depth { (wide, deep) } else { (deep, wide) };
    copy(call, dims, from, to)
}

/// Each element from the place that `source(its position, shape of the data)` says, both in NCHW.
fn repack(cx: &EvalCx, layout: &str, source: impl Fn([usize; 4], [usize; 4]) -> [usize; 4]) -> super::eval::Outputs {
    let layout = Layout::parse(layout).expect("the relation read it");
    let data = layout.unpack("NCHW", cx.tensor(0));
    let four = |shape: &[usize]| -> [usize; 4] { shape.try_into().expect("four letters") };
    let shape = layout.whole("NCHW", cx.out_shape());
    let (from, to) = (four(data.shape()), four(&shape));
    let place = |mut at: usize, shape: [usize; 4]| {
        let mut place = [0; 4];
        for axis in (0..4).rev() {
            place[axis] = at % shape[axis];
            at /= shape[axis];
        }
        place
    };
    let flat = |[n, c, y, x]: [usize; 4]| ((n * from[1] + c) * from[2] + y) * from[3] + x;
    let out = data.pick(&shape, 0.0, |i| Some(flat(source(place(i, to), from))));
    layout.pack("NCHW", &out).into()
}

// ---- Batch ----

/// Checks the rules on blocks and on the positions added or removed around them.
fn require_blocks(cx: &RelCx, data: &TensorTy, blocks: &[i64], attr: &'static str, pairs: &[Vec<i64>]) -> RelResult<i64> {
    cx.require("C1", pairs.len() == blocks.len() && pairs.iter().all(|pair| pair.len() == 2), || {
        Fault::attr(attr, format!("expected {}, one for each value of block_shape", count(blocks.len(), "pair")))
    })?;
    cx.require("C2", data.rank() > blocks.len(), || Fault::rank(format!("{} or more", blocks.len() + 1), data))?;
    cx.require("C3", blocks.iter().all(|&block| block >= 1), || Fault::attr("block_shape", "expected values of at least 1"))?;
    cx.require("C3", pairs.iter().flatten().all(|&width| width >= 0), || Fault::attr(attr, "expected values of at least 0"))?;
    let product = blocks.iter().try_fold(1i64, |product, &block| product.checked_mul(block));
    cx.require("C3", product.is_some(), || Fault::attr("block_shape", "the product of the values is more than an int64"))?;
    Ok(product.unwrap_or(1))
}

fn space_to_batch_rel(cx: &mut RelCx) -> RelResult {
    let attrs = SpaceToBatchNdAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let product = require_blocks(cx, &data, &attrs.block_shape, "paddings", &attrs.paddings)?;
    let mut shape = Shape::from_slice(&[scaled(cx, Symbols::built, SymbolOp::Mul, data.dim(0), product)?]);
    for (axis, (&block, pair)) in (1..).zip(attrs.block_shape.iter().zip(&attrs.paddings)) {
        let (dim, total) = (data.dim(axis), pair[0].checked_add(pair[1]));
        let padded = dim.value().map_or(Some(0), |dim| total?.checked_add(dim));
        cx.require("C3", total.is_some() && padded.is_some(), || {
            Fault::attr("paddings", format!("axis {axis} would be longer than an int64"))
        })?;
        cx.require("C4", dim.value().is_none() || padded.is_some_and(|padded| padded % block == 0), || {
            let padded = padded.unwrap_or(0);
            Fault::shape(format!("{padded} positions of axis {axis} do not fall into blocks of {block}"))
                .at(Place::attr("block_shape"), "")
                .at(data.axis(axis), "")
                .equation("(before + data[i] + after) % block_shape[i - 1] == 0", format!("{padded} % {block} == 0"))
        })?;
        let symbols = &mut cx.types.symbols;
        let padded = symbols.built(SymbolOp::Add, dim.dim, Dim::known(total.unwrap_or(0)));
        shape.push(SDim::new(symbols.built(SymbolOp::Div, padded, Dim::known(block)), DimOrigin::Rule("C4")));
    }
    shape.extend((shape.len()..data.rank()).map(|axis| data.dim(axis)));
    cx.set_out(shape, data.dtype)
}

fn space_to_batch_eval(cx: &EvalCx) -> EvalResult {
    let SpaceToBatchNdAttrs { block_shape, paddings, pad_value } = SpaceToBatchNdAttrs::read(cx.attrs);
    let (data, out) = (cx.tensor(0), cx.out_shape());
    let batch = data.shape()[0];
    let pick = |i: usize| {
        let mut place = position(i, out);
        let mut block = place[0] / batch;
        place[0] %= batch;
        for axis in (1..=block_shape.len()).rev() {
            let size = block_shape[axis - 1] as usize;
            let padded = place[axis] * size + block % size;
            block /= size;
            place[axis] = padded.checked_sub(paddings[axis - 1][0] as usize).filter(|&at| at < data.shape()[axis])?;
        }
        Some(flat(&place, data.shape()))
    };
    Ok(data.pick(out, pad_value, pick).into())
}

/// Loops over the places in a block, then the axes of the result.
fn space_to_batch_nest(call: &Call) -> Option<Template> {
    let SpaceToBatchNdAttrs { block_shape, paddings, pad_value } = SpaceToBatchNdAttrs::read(call.attrs);
    let (data, out, n) = (&call.arg(0).shape, &call.out().shape, block_shape.len());
    let lane = lane(call.arg(0).dtype)?;
    (!data.contains(&0)).then_some(())?;
    let blocks: Vec<(usize, u64)> = block_shape.iter().map(|&block| block as u64).enumerate().collect();
    let mut template = Template { dims: blocks.iter().map(|block| block.1).collect(), ..Template::default() };
    template.dims.extend(&data[..1]);
    template.dims.extend(&out[1..]);
    let mut to: Vec<AxisMap> = (0..out.len()).map(|axis| AxisMap::of(n + axis)).collect();
    let mut from = to.clone();
    to[0] = counted(&[&blocks[..], &[(n, data[0])]].concat());
    let (mut body, mut places, mut inside) = (Body::new(), vec![], None);
    for axis in 1..=n {
        let padded = counted(&[(n + axis, out[axis]), blocks[axis - 1]]);
        if paddings[axis - 1] == [0, 0] {
            from[axis] = padded;
            continue;
        }
        tabled(out[axis].checked_mul(blocks[axis - 1].1)?)?;
        let before = u64::try_from(paddings[axis - 1][0]).ok()?;
        let sources = (0..out[axis] * blocks[axis - 1].1).map(|at| at.checked_sub(before).filter(|&at| at < data[axis]));
        let sources: Vec<Option<u64>> = sources.collect();
        let table = Table::ints(sources.iter().map(|source| source.unwrap_or(0) as i32));
        places.push((axis, read(&mut template, &mut body, Read::table(table, padded.clone()))));
        let shown = Read::table(Table::bools(sources.iter().map(Option::is_some)), padded);
        let shown = read(&mut template, &mut body, shown);
        inside = Some(inside.map_or(shown, |inside| body.bin(BinaryOp::And, inside, shown)));
        from[axis] = AxisMap::zero();
    }
    let mut val = read(&mut template, &mut body, Read { picked: places, ..Read::of(Source::Arg(0), from) });
    if let Some(inside) = inside {
        let pad = constant(&mut body, lane, pad_value)?;
        val = body.select(inside, val, pad);
    }
    Some(Template { outs: vec![to], ..template.finish(body, val)? })
}

fn batch_to_space_rel(cx: &mut RelCx) -> RelResult {
    let attrs = BatchToSpaceNdAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let product = require_blocks(cx, &data, &attrs.block_shape, "crops", &attrs.crops)?;
    let batch = data.dim(0);
    cx.require("C4", batch.value().is_none_or(|batch| batch % product == 0), || {
        Fault::shape(format!("a batch of {} does not fall into blocks of {product}", batch.dim))
            .at(Place::attr("block_shape"), "")
            .at(batch.place(), "")
            .equation("data[0] % product(block_shape) == 0", format!("{} % {product} == 0", batch.dim))
    })?;
    let batch = cx.types.symbols.built(SymbolOp::Div, batch.dim, Dim::known(product));
    let mut shape = Shape::from_slice(&[SDim::new(batch, DimOrigin::Rule("C4"))]);
    for (axis, (&block, pair)) in (1..).zip(attrs.block_shape.iter().zip(&attrs.crops)) {
        let mut dim = scaled(cx, Symbols::built, SymbolOp::Mul, data.dim(axis), block)?;
        let left = dim.value().map(|whole| i128::from(whole) - i128::from(pair[0]) - i128::from(pair[1]));
        cx.require("C5", left.is_none_or(|left| left >= 0), || {
            Fault::attr("crops", format!("cannot take {} and {} positions from {}", pair[0], pair[1], dim.dim))
                .at(data.axis(axis), "")
                .equation(
                    "data[i] * block_shape[i - 1] - before - after >= 0",
                    format!("{} - {} - {} >= 0", dim.dim, pair[0], pair[1]),
                )
        })?;
        for &crop in pair {
            dim.dim = cx.types.symbols.built(SymbolOp::Sub, dim.dim, Dim::known(crop));
        }
        shape.push(SDim::new(dim.dim, DimOrigin::Rule("C5")));
    }
    shape.extend((shape.len()..data.rank()).map(|axis| data.dim(axis)));
    cx.set_out(shape, data.dtype)
}

fn batch_to_space_eval(cx: &EvalCx) -> EvalResult {
    let BatchToSpaceNdAttrs { block_shape, crops } = BatchToSpaceNdAttrs::read(cx.attrs);
    let (data, out) = (cx.tensor(0), cx.out_shape());
    let pick = |i: usize| {
        let mut place = position(i, out);
        let mut block = 0;
        for axis in 1..=block_shape.len() {
            let size = block_shape[axis - 1] as usize;
            let whole = place[axis] + crops[axis - 1][0] as usize;
            place[axis] = whole / size;
            block = block * size + whole % size;
        }
        place[0] += block * out[0];
        Some(flat(&place, data.shape()))
    };
    Ok(data.pick(out, 0.0, pick).into())
}

/// Along each axis in blocks a table tells the place in the data, another how far the image of the batch is.
fn batch_to_space_nest(call: &Call) -> Option<Template> {
    let BatchToSpaceNdAttrs { block_shape, crops } = BatchToSpaceNdAttrs::read(call.attrs);
    let (data, out) = (&call.arg(0).shape, &call.out().shape);
    lane(call.arg(0).dtype)?;
    (!data.contains(&0)).then_some(())?;
    let mut template = Template { dims: out.clone(), ..Template::default() };
    let mut from: Vec<AxisMap> = (0..out.len()).map(AxisMap::of).collect();
    let (mut body, mut places) = (Body::new(), vec![]);
    let mut images = out[0];
    for axis in (1..=block_shape.len()).rev() {
        let (block, before) = (u64::try_from(block_shape[axis - 1]).ok()?, u64::try_from(crops[axis - 1][0]).ok()?);
        tabled(out[axis])?;
        let whole = |at: u64| at + before;
        let place = Table::ints((0..out[axis]).map(|at| (whole(at) / block) as i32));
        let image = Table::ints((0..out[axis]).map(|at| (whole(at) % block * images) as i32));
        for (to, table) in [(axis, place), (0, image)] {
            places.push((to, read(&mut template, &mut body, Read::table(table, AxisMap::of(axis)))));
        }
        from[axis] = AxisMap::zero();
        images *= block;
    }
    i32::try_from(images).ok()?;
    let val = read(&mut template, &mut body, Read { picked: places, ..Read::of(Source::Arg(0), from) });
    template.finish(body, val)
}

/// The position of an element along each axis.
fn position(mut at: usize, shape: &[usize]) -> Vec<usize> {
    let mut place = vec![0; shape.len()];
    for (axis, &dim) in shape.iter().enumerate().rev() {
        place[axis] = at % dim;
        at /= dim;
    }
    place
}

/// The element at a position.
fn flat(place: &[usize], shape: &[usize]) -> usize {
    place.iter().zip(shape).fold(0, |at, (place, dim)| at * dim + place)
}

// ---- In ONNX ----

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (SPACE_TO_DEPTH.name, Onnx::Nodes(|cx| sub_pixel_onnx(cx, "SpaceToDepth"))),
    (DEPTH_TO_SPACE.name, Onnx::Nodes(|cx| sub_pixel_onnx(cx, "DepthToSpace"))),
    (SPACE_TO_BATCH_ND.name, Onnx::Nodes(space_to_batch_onnx)),
    (BATCH_TO_SPACE_ND.name, Onnx::Nodes(batch_to_space_onnx)),
];

/// Splits each axis into blocks and moves the places in a block before the batch.
fn space_to_batch_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let SpaceToBatchNdAttrs { block_shape, paddings, pad_value } = SpaceToBatchNdAttrs::read(cx.attrs);
    let (mut data, n, out) = (cx.tensor(0), block_shape.len(), cx.out_shape()?);
    let (shape, dtype) = (cx.shape(data)?, cx.out_dtype());
    if paddings.iter().flatten().any(|&width| width > 0) {
        let side = |side: usize| {
            let pairs = paddings.iter().map(move |pair| pair[side]);
            std::iter::once(0).chain(pairs).chain(vec![0; shape.len() - n - 1])
        };
        let widths: Vec<i64> = side(0).chain(side(1)).collect();
        let (widths, value) = (cx.ints("pads", &widths), cx.scalar("pad_value", dtype, pad_value)?);
        data = cx.node("Pad", &[data, widths, value]).one();
    }
    let blocks = block_shape.iter().enumerate().flat_map(|(at, &block)| [out[at + 1], block]);
    let split: Vec<i64> = std::iter::once(shape[0]).chain(blocks).chain(shape[n + 1..].iter().copied()).collect();
    let (split, axes) = (cx.reshaped(data, &split), block_axes(n, shape.len()));
    let moved = cx.transposed(split, &axes);
    Ok(cx.reshaped(moved, &out).into())
}

/// The axes of a tensor whose axes from 1 to `n` are split into blocks: those inside of blocks first, then the others.
fn block_axes(n: usize, rank: usize) -> Vec<usize> {
    let inside = (0..n).map(|at| 2 + 2 * at);
    let whole = (0..n).map(|at| 1 + 2 * at);
    inside.chain([0]).chain(whole).chain(2 * n + 1..n + rank).collect()
}

/// The inverse: the places in a block go behind the axis of their blocks.
fn batch_to_space_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let BatchToSpaceNdAttrs { block_shape, crops } = BatchToSpaceNdAttrs::read(cx.attrs);
    let (data, n) = (cx.tensor(0), block_shape.len());
    let (shape, out) = (cx.shape(data)?, cx.out_shape()?);
    let split: Vec<i64> = block_shape.iter().copied().chain([out[0]]).chain(shape[1..].iter().copied()).collect();
    let split = cx.reshaped(data, &split);
    let from = block_axes(n, shape.len());
    let axes: Vec<usize> = (0..from.len()).map(|at| from.iter().position(|&axis| axis == at).unwrap_or(at)).collect();
    let moved = cx.transposed(split, &axes);
    let blocks = block_shape.iter().zip(&shape[1..]).map(|(block, dim)| block * dim);
    let whole: Vec<i64> = std::iter::once(out[0]).chain(blocks).chain(shape[n + 1..].iter().copied()).collect();
    let whole = cx.reshaped(moved, &whole);
    if crops.iter().flatten().all(|&crop| crop == 0) {
        return Ok(whole.into());
    }
    let starts: Vec<i64> = crops.iter().map(|pair| pair[0]).collect();
    let ends: Vec<i64> = starts.iter().zip(&out[1..]).map(|(start, dim)| start + dim).collect();
    let axes: Vec<i64> = (1..).take(n).collect();
    let [starts, ends, axes] = [("starts", starts), ("ends", ends), ("axes", axes)].map(|(what, values)| cx.ints(what, &values));
    Ok(cx.node("Slice", &[whole, starts, ends, axes]).one().into())
}

/// In the layout NCHW, in which ONNX has them, and of what falls into blocks without a rest.
fn sub_pixel_onnx(cx: &mut OnnxCx, kind: &'static str) -> OnnxResult {
    let (attrs, data) = (SubPixelAttrs::read(cx.attrs), cx.tensor(0));
    let block = attrs.block_size;
    if attrs.layout != "NCHW" {
        return Err(format!("the layout {}", attrs.layout));
    }
    let (to_depth, square) = (kind == "SpaceToDepth", block.saturating_mul(block));
    let divided: &[(usize, i64)] = if to_depth { &[(2, block), (3, block)] } else { &[(1, square)] };
    for &(axis, by) in divided {
        if cx.dim(data, axis)? % by != 0 {
            return Err("a block that is not full".into());
        }
    }
    let node = cx.node(kind, &[data]).int("blocksize", block);
    let mode = if attrs.mode == "CDR" { "CRD" } else { "DCR" };
    Ok(if to_depth { node.one() } else { node.str("mode", mode).one() }.into())
}

pub(crate) const FAMILY: &[OpDef] = &[SPACE_TO_DEPTH, DEPTH_TO_SPACE, SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{Trial, call, extremes};
    use relayc_ir::attrs::AttrValue;
    use relayc_ir::tensor::Tensor;

    fn pairs(trial: Trial, attr: &str, pairs: &[[i64; 2]]) -> Trial {
        trial.attr(attr, AttrValue::List(pairs.iter().map(|pair| AttrValue::ints(pair)).collect()))
    }

    #[test]
    fn depth() {
        let to = |block| call(&SPACE_TO_DEPTH).int("block_size", block);
        let from = |block| call(&DEPTH_TO_SPACE).int("block_size", block);
        assert_eq!(to(2).out(&["(1, 3, 5, ?) int8"]), "Tensor[(1, 12, 2, ?), int8]");
        assert_eq!(from(4).out(&["(1, 6, 10, 10) int8"]), "Tensor[(1, 0, 40, 40), int8]");
        assert_eq!(to(2).text("layout", "NCHW4c").fault(&["(1, 1, 5, 5, 3) int8"]).rule, "C2");
        assert_eq!(from(2).text("layout", "NCHW4c").fault(&["(1, 2, 5, 5, 4) int8"]).rule, "C4");
        assert_eq!(to(0).fault(&["(1, 3, 5, 5) int8"]).rule, "C3");
        assert_eq!(to(1 << 40).fault(&["(1, 3, 5, 5) int8"]).rule, "C3");
        assert_eq!(from(2).text("mode", "CRD").fault(&["(1, 4, 5, 5) int8"]).rule, "C5");
        extremes(|| to(2), &["(1, 3, 5, 5) int8"]);
        extremes(|| from(2), &["(1, 4, 5, 5) int8"]);
        let x = Tensor::from_fn(&[2, 8, 2, 3], |i| i as i32);
        let there = from(2).eval(&[&x]).expect("it runs").remove(0);
        assert_eq!(there.shape(), [2, 2, 4, 6]);
        assert_eq!(to(2).eval(&[&there]).expect("it runs")[0], x);
        let last = from(2).text("layout", "NHWC").eval(&[&x.permute(&[0, 2, 3, 1])]).expect("it runs").remove(0);
        assert_eq!(last, there.permute(&[0, 2, 3, 1]));
        let y = Tensor::from_vec(&[1, 4, 1, 1], vec![1i8, 2, 3, 4]);
        assert_eq!(from(2).values(&[&y]), [1.0, 2.0, 3.0, 4.0]);
        let y = Tensor::from_vec(&[1, 8, 1, 1], (1..=8).collect::<Vec<i8>>());
        assert_eq!(from(2).values(&[&y]), [1.0, 3.0, 5.0, 7.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(from(2).text("mode", "CDR").values(&[&y]), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    }

    #[test]
    fn batch() {
        let to =
            |block: &[i64], widths: &[[i64; 2]]| pairs(call(&SPACE_TO_BATCH_ND).ints("block_shape", block), "paddings", widths);
        let from =
            |block: &[i64], widths: &[[i64; 2]]| pairs(call(&BATCH_TO_SPACE_ND).ints("block_shape", block), "crops", widths);
        assert_eq!(to(&[2, 3], &[[1, 0], [0, 2]]).out(&["(?, 3i64, 4, ?) int8"]), "Tensor[(Mul(?, 6), 2i64, 2, ?), int8]");
        assert_eq!(to(&[2], &[]).fault(&["(1, 2) int8"]).rule, "C1");
        assert_eq!(to(&[2, 2], &[[0, 0], [0, 0]]).fault(&["(1, 2) int8"]).rule, "C2");
        assert_eq!(to(&[0], &[[0, 0]]).fault(&["(1, 2) int8"]).rule, "C3");
        assert_eq!(to(&[2], &[[0, -1]]).fault(&["(1, 2) int8"]).rule, "C3");
        assert_eq!(to(&[1], &[[i64::MAX, i64::MAX]]).fault(&["(1, ?) int8"]).rule, "C3");
        assert_eq!(to(&[2], &[[0, 1]]).fault(&["(1, 2) int8"]).rule, "C4");
        assert_eq!(from(&[2, 2], &[[0, 0], [2, 0]]).out(&["(8, 1, 3, 1) int8"]), "Tensor[(2, 2, 4, 1), int8]");
        assert_eq!(from(&[2], &[[0, 0]]).fault(&["(3, 2) int8"]).rule, "C4");
        assert_eq!(from(&[2], &[[2, 3]]).fault(&["(2, 2) int8"]).rule, "C5");
        extremes(|| to(&[2], &[[0, 1]]), &["(1, 3) int8"]);
        extremes(|| from(&[2], &[[0, 1]]), &["(2, 3) int8"]);
        let x = Tensor::from_fn(&[2, 3, 4, 2], |i| i as f32);
        let there =
            to(&[2, 3], &[[1, 0], [0, 2]]).attr("pad_value", AttrValue::float(-1.0)).eval(&[&x]).expect("it runs").remove(0);
        assert_eq!(there.shape(), [12, 2, 2, 2]);
        assert_eq!(there.to_f64s()[..4], [-1.0; 4]);
        assert_eq!(from(&[2, 3], &[[1, 0], [0, 2]]).eval(&[&there]).expect("it runs")[0], x);
        let y = Tensor::from_vec(&[1, 4], vec![1i8, 2, 3, 4]);
        assert_eq!(to(&[2], &[[0, 0]]).values(&[&y]), [1.0, 3.0, 2.0, 4.0]);
    }
}
