//! Upsampling: resizes images along the spatial axes by factors instead of sizes.

use super::blocks::{self, Blocks};
use super::choice::one_of;
use super::resize::{Sampling, resized, resized_onnx, sampled};
use crate::interpolation::TAPS;
use crate::prelude::*;
use crate::window::{DHW, HW};
use relayc_ir::types::{SymbolKind, Symbols};

attrs! {
    "relay.attrs.UpSamplingAttrs" =>
    pub(crate) struct UpSamplingAttrs {
        /// The factor for the height; ignored if an operand gives it.
        pub(crate) scale_h: f64;
        /// The factor for the width; ignored if an operand gives it.
        pub(crate) scale_w: f64;
        /// The axes of `data`.
        pub(crate) layout: String = "NCHW";
        /// The interpolation: `nearest_neighbor`, `bilinear` or `bicubic`.
        pub(crate) method: String = "nearest_neighbor";
        /// Whether the centres of the outermost elements of data and result coincide.
        pub(crate) align_corners: bool = false;
    }

    "relay.attrs.UpSampling3DAttrs" =>
    pub(crate) struct UpSampling3dAttrs {
        /// The factor for the depth; ignored if an operand gives it.
        pub(crate) scale_d: f64;
        /// The factor for the height; ignored if an operand gives it.
        pub(crate) scale_h: f64;
        /// The factor for the width; ignored if an operand gives it.
        pub(crate) scale_w: f64;
        /// The axes of `data`.
        pub(crate) layout: String = "NCDHW";
        /// The interpolation: `nearest_neighbor`, `trilinear` or `tricubic`.
        pub(crate) method: String = "nearest_neighbor";
        /// The rule that maps an element of the result to the data: `half_pixel`, `align_corners` or `asymmetric`.
        pub(crate) coordinate_transformation_mode: String = "half_pixel";
    }
}

