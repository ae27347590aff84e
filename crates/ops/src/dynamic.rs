//! Operators whose attributes are tensors: shapes, axes and positions known at run time only.
//!
//! Each operator means the operator without `dyn.` with those values as its attribute, and its evaluation calls that operator.
//! The length of the values determines the rank of the result. The lengths of its axes are unknown, so they are `?`.

use super::broadcast::{BROADCAST_TO, TILE, TileAttrs};
use super::create::{FULL, InitOpAttrs, ONES, ZEROS};
use super::eval::{ArgValue, OutTy};
use super::lists::{require_list, require_numbers, unknown};
use super::reshape::{EXPAND_DIMS, RESHAPE, ReshapeAttrs, SQUEEZE, SqueezeAttrs};
use super::slice::{STRIDED_SLICE, StridedSliceAttrs};
use crate::index::{ONE_HOT, OneHotAttrs, marks_onnx, marks_rel, require_ints};
use crate::prelude::*;
use relayc_ir::types::{MAX_RANK, Solver, Ty, Types};

attrs! {
    "relay.attrs.DynExpandDimsAttrs" =>
    pub(crate) struct DynExpandDimsAttrs {
        /// The number of axes to insert.
        pub(crate) num_newaxis: i64 = 1, min 0.0;
    }
}

/// The integers of an operand as the value of an attribute.
pub(crate) fn ints(known: &KnownFacts, arg: usize) -> Option<AttrValue> {
    let value = |int: i128| AttrValue::int(int.clamp(i64::MIN.into(), i64::MAX.into()) as i64);
    Some(AttrValue::List(known.values[arg].as_ref()?.to_ints().into_iter().map(value).collect()))
}

/// The one integer of an operand.
fn int(known: &KnownFacts, arg: usize) -> Option<AttrValue> {
    let int = known.values[arg].as_ref()?.to_ints().first().copied()?;
    Some(AttrValue::int(int.clamp(i64::MIN.into(), i64::MAX.into()) as i64))
}

/// The static operator with these attributes.
fn call(def: &'static OpDef, kept: &'static [usize], attrs: Vec<AttrValue>) -> Option<Fixed> {
    Some(Fixed::Call { def, kept, attrs })
}

/// The result of the static operator, which must have the rank `rank`.
fn as_static(cx: &EvalCx, fixed: fn(&KnownFacts) -> Option<Fixed>, rank: usize) -> EvalResult {
    let values = cx.args.iter().map(|arg| match arg {
        ArgValue::Tensor(tensor) => Some(tensor.clone()),
        ArgValue::Tuple(_) => None,
    });
    let known = KnownFacts { attrs: cx.attrs, values: values.collect(), shapes: vec![] };
    let Some(Fixed::Call { def, kept, attrs }) = fixed(&known) else { unreachable!("all operands are known") };
    let (mut types, mut solver) = (Types::new(), Solver::default());
    let args: Vec<ArgValue> = kept.iter().map(|&at| cx.args[at].clone()).collect();
    let tys: Vec<Ty> = args.iter().map(|arg| arg.ty(&mut types)).collect();
    let out = solver.fresh(&mut types);
    let mut rel = RelCx::new(&mut types, &mut solver, &attrs, &tys, out);
    rel.at_run_time = true;
    match (def.rel)(&mut rel) {
        Err(Stop::Fault(fault)) => return Err((*fault).into()),
        Err(Stop::NotYet | Stop::Poisoned) => unreachable!("the operands are tensors"),
        Ok(()) => {}
    }
    let out = solver.shallow(&types, out);
    let (shape, dtype) = types.as_tensor(out).expect("the result is a tensor");
    if shape.len() != rank {
        let message = format!("expected a result of rank {rank}, found rank {}", shape.len());
        return Err(Trap::new(codes::E0303, message));
    }
    let dims: Vec<i128> = shape.iter().map(|dim| dim.value().map_or(-1, i128::from)).collect();
    let out = OutTy { shape: cx.actual_shape(&dims, dtype)?, dtype };
    (def.eval)(&EvalCx { args: &args, attrs: &attrs, out: &[out], max_bytes: cx.max_bytes })
}

