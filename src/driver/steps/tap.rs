//! Steps of a program as further results of it, so that the compiled program gives them as the text means them.
//!
//! Where a compiled program holds a value, it may hold it in blocks of channels, scaled for what follows, or nowhere: it is a
//! register of a fused kernel. A result is none of these. So a step that is asked for becomes one, before the passes run, and what
//! they do to it they undo before the end. Steps that are results of fused groups anyway stay results of their groups; a step in
//! the middle of one ends a group for this run, which is said.

use super::{Steps, Tap};
use crate::base::Span;
use crate::diag::Diagnostic;
use crate::driver::compile::{self, Compiled, Refused, Settings};
use crate::driver::optimise::{self, How};
use crate::driver::run::Limits;
use crate::infer;
use crate::ir::{ExprId, ExprKind, FuncId, Module, Operand};
use crate::jit::constants::Keep;
use crate::ops;
use crate::plan::{self, NotCompiled};
use rustc_hash::FxHashSet;

/// Passes that change no value: functions where they are called, bindings as shared expressions.
pub const PLAIN: [&str; 2] = ["inline", "to-graph-normal-form"];

/// Compiles an entry so that its first result is its result and the others are steps: the taps say which. The module is the typed one
/// of the text, or a part of it. Errors: as [`compile::compile`].
pub fn compile(
    module: &mut Module,
    entry: &str,
    settings: &Settings,
    limits: Limits,
    steps: &Steps,
) -> Result<(Compiled, Vec<Tap>), Refused> {
    if !steps.wants_values() {
        return compile::compile_module(module, entry, settings, limits, Keep::All).map(|compiled| (compiled, vec![]));
    }
    let wrong = |error| Refused::Wrong(Box::new(error));
    let how = How::named(PLAIN, optimise::Target::of(settings.isa)).map_err(|words| wrong(bug(&words)))?;
    optimise::optimise(module, &How { entry: Some(entry.to_owned()), ..how }, &mut ()).map_err(wrong)?;
    let global = module.find_global(entry).ok_or(Refused::Not(NotCompiled::ControlFlow))?;
    let func = module.globals[global].func;
    if !plan::is_dataflow(module, func) {
        return Err(Refused::Not(NotCompiled::ControlFlow));
    }
    let ends = ends(module, entry, settings)?;
    let (taps, exprs) = wanted(module, func, steps, &ends);
    add_results(module, func, &exprs);
    if let Some(error) = infer::reinfer(module, ops::table()).into_iter().find(Diagnostic::is_error) {
        return Err(wrong(bug(&error.message)));
    }
    let compiled = compile::compile_module(module, entry, settings, limits, Keep::All)?;
    Ok((compiled, taps))
}

fn bug(words: &str) -> Diagnostic {
    Diagnostic::new(crate::diag::codes::E0901, format!("the steps of the program could not become results: {words}"))
        .note("this is a bug in relayc, not in your program")
}

/// Where the values stand with which groups end, if nothing is asked for.
fn ends(module: &Module, entry: &str, settings: &Settings) -> Result<FxHashSet<Span>, Refused> {
    let mut module = module.clone();
    let optimised = optimise::optimise(&mut module, &compile::how(entry, settings), &mut ());
    optimised.map_err(|error| Refused::Wrong(Box::new(error)))?;
    let global = module.find_global(entry).ok_or(Refused::Not(NotCompiled::ControlFlow))?;
    let mut ends = FxHashSet::default();
    for expr in outside_of_functions(&module, module.funcs[module.globals[global].func].body) {
        let ExprKind::Call { callee, .. } = module.exprs[expr].kind else { continue };
        let ExprKind::Fn(group) = module.exprs[callee].kind else {
            ends.insert(module.exprs[expr].span);
            continue;
        };
        let body = module.funcs[group].body;
        match module.exprs[body].kind {
            ExprKind::Tuple(fields) => ends.extend(module.items(fields).iter().map(|field| module.exprs[field.expr].span)),
            _ => drop(ends.insert(module.exprs[body].span)),
        }
    }
    Ok(ends)
}

/// What a function computes itself, in order.
fn outside_of_functions(module: &Module, body: ExprId) -> Vec<ExprId> {
    module.post_order_by(&[body], |module, expr, children| {
        if !matches!(module.exprs[expr].kind, ExprKind::Fn(_)) {
            module.evaluated_children(expr, children);
        }
    })
}

/// The steps that are to be results, and the expressions that they are. Of a tuple these are the fields that the program reads.
fn wanted(module: &mut Module, func: FuncId, steps: &Steps, ends: &FxHashSet<Span>) -> (Vec<Tap>, Vec<ExprId>) {
    let order = outside_of_functions(module, module.funcs[func].body);
    let (mut taps, mut exprs) = (vec![], vec![]);
    for &expr in &order {
        let span = module.exprs[expr].span;
        if matches!(module.exprs[expr].kind, ExprKind::Var(_) | ExprKind::Const(_) | ExprKind::Fn(_) | ExprKind::Op(_)) {
            continue;
        }
        let Some(step) = steps.names.of_expr(module, expr) else { continue };
        let is_end = ends.contains(&span) || matches!(module.exprs[expr].kind, ExprKind::Tuple(_) | ExprKind::Proj { .. });
        if !(steps.is_watched(step) || (steps.save && is_end)) {
            continue;
        }
        let Some(n_fields) = module.types.as_tuple(module.ty(expr)).map(<[_]>::len) else {
            taps.push(Tap { step, field: None, apart: !is_end });
            exprs.push(expr);
            continue;
        };
        let read = order.iter().filter_map(|&user| match module.exprs[user].kind {
            ExprKind::Proj { tuple, index } if tuple == expr => usize::try_from(index).ok().map(|index| (index, user)),
            _ => None,
        });
        let mut fields: Vec<(usize, ExprId)> = read.collect();
        fields.sort_by_key(|&(index, _)| index);
        fields.dedup_by_key(|&mut (index, _)| index);
        if fields.is_empty() {
            fields = (0..n_fields)
                .map(|index| (index, module.expr(span, ExprKind::Proj { tuple: expr, index: index as i32 })))
                .collect();
        }
        for (index, field) in fields {
            taps.push(Tap { step, field: Some(index), apart: !is_end });
            exprs.push(field);
        }
    }
    (taps, exprs)
}

/// Makes the result of a function a tuple of it and of others that it computes.
fn add_results(module: &mut Module, func: FuncId, exprs: &[ExprId]) {
    if exprs.is_empty() {
        return;
    }
    let mut holder = None;
    let mut body = module.funcs[func].body;
    while let ExprKind::Let { body: inner, .. } = module.exprs[body].kind {
        (holder, body) = (Some(body), inner);
    }
    let operands: Vec<Operand> =
        [body].iter().chain(exprs).map(|&expr| Operand { expr, span: module.exprs[expr].span }).collect();
    let fields = module.operands(&operands);
    let span = module.exprs[body].span;
    let tuple = module.expr(span, ExprKind::Tuple(fields));
    match holder.map(|holder| (holder, module.exprs[holder].kind)) {
        Some((holder, ExprKind::Let { var, value, .. })) => {
            module.exprs[holder].kind = ExprKind::Let { var, value, body: tuple };
        }
        _ => module.funcs[func].body = tuple,
    }
    module.funcs[func].ret = None;
}
