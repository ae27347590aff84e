//! Lints `/* ty=… */` comments, which TVM prints after expressions and ignores when reading: checks that they are true.

use super::{MAX_EACH, Program};
use relayc_base::Span;
use relayc_base::diag::{Diagnostic, codes};
use relayc_ir::ExprKind;
use relayc_ir::types::Ty;
use relayc_syntax::lexer;
use rustc_hash::FxHashMap;

/// A comment, and the types of the expressions that end before it.
struct Comment {
    /// The type in the comment.
    ty: Span,
    found: Vec<Ty>,
    literal: bool,
}

/// W0008.
pub(super) fn types(program: &Program) -> Vec<Diagnostic> {
    let module = program.module;
    if !program.text.contains("ty=") {
        return vec![];
    }
    let mut comments: FxHashMap<u32, Comment> = FxHashMap::default();
    // Of several comments in a row all are about what stands before the first.
    let mut last = (0, 0);
    for span in lexer::lex(program.file, program.text).comments {
        let before = program.text.get(..span.start as usize).unwrap_or("").trim_end().len() as u32;
        let anchor = if before == last.0 && before > 0 { last.1 } else { before };
        last = (span.end, anchor);
        if let Some(ty) = type_comment(program.text, span) {
            comments.insert(anchor, Comment { ty, found: vec![], literal: false });
        }
    }
    if comments.is_empty() {
        return vec![];
    }
    let mut note = |span: Span, ty: Option<Ty>, literal: bool| {
        if let (Some(comment), Some(ty), false) = (comments.get_mut(&span.end), ty, span.is_none()) {
            comment.found.push(ty);
            comment.literal |= literal;
        }
    };
    for expr in module.exprs.ids() {
        let ty = module.expr_tys.get(expr).copied().flatten();
        note(module.exprs[expr].span, ty, matches!(module.exprs[expr].kind, ExprKind::Const(_)));
        let operands = match module.exprs[expr].kind {
            ExprKind::Call { args, .. } => args,
            ExprKind::Tuple(fields) => fields,
            _ => continue,
        };
        for operand in module.items(operands) {
            note(operand.span, module.expr_tys.get(operand.expr).copied().flatten(), false);
        }
    }
    for var in module.vars.iter() {
        note(var.span, var.checked_ty, false);
    }
    let mut wrong: Vec<Diagnostic> = comments.into_values().filter_map(|comment| check(program, &comment)).collect();
    wrong.sort_by_key(|diagnostic| diagnostic.span().start);
    wrong.truncate(MAX_EACH);
    wrong
}

/// The type that a comment states.
fn type_comment(text: &str, span: Span) -> Option<Span> {
    let comment = text.get(span.start as usize..span.end as usize)?;
    let inner = comment.strip_prefix("/*")?.strip_suffix("*/")?;
    let after = inner.trim_start().strip_prefix("ty=")?;
    let ty = after.split(" span=").next()?.trim_end();
    let start = span.end - 2 - after.len() as u32;
    Some(Span { start, end: start + ty.len() as u32, ..span })
}

fn check(program: &Program, comment: &Comment) -> Option<Diagnostic> {
    let types = &program.module.types;
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let said = program.text.get(comment.ty.start as usize..comment.ty.end as usize)?;
    // What metadata stands for is not looked up, and what is not known is not wrong.
    let unknown = said.contains("meta[") || comment.found.iter().any(|&ty| ty == Ty::ERROR || types.has_hole(ty));
    let (first, true) = (*comment.found.first()?, !unknown) else { return None };
    if comment.found.iter().any(|&ty| plain(&types.text(ty)) == plain(said)) {
        return None;
    }
    let right = types.text(first);
    let diagnostic = Diagnostic::new(codes::W0008, format!("the comment says `{said}`, the type is `{right}`"))
        .at(comment.ty, "not the type of what stands before it")
        .fix(format!("write `{right}`"), comment.ty, right);
    Some(match comment.literal {
        // The comment may be all that is left of what the literal was (language 9).
        true => diagnostic.note("a literal in text of an older TVM may have been of the type the comment says"),
        false => diagnostic.certain(),
    })
}
