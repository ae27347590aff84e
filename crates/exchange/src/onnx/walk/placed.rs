//! Finds for each expression of a function the block that evaluates it: the body, or a branch of an `if`.

use super::Walk;
use relayc_ir::{ExprId, ExprKind, FuncId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The expressions of a function: of its body, and of each branch of an `if` what only that branch uses, in evaluation order.
pub(super) struct Placed {
    pub(super) blocks: Vec<Rc<[ExprId]>>,
    /// The blocks of the branches of each `if`.
    pub(super) branches: FxHashMap<ExprId, [usize; 2]>,
}

impl Walk<'_> {
    /// The expressions of a function in its blocks: each in the innermost one around all its uses, as the interpreter has it.
    pub(super) fn placed(&mut self, func: FuncId) -> Rc<Placed> {
        if let Some(placed) = self.placed.get(&func) {
            return placed.clone();
        }
        let body = self.module.funcs[func].body;
        let order = self.order(body);
        // Of each block the one around it, and how many are around.
        let mut around: Vec<(usize, usize)> = vec![(0, 0)];
        let mut block_of: FxHashMap<ExprId, usize> = FxHashMap::default();
        let mut branches = FxHashMap::default();
        block_of.insert(body, 0);
        let mut children = Vec::new();
        for &expr in order.iter().rev() {
            let here = block_of.get(&expr).copied().unwrap_or(0);
            children.clear();
            match self.module.exprs[expr].kind {
                ExprKind::Fn(_) => {}
                ExprKind::If { cond, then_branch, else_branch } => {
                    let depth = around[here].1.saturating_add(1);
                    let first = around.len();
                    around.extend([(here, depth), (here, depth)]);
                    branches.insert(expr, [first, first.saturating_add(1)]);
                    use_in(&mut block_of, &around, cond, here);
                    use_in(&mut block_of, &around, then_branch, first);
                    use_in(&mut block_of, &around, else_branch, first.saturating_add(1));
                }
                _ => {
                    self.module.evaluated_children(expr, &mut children);
                    children.iter().for_each(|&child| use_in(&mut block_of, &around, child, here));
                }
            }
        }
        let mut blocks: Vec<Vec<ExprId>> = vec![vec![]; around.len()];
        order.into_iter().for_each(|expr| blocks[block_of.get(&expr).copied().unwrap_or(0)].push(expr));
        let placed = Rc::new(Placed { blocks: blocks.into_iter().map(Rc::from).collect(), branches });
        self.placed.insert(func, placed.clone());
        placed
    }

    /// The expressions under a root in evaluation order, without those of inner functions.
    fn order(&mut self, root: ExprId) -> Vec<ExprId> {
        let mut order = Vec::new();
        let mut seen: FxHashSet<ExprId> = FxHashSet::default();
        let mut stack = vec![(root, false)];
        let mut children = Vec::new();
        while let Some((expr, done)) = stack.pop() {
            if done {
                order.push(expr);
                continue;
            }
            if !seen.insert(expr) {
                continue;
            }
            stack.push((expr, true));
            match self.module.exprs[expr].kind {
                ExprKind::Fn(_) => continue,
                ExprKind::Let { var, value, .. } => {
                    self.lets.insert(var, value);
                    self.names.entry(value).or_insert(var);
                }
                _ => {}
            }
            children.clear();
            self.module.evaluated_children(expr, &mut children);
            stack.extend(children.iter().rev().map(|&child| (child, false)));
        }
        order
    }
}

/// Notes that an expression is used in a block: it belongs to the innermost one around all its uses. A block is numbered after the
/// one around it.
fn use_in(block_of: &mut FxHashMap<ExprId, usize>, around: &[(usize, usize)], expr: ExprId, block: usize) {
    let (mut a, mut b) = (block_of.get(&expr).copied().unwrap_or(block), block);
    while a != b {
        let deeper = if around[a].1 >= around[b].1 { &mut a } else { &mut b };
        *deeper = around[*deeper].0;
    }
    block_of.insert(expr, a);
}
