//! Calls and projections that run again when an operand learns something.

use super::Infer;
use relayc_ir::ExprId;

impl Infer<'_> {
    /// Has a call or projection run again when one of its operands learns something.
    pub(super) fn wait(&mut self, expr: ExprId) {
        let mut children = Vec::new();
        self.module.children(expr, &mut children);
        let watcher = self.waiting.len() as u32;
        self.waiting.push(Some(expr));
        for child in children {
            let ty = self.ty(child);
            for hole in self.solver.open_holes(&mut self.module.types, ty) {
                self.solver.watch(hole, watcher);
            }
        }
    }

    /// Runs those again whose operands learned something.
    pub(super) fn wake(&mut self) {
        loop {
            let woken = self.solver.take_woken();
            if woken.is_empty() {
                return;
            }
            for watcher in woken {
                if let Some(expr) = self.waiting[watcher as usize].take() {
                    self.attempt(expr);
                }
            }
        }
    }
}
