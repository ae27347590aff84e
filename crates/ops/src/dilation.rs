//! Morphological dilation: the maximum of a window's elements plus those of a structuring element.

use super::gather_lowering::{is_float, read};
use super::lower::{stored, tabled};
use super::window::{self, Window};
use crate::prelude::*;
use relayc_ir::kernel::{ReduceDim, Reduction, Stage};
use relayc_ir::tensor::float_max;

attrs! {
    "relay.attrs.Dilation2DAttrs" =>
    pub(crate) struct Dilation2dAttrs {
        /// The step from one window to the next.
        pub(crate) strides: Vec<i64> = &[1, 1];
        /// The padding: for all sides, or (height, width), or (top, left, bottom, right).
        pub(crate) padding: Vec<i64> = &[0, 0];
        /// The distance between neighbouring elements of the window.
        pub(crate) dilations: Vec<i64> = &[1, 1];
        /// The axes of `data`.
        pub(crate) data_layout: String = "NCHW";
        /// The axes of `weight`.
        pub(crate) kernel_layout: String = "IHW";
        /// The dtype of the result; by default that of `data`.
        pub(crate) out_dtype: Option<DType> = None;
    }
}

pub(crate) const DILATION2D: OpDef = OpDef {
    name: "image.dilation2d",
    doc: "In the layouts NCHW and IHW: `out[n, c, y, x] = max over h, w of data[n, c, y * strides[0] + h * dilations[0] - top, \
          x * strides[1] + w * dilations[1] - left] + weight[c, h, w]`, where padding is 0 and NaN wins. Operands are \
          converted to the result's dtype first (`src/relay/op/image/dilation2d.cc`, `python/tvm/topi/image/dilation2d.py`).",
    args: &[Arg::tensor("data"), Arg::tensor("weight")],
    attrs: Some(Dilation2dAttrs::SCHEMA),
    rules: &[
        "C1: data_layout is a permutation of N, C, H and W, blocks allowed",
        "C2: kernel_layout is a permutation of I, H and W, blocks allowed",
        "C3: data and weight have the axes of their layouts, and blocks their size",
        "C4: strides and dilations have at least 2 values, of which the first 2 count, each >= 1",
        "C5: padding has 1, 2 or 4 values, each >= 0",
        "C6: weight.I == data.C",
        "C7: weight.H and weight.W are not 0",
        "C8: (in + padding - ((kernel - 1) * dilations + 1)) / strides + 1 >= 1 for H and W, unless in is 0",
        "C9: blocks divide the dimensions of the result",
    ],
    rel: dilation2d_rel,
    eval: dilation2d_eval,
    lower: Some(Lower::Nest(dilation2d_nest)),
    fuse: Some(Fuse::OutEWiseFusable),
    ..OpDef::BASE
};

fn dilation2d_rel(cx: &mut RelCx) -> RelResult {
    let attrs = Dilation2dAttrs::read(cx.attrs);
    let data_layout = layout_attr("C1", "data_layout", &attrs.data_layout, |layout| layout.of("NCHW"))?;
    let kernel_layout = layout_attr("C2", "kernel_layout", &attrs.kernel_layout, |layout| layout.of("IHW"))?;
    for (name, values) in [("strides", &attrs.strides), ("dilations", &attrs.dilations)] {
        window::sizes(cx, "C4", name, &values[..values.len().min(2)], 2)?;
    }
    window::padding(cx, "C5", &attrs.padding, 2)?;
    let (data, weight) = (cx.tensor(0)?, cx.tensor(1)?);
    let data = data_layout.dims(cx, "C3", &data, "NCHW")?;
    let weight = kernel_layout.dims(cx, "C3", &weight, "IHW")?;
    let (c, i) = (data[1], weight[0]);
    cx.require("C6", c.dim.compatible(i.dim), || {
        Fault::shape(format!("expected a weight of {} channels, found {}", c.dim, i.dim))
            .at(i.place(), "")
            .at(c.place(), "")
            .equation("weight.I == data.C", format!("{} == {}", i.dim, c.dim))
    })?;
    let mut out = Shape::from_slice(&[data[0], i]);
    for (at, letter) in [(0, 'H'), (1, 'W')] {
        let kernel = weight[1 + at];
        cx.require("C7", kernel.value() != Some(0), || {
            Fault::shape(format!("expected a weight with {letter} of at least 1, found 0")).at(kernel.place(), "")
        })?;
        let window = kernel.value().map(|kernel| attrs.windows([kernel; 2])[at]);
        out.push(window::out_dim(cx, "C8", letter, data[2 + at], window, false)?);
    }
    let dtype = attrs.out_dtype.unwrap_or(cx.tensor(0)?.dtype);
    let shape = data_layout.shape(cx, "C9", "NCHW", &out)?;
    cx.set_out(shape, dtype)
}

