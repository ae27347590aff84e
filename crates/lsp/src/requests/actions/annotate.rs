//! Types that the text does not say: of the binding or parameter at a place, of all parameters of its function.

use super::{Promise, Proposal, touch};
use crate::requests::Cx;
use relayc_base::diag::Edit;
use relayc_base::{Span, text};
use relayc_ir::types::Ty;
use relayc_syntax::ast::{Param, StmtKind};
use relayc_syntax::walk::Node;

pub(super) fn types(cx: &Cx, within: Span) -> Vec<Proposal> {
    let ast = cx.checked.ast();
    let path = ast.path(within.start);
    let mut proposals: Vec<Proposal> = vec![];
    let found = path.iter().rev().find_map(|node| match *node {
        Node::Stmt(stmt) => match ast.stmts[stmt].kind {
            StmtKind::Let { name, ty: None, .. } | StmtKind::FreeVar { name, ty: None } => Some((name, name)),
            _ => None,
        },
        Node::Param(param) => of_param(param),
        _ => None,
    });
    let Some((name, behind)) = found else { return proposals };
    // At the name, not somewhere in the value.
    if within.start < name.start || behind.end < within.start {
        return proposals;
    }
    if let Some((ty, edit)) = annotation(cx, name, behind) {
        let title = format!("Add the type `{}`", text::shortened(&ty, 60));
        proposals.push(Proposal::new(title, Promise::Same, vec![edit]));
    }
    let func = path.iter().rev().find_map(|node| match *node {
        Node::Func(func) => Some(func),
        _ => None,
    });
    let params = func.map_or(&[][..], |func| ast.items(ast.funcs[func].params));
    if params.iter().any(|param| touch(param.name, name)) {
        let edits: Vec<Edit> = params
            .iter()
            .filter_map(|&param| of_param(param))
            .filter_map(|(name, at)| Some(annotation(cx, name, at)?.1))
            .collect();
        if edits.len() > 1 {
            let title = format!("Add the types of {}", text::count(edits.len(), "parameter"));
            proposals.push(Proposal::new(title, Promise::Same, edits));
        }
    }
    proposals
}

/// The name of a parameter without a type, and what its type stands behind.
fn of_param(param: Param) -> Option<(Span, Span)> {
    let Param { name, attrs, ty, span } = param;
    ty.is_none().then_some((name, if attrs.is_empty() { name } else { span }))
}

/// The type of what is bound at a name, and the edit that writes it.
fn annotation(cx: &Cx, name: Span, behind: Span) -> Option<(String, Edit)> {
    let mention = cx.checked.mention_at(name.start).filter(|mention| mention.span == name)?;
    let module = cx.checked.module();
    let ty = cx.checked.ty(mention.meaning).filter(|&ty| ty != Ty::ERROR && !module.types.has_hole(ty))?;
    let ty = module.types.text(ty);
    // A type of endless text is cut.
    if ty.ends_with('…') {
        return None;
    }
    let edit = Edit { span: behind.end_point(), text: format!(": {ty}") };
    Some((ty, edit))
}
