//! Replaces bindings by shared expressions: TVM's `ToGraphNormalForm` (`src/relay/transforms/to_graph_normal_form.cc`), the
//! inverse of `to-a-normal-form`.
//!
//! The rewrite is sound for values without effects: a mentioned expression is computed once, before its first user, whether it
//! has a name or not. A binding stays if its value reads, writes or creates cells, or calls a function, which may not return. A
//! binding stays if an inner function mentions it, because every call would compute it again; a recursive function is an example.
//! A binding stays if its annotation differs from the type of its value (`bindings.rs`). As in TVM, unmentioned values are
//! removed, and values that only one branch mentions are computed there.
//!
//! ```text
//! let %a = nn.relu(%x);  add(%a, %a)    →    %0 = nn.relu(%x);  add(%0, %0)
//! ```

use super::bindings::Bindings;
use super::effects::pure;
use super::rewrite::rewrite_with;
use super::{Pass, PassCx};
use relayc_base::Idx;
use relayc_ir::{ExprId, ExprKind, Module, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) const PASS: Pass = Pass {
    name: "to-graph-normal-form",
    doc: "Writes bindings of values without effects as shared expressions. What a function inside mentions keeps its name.",
    level: 1,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

fn run(module: &mut Module, _: &PassCx) -> bool {
    let order = module.post_order(&module.roots());
    let pure = pure(module, &order);
    let captured = captured(module, &order);
    let bindings = Bindings::of(module, &order);
    let binding = |expr: ExprId| match module.exprs[expr].kind {
        ExprKind::Let { var, value, .. } => {
            let goes = pure[value.index()] && !captured.contains(&var) && bindings.may_go(module, var, value);
            goes.then_some((var, value))
        }
        _ => None,
    };
    let shared: FxHashMap<VarId, ExprId> = order.iter().filter_map(|&expr| binding(expr)).collect();
    rewrite_with(module, |module, replaced, expr| match module.exprs[expr].kind {
        ExprKind::Var(var) => shared.get(&var).map(|&value| replaced.get(value)),
        ExprKind::Let { var, body, .. } => shared.contains_key(&var).then_some(body),
        _ => None,
    })
}

/// The variables that a function inside of the one that binds them mentions.
pub(crate) fn captured(module: &Module, order: &[ExprId]) -> FxHashSet<VarId> {
    let inner = order.iter().filter_map(|&expr| match module.exprs[expr].kind {
        ExprKind::Fn(func) => Some(module.funcs[func].body),
        _ => None,
    });
    let bodies: Vec<ExprId> = inner.chain(module.roots()).collect();
    let mut bound_in: FxHashMap<VarId, usize> = FxHashMap::default();
    let mut mentions: Vec<(VarId, usize)> = Vec::new();
    // What a body computes itself; the number of the last body that was seen to compute an expression.
    let mut seen = vec![usize::MAX; module.exprs.len()];
    let mut children = Vec::new();
    for (body, &root) in bodies.iter().enumerate() {
        let mut stack = vec![root];
        while let Some(expr) = stack.pop() {
            if std::mem::replace(&mut seen[expr.index()], body) == body {
                continue;
            }
            match module.exprs[expr].kind {
                ExprKind::Fn(_) => continue,
                ExprKind::Var(var) => mentions.push((var, body)),
                ExprKind::Let { var, .. } => {
                    bound_in.insert(var, body);
                }
                _ => {}
            }
            children.clear();
            module.children(expr, &mut children);
            stack.extend(&children);
        }
    }
    mentions.into_iter().filter(|(var, body)| bound_in.get(var).is_some_and(|bound| bound != body)).map(|(var, _)| var).collect()
}
