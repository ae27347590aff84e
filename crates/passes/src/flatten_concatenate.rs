//! Joins the parts of nested concatenations at once, so that no part is copied again for each concatenation around it. A loop that
//! appends a tensor in each turn gives such nests once it is unrolled.
//!
//! The rewrite is sound because concatenation is associative: elements are only moved, and to the same places. It applies where
//! both have the same axis and the inner one has no other use.
//!
//! ```text
//! concatenate((concatenate((%a, %b)), %c))    →    concatenate((%a, %b, %c))
//! ```

use super::build::{args, dims, tuple};
use super::users::Users;
use super::{Pass, PassCx};
use relayc_ir::{ExprId, ExprKind, Module, Operand};
use relayc_ops::declarations::{CONCATENATE, ConcatenateAttrs};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) const PASS: Pass = Pass {
    name: "flatten-concatenate",
    doc: "Joins the parts of nested concatenations at once.",
    level: 2,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let (users, order) = Users::of(module);
    let joins: Vec<(ExprId, Join)> = order.into_iter().filter_map(|expr| Some((expr, Join::of(module, cx, expr)?))).collect();
    let axes: FxHashMap<ExprId, usize> = joins.iter().map(|(expr, join)| (*expr, join.axis)).collect();
    // The concatenations whose only use is another one along the same axis.
    let mut inner: FxHashSet<ExprId> = FxHashSet::default();
    for (expr, join) in joins.iter().filter(|(expr, join)| users.only(join.tuple, *expr)) {
        let fields = args(module, join.tuple);
        inner.extend(fields.into_iter().filter(|field| axes.get(field) == axes.get(expr) && users.only(*field, join.tuple)));
    }
    for (expr, join) in joins.iter().filter(|(expr, _)| !inner.contains(expr)) {
        let mut waiting = args(module, join.tuple);
        if !waiting.iter().any(|field| inner.contains(field)) {
            continue;
        }
        waiting.reverse();
        let mut fields = vec![];
        while let Some(field) = waiting.pop() {
            match inner.contains(&field) {
                true => waiting.extend(args(module, args(module, field)[0]).into_iter().rev()),
                false => fields.push(field),
            }
        }
        let ExprKind::Call { callee, attrs, .. } = module.exprs[*expr].kind else { continue };
        let span = module.exprs[join.tuple].span;
        let fields = Operand { expr: tuple(module, span, &fields), span };
        module.exprs[*expr].kind = ExprKind::Call { callee, args: module.operands(&[fields]), attrs };
    }
    !inner.is_empty()
}

/// A concatenation: the tuple of its parts, and its axis from the front.
struct Join {
    tuple: ExprId,
    axis: usize,
}

impl Join {
    fn of(module: &Module, cx: &PassCx, expr: ExprId) -> Option<Join> {
        let &[tuple] = &args(module, expr)[..] else { return None };
        let is_join = cx.calls(module, expr, &CONCATENATE) && matches!(module.exprs[tuple].kind, ExprKind::Tuple(_));
        let rank = dims(module, expr).filter(|_| is_join)?.len() as i64;
        let axis = ConcatenateAttrs::read(module.call_attrs(expr)).axis.rem_euclid(rank.max(1)) as usize;
        Some(Join { tuple, axis })
    }
}
