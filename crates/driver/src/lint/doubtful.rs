//! W0015: valid attribute values that are probably mistakes, as the operators declare them.

use super::{MAX_EACH, Program};
use relayc_base::diag::{Diagnostic, codes};
use relayc_ir::ExprKind;
use relayc_ops as ops;

pub(super) fn attributes(program: &Program) -> Vec<Diagnostic> {
    let module = program.module;
    let doubtful = module.exprs.iter_ids().filter_map(|(expr, call)| {
        let ExprKind::Call { attrs: Some(attrs), .. } = call.kind else { return None };
        let def = ops::table().def(module.called_op(expr)?);
        let attrs = &module.attrs[attrs];
        let caution = def.caution?(&attrs.values)?;
        let span = def.attrs.and_then(|schema| schema.position(caution.attr)).map(|at| attrs.span(at));
        let span = span.filter(|span| !span.is_none()).unwrap_or(call.span);
        let report = Diagnostic::new(codes::W0015, format!("`{}`: {}", def.name, caution.message)).at(span, "");
        Some(report.note(caution.note))
    });
    doubtful.take(MAX_EACH).collect()
}
