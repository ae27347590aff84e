//! Replaces a call of a global function by its body: TVM's `Inline` (`src/relay/transforms/inline.cc`).
//!
//! The pass inlines functions with `Inline=1`, and functions that the whole program mentions once, as a callee. The rewrite is
//! sound because a `let` binds each parameter to its argument. Arguments are thus computed once, before the body, as in a call.
//! The body is a copy with its own variables. Two kinds of functions stay: those that can reach themselves, and those with type
//! parameters, whose body has no types of its own. The pass keeps the definition: `dead-code` removes it if nothing mentions it. What
//! only calls mention, and is not the entry, keeps its own calls: its copies are what is computed.
//!
//! ```text
//! def @f(%a: int32) { add(%a, %a) }  def @main(%x: int32) { @f(%x) }    →    def @main(%x: int32) { let %a = %x; add(%a, %a) }
//! ```

use super::bindings::declared;
use super::build::{args, bind};
use super::copy::Copy;
use super::{Pass, PassCx};
use relayc_base::Idx;
use relayc_ir::{AttrValue, ExprId, ExprKind, Func, FuncId, GlobalId, Module, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) const PASS: Pass = Pass {
    name: "inline",
    doc: "Puts the bodies of functions that are called once, or marked `Inline=1`, in the place of their calls. A function that \
          calls itself stays.",
    level: 1,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

/// How many expressions copies may add.
pub(crate) const MAX_COPIED: usize = 1 << 20;

fn run(module: &mut Module, cx: &PassCx) -> bool {
    if module.globals.len() < 2 {
        return false;
    }
    let calls = Calls::of(module);
    let wanted: FxHashSet<GlobalId> =
        calls.callees_first.iter().copied().filter(|&global| calls.wanted(module, global)).collect();
    if wanted.is_empty() {
        return false;
    }
    let entry = cx.entry.and_then(|name| module.find_global(name));
    let mut left = MAX_COPIED;
    for &global in &calls.callees_first {
        // Copies take the place of what is only called. Were its own calls inlined too, a chain of n functions would grow to n²
        // expressions.
        if wanted.contains(&global) && calls.only_called(global) && entry != Some(global) {
            continue;
        }
        let mut bodies = vec![module.funcs[module.globals[global].func].body];
        while let Some(body) = bodies.pop() {
            for expr in module.post_order(&[body]) {
                let Some(callee) = callee(module, expr).filter(|callee| wanted.contains(callee)) else { continue };
                let func = module.globals[callee].func;
                let Some(inlined) = inline(module, expr, func, &mut left) else { continue };
                module.exprs[expr].kind = module.exprs[inlined.bound].kind;
                // Without parameters nothing is bound, and the call itself has become the body.
                bodies.push(if inlined.bound == inlined.body { expr } else { inlined.body });
            }
        }
    }
    true
}

/// The global function that an expression calls.
pub(crate) fn callee(module: &Module, expr: ExprId) -> Option<GlobalId> {
    let ExprKind::Call { callee, .. } = module.exprs[expr].kind else { return None };
    match module.exprs[callee].kind {
        ExprKind::Global(global) => Some(global),
        _ => None,
    }
}

/// Whether a function has the attribute `Inline=1`.
pub(crate) fn is_marked(module: &Module, global: GlobalId) -> bool {
    let attrs = &module.funcs[module.globals[global].func].attrs;
    attrs.iter().any(|(name, value)| &**name == "Inline" && value.as_int().is_some_and(|value| value != 0))
}

/// The call graph.
struct Calls {
    /// As far as recursion allows.
    callees_first: Vec<GlobalId>,
    /// Those that can reach themselves.
    recursive: FxHashSet<GlobalId>,
    /// How often each is called, and how often it is mentioned otherwise.
    n_calls: FxHashMap<GlobalId, usize>,
    n_others: FxHashMap<GlobalId, usize>,
}

impl Calls {
    fn of(module: &Module) -> Calls {
        let (mut n_calls, mut n_others) = (FxHashMap::default(), FxHashMap::default());
        let mut mentioned: Vec<Vec<GlobalId>> = Vec::new();
        let mut children = Vec::new();
        let mut counted = vec![false; module.exprs.len()];
        for global in module.globals.iter() {
            let body = module.funcs[global.func].body;
            let mut found = Vec::new();
            // A mention for each parent, and one more where it is the body itself.
            let mut mention = |module: &Module, expr: ExprId, called: bool, new: bool| {
                let ExprKind::Global(callee) = module.exprs[expr].kind else { return };
                found.push(callee);
                let counts = if called { &mut n_calls } else { &mut n_others };
                *counts.entry(callee).or_default() += usize::from(new);
            };
            mention(module, body, false, true);
            for expr in module.post_order(&[body]) {
                let new = !std::mem::replace(&mut counted[expr.index()], true);
                let is_call = matches!(module.exprs[expr].kind, ExprKind::Call { .. });
                children.clear();
                module.children(expr, &mut children);
                for (at, &child) in children.iter().enumerate() {
                    mention(module, child, is_call && at == 0, new);
                }
            }
            mentioned.push(found);
        }
        Calls { callees_first: callees_first(&mentioned), recursive: recursive(&mentioned), n_calls, n_others }
    }

    /// The number of its calls, and of its other mentions.
    fn n_mentions(&self, global: GlobalId) -> (usize, usize) {
        let count = |counts: &FxHashMap<GlobalId, usize>| counts.get(&global).copied().unwrap_or(0);
        (count(&self.n_calls), count(&self.n_others))
    }

    fn only_called(&self, global: GlobalId) -> bool {
        matches!(self.n_mentions(global), (1.., 0))
    }

    fn wanted(&self, module: &Module, global: GlobalId) -> bool {
        let func = &module.funcs[module.globals[global].func];
        let marked = is_marked(module, global);
        let once = self.n_mentions(global) == (1, 0);
        // What else is said of a function (a compiler, a primitive) is said of it as a function.
        let plain = func.attrs.iter().all(|(name, value)| &**name == "Inline" || *value == AttrValue::None);
        plain && (marked || once) && func.type_params.is_empty() && !self.recursive.contains(&global)
    }
}

/// Functions behind those that they mention, as far as recursion allows.
pub(crate) fn callees_first(mentioned: &[Vec<GlobalId>]) -> Vec<GlobalId> {
    let mut order = Vec::new();
    let mut seen = vec![false; mentioned.len()];
    let mut stack: Vec<(GlobalId, bool)> = (0..mentioned.len()).rev().map(|at| (GlobalId::from_usize(at), false)).collect();
    while let Some((global, done)) = stack.pop() {
        if done {
            order.push(global);
        } else if !std::mem::replace(&mut seen[global.index()], true) {
            stack.push((global, true));
            stack.extend(mentioned[global.index()].iter().map(|&callee| (callee, false)));
        }
    }
    order
}

/// The functions on a cycle: those that remain when no more can be removed from either end. This includes functions that only lie
/// between two cycles.
fn recursive(mentioned: &[Vec<GlobalId>]) -> FxHashSet<GlobalId> {
    let mut callers: Vec<Vec<GlobalId>> = vec![vec![]; mentioned.len()];
    for (caller, callees) in mentioned.iter().enumerate() {
        callees.iter().for_each(|callee| callers[callee.index()].push(GlobalId::from_usize(caller)));
    }
    let ends = |edges: &[Vec<GlobalId>], back: &[Vec<GlobalId>]| {
        let mut left: Vec<usize> = edges.iter().map(Vec::len).collect();
        let mut work: Vec<usize> = (0..edges.len()).filter(|&at| left[at] == 0).collect();
        let mut gone = vec![false; edges.len()];
        while let Some(at) = work.pop() {
            gone[at] = true;
            for other in &back[at] {
                left[other.index()] -= 1;
                if left[other.index()] == 0 {
                    work.push(other.index());
                }
            }
        }
        gone
    };
    let (no_cycle_below, no_cycle_above) = (ends(mentioned, &callers), ends(&callers, mentioned));
    let on_cycle = (0..mentioned.len()).filter(|&at| !no_cycle_below[at] && !no_cycle_above[at]);
    on_cycle.map(GlobalId::from_usize).collect()
}

/// A call inlined: the parameters bound to their arguments, and the copy of the body behind them.
struct Inlined {
    bound: ExprId,
    body: ExprId,
}

/// `f(a, …) == let p = a; …; body`, with a copy of the body.
fn inline(module: &mut Module, call: ExprId, func: FuncId, left: &mut usize) -> Option<Inlined> {
    let Func { params, body, ret, .. } = module.funcs[func].clone();
    let operands = args(module, call);
    let order = module.post_order(&[body]);
    *left = left.checked_sub(order.len())?;
    let copy = Copy::of(module, &params, &order);
    let (span, ty) = (module.exprs[call].span, module.ty(call));
    let body = declared(module, copy.expr(body), ret);
    let params: Vec<VarId> = params.into_iter().map(|param| copy.var(param)).collect();
    Some(Inlined { bound: bind(module, span, ty, params.into_iter().zip(operands), body), body })
}