const C1_SHAPE: &str = "C1: shape is a vector of numbers whose length is known, at most 32";

pub const DYN_BROADCAST_TO: OpDef = OpDef {
    name: "dyn.broadcast_to",
    doc: "`broadcast_to` with the values of the operand `shape`; the attributes are ignored \
          (`src/relay/op/dyn/tensor/transform.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("shape")],
    attrs: Some(InitOpAttrs::SCHEMA),
    rules: &[C1_SHAPE],
    rel: listed_rel,
    eval: |cx| as_static(cx, dyn_broadcast_to_fixed, cx.tensor(1).len()),
    fixed: Some(dyn_broadcast_to_fixed),
    fuse: Some(Fuse::Broadcast),
    ..OpDef::BASE
};

/// The data under a shape that operand 1 lists.
fn listed_rel(cx: &mut RelCx) -> RelResult {
    let (data, shape) = (cx.tensor(0)?, cx.tensor(1)?);
    let rank = require_list(cx, "C1", &shape)?;
    cx.set_out(unknown(rank), data.dtype)
}

fn dyn_broadcast_to_fixed(known: &KnownFacts) -> Option<Fixed> {
    call(&BROADCAST_TO, &[0], vec![ints(known, 1)?, AttrValue::DType(None)])
}

pub(crate) const DYN_ZEROS: OpDef = OpDef {
    name: "dyn.zeros",
    doc: "`zeros` in the shape whose dimensions are the values of the operand `shape`; the attribute of that name is ignored \
          (`src/relay/op/dyn/tensor/transform.cc`).",
    args: &[Arg::tensor("shape")],
    attrs: Some(InitOpAttrs::SCHEMA),
    rules: &[C1_SHAPE, "C2: dtype is the dtype of a tensor"],
    rel: dyn_init_rel,
    eval: |cx| as_static(cx, dyn_zeros_fixed, cx.tensor(0).len()),
    fixed: Some(dyn_zeros_fixed),
    fuse: Some(Fuse::ElemWise),
    ..OpDef::BASE
};

pub(crate) const DYN_ONES: OpDef = OpDef {
    name: "dyn.ones",
    doc: "`ones` in the shape whose dimensions are the values of the operand `shape`; the attribute of that name is ignored \
          (`src/relay/op/dyn/tensor/transform.cc`).",
    eval: |cx| as_static(cx, dyn_ones_fixed, cx.tensor(0).len()),
    fixed: Some(dyn_ones_fixed),
    ..DYN_ZEROS
};

fn dyn_init_rel(cx: &mut RelCx) -> RelResult {
    let attrs = InitOpAttrs::read(cx.attrs);
    let shape = cx.tensor(0)?;
    let rank = require_list(cx, "C1", &shape)?;
    let dtype = rel::require_tensor_dtype(cx, "C2", "dtype", attrs.dtype)?;
    cx.set_out(unknown(rank), dtype)
}

fn dyn_zeros_fixed(known: &KnownFacts) -> Option<Fixed> {
    call(&ZEROS, &[], vec![ints(known, 0)?, AttrValue::DType(InitOpAttrs::read(known.attrs).dtype)])
}

fn dyn_ones_fixed(known: &KnownFacts) -> Option<Fixed> {
    call(&ONES, &[], vec![ints(known, 0)?, AttrValue::DType(InitOpAttrs::read(known.attrs).dtype)])
}