impl Dilation2dAttrs {
    fn windows(&self, kernel: [i64; 2]) -> Vec<Window> {
        window::windows(&kernel, &self.strides[..2], &self.dilations[..2], &self.padding)
    }
}

fn dilation2d_eval(cx: &EvalCx) -> EvalResult {
    let attrs = Dilation2dAttrs::read(cx.attrs);
    let [data_layout, kernel_layout] =
        [&attrs.data_layout, &attrs.kernel_layout].map(|text| Layout::parse(text).expect("the relation read it"));
    let data = data_layout.unpack("NCHW", &cx.tensor_as(0, cx.out_dtype())?);
    let weight = kernel_layout.unpack("IHW", &cx.tensor_as(1, cx.out_dtype())?);
    let windows = attrs.windows([weight.shape()[1] as i64, weight.shape()[2] as i64]);
    Ok(data_layout.pack("NCHW", &dilated(&data, &weight, &windows)).into())
}

/// For each position and point of the window along an axis a table tells the place, and another whether it is in the data.
fn dilation2d_nest(call: &Call) -> Option<Template> {
    (0..2).try_for_each(|arg| is_float(call, arg))?;
    let (data, weight, out) = (&call.arg(0).shape, &call.arg(1).shape, call.out());
    (out.dtype == DType::F32 && !data.contains(&0)).then_some(())?;
    let attrs = Dilation2dAttrs::read(call.attrs);
    let (own, of_weight) = (Layout::parse(&attrs.data_layout).ok()?, Layout::parse(&attrs.kernel_layout).ok()?);
    // Blocks cut axes into two, of which the loops would have to be told.
    let plain = |layout: &Layout, letter| layout.axis(letter).filter(|_| layout.block(letter) == 1);
    let rank = data.len();
    let mut template = Template { dims: out.shape.clone(), ..Template::default() };
    let mut body = Body::new();
    let mut index: Vec<AxisMap> = (0..rank).map(AxisMap::of).collect();
    let mut weights = vec![AxisMap::zero(); weight.len()];
    weights[plain(&of_weight, 'I')?] = AxisMap::of(plain(&own, 'C')?);
    let [height, width] = [plain(&of_weight, 'H')?, plain(&of_weight, 'W')?].map(|axis| weight[axis]);
    let windows = attrs.windows([height as i64, width as i64]);
    let (mut places, mut inside) = (vec![], None);
    for (at, letter) in "HW".chars().enumerate() {
        let (axis, kernel) = (plain(&own, letter)?, [height, width][at]);
        let (input, n, window) = (data[axis] as usize, out.shape[axis] as usize, &windows[at]);
        tabled(out.shape[axis].checked_mul(kernel)?)?;
        let cells: Vec<Option<usize>> = (0..n)
            .flat_map(|o| (0..kernel as usize).map(move |k| window.inside(k, input, n).contains(&o).then(|| window.input(o, k))))
            .collect();
        let map = AxisMap { offset: 0, terms: vec![(axis, kernel as i64), (rank + at, 1)] };
        let table = Table::ints(cells.iter().map(|cell| cell.unwrap_or(0) as i32));
        places.push((axis, read(&mut template, &mut body, Read::table(table, map.clone()))));
        let shown = Read::table(Table::bools(cells.iter().map(Option::is_some)), map);
        let shown = read(&mut template, &mut body, shown);
        inside = Some(inside.map_or(shown, |inside| body.bin(BinaryOp::And, inside, shown)));
        index[axis] = AxisMap::zero();
        weights[plain(&of_weight, letter)?] = AxisMap::of(rank + at);
        template.reduce.push(ReduceDim { extent: kernel, clip: None });
    }
    let x = read(&mut template, &mut body, Read { picked: places, ..Read::of(Source::Arg(0), index) });
    let zero = body.f32(0.0);
    let x = body.select(inside?, x, zero);
    let w = read(&mut template, &mut body, Read::of(Source::Arg(1), weights));
    let sum = body.bin(BinaryOp::Add, x, w);
    let folds = Stage { each: true, body, reductions: vec![(sum, Reduction::Max)], stores: vec![] };
    let mut body = Body::new();
    let val = body.folded(0);
    let last = stored(body, val);
    template.stages = vec![folds, last];
    template.outs = vec![(0..rank).map(AxisMap::of).collect()];
    Some(template)
}