pub const UPSAMPLING: OpDef = OpDef {
    name: "nn.upsampling",
    work: TAPS,
    doc: "The axes `H` and `W` of the result have `round(in * scale)` elements, ties to even. Element `i` of `out` lies at `x = \
          i * in / out` of `data`, with `align_corners` at `i * (in - 1) / (out - 1)`, and is the element below `x` (with \
          `align_corners`: the nearest), or interpolates the two (`bilinear`) or four (`bicubic`, with -0.5 for `a`) around it \
          along each axis; the outermost elements continue past the ends. Integers are truncated \
          (`src/relay/op/nn/upsampling.cc`, `python/tvm/topi/nn/upsampling.py`).",
    args: &[Arg::tensor("data")],
    attrs: Some(UpSamplingAttrs::SCHEMA),
    rules: &[
        "C1: layout is a permutation of N, C, H and W, blocks allowed",
        "C2: data has the axes of layout, and blocks their size",
        "C3: scales are at least 0, and the dimensions of the result int64",
        "C4: method is \"nearest_neighbor\", \"bilinear\" or \"bicubic\"",
        "C5: blocks divide the dimensions of the result",
    ],
    rel: |cx| static_rel(cx, HW),
    blocks: Some(Blocks::Same(blocks::named)),
    eval: |cx| static_eval(cx, HW),
    lower: Some(Lower::Nest(|call| static_nest(call, HW))),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

pub(crate) const UPSAMPLING3D: OpDef = OpDef {
    name: "nn.upsampling3d",
    work: TAPS,
    doc: "As `nn.upsampling`, along the axes `D`, `H` and `W`; element `i` of `out` lies at `(i + 0.5) * in / out - 0.5` (`half_pixel`), \
          or as there with and without `align_corners` (`align_corners`, `asymmetric`) (`src/relay/op/nn/upsampling.cc`, \
          `python/tvm/topi/nn/upsampling.py`).",
    attrs: Some(UpSampling3dAttrs::SCHEMA),
    rules: &[
        "C1: layout is a permutation of N, C, D, H and W, blocks allowed",
        "C2: data has the axes of layout, and blocks their size",
        "C3: scales are at least 0, and the dimensions of the result int64",
        "C4: method is \"nearest_neighbor\", \"trilinear\" or \"tricubic\"",
        "C5: coordinate_transformation_mode is \"half_pixel\", \"align_corners\" or \"asymmetric\"",
        "C6: blocks divide the dimensions of the result",
    ],
    rel: |cx| static_rel(cx, DHW),
    eval: |cx| static_eval(cx, DHW),
    lower: Some(Lower::Nest(|call| static_nest(call, DHW))),
    ..UPSAMPLING
};

pub(crate) const DYN_UPSAMPLING: OpDef = OpDef {
    name: "dyn.nn.upsampling",
    work: TAPS,
    doc: "As `nn.upsampling`, with the scales as operands; ties are rounded away from zero (`src/relay/op/dyn/nn/upsampling.cc`).",
    args: &[Arg::tensor("data"), Arg::of("scale_h", "double"), Arg::of("scale_w", "double")],
    rules: &[
        "C1: layout is a permutation of N, C, H and W, blocks allowed",
        "C2: data has the axes of layout, and blocks their size",
        "C3: the scales are scalars",
        "C4: method is \"nearest_neighbor\", \"bilinear\" or \"bicubic\"",
    ],
    rel: |cx| dynamic_rel(cx, HW),
    eval: |cx| dynamic_eval(cx, HW),
    lower: None,
    fixed: Some(|known| with_scales(known, &UPSAMPLING, 2)),
    ..UPSAMPLING
};

pub(crate) const DYN_UPSAMPLING3D: OpDef = OpDef {
    name: "dyn.nn.upsampling3d",
    work: TAPS,
    doc: "As `nn.upsampling3d`, with the scales as operands; ties are rounded away from zero (`src/relay/op/dyn/nn/upsampling.cc`).",
    args: &[Arg::tensor("data"), Arg::of("scale_d", "double"), Arg::of("scale_h", "double"), Arg::of("scale_w", "double")],
    rules: &[
        "C1: layout is a permutation of N, C, D, H and W, blocks allowed",
        "C2: data has the axes of layout, and blocks their size",
        "C3: the scales are scalars",
        "C4: method is \"nearest_neighbor\", \"trilinear\" or \"tricubic\"",
        "C5: coordinate_transformation_mode is \"half_pixel\", \"align_corners\" or \"asymmetric\"",
    ],
    rel: |cx| dynamic_rel(cx, DHW),
    eval: |cx| dynamic_eval(cx, DHW),
    lower: None,
    fixed: Some(|known| with_scales(known, &UPSAMPLING3D, 3)),
    ..UPSAMPLING3D
};

/// The attributes that both types share.
struct Plan {
    scales: Vec<f64>,
    layout: String,
    method: String,
    coordinates: String,
}

impl Plan {
    fn read(values: &[AttrValue], spatial: &str) -> Plan {
        if spatial == HW {
            let UpSamplingAttrs { scale_h, scale_w, layout, method, align_corners } = UpSamplingAttrs::read(values);
            let coordinates = if align_corners { "align_corners" } else { "asymmetric" }.into();
            return Plan { scales: vec![scale_h, scale_w], layout, method, coordinates };
        }
        let UpSampling3dAttrs { scale_d, scale_h, scale_w, layout, method, coordinate_transformation_mode: coordinates } =
            UpSampling3dAttrs::read(values);
        Plan { scales: vec![scale_d, scale_h, scale_w], layout, method, coordinates }
    }

    /// The method, in `resize`'s words.
    fn method(&self) -> Option<&'static str> {
        match self.method.as_str() {
            "nearest_neighbor" => Some("nearest_neighbor"),
            "bilinear" | "trilinear" | "linear" => Some("linear"),
            "bicubic" | "tricubic" | "cubic" => Some("cubic"),
            _ => None,
        }
    }

    fn sampling(self, spatial: &str) -> Sampling {
        Sampling {
            method: self.method().expect("the relation read it").into(),
            mode: self.coordinates,
            rounding: String::new(),
            alpha: -0.5,
            exclude: false,
            extrapolation: 0.0,
            ends: false,
            whole_ratios: spatial == HW,
        }
    }
}

/// All axes, the spatial ones last.
fn letters(spatial: &str) -> String {
    format!("NC{spatial}")
}

// ---- Types ----

