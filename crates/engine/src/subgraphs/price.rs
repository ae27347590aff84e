//! Cost model: estimates the interpretation and the compilation of a subgraph. Costs are never measured, so that the same
//! program with the same inputs gives the same bytes.

use relayc_ir::types::dims_of;
use relayc_ir::{ExprId, ExprKind, Module};
use relayc_ops::{self as ops, Shapes};

/// Interpreter overhead of an operator's call, in nanoseconds.
const CALL_NS: u64 = 1000;

/// Interpreter cost of reading or writing an element, and of one multiply-add, in picoseconds.
const ELEMENT_PS: u64 = 5000;
const PRODUCT_PS: u64 = 500;

/// Cost of compiling a subgraph, and of each operator in it, in nanoseconds.
const PART_NS: u64 = 700_000;
const OPERATOR_NS: u64 = 50_000;

/// Estimated nanoseconds of interpreting a subgraph's call. Unknown shapes count as the largest operand.
pub(super) fn work(module: &Module, members: &[ExprId], largest: u64) -> u64 {
    let shape = |expr: ExprId| module.types.as_tensor(module.ty(expr)).and_then(|(shape, _)| dims_of(shape));
    let elements = |expr: ExprId| shape(expr).map_or(u128::from(largest), |shape| Shapes::elements(&shape));
    let cost = |expr: &ExprId| {
        let ExprKind::Call { args, .. } = module.exprs[*expr].kind else { return 0 };
        let args: Vec<ExprId> = module.items(args).iter().map(|arg| arg.expr).collect();
        let touched = elements(*expr) + args.iter().map(|&arg| elements(arg)).sum::<u128>();
        let products = ops::call::macs(module, *expr).unwrap_or(0);
        u128::from(CALL_NS) + (u128::from(ELEMENT_PS) * touched + u128::from(PRODUCT_PS) * products) / 1000
    };
    let sum = members.iter().map(cost).fold(0, u128::saturating_add);
    u64::try_from(sum).unwrap_or(u64::MAX)
}

/// Estimated nanoseconds of compiling a subgraph.
pub(super) fn price(members: &[ExprId]) -> u64 {
    PART_NS + OPERATOR_NS * members.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_driver::check_text;
    use relayc_driver::optimise::UNTIL;

    #[test]
    fn work_is_estimated_by_what_is_computed() {
        let program = check_text(
            "x",
            "def @main(%x: Tensor[(?, 1000), float32], %w: Tensor[(500, 1000), float32]) { nn.dense(add(%x, 1f), %w, units=500) }",
            UNTIL,
        );
        let module = &program.module;
        let order = module.post_order(&module.roots());
        let members: Vec<ExprId> = order.into_iter().filter(|&expr| module.called_op(expr).is_some()).collect();
        let (few, many) = (work(module, &members, 1_000), work(module, &members, 1_000_000));
        assert!(few > 2 * CALL_NS && many > 5 * few, "{few} {many}");
        assert_eq!(price(&members), PART_NS + 2 * OPERATOR_NS);
    }
}
