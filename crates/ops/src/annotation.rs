//! Annotations: operators that return their operand and mark it for passes that partition a program or place it on devices.

use super::attrs::{ObjectOf, StdString, VirtualDevice};
use super::eval::ArgValue;
use super::onnx::Operand;
use crate::prelude::*;

attrs! {
    "relay.attrs.CompilerAttrs" =>
    pub(crate) struct CompilerAttrs {
        /// The compiler that is to take the part.
        pub(crate) compiler: StdString;
    }

    "relay.attrs.CastHintAttrs" =>
    pub(crate) struct CastHintAttrs {
        /// The dtype to convert to.
        pub(crate) dtype: Option<DType>;
    }

    "relay.attrs.WithFuncIdAttrs" =>
    pub(crate) struct WithFuncIdAttrs {
        /// The number of the function.
        pub(crate) fid: i64 = -1;
    }

    "relay.attrs.OnDeviceAttrs" =>
    pub(crate) struct OnDeviceAttrs {
        /// The device.
        pub(crate) virtual_device: ObjectOf<VirtualDevice> = None;
        /// Whether the result is on the device too.
        pub(crate) constrain_result: bool = false;
        /// Whether the operand is on the device too.
        pub(crate) constrain_body: bool = true;
    }

    "relay.attrs.DeviceCopyAttrs" =>
    pub(crate) struct DeviceCopyAttrs {
        /// The device the operand is on.
        pub(crate) src_virtual_device: ObjectOf<VirtualDevice>;
        /// The device the result is on.
        pub(crate) dst_virtual_device: ObjectOf<VirtualDevice>;
    }
}

pub const COMPILER_BEGIN: OpDef = OpDef {
    name: "annotation.compiler_begin",
    work: Work::None,
    doc: "`data`, entering a part of the program that is for `compiler` (`src/relay/op/annotation/annotation.cc`).",
    args: &[Arg::tensor("data")],
    // TVM registers no attribute type with it; a call brings its own, in the metadata section or by `attrs_type_key`.
    attrs: Some(&AttrSchema { declared: false, ..*CompilerAttrs::SCHEMA }),
    rel: any_type_rel,
    eval: operand,
    lower: Some(Lower::View(|_, view| Some(view.clone()))),
    internal: true,
    ..OpDef::BASE
};

pub const COMPILER_END: OpDef = OpDef {
    name: "annotation.compiler_end",
    doc: "`data`, leaving a part of the program that is for `compiler` (`src/relay/op/annotation/annotation.cc`).",
    ..COMPILER_BEGIN
};

pub const STOP_FUSION: OpDef = OpDef {
    name: "annotation.stop_fusion",
    work: Work::None,
    doc: "`data`, which is not fused with its users (`src/relay/op/annotation/annotation.cc`).",
    attrs: None,
    ..COMPILER_BEGIN
};

pub(crate) const BITPACK_START: OpDef = OpDef {
    name: "annotation.bitpack_start",
    doc: "`data`, from where on bits are to be packed (`src/relay/op/annotation/annotation.cc`).",
    attrs: None,
    ..COMPILER_BEGIN
};

pub(crate) const BITPACK_END: OpDef = OpDef {
    name: "annotation.bitpack_end",
    doc: "`data`, up to where bits are to be packed (`src/relay/op/annotation/annotation.cc`).",
    ..BITPACK_START
};

pub(crate) const CAST_HINT: OpDef = OpDef {
    name: "annotation.cast_hint",
    doc: "`data`, which TVM's quantizer is to convert to `dtype`; its own dtype stays (`src/relay/op/annotation/annotation.cc`).",
    attrs: Some(&AttrSchema { declared: false, ..*CastHintAttrs::SCHEMA }),
    ..COMPILER_BEGIN
};

pub const CHECKPOINT: OpDef = OpDef {
    name: "annotation.checkpoint",
    doc: "`data`, kept for the gradient; the operators before it are computed again (`src/relay/op/annotation/annotation.cc`).",
    attrs: None,
    ..COMPILER_BEGIN
};

pub(crate) const WITH_FUNCID: OpDef = OpDef {
    name: "annotation.with_funcid",
    doc: "`func`, a function, known to TVM's partial evaluator by the number `fid` (`src/relay/transforms/partial_eval.cc`).",
    args: &[Arg::of("func", "Function")],
    attrs: Some(&AttrSchema { declared: false, ..*WithFuncIdAttrs::SCHEMA }),
    fuse: None,
    lower: None,
    ..COMPILER_BEGIN
};

pub(crate) const ON_DEVICE: OpDef = OpDef {
    name: "on_device",
    work: Work::None,
    doc: "`body`, of any type, to be computed on `virtual_device` (`src/relay/op/memory/on_device.cc`).",
    args: &[Arg::of("body", "Expr")],
    attrs: Some(OnDeviceAttrs::SCHEMA),
    ..COMPILER_BEGIN
};

/// The relation of TVM's `IdentityRel`, which admits tuples too (`src/relay/op/type_relations.cc`).
pub(super) fn any_type_rel(cx: &mut RelCx) -> RelResult {
    cx.set_out_to_arg(0)
}

pub(crate) const DEVICE_COPY: OpDef = OpDef {
    name: "device_copy",
    work: Work::None,
    doc: "`data`, copied from `src_virtual_device` to `dst_virtual_device` (`src/relay/op/memory/device_copy.cc`).",
    attrs: Some(DeviceCopyAttrs::SCHEMA),
    rel: rel::identity,
    ..COMPILER_BEGIN
};

pub(super) fn operand(cx: &EvalCx) -> EvalResult {
    Ok(match &cx.args[0] {
        ArgValue::Tensor(tensor) => Outputs::One(tensor.clone()),
        ArgValue::Tuple(fields) => Outputs::Tuple(fields.clone()),
    })
}

/// Annotations do not change values, so they become no nodes.
pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (COMPILER_BEGIN.name, Onnx::Nodes(mark_onnx)),
    (COMPILER_END.name, Onnx::Nodes(mark_onnx)),
    (STOP_FUSION.name, Onnx::Nodes(mark_onnx)),
    (CHECKPOINT.name, Onnx::Nodes(mark_onnx)),
    (ON_DEVICE.name, Onnx::Nodes(mark_onnx)),
    (DEVICE_COPY.name, Onnx::Nodes(mark_onnx)),
];

fn mark_onnx(cx: &mut OnnxCx) -> OnnxResult {
    Ok(match &cx.args[0] {
        Operand::Tensor(value) => (*value).into(),
        Operand::Tuple(fields) => Results(fields.clone()),
    })
}

pub(crate) const FAMILY: &[OpDef] = &[
    COMPILER_BEGIN,
    COMPILER_END,
    STOP_FUSION,
    BITPACK_START,
    BITPACK_END,
    CAST_HINT,
    CHECKPOINT,
    WITH_FUNCID,
    ON_DEVICE,
    DEVICE_COPY,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::call;

    #[test]
    fn annotations_change_nothing() {
        for def in FAMILY.iter().filter(|def| def.name != ON_DEVICE.name) {
            assert_eq!(call(def).out(&["(2, ?) int8"]), "Tensor[(2, ?), int8]", "{}", def.name);
        }
        assert_eq!(call(&ON_DEVICE).out(&["(2, ?) int8"]), "Tensor[(2, ?), int8]");
    }
}
