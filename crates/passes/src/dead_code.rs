//! Removes bindings without effects whose variable is not mentioned, and functions that nothing calls.
//!
//! The rewrite is sound because nothing observes the removed values. Observable operations stay: writing a cell, calling a
//! function that may do so, and calling a function that may not return. As in TVM (`src/relay/transforms/dead_code.cc`), an
//! operator that traps on its data is no effect. If the entry function is not known, all functions stay.
//!
//! On request a value that is mentioned once takes the place of the mention, as TVM's `inline_once` has it. `ignore_impurity` also drops
//! and moves what has effects: that keeps answers only where nothing depends on the effects.
//!
//! ```text
//! let %a = add(%x, %x);
//! let %b = multiply(%x, %x);   →   let %b = multiply(%x, %x);
//! %b                               %b
//! ```

use super::bindings::Bindings;
use super::effects::{droppable, pure};
use super::rewrite::{rewrite, rewrite_with};
use super::step::{ArgKind, Param};
use super::to_graph_normal_form::captured;
use super::{Pass, PassCx};
use relayc_base::{Idx, IndexVec};
use relayc_ir::{ExprId, ExprKind, GlobalId, Module, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) const PASS: Pass = Pass {
    name: "dead-code",
    doc: "Takes away bindings that nothing uses and functions that nothing calls. What writes a cell or calls a function that might \
          stays.",
    level: 1,
    params: &[
        Param {
            name: "inline_once",
            kind: ArgKind::Bool,
            default: "false",
            doc: "whether a value that is mentioned once takes the place of the mention",
        },
        Param {
            name: "ignore_impurity",
            kind: ArgKind::Bool,
            default: "false",
            doc: "whether what has effects goes too, if nothing uses its value",
        },
    ],
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let entry = cx.entry.and_then(|name| module.find_global(name));
    let globals = entry.is_some_and(|entry| keep_globals(module, vec![entry]));
    let dropped = drop_lets(module, cx.args.bool("ignore_impurity"));
    let inlined = cx.args.bool("inline_once") && inline_once(module, cx.args.bool("ignore_impurity"));
    dropped || inlined || globals
}

/// Keeps only functions that these reach; says whether any went.
pub(crate) fn keep_globals(module: &mut Module, entries: Vec<GlobalId>) -> bool {
    let mut used = vec![false; module.globals.len()];
    let mut left = entries;
    while let Some(global) = left.pop() {
        if std::mem::replace(&mut used[global.index()], true) {
            continue;
        }
        let body = module.funcs[module.globals[global].func].body;
        left.extend(module.post_order(&[body]).into_iter().filter_map(|expr| match module.exprs[expr].kind {
            ExprKind::Global(callee) => Some(callee),
            _ => None,
        }));
    }
    if used.iter().all(|&used| used) {
        return false;
    }
    let mut kept = IndexVec::new();
    let mut numbers: Vec<Option<GlobalId>> = Vec::new();
    for (global, used) in std::mem::take(&mut module.globals).iter().zip(used) {
        numbers.push(used.then(|| kept.push(global.clone())));
    }
    module.globals = kept;
    for expr in module.exprs.ids() {
        if let ExprKind::Global(global) = module.exprs[expr].kind {
            // What is not reached any more may still mention what is gone.
            module.exprs[expr].kind = numbers[global.index()].map_or(ExprKind::Error, ExprKind::Global);
        }
    }
    true
}

fn drop_lets(module: &mut Module, ignore_impurity: bool) -> bool {
    let dead = dead_lets(module, ignore_impurity);
    rewrite(module, |module, expr| match module.exprs[expr].kind {
        ExprKind::Let { body, .. } if dead[expr.index()] => Some(body),
        _ => None,
    })
}

/// The bindings that go: nothing that stays mentions their variables.
fn dead_lets(module: &Module, ignore_impurity: bool) -> Vec<bool> {
    let order = module.post_order(&module.roots());
    let droppable = if ignore_impurity { vec![true; module.exprs.len()] } else { droppable(module, &order) };
    let mut value_of: Vec<Option<ExprId>> = vec![None; module.vars.len()];
    for &expr in &order {
        if let ExprKind::Let { var, value, .. } = module.exprs[expr].kind {
            value_of[var.index()] = Some(value);
        }
    }
    let (mut stays, mut mentioned) = (vec![false; module.exprs.len()], vec![false; module.vars.len()]);
    let mut left = module.roots();
    while let Some(expr) = left.pop() {
        if std::mem::replace(&mut stays[expr.index()], true) {
            continue;
        }
        match module.exprs[expr].kind {
            // What a variable is bound to stays once it is mentioned.
            ExprKind::Let { value, body, .. } if droppable[value.index()] => left.push(body),
            ExprKind::Var(var) => {
                mentioned[var.index()] = true;
                left.extend(value_of[var.index()]);
            }
            _ => module.children(expr, &mut left),
        }
    }
    let mut dead = vec![false; module.exprs.len()];
    for &expr in &order {
        if let ExprKind::Let { var, value, .. } = module.exprs[expr].kind {
            dead[expr.index()] = stays[expr.index()] && droppable[value.index()] && !mentioned[var.index()];
        }
    }
    dead
}

/// Puts values without effects that are mentioned once, in the function that binds them, in the place of the mention.
fn inline_once(module: &mut Module, ignore_impurity: bool) -> bool {
    let roots = module.roots();
    let order = module.post_order(&roots);
    let (uses, pure, captured) = (module.use_counts(&roots), pure(module, &order), captured(module, &order));
    let bindings = Bindings::of(module, &order);
    let results: FxHashSet<ExprId> = roots.into_iter().collect();
    let mut mentions: FxHashMap<VarId, u32> = FxHashMap::default();
    for &expr in &order {
        if let ExprKind::Var(var) = module.exprs[expr].kind {
            *mentions.entry(var).or_default() += uses[expr.index()] + u32::from(results.contains(&expr));
        }
    }
    let mut once: FxHashMap<VarId, ExprId> = FxHashMap::default();
    for &expr in &order {
        if let ExprKind::Let { var, value, .. } = module.exprs[expr].kind
            && mentions.get(&var) == Some(&1)
            && !captured.contains(&var)
            && (ignore_impurity || pure[value.index()])
            && bindings.may_go(module, var, value)
        {
            once.insert(var, value);
        }
    }
    rewrite_with(module, |module, replaced, expr| match module.exprs[expr].kind {
        ExprKind::Var(var) => once.get(&var).map(|&value| replaced.get(value)),
        ExprKind::Let { var, body, .. } => once.contains_key(&var).then_some(body),
        _ => None,
    })
}
