//! W0012: operators that give what they get.

use super::{MAX_EACH, Program};
use crate::diag::{Diagnostic, codes};
use crate::ir::ExprKind;
use crate::ops;

pub(super) fn operators(program: &Program) -> Vec<Diagnostic> {
    let module = program.module;
    let idle = module.exprs.iter_ids().filter_map(|(expr, call)| {
        let ExprKind::Call { args, .. } = call.kind else { return None };
        let def = ops::table().def(module.called_op(expr)?);
        let operand = module.items(args).first()?;
        let ty = |expr| module.expr_tys.get(expr).copied().flatten();
        let same = ty(expr)? == ty(operand.expr)?;
        (def.idle && same).then_some((def.name, call.span, operand.span, ty(expr)?))
    });
    let report = |(name, span, operand, ty): (&str, _, crate::base::Span, _)| {
        let text = program.text.get(operand.start as usize..operand.end as usize).unwrap_or("").to_owned();
        let report = Diagnostic::new(codes::W0012, format!("`{name}` changes nothing"))
            .at(span, format!("what it gets is `{}` already", module.types.text(ty)));
        if text.is_empty() { report } else { report.fix("leave it out", span, text) }
    };
    idle.take(MAX_EACH).map(report).collect()
}
