//! Operators that TVM's compiler for its virtual machine writes: memory, compiled functions, shapes. All are internal to its passes;
//! only a mark, and the reshape by which the importer of ONNX holds a tensor to the shape that a model declares, have an evaluation.

use super::annotation::{any_type_rel, operand};
use super::attrs::{Constant, Dims, DimsOrNone, EnvFunc, ObjectMap, ObjectOf, VirtualDevice};
use super::create::{SHAPE_OF, shape_of_onnx};
use super::dynamic::{DYN_RESHAPE, listed_onnx};
use super::rel::require_tensor_dtype;
use crate::prelude::*;
use relayc_ir::types::{Ty, TyData};

attrs! {
    "relay.attrs.AllocStorageAttrs" =>
    pub(crate) struct AllocStorageAttrs {
        /// The dtype to align for.
        pub(crate) dtype: Option<DType> = Some(DType::F32);
        /// The device of the memory.
        pub(crate) virtual_device: ObjectOf<VirtualDevice>;
    }

    "relay.attrs.AllocTensorAttrs" =>
    pub(crate) struct AllocTensorAttrs {
        /// The dtype of the tensor.
        pub(crate) dtype: Option<DType> = Some(DType::F32);
        /// The operand `shape`, if it is a constant.
        pub(crate) const_shape: Constant;
        /// The known part of the shape otherwise.
        pub(crate) assert_shape: DimsOrNone;
    }

    "relay.attrs.ReshapeTensorAttrs" =>
    pub(crate) struct ReshapeTensorAttrs {
        /// The known part of the operand `shape`.
        pub(crate) newshape: Dims;
    }

    "relay.attrs.CallLoweredAttrs" =>
    pub(crate) struct CallLoweredAttrs {
        /// The facts about the call that TVM's passes need.
        pub(crate) metadata: ObjectOf<ObjectMap> = None;
    }

    "relay.attrs.DebugAttrs" =>
    pub(crate) struct DebugAttrs {
        /// The function to call; null stops in the debugger.
        pub(crate) debug_func: ObjectOf<EnvFunc>;
    }

    "relay.attrs.MetaRefAttrs" =>
    pub(crate) struct MetaRefAttrs {
        /// The type key of the entry.
        pub(crate) node_type_key: String;
        /// Its index among the entries of the type.
        pub(crate) node_index: i64;
    }
}

pub(crate) const ALLOC_STORAGE: OpDef = OpDef {
    name: "memory.alloc_storage",
    doc: "Memory of `size` bytes on `virtual_device`, for a tensor of shape `shape`; of the type `Storage[]`, which the program \
          defines (`src/relay/op/memory/memory.cc`).",
    args: &[Arg::tensor("size"), Arg::tensor("shape"), Arg::tensor("alignment")],
    attrs: Some(AllocStorageAttrs::SCHEMA),
    rules: &["C1: size and alignment are of type `int64`"],
    rel: alloc_storage_rel,
    internal: true,
    ..OpDef::BASE
};

fn alloc_storage_rel(cx: &mut RelCx) -> RelResult {
    cx.set_arg("C1", 0, Shape::new(), DType::I64)?;
    cx.tensor(1)?;
    cx.set_arg("C1", 2, Shape::new(), DType::I64)?;
    let storage = storage(cx);
    cx.set_out_ty(storage)
}

fn storage(cx: &mut RelCx) -> Ty {
    cx.types.intern(TyData::Adt { name: "Storage".into(), args: Box::default() })
}

pub(crate) const ALLOC_TENSOR: OpDef = OpDef {
    name: "memory.alloc_tensor",
    doc: "A tensor in `storage`, `offset` bytes from its start; its shape is `const_shape`, or `assert_shape` where that is null \
          (`src/relay/op/memory/memory.cc`).",
    args: &[Arg::of("storage", "Storage"), Arg::tensor("offset"), Arg::tensor("shape")],
    attrs: Some(AllocTensorAttrs::SCHEMA),
    rules: &[
        "C1: storage is of type `Storage[]`",
        "C2: const_shape is null, or a vector of int32 or int64, none negative, as long as shape",
        "C3: dtype is the dtype of a tensor",
        "C4: assert_shape is given if const_shape is null",
    ],
    rel: alloc_tensor_rel,
    internal: true,
    ..OpDef::BASE
};