/// The rules on attributes, and the dimensions of N, C and the spatial axes.
fn read(cx: &mut RelCx, plan: &Plan, spatial: &str) -> RelResult<(Layout, Shape, DType)> {
    let layout = layout_attr("C1", "layout", &plan.layout, |layout| layout.of(&letters(spatial)))?;
    if plan.method().is_none() {
        let words = if spatial == HW {
            ["nearest_neighbor", "bilinear", "bicubic"]
        } else {
            ["nearest_neighbor", "trilinear", "tricubic"]
        };
        one_of(cx, "C4", "method", &plan.method, &words)?;
    }
    if spatial != HW {
        let words = ["half_pixel", "align_corners", "asymmetric"];
        one_of(cx, "C5", "coordinate_transformation_mode", &plan.coordinates, &words)?;
    }
    let data = cx.tensor(0)?;
    let dims = layout.dims(cx, "C2", &data, &letters(spatial))?;
    Ok((layout, dims, data.dtype))
}

fn static_rel(cx: &mut RelCx, spatial: &str) -> RelResult {
    let plan = Plan::read(cx.attrs, spatial);
    let (layout, mut dims, dtype) = read(cx, &plan, spatial)?;
    let names: &[&'static str] = if spatial == HW { &["scale_h", "scale_w"] } else { &["scale_d", "scale_h", "scale_w"] };
    for (at, (&scale, &name)) in plan.scales.iter().zip(names).enumerate() {
        cx.require("C3", scale >= 0.0 && scale.is_finite(), || {
            Fault::attr(name, format!("expected a number of at least 0, found {scale}"))
        })?;
        let dim = dims[2 + at];
        let size = dim.value().map(|value| size(value as f64 * scale, f64::round_ties_even));
        cx.require("C3", size != Some(None), || {
            Fault::attr(name, format!("{} times {scale} is more than an int64", dim.dim)).at(dim.place(), "")
        })?;
        let dim = match size {
            Some(size) => size.map_or(Dim::Any, Dim::known),
            None => scaled(&mut cx.types.symbols, dim.dim, scale),
        };
        dims[2 + at] = SDim::new(dim, DimOrigin::Attr(name));
    }
    let blocks = if spatial == HW { "C5" } else { "C6" };
    let shape = layout.shape(cx, blocks, &letters(spatial), &dims)?;
    cx.set_out(shape, dtype)
}

/// The rounded size, where it is one.
fn size(size: f64, round: fn(f64) -> f64) -> Option<i64> {
    let size = round(size);
    (0.0..i64::MAX as f64).contains(&size).then_some(size as i64)
}

/// `int32(round(float64(dim) * scale))`, as TVM writes it where the dimension is a symbol or `?`.
fn scaled(symbols: &mut Symbols, dim: Dim, scale: f64) -> Dim {
    let value = dim.symbol().map_or_else(|| symbols.node(SymbolKind::Any), |symbol| symbol.id);
    let dtype = symbols.dtype(value);
    let lhs = symbols.node(SymbolKind::Cast { value, dtype: DType::F64 });
    let rhs = symbols.node(SymbolKind::Float { value: scale, dtype: DType::F64 });
    let product = symbols.node(SymbolKind::Binary { op: SymbolOp::Mul, lhs, rhs, dtype: DType::F64 });
    let round = symbols.node(SymbolKind::Call { op: "tir.round".into(), args: [product].into(), dtype: DType::F64 });
    let cast = symbols.node(SymbolKind::Cast { value: round, dtype });
    symbols.dim(cast)
}

fn dynamic_rel(cx: &mut RelCx, spatial: &str) -> RelResult {
    let plan = Plan::read(cx.attrs, spatial);
    let (layout, mut dims, dtype) = read(cx, &plan, spatial)?;
    for arg in 1..=spatial.len() {
        // TVM asks for the types of two scales, not of three.
        let scale = if spatial == HW { Some(cx.tensor(arg)?) } else { cx.known_tensor(arg)? };
        if let Some(scale) = scale {
            cx.require("C3", scale.rank() == 0, || Fault::rank(0, &scale))?;
        }
        dims[1 + arg] = SDim::new(Dim::Any, DimOrigin::Op);
    }
    let shape = layout.shape(cx, "C1", &letters(spatial), &dims)?;
    cx.set_out(shape, dtype)
}

// ---- Values ----

fn static_eval(cx: &EvalCx, spatial: &str) -> EvalResult {
    let layout = Layout::parse(&Plan::read(cx.attrs, spatial).layout).expect("the relation read it");
    let size = layout.whole(spatial, &cx.known_out()?.shape);
    upsampled(cx, &layout, spatial, &size)
}

fn dynamic_eval(cx: &EvalCx, spatial: &str) -> EvalResult {
    let layout = Layout::parse(&Plan::read(cx.attrs, spatial).layout).expect("the relation read it");
    let data = cx.tensor(0);
    let mut shape = layout.whole(&letters(spatial), data.shape());
    for (at, letter) in spatial.chars().enumerate() {
        let scale = cx.tensor(1 + at).to_f64s()[0];
        let found = size(shape[2 + at] as f64 * scale, f64::round).filter(|size| size % layout.block(letter) == 0);
        shape[2 + at] = found.ok_or_else(|| Trap::new(codes::E0404, format!("cannot scale {letter} by {scale}")))? as usize;
    }
    cx.check_size(&shape, data.dtype())?;
    upsampled(cx, &layout, spatial, &shape[2..])
}

/// The data with these sizes of the spatial axes.
fn upsampled(cx: &EvalCx, layout: &Layout, spatial: &str, size: &[usize]) -> EvalResult {
    let data = layout.unpack(&letters(spatial), cx.tensor(0));
    let sampling = Plan::read(cx.attrs, spatial).sampling(spatial);
    let out = resized(&data, size, &vec![0.0; 2 * size.len()], &sampling, data.dtype())?;
    Ok(layout.pack(&letters(spatial), &out).into())
}

fn static_nest(call: &Call, spatial: &str) -> Option<Template> {
    let plan = Plan::read(call.attrs, spatial);
    let layout = plan.layout.clone();
    sampled(call, &layout, spatial, &vec![0.0; 2 * spatial.len()], &plan.sampling(spatial))
}

/// The call with the scales as attributes, which come first.
fn with_scales(known: &KnownFacts, def: &'static OpDef, n: usize) -> Option<Fixed> {
    let mut attrs = known.attrs.to_vec();
    for (attr, value) in attrs.iter_mut().zip(&known.values[1..=n]) {
        *attr = AttrValue::float(*value.as_ref()?.to_f64s().first()?);
    }
    Some(Fixed::Call { def, kept: &[0], attrs })
}

// ---- In ONNX ----

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (UPSAMPLING.name, Onnx::Nodes(|cx| upsampling_onnx(cx, HW))),
    (UPSAMPLING3D.name, Onnx::Nodes(|cx| upsampling_onnx(cx, DHW))),
];

