//! Taps: steps of a program as additional results, so that the compiled program yields them as the text defines them.
//!
//! A compiled program may hold a value in blocks of channels, scaled for the next operator, or only in a register of a fused
//! kernel. A result has none of these forms. So a requested step becomes a result before the passes run, and passes undo their
//! changes before the end. Steps that end fused groups anyway stay results of their groups. A step inside a group ends the
//! group for this run, which is reported.

use crate::compile::{self, Compiled, Refused, Settings};
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_check::infer;
use relayc_driver::optimise::{self, PassPlan};
use relayc_driver::run::Limits;
use relayc_driver::steps::Steps;
use relayc_exec::constants::Keep;
use relayc_exec::plan::{self, NotCompiled};
use relayc_ir::{ExprId, ExprKind, FuncId, Module};
use relayc_ops as ops;
use relayc_passes::build::add_results;
use rustc_hash::FxHashSet;

use crate::trace::{self, Groups};
use relayc_driver::bind::Bound;
use relayc_driver::run::to_value;
use relayc_driver::steps::{finite, tensors_of};
use relayc_exec::program::PlanSession;
use relayc_ir::tensor::Tensor;

/// A step that is a result of a compiled program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tap {
    step: usize,
    /// The field of the step, if it is a tuple.
    field: Option<usize>,
    /// Whether the step ends a group only because it was requested.
    apart: bool,
}

/// Passes that change no value: inlining, and sharing of bound expressions.
pub(crate) const PLAIN: [&str; 2] = ["inline", "to-graph-normal-form"];

/// Compiles an entry so that its first result is its own, and the others are steps, which the taps identify.
///
/// The module is the typed one of the text, or a part of it. Errors: those of [`compile::compile`].
pub(crate) fn compile(
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
    let how = PassPlan::named(PLAIN, compile::target_of(settings.isa)).map_err(|error| wrong(bug(&error.message)))?;
    optimise::optimise(module, &PassPlan { entry: Some(entry.to_owned()), ..how }, &mut ()).map_err(wrong)?;
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
    Diagnostic::new(relayc_base::diag::codes::E0901, format!("the steps of the program could not become results: {words}"))
        .note("this is a bug in relayc, not in your program")
}

/// Places of the values that end groups if nothing is requested.
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

/// The expressions that a function computes itself, in order.
fn outside_of_functions(module: &Module, body: ExprId) -> Vec<ExprId> {
    module.post_order_by(&[body], |module, expr, children| {
        if !matches!(module.exprs[expr].kind, ExprKind::Fn(_)) {
            module.evaluated_children(expr, children);
        }
    })
}

/// The steps that become results, with their expressions. For a tuple, these are the fields that the program reads.
fn wanted(module: &mut Module, func: FuncId, steps: &Steps, ends: &FxHashSet<Span>) -> (Vec<Tap>, Vec<ExprId>) {
    let order = outside_of_functions(module, module.funcs[func].body);
    let (mut taps, mut exprs) = (vec![], vec![]);
    for &expr in &order {
        let span = module.exprs[expr].span;
        if matches!(module.exprs[expr].kind, ExprKind::Var(_) | ExprKind::Const(_) | ExprKind::Fn(_) | ExprKind::Op(_)) {
            continue;
        }
        let Some(step) = steps.names().of_expr(module, expr) else { continue };
        let is_end = ends.contains(&span) || matches!(module.exprs[expr].kind, ExprKind::Tuple(_) | ExprKind::Proj { .. });
        if !(steps.is_watched(step) || (steps.saves() && is_end)) {
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

/// Runs a compiled program with steps as additional results; returns its own result. Errors: errors of the run, and E0509.
pub(crate) fn run(
    steps: &Steps,
    compiled: &Compiled,
    taps: &[Tap],
    session: &mut PlanSession,
    args: &[Bound],
) -> Result<Bound, Box<Diagnostic>> {
    let module = compiled.module();
    let mut groups = Groups::of(&compiled.program.plan);
    let result = compiled.run_in(
        session,
        args,
        Some(&mut |step, memory| {
            if !steps.checks() {
                return Ok(());
            }
            groups.before(step, memory, &mut |group, operands, memory| {
                // What lies nowhere is part of a later group's kernel, and is seen there.
                let (Some(operands), Some(result)) = (operands, trace::read(&group.result, memory)) else {
                    return Ok(());
                };
                let operands: Vec<&Tensor> =
                    operands.iter().flat_map(|operand| operand.tensors()).map(|near| &near.value).collect();
                let results: Vec<&Tensor> = result.tensors().into_iter().map(|near| &near.value).collect();
                finite::check(module, group.call, &operands, &results)
            })
        }),
    )?;
    match result {
        Bound::Tuple(mut results) if !taps.is_empty() => {
            let values = results.split_off(1);
            record_all(steps, taps, values);
            Ok(results.swap_remove(0))
        }
        result => Ok(result),
    }
}

/// Records the results that are steps; the fields of a tuple are one step.
fn record_all(steps: &Steps, taps: &[Tap], values: Vec<Bound>) {
    let mut values = taps.iter().zip(values).peekable();
    while let Some((tap, value)) = values.next() {
        let path = |tap: &Tap| tap.field.map_or(String::new(), |field| format!(".{field}"));
        let mut tensors = tensors_of(&to_value(value), &path(tap));
        while let Some((next, value)) = values.next_if(|(next, _)| next.step == tap.step && next.field > tap.field) {
            tensors.extend(tensors_of(&to_value(value), &path(next)));
        }
        steps.record(tap.step, &tensors, tap.apart);
    }
}