/// A point of the window at a time: the data that lies there plus the weight, and of all these the largest.
fn dilated(data: &Tensor, weight: &Tensor, windows: &[Window]) -> Tensor {
    let (shape, kernel) = (data.shape(), weight.shape());
    let [height, width] = [0, 1].map(|i| windows[i].n_positions(shape[2 + i], false));
    let out = [shape[0], shape[1], height, width];
    // The input at point `k` of each position along an axis, if it is in the data.
    let inputs = |i: usize, k: usize| {
        let inside = windows[i].inside(k, shape[2 + i], out[2 + i]);
        (0..out[2 + i]).map(|o| inside.contains(&o).then(|| windows[i].input(o, k))).collect::<Vec<_>>()
    };
    let sum = |h: usize, w: usize| {
        let (rows, columns) = (inputs(0, h), inputs(1, w));
        let moved = data.pick(&out, 0.0, |at| {
            let (rest, x) = (at / width, at % width);
            let (plane, y) = (rest / height, rest % height);
            Some((plane * shape[2] + rows[y]?) * shape[3] + columns[x]?)
        });
        let added = weight.pick(&out, 0.0, |at| Some((at / width / height % shape[1] * kernel[1] + h) * kernel[2] + w));
        moved.zip(&added, |a, b| a + b, i128::wrapping_add).expect("of the same dtype")
    };
    let larger = |a: Tensor, b: Tensor| a.zip(&b, float_max, Ord::max).expect("of the same dtype");
    let points = (0..kernel[1]).flat_map(|h| (0..kernel[2]).map(move |w| (h, w)));
    let most = points.map(|(h, w)| sum(h, w)).reduce(larger);
    most.unwrap_or_else(|| Tensor::full(data.dtype(), &out, 0.0).expect("the dtype of a tensor"))
}

pub(crate) const FAMILY: &[OpDef] = &[DILATION2D];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{call, extremes};

    #[test]
    fn shapes() {
        let plain = || call(&DILATION2D).ints("strides", &[1, 2, 7, 7]).ints("padding", &[0, 0, 1, 1]);
        assert_eq!(plain().out(&["(?, 3, 8, ?) float32", "(3, 2, 2) int8"]), "Tensor[(?, 3, 8, ?), float32]");
        let last = plain().text("data_layout", "NHWC").text("kernel_layout", "HWI");
        assert_eq!(last.out(&["(1i64, 8, 8, 3) float32", "(2, 2, ?) float32"]), "Tensor[(1, 8, 4, ?), float32]");
        extremes(|| call(&DILATION2D), &["(1, 3, 8, 8) float32", "(3, 2, 2) float32"]);
    }

    #[test]
    fn every_dtype() {
        for dtype in DType::RUNTIME {
            let of = |value| Tensor::full(dtype, &[1, 1, 1, 1], value).expect("a tensor's dtype");
            let out = call(&DILATION2D).values(&[&of(1.0), &of(0.0).reshape(&[1, 1, 1]).expect("one element")]);
            assert_eq!(out, [1.0], "{dtype}");
        }
    }
}