pub const DYN_FULL: OpDef = OpDef {
    name: "dyn.full",
    doc: "`full` with the values of the operand `shape`; the attribute of that name is ignored \
          (`src/relay/op/dyn/tensor/transform.cc`).",
    args: &[Arg::of("fill_value", "double"), Arg::tensor("shape")],
    attrs: Some(InitOpAttrs::SCHEMA),
    rules: &[C1_SHAPE, "C2: dtype is the dtype of a tensor, if given", "C3: rank(fill_value) == 0"],
    rel: dyn_full_rel,
    eval: |cx| as_static(cx, dyn_full_fixed, cx.tensor(1).len()),
    fixed: Some(dyn_full_fixed),
    fuse: Some(Fuse::ElemWise),
    ..OpDef::BASE
};

fn dyn_full_rel(cx: &mut RelCx) -> RelResult {
    let attrs = InitOpAttrs::read(cx.attrs);
    let (value, shape) = (cx.tensor(0)?, cx.tensor(1)?);
    let rank = require_list(cx, "C1", &shape)?;
    let dtype = rel::require_tensor_dtype(cx, "C2", "dtype", attrs.dtype.or(Some(value.dtype)))?;
    cx.require("C3", value.rank() == 0, || Fault::rank(0, &value))?;
    cx.set_out(unknown(rank), dtype)
}

fn dyn_full_fixed(known: &KnownFacts) -> Option<Fixed> {
    call(&FULL, &[0], vec![ints(known, 1)?, AttrValue::DType(InitOpAttrs::read(known.attrs).dtype)])
}

pub(crate) const DYN_ONE_HOT: OpDef = OpDef {
    name: "dyn.one_hot",
    doc: "`one_hot` with the value of the operand `depth`; the attribute of that name is ignored \
          (`src/relay/op/dyn/tensor/transform.cc`).",
    args: &[Arg::tensor("indices"), Arg::of("on_value", "Expr"), Arg::of("off_value", "Expr"), Arg::of("depth", "Expr")],
    attrs: Some(OneHotAttrs::SCHEMA),
    rules: &[
        "C1: dtype(indices) is an integer",
        "C2: depth is one number, a scalar or a vector of one",
        "C3: axis is -1 or in 0…rank(indices)",
        "C4: dtype is the dtype of a tensor",
        "C5: on_value and off_value have rank 0",
    ],
    rel: dyn_one_hot_rel,
    eval: |cx| as_static(cx, dyn_one_hot_fixed, cx.tensor(0).rank() + 1),
    fixed: Some(dyn_one_hot_fixed),
    fuse: Some(Fuse::OutEWiseFusable),
    ..OpDef::BASE
};

fn dyn_one_hot_rel(cx: &mut RelCx) -> RelResult {
    let attrs = OneHotAttrs::read(cx.attrs);
    let indices = cx.tensor(0)?;
    require_ints(cx, "C1", &indices)?;
    if let Some(depth) = cx.known_tensor(3)? {
        require_numbers(cx, "C2", &depth)?;
        let one = depth.rank() == 0 || (depth.rank() == 1 && depth.shape[0].compatible(Dim::known(1)));
        cx.require("C2", one, || {
            Fault::shape(format!("expected one number, found the shape {}", depth.shape_text())).at(depth.place(), "")
        })?;
    }
    marks_rel(cx, &indices, &attrs, SDim::new(Dim::Any, DimOrigin::Op))
}

fn dyn_one_hot_fixed(known: &KnownFacts) -> Option<Fixed> {
    let attrs = OneHotAttrs::read(known.attrs);
    call(&ONE_HOT, &[0, 1, 2], vec![int(known, 3)?, AttrValue::int(attrs.axis), AttrValue::DType(attrs.dtype)])
}

