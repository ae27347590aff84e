//! How near a kernel comes to the value of an operator, from what its declaration says is computed (reliability 5).
//!
//! The declaration is all that is asked: what an operator that has no kernel gives is what its evaluation gives.

use super::request::{def, described};
use crate::ir::{ExprId, Module};
use crate::kernel::{Bin, Body, Fold, Instr, Un, Val};
use crate::ops::Table;
use crate::ops::lower::{Call, Lower, Scalar, Template};

/// How far the elements of a kernel's result may lie from those of the operator, given the same operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Accuracy {
    /// Bit for bit.
    Exact,
    /// So many units in the last place.
    Ulps(f64),
    /// A sum of so many terms, each with at most one rounding; absolute operands give the sum of absolute terms.
    Sum(u64),
    /// Several roundings one after the other, over sums of so many terms.
    Mixed(u64),
}

/// What is promised of a call of an operator. Shapes that are not known have no kernels.
pub fn accuracy(module: &Module, ops: &Table, call: ExprId) -> Accuracy {
    let def = def(module, ops, call);
    if def.is_some_and(|def| def.decomposed) {
        return Accuracy::Mixed(1);
    }
    let rule = def.and_then(|def| def.lower.as_ref());
    let said = |of: &dyn Fn(&Call) -> Option<Accuracy>| described(module, call, |call| of(call)).map(|(_, said)| said);
    match rule {
        None
        | Some(
            Lower::Routine(_)
            | Lower::Shifted(..)
            | Lower::View(_)
            | Lower::Move(..)
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
        Some(Lower::Nest(nest) | Lower::NestOr(nest, _)) => said(&|call| Some(of_nest(&nest(call)?))),
        Some(Lower::Product(product) | Lower::Windows(product, _)) => {
            let terms = said(&|call| product(call)?.iter().map(|one| one.sum.iter().product()).max().map(Accuracy::Sum));
            let Some(Lower::Windows(_, nest)) = rule else { return terms.unwrap_or(Accuracy::Exact) };
            terms.or_else(|| said(&|call| Some(of_nest(&nest(call)?))))
        }
    }
    .unwrap_or(Accuracy::Exact)
}

/// The units of the last place that functions take, and how often is rounded beside them.
fn roundings(body: &Body) -> (f64, usize) {
    let (mut ulps, mut rounded) = (0.0, 0);
    for instr in &body.instrs {
        match instr {
            Instr::Un(Un::Exp | Un::Log | Un::Log2 | Un::Log10 | Un::Rsqrt | Un::Sigmoid, _) => ulps += 2.0,
            Instr::Un(Un::Tanh | Un::Erf | Un::Sin | Un::Cos, _) => ulps += 3.0,
            Instr::Bin(Bin::Pow, ..) => ulps += 8.0,
            // Exact but for whole numbers that are none of the dtype.
            Instr::Bin(Bin::FloorDiv, ..) => ulps += 1.0,
            Instr::Un(Un::Sqrt, _) | Instr::Bin(Bin::Add | Bin::Sub | Bin::Mul | Bin::Div | Bin::Scale, ..) | Instr::Fma(..) => {
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
    let folds: Vec<Fold> = nest.stages.iter().flat_map(|stage| &stage.folds).map(|&(_, fold)| fold).collect();
    let sums = folds.iter().filter(|fold| matches!(fold, Fold::Sum | Fold::Product)).count();
    let (ulps, rounded) =
        nest.stages.iter().map(|stage| roundings(&stage.body)).fold((0.0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
    let terms = nest.reduce.iter().map(|dim| dim.extent).product();
    match (sums, rounded) {
        (0, 0 | 1) if ulps == 0.0 => Accuracy::Exact,
        (1, 0 | 1) if ulps == 0.0 => Accuracy::Sum(terms),
        _ => Accuracy::Mixed(terms),
    }
}