fn alloc_tensor_rel(cx: &mut RelCx) -> RelResult {
    let attrs = AllocTensorAttrs::read(cx.attrs);
    let storage = storage(cx);
    cx.set_arg_ty("C1", 0, storage)?;
    cx.tensor(1)?;
    let shape = cx.tensor(2)?;
    let dtype = require_tensor_dtype(cx, "C3", "dtype", attrs.dtype)?;
    let Some(constant) = attrs.const_shape.0 else {
        cx.require("C4", attrs.assert_shape.0.is_some(), || Fault::attr("assert_shape", "expected a shape, found none"))?;
        return cx.set_out(dims(attrs.assert_shape.0, "assert_shape"), dtype);
    };
    let fits =
        constant.rank() == 1 && [DType::I32, DType::I64].contains(&constant.dtype()) && fits_length(&shape, constant.len());
    let numbers = constant.to_ints();
    cx.require("C2", fits && numbers.iter().all(|&dim| dim >= 0), || {
        Fault::attr("const_shape", "the constant is no shape of as many dimensions as `shape` says").at(shape.place(), "")
    })?;
    let dim = |&dim: &i128| SDim::known(i64::try_from(dim).unwrap_or(i64::MAX), DimOrigin::Attr("const_shape"));
    let shape: Shape = numbers.iter().map(dim).collect();
    cx.set_out(shape, dtype)
}

/// Whether a tensor that holds a shape can hold one of `n` dimensions; a scalar holds none.
fn fits_length(shape: &TensorTy, n: usize) -> bool {
    match shape.shape.first() {
        None => n == 0,
        Some(&dim) => dim.compatible(Dim::known(n as i64)),
    }
}

fn dims(dims: Option<Vec<Dim>>, attr: &'static str) -> Shape {
    dims.into_iter().flatten().map(|dim| SDim::new(dim, DimOrigin::Attr(attr))).collect()
}

pub const KILL: OpDef = OpDef {
    name: "memory.kill",
    work: Work::None,
    doc: "Gives back the memory of `to_free`, which nothing uses from there on (`src/relay/op/memory/memory.cc`).",
    args: &[Arg::of("to_free", "Variable")],
    rel: kill_rel,
    eval: |_| Ok(Outputs::Tuple(vec![])),
    internal: true,
    ..OpDef::BASE
};

fn kill_rel(cx: &mut RelCx) -> RelResult {
    let nothing = cx.types.tuple(&[]);
    cx.set_out_ty(nothing)
}

pub(crate) const VM_SHAPE_OF: OpDef = OpDef {
    name: "vm.shape_of",
    doc: "As `shape_of`, by an instruction of the virtual machine (`src/relay/op/vm/vm.cc`).",
    args: &[Arg::tensor("tensor")],
    internal: true,
    eval: OpDef::BASE.eval,
    fixed: None,
    ..SHAPE_OF
};

pub(crate) const INVOKE_TVM_OP: OpDef = OpDef {
    name: "vm.invoke_tvm_op",
    doc: "Runs the compiled function `op` on the tensors `ins` and writes its results into the tensors `outs` \
          (`src/relay/op/vm/vm.cc`).",
    args: &[Arg::of("op", "Function"), Arg::of("ins", "Tuple"), Arg::of("outs", "Tuple")],
    attrs: Some(&AttrSchema { type_key: "DictAttrs", fields: &[], declared: true }),
    rules: &[
        "C1: op is a function without type parameters",
        "C2: ins is a tuple of its parameters' types",
        "C3: outs is its result's type, as a tuple",
    ],
    rel: invoke_tvm_op_rel,
    internal: true,
    ..OpDef::BASE
};

fn invoke_tvm_op_rel(cx: &mut RelCx) -> RelResult {
    let (params, ret) = function(cx, "C1")?;
    cx.set_arg_ty("C2", 1, params)?;
    let ret = cx.solver.shallow(cx.types, ret);
    let outs = if cx.types.as_tuple(ret).is_some() { ret } else { cx.types.tuple(&[ret]) };
    cx.set_arg_ty("C3", 2, outs)?;
    kill_rel(cx)
}

/// Operand 0 as a function: its parameters as a tuple, and its result.
fn function(cx: &mut RelCx, rule: &'static str) -> RelResult<(Ty, Ty)> {
    let ty = cx.ty(0);
    match cx.types.data(ty) {
        TyData::Hole(_) => Err(Stop::NotYet),
        TyData::Error => Err(Stop::Poisoned),
        TyData::Fn { type_params, params, ret } if type_params.is_empty() => {
            let (params, ret) = (params.clone(), *ret);
            Ok((cx.types.tuple(&params), ret))
        }
        _ => {
            let message = format!("expected a function without type parameters, found `{}`", cx.types.text(ty));
            Err(Fault { rule, ..Fault::new(codes::E0301, message).at(Place::arg(0), "") }.into())
        }
    }
}

