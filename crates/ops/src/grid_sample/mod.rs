//! Samples data at coordinates that an operand gives, and computes grids of such coordinates.

mod nest;

use super::attrs::Dims;
use super::choice::one_of;
use super::interpolation::{self, Point, Taps};
use crate::prelude::*;
use relayc_ir::tensor::{Acc, Float};
use smallvec::SmallVec;

attrs! {
    "relay.attrs.AffineGridAttrs" =>
    pub(crate) struct AffineGridAttrs {
        /// The height and width of the grid.
        pub(crate) target_shape: Dims;
    }

    "relay.attrs.GridSampleAttrs" =>
    pub(crate) struct GridSampleAttrs {
        /// `nearest`, `bilinear` (on three axes too) or, on two axes, `bicubic`.
        pub(crate) method: String = "bilinear";
        /// The axes of `data`; all but `N` and `C` are sampled.
        pub(crate) layout: String = "NCHW";
        /// The values outside the data: `zeros`, the `border`, or the data mirrored, by `reflection`.
        pub(crate) padding_mode: String = "zeros";
        /// Whether -1 and 1 are the centres of the first and last elements, or their outer edges.
        pub(crate) align_corners: bool = true;
    }
}

pub(crate) const AFFINE_GRID: OpDef = OpDef {
    name: "image.affine_grid",
    doc: "For each matrix of `data`, `out[n, :, i, j] = data[n] * (x, y, 1)`, where `y` and `x` run in equal steps from -1 to 1, \
          which they miss by 1e-7 (`src/relay/op/image/grid_sample.cc`, `python/tvm/topi/image/grid_sample.py`).",
    args: &[Arg::tensor("data")],
    attrs: Some(AffineGridAttrs::SCHEMA),
    rules: &["C1: the shape of data is (n, 2, 3)", "C2: target_shape has 2 values, each at least 2", "C3: dtype(data) is float"],
    rel: affine_grid_rel,
    eval: affine_grid_eval,
    lower: Some(Lower::Nest(nest::affine_grid)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn affine_grid_rel(cx: &mut RelCx) -> RelResult {
    let target = AffineGridAttrs::read(cx.attrs).target_shape.0.unwrap_or_default();
    let n = target.len();
    cx.require("C2", n == 2, || Fault::attr("target_shape", format!("expected 2 values, found {n}")))?;
    let steps = target.iter().all(|dim| dim.value().is_none_or(|value| value >= 2));
    cx.require("C2", steps, || Fault::attr("target_shape", "expected values of at least 2"))?;
    let data = cx.tensor(0)?;
    let [rows, columns] = [2, 3].map(Dim::known);
    let matrices = data.rank() == 3 && data.shape[1].compatible(rows) && data.shape[2].compatible(columns);
    cx.require("C1", matrices, || {
        Fault::shape(format!("expected matrices of shape (2, 3), found {}", data.shape_text())).at(data.place(), "")
    })?;
    rel::require_float(cx, "C3", &data)?;
    let sizes = target.into_iter().map(|dim| SDim::new(dim, DimOrigin::Attr("target_shape")));
    let shape: Shape = [data.dim(0), SDim::known(2, DimOrigin::Op)].into_iter().chain(sizes).collect();
    cx.set_out(shape, data.dtype)
}

fn affine_grid_eval(cx: &EvalCx) -> EvalResult {
    fn grid<T: Float>(matrices: &[T], shape: &[usize]) -> Vec<T> {
        let (height, width) = (shape[2], shape[3]);
        // The steps of TVM, which are numbers of the program.
        let at = |i: usize, n: usize| T::at(-1.0) + T::at(i as f64) * T::at((2.0 - 1e-7) / (n as f64 - 1.0));
        let mut out = Vec::with_capacity(shape.iter().product());
        for row in matrices.chunks_exact(3) {
            for (i, j) in (0..height).flat_map(|i| (0..width).map(move |j| (i, j))) {
                out.push(row[0] * at(j, width) + row[1] * at(i, height) + row[2]);
            }
        }
        out
    }
    let ty = cx.known_out()?;
    let out = match cx.tensor(0).to_acc() {
        Acc::F32(data) => Tensor::from_vec(&ty.shape, grid::<f32>(&data.iter().copied().collect::<Vec<_>>(), &ty.shape)),
        Acc::F64(data) => Tensor::from_vec(&ty.shape, grid::<f64>(&data.iter().copied().collect::<Vec<_>>(), &ty.shape)),
        Acc::I64(_) => unreachable!("the relation required floats"),
    };
    Ok(out.cast(ty.dtype).expect("the dtype of a tensor").into())
}

pub(crate) const GRID_SAMPLE: OpDef = OpDef {
    name: "image.grid_sample",
    doc: "`out[n, c, y, x] = data[n, c, grid[n, 1, y, x], grid[n, 0, y, x]]`, where -1 and 1 are the ends of an axis (with \
          `align_corners` the coordinate is `(g + 1) * (size - 1) / 2`, else `(g + 1) * size / 2 - 0.5`); on three axes \
          `grid[:, 2]` is the depth. `bilinear` interpolates between neighbours, `bicubic` by a convolution whose coefficient is \
          -0.75, `nearest` takes the nearest, the even one of two (`src/relay/op/image/grid_sample.cc`, \
          `python/tvm/topi/image/grid_sample.py`).",
    args: &[Arg::tensor("data"), Arg::tensor("grid")],
    attrs: Some(GridSampleAttrs::SCHEMA),
    rules: &[
        "C1: layout is a permutation of N, C, H and W, or of these and D, blocks allowed",
        "C2: data has the axes of layout, and blocks their size",
        "C3: the shape of grid is (n, 2, y, x), or (n, 3, z, y, x) with D, where n is that of data",
        "C4: method is \"nearest\", \"bilinear\" or, without D, \"bicubic\"",
        "C5: padding_mode is \"zeros\", \"border\" or \"reflection\"",
        "C6: dtype(grid) is float",
        "C7: blocks divide the dimensions of the result",
    ],
    rel: grid_sample_rel,
    eval: grid_sample_eval,
    lower: Some(Lower::Nest(nest::grid_sample)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

/// The axes of a layout that is to be sampled.
fn letters(layout: &str) -> &'static str {
    if layout.contains('D') { "NCDHW" } else { "NCHW" }
}

fn grid_sample_rel(cx: &mut RelCx) -> RelResult {
    let attrs = GridSampleAttrs::read(cx.attrs);
    let letters = letters(&attrs.layout);
    let layout = layout_attr("C1", "layout", &attrs.layout, |layout| layout.of(letters))?;
    let methods: &[&str] = if letters == "NCHW" { &["nearest", "bilinear", "bicubic"] } else { &["nearest", "bilinear"] };
    one_of(cx, "C4", "method", &attrs.method, methods)?;
    one_of(cx, "C5", "padding_mode", &attrs.padding_mode, &["zeros", "border", "reflection"])?;
    let (data, grid) = (cx.tensor(0)?, cx.tensor(1)?);
    let dims = layout.dims(cx, "C2", &data, letters)?;
    cx.require("C3", grid.rank() == letters.len(), || Fault::rank(letters.len(), &grid).at(data.place(), ""))?;
    let coordinates = Dim::known(letters.len() as i64 - 2);
    for (axis, expected) in [(0, dims[0]), (1, SDim::new(coordinates, DimOrigin::Op))] {
        let found = grid.shape[axis];
        cx.require("C3", found.compatible(expected.dim), || {
            Fault::shape(format!("expected dimension {}, found {found}", expected.dim)).at(grid.axis(axis), "")
        })?;
    }
    rel::require_float(cx, "C6", &grid)?;
    let sampled = (2..grid.rank()).map(|axis| grid.dim(axis));
    let out: Shape = dims[..2].iter().copied().chain(sampled).collect();
    let shape = layout.shape(cx, "C7", letters, &out)?;
    cx.set_out(shape, data.dtype)
}

fn grid_sample_eval(cx: &EvalCx) -> EvalResult {
    let attrs = GridSampleAttrs::read(cx.attrs);
    let letters = letters(&attrs.layout);
    let layout = Layout::parse(&attrs.layout).expect("the relation read it");
    let (data, grid) = (layout.unpack(letters, cx.tensor(0)), cx.tensor(1));
    let out = match (data.to_acc(), grid.to_acc()) {
        (Acc::F32(_), Acc::F32(_)) => sampled::<f32>(&data, grid, &attrs),
        _ => sampled::<f64>(&data, grid, &attrs),
    };
    Ok(layout.pack(letters, &out).into())
}

/// Data `(N, C, …)` at the points of a grid, computed in `T`.
fn sampled<T: Float>(data: &Tensor, grid: &Tensor, attrs: &GridSampleAttrs) -> Tensor {
    let (n_images, n_channels, dims) = (data.shape()[0], data.shape()[1], &data.shape()[2..]);
    let (n_axes, plane) = (dims.len(), dims.iter().product::<usize>());
    let n_points: usize = grid.shape()[2..].iter().product();
    let coordinates = T::elements(&grid.to_acc());
    // Calls `f` with the element of the result, the plane it is from, and the taps of the point.
    let each = |f: &mut dyn FnMut(usize, usize, &Point<T>)| {
        for (image, at) in (0..n_images).flat_map(|image| (0..n_points).map(move |at| (image, at))) {
            // The last axis has the first coordinate.
            let coordinate = |axis: usize| coordinates[(image * n_axes + n_axes - 1 - axis) * n_points + at];
            let taps: SmallVec<[Taps<T>; 3]> = (0..n_axes).map(|axis| attrs.taps(coordinate(axis), dims[axis])).collect();
            for plane in image * n_channels..(image + 1) * n_channels {
                f(plane * n_points + at, plane, &taps.iter().collect());
            }
        }
    };
    let shape: Vec<usize> = data.shape()[..2].iter().chain(&grid.shape()[2..]).copied().collect();
    let n = shape.iter().product();
    if attrs.method == "nearest" {
        let mut sources = vec![None; n];
        each(&mut |i, from, point| sources[i] = interpolation::only(dims, point).map(|at| from * plane + at));
        return data.pick(&shape, 0.0, |i| sources[i]);
    }
    let elements = T::elements(&data.to_acc());
    let mut out = vec![T::ZERO; n];
    each(&mut |i, from, point| out[i] = interpolation::interpolate(&elements[from * plane..][..plane], dims, point));
    Tensor::from_vec(&shape, out).cast(data.dtype()).expect("the dtype of a tensor")
}

impl GridSampleAttrs {
    /// The positions and weights on an axis of `size` elements for a coordinate of the grid.
    fn taps<T: Float>(&self, g: T, size: usize) -> Taps<T> {
        let (n, two) = (T::at(size as f64), T::at(2.0));
        let x = if self.align_corners { (g + T::ONE) * (n - T::ONE) / two } else { T::at(-0.5) + (g + T::ONE) * n / two };
        if self.method == "bicubic" {
            let points = interpolation::cubic(x, -0.75);
            let reflected = |at: i64| self.reflected(T::at(at as f64), size).to_f64() as i64;
            return match self.padding_mode.as_str() {
                "border" => interpolation::clamped(&points, size),
                "reflection" => interpolation::clamped(&points.map(|(at, weight)| (reflected(at), weight)), size),
                _ => interpolation::inside(&points, size),
            };
        }
        let onto_data = |x: T| x.most(T::ZERO).least(n - T::ONE);
        let x = match self.padding_mode.as_str() {
            "border" => onto_data(x),
            "reflection" => onto_data(self.reflected(x, size)),
            _ => x,
        };
        match self.method.as_str() {
            "nearest" => interpolation::inside(&[(x.to_f64().round_ties_even() as i64, T::ONE)], size),
            _ => interpolation::inside(&interpolation::linear(x), size),
        }
    }

    /// The coordinate folded back into the data at its ends: the middles of the outer elements, or their outer sides.
    fn reflected<T: Float>(&self, x: T, size: usize) -> T {
        let (start, length) = if self.align_corners { (T::ZERO, size as f64 - 1.0) } else { (T::at(-0.5), size as f64) };
        let length = T::at(length);
        if x >= start && x <= length + start {
            return x;
        }
        // One element reflects to itself, and so does nothing.
        if length <= T::ZERO {
            return start;
        }
        let distance = if x > start { x - start } else { start - x };
        let times = (distance / length).to_f64().floor();
        let rest = distance - T::at(times) * length;
        if times % 2.0 == 0.0 { rest + start } else { length - rest + start }
    }
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[(GRID_SAMPLE.name, Onnx::Nodes(grid_sample_onnx))];

/// Coordinates lie along the last axis in ONNX, along the second here. On three axes it has them since operator set 20 only.
fn grid_sample_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let attrs = GridSampleAttrs::read(cx.attrs);
    if attrs.layout != "NCHW" {
        return Err(format!("the layout {}", attrs.layout));
    }
    DTypeClass::Ieee.require(cx.out_dtype())?;
    DTypeClass::Ieee.require(cx.dtype(cx.tensor(1)))?;
    let (data, grid) = (cx.tensor(0), cx.transposed(cx.tensor(1), &[0, 2, 3, 1]));
    let node = cx.node("GridSample", &[data, grid]).str("mode", &attrs.method).str("padding_mode", &attrs.padding_mode);
    Ok(node.int("align_corners", attrs.align_corners.into()).one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[AFFINE_GRID, GRID_SAMPLE];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{call, extremes};

    #[test]
    fn shapes() {
        let grid = call(&AFFINE_GRID).ints("target_shape", &[4, 5]);
        assert_eq!(grid.out(&["(?, 2, 3) float16"]), "Tensor[(?, 2, 4, 5), float16]");
        let flat = ["(2, 3, 8, 9) int8", "(?, 2, 4, ?) float64"];
        assert_eq!(call(&GRID_SAMPLE).out(&flat), "Tensor[(2, 3, 4, ?), int8]");
        let deep = call(&GRID_SAMPLE).text("layout", "NDHWC");
        assert_eq!(deep.out(&["(2, 8, 8, 8, 3) float32", "(2, 3, 4, 5, 6) float32"]), "Tensor[(2, 4, 5, 6, 3), float32]");
        extremes(|| call(&AFFINE_GRID).ints("target_shape", &[4, 5]), &["(2, 2, 3) float32"]);
        extremes(|| call(&GRID_SAMPLE), &["(2, 3, 8, 8) float32", "(2, 2, 4, 4) float32"]);
    }

    #[test]
    fn wild_coordinates() {
        let wild = [f32::NAN, f32::INFINITY, -f32::INFINITY, 1e30, -1e30, 0.0];
        let grid = Tensor::from_vec(&[1, 2, 1, 6], [wild, [0.0; 6]].concat());
        for shape in [[1, 1, 0, 3], [1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 3]] {
            let data = Tensor::from_fn(&shape, |i| i as f32);
            for method in ["nearest", "bilinear", "bicubic"] {
                for padding in ["zeros", "border", "reflection"] {
                    let trial = || call(&GRID_SAMPLE).text("method", method).text("padding_mode", padding);
                    assert_eq!(trial().values(&[&data, &grid]).len(), 6);
                    assert_eq!(trial().int("align_corners", 0).values(&[&data, &grid]).len(), 6);
                }
            }
        }
    }
}
