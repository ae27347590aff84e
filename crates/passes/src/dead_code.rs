//! Removes bindings without effects whose variable is not mentioned, and functions that nothing calls.
//!
//! The rewrite is sound because nothing observes the removed values. Observable operations stay: writing a cell, calling a
//! function that may do so, and calling a function that may not return. As in TVM (`src/relay/transforms/dead_code.cc`), an
//! operator that traps on its data is no effect. If the entry function is not known, all functions stay. A local function that
//! only mentions itself stays too.
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
use relayc_ir::{ExprId, ExprKind, GlobalId, Module, VarId};

pub(crate) const PASS: Pass = Pass {
    name: "dead-code",
    doc: "Takes away bindings that nothing uses and functions that nothing calls. What writes a cell or calls a function that might \
          stays.",
    level: 1,
    run,
};

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let entry = cx.entry.and_then(|name| module.find_global(name));
    let globals = entry.is_some_and(|entry| drop_globals(module, entry));
    drop_lets(module) || globals
}

fn drop_globals(module: &mut Module, entry: GlobalId) -> bool {
    let mut used = vec![false; module.globals.len()];
    let mut left = vec![entry];
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
    let order = module.post_order(&module.roots());
    let uses = Uses::count(module, &order);
    let droppable = droppable(module, &order);
    let dead = uses.dead_lets(module, &order, &droppable);
    rewrite(module, |module, expr| match module.exprs[expr].kind {
        ExprKind::Let { body, .. } if dead[expr.index()] => Some(body),
        _ => None,
    })
}

/// How often variables and expressions are mentioned.
struct Uses {
    of_var: Vec<u32>,
    of_expr: Vec<u32>,
}

impl Uses {
    fn count(module: &Module, order: &[ExprId]) -> Uses {
        let roots = module.roots();
        let mut uses = Uses { of_var: vec![0; module.vars.len()], of_expr: module.use_counts(&roots) };
        roots.iter().for_each(|root| uses.of_expr[root.index()] += 1);
        for &expr in order {
            if let ExprKind::Var(var) = module.exprs[expr].kind {
                uses.of_var[var.index()] += 1;
            }
        }
        uses
    }

    /// The lets that go. One that does may have been the last to mention others.
    fn dead_lets(mut self, module: &Module, order: &[ExprId], droppable: &[bool]) -> Vec<bool> {
        let mut let_of: Vec<Option<ExprId>> = vec![None; module.vars.len()];
        let mut dead = vec![false; module.exprs.len()];
        let mut left = Vec::new();
        for &expr in order {
            if let ExprKind::Let { var, .. } = module.exprs[expr].kind {
                let_of[var.index()] = Some(expr);
                left.push(var);
            }
        }
        while let Some(var) = left.pop() {
            let Some(expr) = let_of[var.index()] else { continue };
            let ExprKind::Let { value, .. } = module.exprs[expr].kind else { continue };
            // One inside of what is gone already mentions nothing any more.
            let gone = dead[expr.index()] || self.of_expr[expr.index()] == 0;
            if gone || self.of_var[var.index()] > 0 || !droppable[value.index()] {
                continue;
            }
            dead[expr.index()] = true;
            left.extend(self.release(module, value, &dead));
        }
        dead
    }

    /// Takes one mention of an expression away, and what hangs on it; the variables that are mentioned less now.
    fn release(&mut self, module: &Module, expr: ExprId, dead: &[bool]) -> Vec<VarId> {
        let (mut vars, mut left) = (Vec::new(), vec![expr]);
        while let Some(expr) = left.pop() {
            self.of_expr[expr.index()] -= 1;
            if self.of_expr[expr.index()] > 0 {
                continue;
            }
            match module.exprs[expr].kind {
                // The value of a dead binding has been released with it.
                ExprKind::Let { body, .. } if dead[expr.index()] => left.push(body),
                ExprKind::Var(var) => {
                    self.of_var[var.index()] -= 1;
                    vars.push(var);
                }
                _ => module.children(expr, &mut left),
            }
        }
        vars
    }
}
