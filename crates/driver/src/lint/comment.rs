//! Lints `/* ty=… */` comments, which TVM prints after expressions and ignores when reading: checks that they are true.
//!
//! One change in a program makes the comments on all that is computed from it wrong. Only the first of them is reported, and its fix
//! writes the others too.

use super::{MAX_EACH, Program};
use relayc_base::diag::{Diagnostic, Edit, codes};
use relayc_base::text::count;
use relayc_base::{Idx, Span};
use relayc_ir::types::Ty;
use relayc_ir::{ExprKind, Module, VarId};
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
    let mut wrong: FxHashMap<u32, Wrong> =
        comments.iter().filter_map(|(&anchor, comment)| Some((anchor, check(program, comment)?))).collect();
    if wrong.is_empty() {
        return vec![];
    }
    let causes = causes(module, &comments, &wrong);
    let mut anchors: Vec<u32> = wrong.keys().copied().collect();
    anchors.sort_unstable();
    let mut diagnostics: Vec<Diagnostic> = vec![];
    let mut followers: FxHashMap<u32, Vec<Edit>> = FxHashMap::default();
    for anchor in &anchors {
        if let Some(&cause) = causes.get(anchor).filter(|cause| *cause != anchor) {
            followers.entry(cause).or_default().push(wrong[anchor].edit.clone());
        }
    }
    for anchor in anchors {
        let others = followers.remove(&anchor).unwrap_or_default();
        if let (Some(wrong), true) = (wrong.remove(&anchor), causes.get(&anchor).is_none_or(|&cause| cause == anchor)) {
            diagnostics.push(wrong.report(others));
        }
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.span().start);
    diagnostics.truncate(MAX_EACH);
    diagnostics
}

/// For each wrong comment that belongs to an expression: the first wrong comment on what the expression is computed from, or itself.
/// Comments are named by the end of what they are about.
fn causes(module: &Module, comments: &FxHashMap<u32, Comment>, wrong: &FxHashMap<u32, Wrong>) -> FxHashMap<u32, u32> {
    let mut causes = FxHashMap::default();
    let mut of_expr: Vec<Option<u32>> = vec![None; module.exprs.len()];
    let order = module.post_order(&module.roots());
    let values: FxHashMap<VarId, _> = order
        .iter()
        .filter_map(|&expr| match module.exprs[expr].kind {
            ExprKind::Let { var, value, .. } => Some((var, value)),
            _ => None,
        })
        .collect();
    let mut cause_at = |end: u32, inherited: Option<u32>| match comments.contains_key(&end) {
        false => inherited,
        // What is as its comment says depends on no change.
        true => wrong.contains_key(&end).then(|| *causes.entry(end).or_insert(inherited.unwrap_or(end))),
    };
    let mut children = vec![];
    for expr in order {
        let inherited = match module.exprs[expr].kind {
            ExprKind::Var(var) => {
                let value = values.get(&var).and_then(|value| of_expr[value.index()]);
                cause_at(module.vars[var].span.end, value)
            }
            ExprKind::Call { args: operands, .. } | ExprKind::Tuple(operands) => {
                let causes = module.items(operands).iter().map(|item| cause_at(item.span.end, of_expr[item.expr.index()]));
                causes.collect::<Vec<_>>().into_iter().flatten().next()
            }
            _ => {
                children.clear();
                module.children(expr, &mut children);
                children.iter().find_map(|child| of_expr[child.index()])
            }
        };
        of_expr[expr.index()] = cause_at(module.exprs[expr].span.end, inherited);
    }
    causes
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

/// A comment that is not true.
struct Wrong {
    said: String,
    /// Writes the type.
    edit: Edit,
    literal: bool,
}

impl Wrong {
    /// The report, with the edits of the comments that are wrong for the same reason.
    fn report(self, others: Vec<Edit>) -> Diagnostic {
        let (place, right) = (self.edit.span, self.edit.text.clone());
        let help = match others.len() {
            0 => format!("write `{right}`"),
            n => format!("write `{right}`, and what follows from it in {}", count(n, "more comment")),
        };
        let diagnostic = Diagnostic::new(codes::W0008, format!("the comment says `{}`, the type is `{right}`", self.said))
            .at(place, "not the type of what stands before it")
            .fix_all(help, std::iter::once(self.edit).chain(others).collect());
        match self.literal {
            // The comment may be all that is left of what the literal was (language 9).
            true => diagnostic.note("a literal in text of an older TVM may have been of the type the comment says"),
            false => diagnostic.certain(),
        }
    }
}

fn check(program: &Program, comment: &Comment) -> Option<Wrong> {
    let types = &program.module.types;
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let said = program.text.get(comment.ty.start as usize..comment.ty.end as usize)?;
    // What metadata stands for is not looked up, and what is not known is not wrong.
    let unknown = said.contains("meta[") || comment.found.iter().any(|&ty| ty == Ty::ERROR || types.has_hole(ty));
    let (first, true) = (*comment.found.first()?, !unknown) else { return None };
    if comment.found.iter().any(|&ty| plain(&types.text(ty)) == plain(said)) {
        return None;
    }
    let edit = Edit { span: comment.ty, text: types.text(first) };
    Some(Wrong { said: said.to_owned(), edit, literal: comment.literal })
}
