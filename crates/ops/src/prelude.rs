//! The names that most families use: a family begins with `use crate::prelude::*;`.
//!
//! They declare an operator, relate its types, evaluate it, lower it and export it. The files that define them do not import this one.

pub(crate) use crate::attrs::{AttrField, attrs};
pub(crate) use crate::def::{Caution, DATA, Fixed, Fuse, KnownFacts, OpDef, Shapes};
pub(crate) use crate::eval::{Eval, EvalCx, EvalResult, Outputs, Trap, Work};
pub(crate) use crate::layout::{Layout, layout_attr};
pub(crate) use crate::lower::{AxisMap, Call, Lower, LowerScalar, Read, Scalar, Source, Table, Template};
pub(crate) use crate::onnx::{DTypeClass, Onnx, OnnxCx, OnnxResult, Results, ValueId};
pub(crate) use crate::rel::{self, DimOrigin, Fault, Place, RelCx, RelResult, SDim, Shape, Stop, TensorTy};
pub(crate) use relayc_base::diag::codes;
pub(crate) use relayc_ir::attrs::{Arg, AttrSchema, AttrValue};
pub(crate) use relayc_ir::kernel::{BinaryOp, Body, Cmp, ScalarType, UnaryOp, Val};
pub(crate) use relayc_ir::tensor::Tensor;
pub(crate) use relayc_ir::types::{DType, Dim, SymbolOp};