fn upsampling_onnx(cx: &mut OnnxCx, spatial: &str) -> OnnxResult {
    let plan = Plan::read(cx.attrs, spatial);
    let layout = plan.layout.clone();
    resized_onnx(cx, (&layout, &letters(spatial)), &plan.sampling(spatial), None)
}

pub(crate) const FAMILY: &[OpDef] = &[UPSAMPLING, UPSAMPLING3D, DYN_UPSAMPLING, DYN_UPSAMPLING3D];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{Trial, call, extremes};
    use relayc_ir::tensor::Tensor;

    fn up(height: f64, width: f64) -> Trial {
        call(&UPSAMPLING).attr("scale_h", AttrValue::float(height)).attr("scale_w", AttrValue::float(width))
    }

    fn up3(scale: f64) -> Trial {
        ["scale_d", "scale_h", "scale_w"]
            .iter()
            .fold(call(&UPSAMPLING3D), |trial, name| trial.attr(name, AttrValue::float(scale)))
    }

    #[test]
    fn types() {
        assert_eq!(up(2.0, 0.5).out(&["(1, ?, 5, 5i64) int8"]), "Tensor[(1, ?, 10, 2), int8]");
        assert_eq!(
            up(2.0, 3.0).text("layout", "NHWC4c").out(&["(1, ?, 5, 2, 4) int8"]),
            "Tensor[(1, tir.round(Mul(?, 2)), 15, 2, 4), int8]"
        );
        assert_eq!(up3(2.0).text("layout", "NDHWC").out(&["(1, 2, 3, 4, 5) int8"]), "Tensor[(1, 4, 6, 8, 5), int8]");
        let data = ["(1, 2, 5, 5) int8"];
        assert_eq!(up(1.0, 1.0).text("layout", "NCW").fault(&data).rule, "C1");
        assert_eq!(up(1.0, 1.0).fault(&["(1, 2, 5) int8"]).rule, "C2");
        for scale in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(up(1.0, scale).fault(&data).rule, "C3");
        }
        assert_eq!(up(1.0, 1.0).text("method", "trianglular").fault(&data).rule, "C4");
        assert_eq!(up(0.5, 1.0).text("layout", "NCHW2h").fault(&["(1, 2, 3, 5, 2) int8"]).rule, "C5");
        let mode = |mode: &str| up3(1.0).text("coordinate_transformation_mode", mode);
        assert_eq!(mode("half").fault(&["(1, 2, 3, 5, 2) int8"]).rule, "C5");
        extremes(|| up(2.0, 2.0), &data);
        extremes(|| up3(2.0), &["(1, 2, 3, 5, 2) int8"]);
        let dynamic = call(&DYN_UPSAMPLING);
        assert_eq!(dynamic.out(&[data[0], "() float32", "() float64"]), "Tensor[(1, 2, ?, ?), int8]");
        assert_eq!(dynamic.fault(&[data[0], "(1) float32", "() float64"]).rule, "C3");
        assert_eq!(dynamic.out(&[data[0], "() int32", "() float64"]), "Tensor[(1, 2, ?, ?), int8]");
        extremes(|| call(&DYN_UPSAMPLING3D), &["(1, 2, 3, 5, 2) int8", "() float32", "() float32", "() float32"]);
    }

    #[test]
    fn nearest() {
        let x = Tensor::from_vec(&[1, 1, 2, 2], vec![i64::MAX, 2, 3, 4]);
        let out = up(2.0, 1.5).eval(&[&x]).expect("it runs").remove(0);
        assert_eq!(out.to_vec::<i64>().expect("i64"), [i64::MAX, i64::MAX, 2, i64::MAX, i64::MAX, 2, 3, 3, 4, 3, 3, 4]);
        let aligned = up(1.0, 2.0).attr("align_corners", AttrValue::Bool(true));
        assert_eq!(aligned.values(&[&Tensor::from_vec(&[1, 1, 1, 2], vec![1f32, 2.0])]), [1.0, 1.0, 2.0, 2.0]);
        assert_eq!(up(0.5, 0.5).values(&[&x.cast(DType::I8).expect("a tensor's dtype")]), [-1.0]);
        assert!(up(0.0, 2.0).values(&[&x]).is_empty());
    }

    #[test]
    fn between() {
        let x = Tensor::from_vec(&[1, 1, 1, 3], vec![0f32, 4.0, 8.0]);
        assert_eq!(up(1.0, 2.0).text("method", "bilinear").values(&[&x]), [0.0, 2.0, 4.0, 6.0, 8.0, 8.0]);
        let aligned = up(1.0, 5.0 / 3.0).text("method", "bilinear").attr("align_corners", AttrValue::Bool(true));
        assert_eq!(aligned.values(&[&x]), [0.0, 2.0, 4.0, 6.0, 8.0]);
        let half = up3(2.0).text("method", "trilinear").values(&[&Tensor::from_vec(&[1, 1, 1, 1, 2], vec![0f32, 4.0])]);
        assert_eq!(half, [0.0, 1.0, 3.0, 4.0].repeat(4));
        // Cubic convolution takes a straight line as it is where it has four elements.
        let line = Tensor::from_fn(&[1, 6, 1, 1], |i| i as f64);
        let cubic = up(2.0, 1.0).text("method", "bicubic").text("layout", "NHWC").values(&[&line]);
        assert_eq!(cubic[2..=8], [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]);
        assert_eq!(cubic[1], 0.4375);
        assert_eq!(cubic.len(), 12);
    }
}