pub(crate) const RESHAPE_TENSOR: OpDef = OpDef {
    name: "vm.reshape_tensor",
    doc: "`data` with the shape `newshape`, whose dimensions the operand `shape` holds, with the codes of `reshape`; others trap \
          (`src/relay/op/vm/vm.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("shape")],
    attrs: Some(ReshapeTensorAttrs::SCHEMA),
    rules: &["C1: newshape holds no negative number"],
    rel: reshape_tensor_rel,
    eval: reshape_tensor_eval,
    internal: true,
    ..OpDef::BASE
};

fn reshape_tensor_rel(cx: &mut RelCx) -> RelResult {
    let shape = dims(ReshapeTensorAttrs::read(cx.attrs).newshape.0, "newshape");
    let data = cx.tensor(0)?;
    cx.tensor(1)?;
    for dim in &shape {
        cx.require("C1", dim.value().is_none_or(|dim| dim >= 0), || {
            Fault::attr("newshape", format!("expected dimensions of at least 0, found {}", dim.dim))
        })?;
    }
    cx.set_out(shape, data.dtype)
}

/// What `shape` says; who evaluates requires it to be `newshape`, the type of the result.
fn reshape_tensor_eval(cx: &EvalCx) -> EvalResult {
    let attrs = [AttrValue::List([].into()), AttrValue::Bool(false)];
    (DYN_RESHAPE.eval)(&EvalCx { attrs: &attrs, ..*cx })
}

pub(crate) const CALL_LOWERED: OpDef = OpDef {
    name: "call_lowered",
    doc: "The result of the lowered function `func` on the operands `call_args` (`src/relay/op/call/call.cc`).",
    args: &[Arg::of("func", "Function"), Arg::of("call_args", "Tuple")],
    attrs: Some(CallLoweredAttrs::SCHEMA),
    rules: &["C1: func is a function without type parameters", "C2: call_args is a tuple of its parameters' types"],
    rel: call_lowered_rel,
    internal: true,
    ..OpDef::BASE
};

fn call_lowered_rel(cx: &mut RelCx) -> RelResult {
    let (params, ret) = function(cx, "C1")?;
    cx.set_arg_ty("C2", 1, params)?;
    cx.set_out_ty(ret)
}

pub(crate) const DEBUG: OpDef = OpDef {
    name: "debug",
    work: Work::None,
    doc: "`program`, of any type; TVM's debugger stops there (`src/relay/op/debug.cc`).",
    args: &[Arg::of("program", "Tuple")],
    attrs: Some(DebugAttrs::SCHEMA),
    rel: any_type_rel,
    eval: operand,
    internal: true,
    ..OpDef::BASE
};

pub(crate) const META_REF: OpDef = OpDef {
    name: "parser.MetaRef",
    doc: "The placeholder of TVM's parser for `meta[node_type_key][node_index]`; no program contains it \
          (`src/relay/parser/meta_ref.cc`).",
    attrs: Some(MetaRefAttrs::SCHEMA),
    rules: &["C1: no program holds it"],
    rel: meta_ref_rel,
    fuse: None,
    internal: true,
    ..OpDef::BASE
};

fn meta_ref_rel(cx: &mut RelCx) -> RelResult {
    let attrs = MetaRefAttrs::read(cx.attrs);
    cx.require("C1", false, || {
        Fault::new(codes::E0404, "the operator is for TVM's parser only")
            .at(Place::CALL, "")
            .help(format!("write `meta[{}][{}]`", attrs.node_type_key, attrs.node_index))
    })
}

/// Memory is the runtime's own, and so is when it is given back.
pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (KILL.name, Onnx::Nodes(|_| Ok(Results(vec![])))),
    (RESHAPE_TENSOR.name, Onnx::Nodes(|cx| listed_onnx(cx, "Reshape"))),
    (VM_SHAPE_OF.name, Onnx::Nodes(shape_of_onnx)),
];

pub(crate) const FAMILY: &[OpDef] =
    &[ALLOC_STORAGE, ALLOC_TENSOR, KILL, VM_SHAPE_OF, INVOKE_TVM_OP, RESHAPE_TENSOR, CALL_LOWERED, DEBUG, META_REF];
