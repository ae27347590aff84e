//! The accuracy of a kernel relative to its operator's value, derived from the operator's declaration (reliability 5).
//!
//! Only the declaration matters: for an operator without a kernel, the evaluation defines the result.

use super::request::{def, described};
use relayc_ir::kernel::{BinaryOp, Body, Instr, Random, Reduction, Routine, UnaryOp, Val};
use relayc_ir::types::DType;
use relayc_ir::{ExprId, Module};
use relayc_ops::Table;
use relayc_ops::lower::{Call, Lower, Scalar, Template, Tensor};

/// How far elements of a kernel's result may differ from those of the operator, given the same operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Accuracy {
    /// Bit for bit.
    Exact,
    /// This many units in the last place.
    Ulps(f64),
    /// A sum of this many terms with at most one rounding each. Absolute operands give the sum of absolute terms.
    Sum(u64),
    /// Several successive roundings, over sums of this many terms.
    Mixed(u64),
}

/// The promised accuracy of a call of an operator. Unknown shapes have no kernels.
pub fn accuracy(module: &Module, ops: &Table, call: ExprId) -> Accuracy {
    let def = def(module, ops, call);
    if def.is_some_and(|def| def.decomposed) {
        return Accuracy::Mixed(1);
    }
    let rule = def.and_then(|def| def.lower.as_ref());
    let said = |of: &dyn Fn(&Call) -> Option<Accuracy>| described(module, call, |call| in_f32(call, of)).map(|(_, said)| said);
    match rule {
        // The only routine of functions that are rounded otherwise.
        Some(Lower::Routine(routine)) => said(&|call| {
            let is_rounded = matches!(routine(call)?, Routine::Random(Random::Normal { .. }));
            is_rounded.then_some(Accuracy::Mixed(1))
        }),
        None
        | Some(
            Lower::Shifted(..)
            | Lower::View(_)
            | Lower::Reinterpret
            | Lower::Move(..)
            | Lower::Padded(..)
            | Lower::Split(_)
            | Lower::Join(_)
            | Lower::Stack(_),
        ) => None,
        Some(Lower::Scalar(rule) | Lower::Divided(rule) | Lower::Along(_, rule) | Lower::AlongOr(_, rule, _)) => said(&|call| {
            let mut body = Body::new();
            let args: Vec<Val> = (0..call.args.len()).map(|arg| body.read(arg)).collect();
            rule(&mut Scalar { call, body: &mut body, args: &args })?;
            Some(of_body(&body, call.out().dtype.is_float() || call.args.iter().flatten().any(|arg| arg.dtype.is_float())))
        }),
        Some(Lower::Nests(nest)) => said(&|call| Some(of_nest(&nest(call, 0)?))),
        Some(Lower::Nest(nest) | Lower::NestOr(nest, _)) => said(&|call| Some(of_nest(&nest(call)?))),
        Some(Lower::Product(product) | Lower::Windows(product, _)) => {
            let terms = said(&|call| product(call)?.iter().map(|one| one.sum.iter().product()).max().map(Accuracy::Sum));
            let Some(Lower::Windows(_, nest)) = rule else { return terms.unwrap_or(Accuracy::Exact) };
            terms.or_else(|| said(&|call| Some(of_nest(&nest(call)?))))
        }
    }
    .unwrap_or(Accuracy::Exact)
}

/// What is said of a call with float32 for 16-bit floats, on which its kernels compute.
fn in_f32(call: &Call, of: &dyn Fn(&Call) -> Option<Accuracy>) -> Option<Accuracy> {
    let wide = |tensors: &[Tensor]| -> Vec<Tensor> {
        let dtype = |dtype| if dtype == DType::F16 || dtype == DType::BF16 { DType::F32 } else { dtype };
        tensors.iter().map(|one| Tensor { shape: one.shape.clone(), dtype: dtype(one.dtype) }).collect()
    };
    let (args, outs): (Vec<_>, _) = (call.args.iter().map(|tensors| wide(tensors)).collect(), wide(call.outs));
    of(&Call { attrs: call.attrs, args: &args, outs: &outs })
}

/// The ULPs that functions contribute, and the number of other roundings.
fn roundings(body: &Body) -> (f64, usize) {
    let (mut ulps, mut rounded) = (0.0, 0);
    for instr in &body.instrs {
        match instr {
            Instr::Unary(op, _) if op.ulps().is_some() => ulps += op.ulps().unwrap_or_default(),
            Instr::Binary(BinaryOp::Pow, ..) => ulps += 8.0,
            // Exact but for whole numbers that are none of the dtype.
            Instr::Binary(BinaryOp::FloorDiv, ..) => ulps += 1.0,
            Instr::Unary(UnaryOp::Sqrt, _)
            | Instr::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Scale, ..)
            | Instr::Fma(..) => {
                rounded += 1;
            }
            _ => {}
        }
    }
    (ulps, rounded)
}

fn of_body(body: &Body, float: bool) -> Accuracy {
    match roundings(body) {
        _ if !float => Accuracy::Exact,
        (0.0, 0 | 1) => Accuracy::Exact,
        (ulps, 0) => Accuracy::Ulps(ulps),
        _ => Accuracy::Mixed(1),
    }
}

fn of_nest(nest: &Template) -> Accuracy {
    let folds: Vec<Reduction> = nest.stages.iter().flat_map(|stage| &stage.reductions).map(|&(_, fold)| fold).collect();
    let sums = folds.iter().filter(|fold| matches!(fold, Reduction::Sum | Reduction::Product)).count();
    let (ulps, rounded) =
        nest.stages.iter().map(|stage| roundings(&stage.body)).fold((0.0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
    let terms = nest.reduce.iter().map(|dim| dim.extent).product();
    match (sums, rounded) {
        (0, 0 | 1) if ulps == 0.0 => Accuracy::Exact,
        (1, 0 | 1) if ulps == 0.0 => Accuracy::Sum(terms),
        _ => Accuracy::Mixed(terms),
    }
}
