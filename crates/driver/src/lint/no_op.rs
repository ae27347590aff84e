//! W0012: flags no-ops, operators that return their operand unchanged.

use super::{MAX_EACH, Program};
use relayc_base::diag::{Diagnostic, codes};
use relayc_ir::ExprKind;
use relayc_ops as ops;

pub(super) fn operators(program: &Program) -> Vec<Diagnostic> {
    let module = program.module;
    let no_op = module.exprs.iter_ids().filter_map(|(expr, call)| {
        let ExprKind::Call { args, .. } = call.kind else { return None };
        let def = ops::table().def(module.called_op(expr)?);
        let operand = module.items(args).first()?;
        let ty = |expr| module.expr_tys.get(expr).copied().flatten();
        let same = ty(expr)? == ty(operand.expr)?;
        (def.no_op && same).then_some((def.name, call.span, operand.span, ty(expr)?))
    });
    let report = |(name, span, operand, ty): (&str, _, relayc_base::Span, _)| {
        let text = program.text.get(operand.start as usize..operand.end as usize).unwrap_or("").to_owned();
        let report = Diagnostic::new(codes::W0012, format!("`{name}` changes nothing"))
            .at(span, format!("what it gets is `{}` already", module.types.text(ty)));
        if text.is_empty() { report } else { report.fix("leave it out", span, text) }
    };
    no_op.take(MAX_EACH).map(report).collect()
}
