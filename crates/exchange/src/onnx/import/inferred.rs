//! Infers the types of results of nodes that cannot be imported, for models that do not declare them: what the types of operands and
//! attributes determine, as ONNX's own shape inference does (`docs/Operators.md` of ONNX).

use super::build::{Builder, Val};
use super::cx::Attributes;
use super::tensors::dtype_of;
use relayc_ir::types::{DType, Dim, Ty};

/// Operators with forms that are not imported, whose first result has the type of their first operand.
const LIKE_FIRST: [&str; 12] = [
    "CumProd",
    "CumSum",
    "GroupNormalization",
    "Hardmax",
    "LayerNormalization",
    "LogSoftmax",
    "RMSNormalization",
    "RotaryEmbedding",
    "ScatterElements",
    "ScatterND",
    "SimplifiedLayerNormalization",
    "Softmax",
];

/// The types of the first results of a node of this operator, as far as they are known.
pub(crate) fn result_types(b: &mut Builder, kind: &str, attrs: &Attributes, operands: &[Option<Val>]) -> Vec<Ty> {
    let of = |at: usize| {
        let (dims, dtype) = b.tensor_ty(operands.get(at).copied().flatten()?)?;
        Some((dims.to_vec(), dtype))
    };
    let int = |name: &str| attrs.get(name).and_then(|attr| attr.i);
    let dtype = |otherwise: DType| match int("dtype") {
        Some(code) => dtype_of(i32::try_from(code).ok()?).ok(),
        None => Some(otherwise),
    };
    let found: Vec<Option<(Vec<Dim>, DType)>> = match kind {
        "Bernoulli" | "RandomNormalLike" | "RandomUniformLike" => vec![of(0).and_then(|(dims, own)| Some((dims, dtype(own)?)))],
        "RandomNormal" | "RandomUniform" => {
            let dims = attrs.get("shape").map(|attr| attr.ints.iter().map(|&dim| Dim::known(dim.max(0))).collect());
            vec![dims.and_then(|dims| Some((dims, dtype(DType::F32)?)))]
        }
        "Multinomial" => {
            let samples = Dim::known(int("sample_size").unwrap_or(1).max(0));
            vec![of(0).and_then(|(dims, _)| Some((vec![*dims.first()?, samples], dtype(DType::I32)?)))]
        }
        "Det" => vec![of(0).and_then(|(dims, own)| Some((dims.get(..dims.len().checked_sub(2)?)?.to_vec(), own)))],
        "Dropout" => vec![of(0), of(0).map(|(dims, _)| (dims, DType::BOOL))],
        // The normalized data, then means and variances: those to keep, and those of this batch.
        "BatchNormalization" => vec![of(0), of(3), of(4), of(3), of(4)],
        _ if LIKE_FIRST.contains(&kind) => vec![of(0)],
        _ => vec![],
    };
    let found: Vec<(Vec<Dim>, DType)> = found.into_iter().map_while(|found| found).collect();
    found.into_iter().map(|(dims, dtype)| b.module.types.tensor(&dims, dtype)).collect()
}
