//! Where expressions may be computed: what a combined operator reads must be there already.

use crate::effects::Pure;
use crate::lambda_lift::bound_by;
use crate::regions::{OUTERMOST, RegionId, Regions};
use relayc_base::Idx;
use relayc_ir::{ExprId, ExprKind, Module, Root, VarId};
use rustc_hash::FxHashMap;

pub(super) struct Scopes {
    /// With a region for the body of each `let`.
    regions: Regions,
    /// By the number of an expression: the innermost region whose variables it reads.
    needs: Vec<RegionId>,
    pure: Pure,
}

impl Scopes {
    /// `order` holds the expressions under the roots, children before parents.
    pub(super) fn of(module: &Module, order: &[ExprId]) -> Scopes {
        let regions = Regions::with_lets(module, order);
        let binders = binders(module, &regions, order);
        let mut needs = vec![OUTERMOST; module.exprs.len()];
        let mut children = Vec::new();
        for &expr in order {
            needs[expr.index()] = match module.exprs[expr].kind {
                ExprKind::Var(var) => binders.get(&var).copied().unwrap_or(OUTERMOST),
                ExprKind::Error | ExprKind::Const(_) | ExprKind::Global(_) | ExprKind::Op(_) | ExprKind::Ctor(_) => OUTERMOST,
                ExprKind::Tuple(_) | ExprKind::Proj { .. } | ExprKind::Call { .. } => {
                    children.clear();
                    module.children(expr, &mut children);
                    // The regions of its operands' variables are around each other.
                    let inner = |a, b| if regions.common(a, b) == a { b } else { a };
                    children.iter().map(|child| needs[child.index()]).fold(OUTERMOST, inner)
                }
                ExprKind::Fn(_)
                | ExprKind::Let { .. }
                | ExprKind::If { .. }
                | ExprKind::Match { .. }
                | ExprKind::RefNew(_)
                | ExprKind::RefRead(_)
                | ExprKind::RefWrite { .. } => regions.region(expr),
            };
        }
        Scopes { regions, needs, pure: Pure::of(module, order) }
    }

    /// The function's body, branch or clause that computes an expression.
    pub(super) fn home(&self, expr: ExprId) -> RegionId {
        self.regions.home(self.regions.region(expr))
    }

    /// The region in which these calls may be computed together: where the first of them is, so that no branch computes what another one
    /// needs. `None` if they are in different ones.
    pub(super) fn together(&self, calls: &[ExprId]) -> Option<RegionId> {
        let region = calls.iter().map(|&call| self.regions.region(call)).reduce(|a, b| self.regions.common(a, b))?;
        calls.iter().all(|&call| self.home(call) == self.regions.home(region)).then_some(region)
    }

    /// Whether operands have all their variables in a region, and no effects.
    pub(super) fn may_read(&self, region: RegionId, operands: &[ExprId]) -> bool {
        let is_around = |need: RegionId| self.regions.common(need, region) == need;
        operands.iter().all(|&operand| is_around(self.needs[operand.index()]) && self.pure.is(operand))
    }
}

/// The regions in which variables are bound.
fn binders(module: &Module, regions: &Regions, order: &[ExprId]) -> FxHashMap<VarId, RegionId> {
    let mut binders = FxHashMap::default();
    if module.root == Root::Globals {
        for (at, global) in module.globals.iter().enumerate() {
            binders.extend(module.funcs[global.func].params.iter().map(|&param| (param, regions.of_root(at))));
        }
    }
    for &expr in order {
        let clauses = match module.exprs[expr].kind {
            ExprKind::Match { clauses, .. } => module.clause_items(clauses),
            _ => &[],
        };
        let of_clauses =
            clauses.iter().enumerate().flat_map(|(at, clause)| module.pat_vars(clause.pat).into_iter().map(move |var| (at, var)));
        let of_body = if clauses.is_empty() { bound_by(module, expr) } else { vec![] };
        let bound = of_clauses.chain(of_body.into_iter().map(|var| (0, var)));
        binders.extend(bound.filter_map(|(at, var)| Some((var, regions.inside(expr, at)?))));
    }
    binders
}
