//! Which variables a program in A-normal form still needs at each `let`.
//!
//! Rules of TVM: `src/relay/backend/liveness_analysis.h`. A variable lives as long as something that runs later reads it. Behind the
//! binding of an `if` or a `match` those live that any of its branches needs where it begins. Function literals read the variables
//! they capture. As in TVM, the variable of a `let` lives in the branches of its value, and what a pattern binds lives before the
//! `match` too. An `if` or a `match` that is no value of a `let`, which TVM refuses, reads whatever its branches read.

use super::lambda_lift;
use relayc_ir::{ExprId, ExprKind, Module, VarId};
use rustc_hash::FxHashSet;

/// A `let`, as the walk from the end of the program meets it.
pub(crate) struct Site<'a> {
    pub(crate) binding: ExprId,
    /// What its value reads before any of its branches runs, each once.
    pub(crate) read: &'a [VarId],
    /// What lives behind the value.
    pub(crate) after: &'a FxHashSet<VarId>,
}

/// A block of bindings on the walk.
struct Block {
    /// Those that are left, the last one last.
    bindings: Vec<ExprId>,
    live: FxHashSet<VarId>,
    branching: Option<Branching>,
}

/// A binding whose branches are walked.
struct Branching {
    binding: ExprId,
    left: Vec<ExprId>,
    after: FxHashSet<VarId>,
}

/// Visits the bindings of a block and of its branches, the last one first.
pub(crate) fn visit(module: &Module, body: ExprId, mut f: impl FnMut(Site)) {
    let mut blocks = vec![Block::of(module, body, FxHashSet::default())];
    while let Some(block) = blocks.last_mut() {
        if let Some(branching) = &mut block.branching {
            match branching.left.pop() {
                Some(branch) => {
                    let live = block.live.clone();
                    blocks.push(Block::of(module, branch, live));
                }
                None => {
                    let Branching { binding, after, .. } = block.branching.take().expect("it is there");
                    block.bind(module, binding, after, &mut f);
                }
            }
        } else if let Some(binding) = block.bindings.pop() {
            let left = branches(module, binding);
            if left.is_empty() {
                let after = std::mem::take(&mut block.live);
                block.bind(module, binding, after, &mut f);
            } else {
                block.branching = Some(Branching { binding, left, after: FxHashSet::default() });
            }
        } else {
            let live = blocks.pop().expect("it is the last").live;
            if let Some(branching) = blocks.last_mut().and_then(|around| around.branching.as_mut()) {
                branching.after.extend(live);
            }
        }
    }
}

impl Block {
    /// `after` lives behind the block.
    fn of(module: &Module, mut body: ExprId, after: FxHashSet<VarId>) -> Block {
        let mut bindings = Vec::new();
        while let ExprKind::Let { body: inner, .. } = module.exprs[body].kind {
            bindings.push(body);
            body = inner;
        }
        let mut live = after;
        live.extend(free_vars(module, body));
        Block { bindings, live, branching: None }
    }

    fn bind(&mut self, module: &Module, binding: ExprId, after: FxHashSet<VarId>, f: &mut impl FnMut(Site)) {
        let ExprKind::Let { var, value, .. } = module.exprs[binding].kind else { return };
        let read = match module.exprs[value].kind {
            ExprKind::If { cond, .. } => free_vars(module, cond),
            ExprKind::Match { scrutinee, .. } => free_vars(module, scrutinee),
            _ => free_vars(module, value),
        };
        f(Site { binding, read: &read, after: &after });
        self.live = after;
        self.live.remove(&var);
        self.live.extend(read);
    }
}

/// The branches of the value of a `let`.
fn branches(module: &Module, binding: ExprId) -> Vec<ExprId> {
    let ExprKind::Let { value, .. } = module.exprs[binding].kind else { return vec![] };
    match module.exprs[value].kind {
        ExprKind::If { then_branch, else_branch, .. } => vec![then_branch, else_branch],
        ExprKind::Match { clauses, .. } => module.clause_items(clauses).iter().map(|clause| clause.body).collect(),
        _ => vec![],
    }
}

/// The variables that an expression mentions and does not bind, in the order of the program.
fn free_vars(module: &Module, expr: ExprId) -> Vec<VarId> {
    lambda_lift::free_vars(module, &module.post_order(&[expr]), None).0
}
