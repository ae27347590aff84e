//! Computes an einsum of two tensors as a batch of matrix products, which have kernels of their own and are part of attention.
//!
//! The rewrite is sound because both are the same sums: axes of both operands and the result are the batch, those of one operand and
//! the result its rows or columns, and those of both alone are summed. An axis that is repeated, or summed in one operand alone, has no
//! place there. Axes in another order are transposed.
//!
//! ```text
//! einsum((%q, %k), equation="bhqd,bhkd->bhqk")
//!     →    reshape(nn.batch_matmul(reshape(%q, newshape=[8, 20, 4]), reshape(%k, newshape=[8, 30, 4]), transpose_b=True), newshape=[2, 4, 20, 30])
//! ```

use super::build::{dims, dtype};
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use relayc_base::Span;
use relayc_ir::types::{DType, Dim, SymbolOp};
use relayc_ir::{AttrValue, ExprId, ExprKind, Module};
use relayc_ops::declarations::{BATCH_MATMUL, BatchedProduct, EINSUM};

pub(crate) const PASS: Pass = Pass {
    name: "einsum-to-batch-matmul",
    doc: "Computes einsums of two tensors as batches of matrix products.",
    level: 2,
    run: |module, cx| Ok(rewrite(module, |module, expr| product(module, cx, expr))),
    ..Pass::BASE
};

fn product(module: &mut Module, cx: &PassCx, expr: ExprId) -> Option<ExprId> {
    cx.calls(module, expr, &EINSUM).then_some(())?;
    let ExprKind::Call { args, .. } = module.exprs[expr].kind else { return None };
    let [data] = module.items(args) else { return None };
    let ExprKind::Tuple(fields) = module.exprs[data.expr].kind else { return None };
    let operands: Vec<ExprId> = module.items(fields).iter().map(|field| field.expr).collect();
    let shapes = operands.iter().map(|&operand| Some(dims(module, operand)?.to_vec())).collect::<Option<Vec<_>>>()?;
    // A size without a name or a number may be any, 1 too.
    let sized = shapes.iter().flatten().all(|dim| dim.value().is_some() || dim.is_named());
    let floats = operands.iter().all(|&operand| dtype(module, operand) == Some(DType::F32));
    let product = BatchedProduct::of(module.call_attrs(expr), &shapes).filter(|_| floats && sized)?;
    let symbols = &mut module.types.symbols;
    let mut extent = |of: usize, axes: &[usize]| {
        axes.iter().fold(Dim::known(1), |all, &axis| symbols.built(SymbolOp::Mul, all, shapes[of][axis]))
    };
    let [[batch, rows, summed], [batch_of_right, columns, summed_of_right]] = &product.operands;
    let [b, m, k, n] = [extent(0, batch), extent(0, rows), extent(0, summed), extent(1, columns)];
    // Rows or columns alone are sums of products, which loop nests compute as well.
    ([m, k, n].iter().all(|dim| dim.value().is_none_or(|dim| dim > 1)) && b.value() != Some(0)).then_some(())?;
    let calls = Calls { cx, span: module.exprs[expr].span };
    let left = calls.ordered(module, operands[0], &product.operands[0], [b, m, k])?;
    // The right operand as it lies: in rows that are summed, or in columns.
    let is_turned = summed_of_right.last() > columns.last();
    let right = if is_turned {
        calls.ordered(module, operands[1], &product.operands[1], [b, n, k])?
    } else {
        let parts = [batch_of_right, summed_of_right, columns].map(Vec::clone);
        calls.ordered(module, operands[1], &parts, [b, k, n])?
    };
    let attrs = BATCH_MATMUL.attrs?.values(&[("transpose_b", AttrValue::Bool(is_turned))]);
    let result = cx.typed_call(module, calls.span, &BATCH_MATMUL, &[left, right], attrs)?;
    let of_left = batch.iter().chain(rows).map(|&axis| shapes[0][axis]);
    let shape: Vec<Dim> = of_left.chain(columns.iter().map(|&axis| shapes[1][axis])).collect();
    let result = cx.reshaped(module, calls.span, result, &shape)?;
    cx.transposed(module, calls.span, result, &product.result)
}

/// Makes calls in place of one.
struct Calls<'a> {
    cx: &'a PassCx<'a>,
    span: Span,
}

impl Calls<'_> {
    /// An operand with its axes in three parts.
    fn ordered(&self, module: &mut Module, operand: ExprId, parts: &[Vec<usize>; 3], shape: [Dim; 3]) -> Option<ExprId> {
        let operand = self.cx.transposed(module, self.span, operand, &parts.concat())?;
        self.cx.reshaped(module, self.span, operand, &shape)
    }
}
