//! Removes bindings without effects whose variable is not mentioned, and functions that nothing calls.
//!
//! The rewrite is sound because nothing observes the removed values. Observable operations stay: writing a cell, calling a
//! function that may do so, and calling a function that may not return. As in TVM (`src/relay/transforms/dead_code.cc`), an
//! operator that traps on its data is no effect. If the entry function is not known, all functions stay.
//!
//! ```text
//! let %a = add(%x, %x);
//! let %b = multiply(%x, %x);   →   let %b = multiply(%x, %x);
//! %b                               %b
//! ```

use super::effects::droppable;
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use relayc_base::{Idx, IndexVec};
use relayc_ir::{ExprId, ExprKind, GlobalId, Module};

pub(crate) const PASS: Pass = Pass {
    name: "dead-code",
    doc: "Takes away bindings that nothing uses and functions that nothing calls. What writes a cell or calls a function that might \
          stays.",
    level: 1,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let entry = cx.entry.and_then(|name| module.find_global(name));
    let globals = entry.is_some_and(|entry| keep_globals(module, vec![entry]));
    drop_lets(module) || globals
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

fn drop_lets(module: &mut Module) -> bool {
    let dead = dead_lets(module);
    rewrite(module, |module, expr| match module.exprs[expr].kind {
        ExprKind::Let { body, .. } if dead[expr.index()] => Some(body),
        _ => None,
    })
}

/// The bindings that go: nothing that stays mentions their variables.
fn dead_lets(module: &Module) -> Vec<bool> {
    let order = module.post_order(&module.roots());
    let droppable = droppable(module, &order);
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