pub const DYN_RESHAPE: OpDef = OpDef {
    name: "dyn.reshape",
    doc: "`reshape` with the values of the operand `newshape`; the attribute of that name is ignored. The codes -2 and -4 change \
          how many axes there are, and trap (`src/relay/op/dyn/tensor/transform.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("newshape")],
    attrs: Some(ReshapeAttrs::SCHEMA),
    rules: &["C1: newshape is a vector of numbers whose length is known, at most 32"],
    rel: listed_rel,
    eval: dyn_reshape_eval,
    fixed: Some(dyn_reshape_fixed),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn dyn_reshape_eval(cx: &EvalCx) -> EvalResult {
    let newshape = cx.tensor(1).to_ints();
    if let Some(code) = rank_changing(&newshape) {
        return Err(Trap::new(codes::E0404, format!("{code} in newshape changes the number of axes, which must be known")));
    }
    as_static(cx, dyn_reshape_fixed, newshape.len())
}

/// A code that stands for another number of axes than one.
fn rank_changing(newshape: &[i128]) -> Option<i128> {
    newshape.iter().copied().find(|code| matches!(code, -2 | -4))
}

fn dyn_reshape_fixed(known: &KnownFacts) -> Option<Fixed> {
    rank_changing(&known.values[1].as_ref()?.to_ints()).is_none().then_some(())?;
    call(&RESHAPE, &[0], vec![ints(known, 1)?, AttrValue::Bool(ReshapeAttrs::read(known.attrs).allowzero)])
}

pub(crate) const DYN_SQUEEZE: OpDef = OpDef {
    name: "dyn.squeeze",
    work: Work::None,
    doc: "`squeeze` with the values of the operand `axes`, all different; the attribute is ignored \
          (`src/relay/op/dyn/tensor/transform.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("axes")],
    attrs: Some(SqueezeAttrs::SCHEMA),
    rules: &["C1: axes is a vector of numbers whose length is known, at most 32", "C2: axes holds at most rank(data) numbers"],
    rel: dyn_squeeze_rel,
    eval: |cx| as_static(cx, dyn_squeeze_fixed, cx.tensor(0).rank() - cx.tensor(1).len()),
    fixed: Some(dyn_squeeze_fixed),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn dyn_squeeze_rel(cx: &mut RelCx) -> RelResult {
    let (data, axes) = (cx.tensor(0)?, cx.tensor(1)?);
    let n = require_list(cx, "C1", &axes)?;
    cx.require("C2", n <= data.rank(), || {
        Fault::shape(format!("cannot remove {n} axes of rank {}", data.rank()))
            .at(axes.axis(0), "")
            .at(data.place(), "")
            .equation("axes[0] <= rank(data)", format!("{n} <= {}", data.rank()))
    })?;
    cx.set_out(unknown(data.rank() - n), data.dtype)
}

fn dyn_squeeze_fixed(known: &KnownFacts) -> Option<Fixed> {
    call(&SQUEEZE, &[0], vec![ints(known, 1)?])
}

pub(crate) const DYN_EXPAND_DIMS: OpDef = OpDef {
    name: "dyn.expand_dims",
    doc: "`expand_dims` with the value of the operand `axis` (`src/relay/op/dyn/tensor/transform.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("axis")],
    // TVM registers no attribute type with it; a call brings its own, in the metadata section or by `attrs_type_key`.
    attrs: Some(&AttrSchema { declared: false, ..*DynExpandDimsAttrs::SCHEMA }),
    rules: &["C1: axis is a number, of rank 0", "C2: 0 <= num_newaxis, and the result's rank is at most 32"],
    rel: dyn_expand_dims_rel,
    eval: dyn_expand_dims_eval,
    fixed: Some(dyn_expand_dims_fixed),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn dyn_expand_dims_rel(cx: &mut RelCx) -> RelResult {
    let n = DynExpandDimsAttrs::read(cx.attrs).num_newaxis;
    let (data, axis) = (cx.tensor(0)?, cx.tensor(1)?);
    require_numbers(cx, "C1", &axis)?;
    cx.require("C1", axis.rank() == 0, || Fault::rank(0, &axis))?;
    let most = MAX_RANK.saturating_sub(data.rank());
    let n = usize::try_from(n).ok().filter(|&n| n <= most);
    cx.require("C2", n.is_some(), || {
        Fault::attr("num_newaxis", format!("expected num_newaxis in 0…{most}")).at(data.place(), "")
    })?;
    cx.set_out(unknown(data.rank() + n.unwrap_or(0)), data.dtype)
}

fn dyn_expand_dims_eval(cx: &EvalCx) -> EvalResult {
    let n = DynExpandDimsAttrs::read(cx.attrs).num_newaxis;
    as_static(cx, dyn_expand_dims_fixed, cx.tensor(0).rank() + n as usize)
}

fn dyn_expand_dims_fixed(known: &KnownFacts) -> Option<Fixed> {
    let n = DynExpandDimsAttrs::read(known.attrs).num_newaxis;
    call(&EXPAND_DIMS, &[0], vec![int(known, 1)?, AttrValue::int(n)])
}

pub const DYN_STRIDED_SLICE: OpDef = OpDef {
    name: "dyn.strided_slice",
    work: Work::None,
    doc: "`strided_slice` of the first axes, with the values of the operands `begin`, `end` and `strides`; of the attributes \
          only `slice_mode` counts (`src/relay/op/dyn/tensor/transform.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("begin"), Arg::tensor("end"), Arg::tensor("strides")],
    attrs: Some(StridedSliceAttrs::SCHEMA),
    rules: &[
        "C1: begin, end and strides are vectors of numbers whose lengths are known",
        "C2: their lengths are the same, and at most rank(data)",
        "C3: slice_mode is \"end\" or \"size\"",
    ],
    rel: dyn_strided_slice_rel,
    eval: |cx| as_static(cx, dyn_strided_slice_fixed, cx.tensor(0).rank()),
    fixed: Some(dyn_strided_slice_fixed),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn dyn_strided_slice_rel(cx: &mut RelCx) -> RelResult {
    let attrs = StridedSliceAttrs::read(cx.attrs);
    let (data, begin) = (cx.tensor(0)?, cx.tensor(1)?);
    let n = require_list(cx, "C1", &begin)?;
    cx.require("C2", n <= data.rank(), || {
        Fault::shape(format!("cannot slice {n} axes of rank {}", data.rank())).at(begin.axis(0), "").at(data.place(), "")
    })?;
    for arg in 2..4 {
        let Some(list) = cx.known_tensor(arg)? else { continue };
        let length = require_list(cx, "C1", &list)?;
        cx.require("C2", length == n, || {
            Fault::shape(format!("expected {n} numbers, as begin has, found {length}"))
                .at(list.axis(0), "")
                .at(begin.axis(0), "")
                .equation(format!("{}[0] == begin[0]", DYN_STRIDED_SLICE.args[arg].name), format!("{length} == {n}"))
        })?;
    }
    cx.require("C3", ["end", "size"].contains(&attrs.slice_mode.as_str()), || {
        let message = format!("expected slice_mode \"end\" or \"size\", found {:?}", attrs.slice_mode);
        Fault::attr("slice_mode", message).set_attr("slice_mode", "\"end\"")
    })?;
    let mut shape = unknown(n);
    shape.extend((n..data.rank()).map(|axis| data.dim(axis)));
    cx.set_out(shape, data.dtype)
}

fn dyn_strided_slice_fixed(known: &KnownFacts) -> Option<Fixed> {
    let mode = AttrValue::str(&StridedSliceAttrs::read(known.attrs).slice_mode);
    call(&STRIDED_SLICE, &[0], vec![ints(known, 1)?, ints(known, 2)?, ints(known, 3)?, mode, AttrValue::None])
}

pub(crate) const DYN_TILE: OpDef = OpDef {
    name: "dyn.tile",
    work: Work::None,
    doc: "`tile` with the values of the operand `reps`; the attribute of that name is ignored \
          (`src/relay/op/dyn/tensor/transform.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("reps")],
    attrs: Some(TileAttrs::SCHEMA),
    rules: &["C1: reps is a vector of numbers whose length is known, at most 32"],
    rel: dyn_tile_rel,
    eval: |cx| as_static(cx, dyn_tile_fixed, cx.tensor(1).len().max(cx.tensor(0).rank())),
    fixed: Some(dyn_tile_fixed),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn dyn_tile_rel(cx: &mut RelCx) -> RelResult {
    let (data, reps) = (cx.tensor(0)?, cx.tensor(1)?);
    let n = require_list(cx, "C1", &reps)?;
    cx.set_out(unknown(n.max(data.rank())), data.dtype)
}

fn dyn_tile_fixed(known: &KnownFacts) -> Option<Fixed> {
    call(&TILE, &[0], vec![ints(known, 1)?])
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (DYN_BROADCAST_TO.name, Onnx::Nodes(|cx| listed_onnx(cx, "Expand"))),
    (DYN_ZEROS.name, Onnx::Nodes(|cx| filled_onnx(cx, 0.0))),
    (DYN_ONES.name, Onnx::Nodes(|cx| filled_onnx(cx, 1.0))),
    (DYN_FULL.name, Onnx::Nodes(full_onnx)),
    (DYN_ONE_HOT.name, Onnx::Nodes(one_hot_onnx)),
    (DYN_RESHAPE.name, Onnx::Nodes(reshape_onnx)),
    (DYN_SQUEEZE.name, Onnx::Nodes(|cx| listed_onnx(cx, "Squeeze"))),
    (DYN_EXPAND_DIMS.name, Onnx::Nodes(expand_dims_onnx)),
    (DYN_STRIDED_SLICE.name, Onnx::Nodes(strided_slice_onnx)),
    (DYN_TILE.name, Onnx::Nodes(tile_onnx)),
];

/// An operand of shapes, axes or positions as ONNX takes them: int64.
fn list_onnx(cx: &mut OnnxCx, arg: usize) -> Result<ValueId, String> {
    let list = cx.tensor(arg);
    cx.cast(list, cx.dtype(list), DType::I64)
}

/// A node of the data and the list.
pub(crate) fn listed_onnx(cx: &mut OnnxCx, kind: &'static str) -> OnnxResult {
    let (data, list) = (cx.tensor(0), list_onnx(cx, 1)?);
    Ok(cx.node(kind, &[data, list]).one().into())
}

fn filled_onnx(cx: &mut OnnxCx, value: f64) -> OnnxResult {
    let (shape, value) = (list_onnx(cx, 0)?, cx.scalar("value", cx.out_dtype(), value)?);
    Ok(cx.node("Expand", &[value, shape]).one().into())
}

fn full_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (value, shape) = (cx.operand_as_out(0)?, list_onnx(cx, 1)?);
    Ok(cx.node("Expand", &[value, shape]).one().into())
}

fn one_hot_onnx(cx: &mut OnnxCx) -> OnnxResult {
    marks_onnx(cx, |cx, dtype, behind| {
        let depth = list_onnx(cx, 3)?;
        let depth = cx.reshaped(depth, &[]);
        let (first, step) = (cx.scalar("first", DType::I64, 0.0)?, cx.scalar("step", DType::I64, 1.0)?);
        let positions = cx.node("Range", &[first, depth, step]).one();
        let positions = cx.cast(positions, DType::I64, dtype)?;
        Ok(cx.reshaped(positions, &[vec![-1], vec![1; behind]].concat()))
    })
}

fn reshape_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (data, shape, zero) = (cx.tensor(0), list_onnx(cx, 1)?, ReshapeAttrs::read(cx.attrs).allowzero);
    let node = cx.node("Reshape", &[data, shape]);
    Ok(if zero { node.int("allowzero", 1).one() } else { node.one() }.into())
}

/// The axis is one number here, and ONNX has one for each axis that is put in.
fn expand_dims_onnx(cx: &mut OnnxCx) -> OnnxResult {
    if DynExpandDimsAttrs::read(cx.attrs).num_newaxis != 1 {
        return Err("several axes at a place that only a run knows".into());
    }
    let (data, axis) = (cx.tensor(0), list_onnx(cx, 1)?);
    let axes = cx.reshaped(axis, &[1]);
    Ok(cx.node("Unsqueeze", &[data, axes]).one().into())
}

fn strided_slice_onnx(cx: &mut OnnxCx) -> OnnxResult {
    if StridedSliceAttrs::read(cx.attrs).slice_mode != "end" {
        return Err("sizes of parts in place of their ends".into());
    }
    let n = cx.dim(cx.tensor(1), 0)?;
    let data = cx.tensor(0);
    let [begin, end, strides] = [list_onnx(cx, 1)?, list_onnx(cx, 2)?, list_onnx(cx, 3)?];
    let axes = cx.ints("axes", &(0..n).collect::<Vec<i64>>());
    Ok(cx.node("Slice", &[data, begin, end, axes, strides]).one().into())
}

/// ONNX has a number for each axis.
fn tile_onnx(cx: &mut OnnxCx) -> OnnxResult {
    if cx.dim(cx.tensor(1), 0)? != cx.rank(cx.tensor(0)) as i64 {
        return Err("other than one repetition for each axis".into());
    }
    listed_onnx(cx, "Tile")
}

pub(crate) const FAMILY: &[OpDef] = &[
    DYN_BROADCAST_TO,
    DYN_ZEROS,
    DYN_ONES,
    DYN_FULL,
    DYN_ONE_HOT,
    DYN_RESHAPE,
    DYN_SQUEEZE,
    DYN_EXPAND_DIMS,
    DYN_STRIDED_SLICE,
    DYN_TILE,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{call, extremes};
    use relayc_ir::tensor::Tensor;

    #[test]
    fn ranks_from_lengths() {
        assert_eq!(call(&DYN_RESHAPE).out(&["(2, 6) int8", "(3) int64"]), "Tensor[(?, ?, ?), int8]");
        assert_eq!(call(&DYN_TILE).out(&["(2, 6, 1) int8", "(1) int64"]), "Tensor[(?, ?, ?), int8]");
        assert_eq!(call(&DYN_SQUEEZE).out(&["(2, 6, 1) int8", "(1) int64"]), "Tensor[(?, ?), int8]");
        let slice = call(&DYN_STRIDED_SLICE).text("slice_mode", "end");
        assert_eq!(slice.out(&["(2, 6, 1i64) int8", "(1) int64", "_", "(1) int64"]), "Tensor[(?, 6, 1i64), int8]");
        assert_eq!(call(&DYN_RESHAPE).fault(&["(2) int8", "(99999999999) int64"]).rule, "C1");
        for def in FAMILY {
            extremes(|| call(def), &["(2, 3) float32", "(2) int64", "(2) int64", "(2) int64"][..def.args.len()]);
        }
    }

    #[test]
    fn hostile_values_trap() {
        let list = |values: &[i64]| Tensor::from_vec(&[values.len()], values.to_vec());
        let data = Tensor::from_fn(&[2, 3], |i| i as i32);
        for a in [i64::MIN, -5, -3, -2, -1, 0, 1, 2, 3, 1 << 40, i64::MAX] {
            for b in [i64::MIN, -4, -1, 0, 1, 3, i64::MAX] {
                for def in [&DYN_RESHAPE, &DYN_BROADCAST_TO, &DYN_TILE, &DYN_SQUEEZE] {
                    let _ = call(def).eval(&[&data, &list(&[a, b])]);
                }
                let slice = call(&DYN_STRIDED_SLICE).text("slice_mode", "end");
                let _ = slice.eval(&[&data, &list(&[a, b]), &list(&[b, a]), &list(&[b, 1])]);
            }
        }
    }
}
