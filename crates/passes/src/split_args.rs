//! Splits concatenations of more operands than a function of a device may have: TVM's `SplitArgs`
//! (`src/relay/transforms/split_args.cc`).
//!
//! The rewrite is sound because concatenation is associative. `annotation.stop_fusion` keeps the parts apart. A tensor with dynamic
//! dimensions takes one argument more for each of them, and for each stride. As in TVM, the operand that begins a part counts twice.
//!
//! ```text
//! concatenate((%a, %b, %c))    →    %0 = concatenate(stop_fusion((%a, %b)));  concatenate(stop_fusion((%0, %c)))
//! ```

use super::build::{args, tuple};
use super::rewrite::rewrite;
use super::step::{ArgKind, Param};
use super::{Pass, PassCx, Stop, refused};
use relayc_base::diag::Diagnostic;
use relayc_ir::{ExprId, ExprKind, Module};
use relayc_ops::declarations::{CONCATENATE, STOP_FUSION};

pub(crate) const PASS: Pass = Pass {
    name: "split-args",
    doc: "Splits concatenations so that each has at most a number of operands, its result counted.",
    params: &[Param { name: "max", kind: ArgKind::Count, default: "0", doc: "the most arguments of a function; 0 is no limit" }],
    run,
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> Result<bool, Box<Diagnostic>> {
    let max = cx.args.count("max");
    if max == 0 {
        return Ok(false);
    }
    let mut beyond = None;
    let changed = rewrite(module, |module, expr| {
        let fields = *args(module, expr).first().filter(|_| cx.calls(module, expr, &CONCATENATE))?;
        if !matches!(module.exprs[fields].kind, ExprKind::Tuple(_)) {
            return None;
        }
        let n_results = 1 + n_extra(module, expr, false);
        let Some(limit) = max.checked_sub(n_results).filter(|&limit| limit > 0) else {
            beyond = Some((n_results, module.exprs[expr].span));
            return None;
        };
        split(module, cx, expr, fields, limit)
    });
    match beyond {
        Some((n, span)) => {
            let why = format!("a result takes {n} arguments, and `max={max}` leaves none for operands");
            Err(refused(&PASS, Stop::from(why).at(span)))
        }
        None => Ok(changed),
    }
}

/// The numbers besides its data that a function gets for a tensor: its strides, and as an operand its dynamic dimensions.
fn n_extra(module: &Module, expr: ExprId, is_operand: bool) -> u64 {
    let Some((shape, _)) = module.types.as_tensor(module.ty(expr)) else { return 0 };
    let n_open = shape.iter().filter(|dim| dim.value().is_none()).count();
    let strides = if n_open > 0 { shape.len() } else { 0 };
    (strides + if is_operand { n_open } else { 0 }) as u64
}

fn split(module: &mut Module, cx: &PassCx, call: ExprId, fields: ExprId, limit: u64) -> Option<ExprId> {
    let operands = args(module, fields);
    let costs: Vec<u64> = operands.iter().map(|&operand| 1 + n_extra(module, operand, true)).collect();
    if costs.iter().sum::<u64>() < limit {
        return None;
    }
    let mut part: Vec<ExprId> = Vec::new();
    let mut taken = 0;
    for (operand, cost) in operands.into_iter().zip(costs) {
        if taken + cost > limit && !part.is_empty() {
            part = vec![joined(module, cx, call, &part)];
            taken = cost;
        }
        taken += cost;
        part.push(operand);
    }
    Some(joined(module, cx, call, &part))
}

/// The concatenation of a part, as `call` concatenates.
fn joined(module: &mut Module, cx: &PassCx, call: ExprId, part: &[ExprId]) -> ExprId {
    let span = module.exprs[call].span;
    let fields = tuple(module, span, part);
    let apart = cx.call(module, span, &STOP_FUSION, &[fields], vec![]);
    let attrs = module.call_attrs(call).to_vec();
    cx.call(module, span, &CONCATENATE, &[apart], attrs)
}
