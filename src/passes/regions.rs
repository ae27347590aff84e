//! Regions: which part of the program computes an expression.
//!
//! A region is a function's body, a branch of an `if` or a clause of a `match`. A shared expression belongs to the innermost
//! region around all its uses, where TVM's A-normal form puts it (`src/relay/transforms/to_a_normal_form.cc`) and every
//! engine computes it. A `let` opens no region.

use crate::base::Idx;
use crate::index_type;
use crate::ir::{ExprId, ExprKind, Module};
use rustc_hash::FxHashMap;

index_type! {
    /// A region.
    pub struct RegionId;
}

/// The regions of a module.
pub struct Regions {
    of: Vec<Option<RegionId>>,
    /// The first of the regions that a function, an `if` or a `match` has inside; the others follow it.
    inside: FxHashMap<ExprId, RegionId>,
    /// The region around each, and how many there are around it; the first is around all.
    around: Vec<(RegionId, u32)>,
}

/// The region around all functions: an expression that two of them share belongs to none of them.
pub const OUTERMOST: RegionId = RegionId(0);

impl Regions {
    /// `order` are the expressions under the roots, children before parents.
    pub fn of(module: &Module, order: &[ExprId]) -> Regions {
        let mut regions =
            Regions { of: vec![None; module.exprs.len()], inside: FxHashMap::default(), around: vec![(OUTERMOST, 0)] };
        for root in module.roots() {
            regions.open(root, OUTERMOST);
        }
        let mut children = Vec::new();
        for &expr in order.iter().rev() {
            let Some(here) = regions.of[expr.index()] else { continue };
            children.clear();
            module.children(expr, &mut children);
            // The first children are computed here, the others each in a region of their own.
            let n_here = match module.exprs[expr].kind {
                ExprKind::Fn(_) => 0,
                ExprKind::If { .. } | ExprKind::Match { .. } => 1,
                _ => children.len(),
            };
            children[..n_here].iter().for_each(|&child| regions.use_in(child, here));
            if n_here < children.len() {
                regions.inside.insert(expr, RegionId::from_usize(regions.around.len()));
            }
            children[n_here..].iter().for_each(|&child| regions.open(child, here));
        }
        regions
    }

    /// The region of an expression under the roots.
    pub fn region(&self, expr: ExprId) -> RegionId {
        self.of[expr.index()].unwrap_or(OUTERMOST)
    }

    /// A region inside of an expression: a function's body, or the branch or clause of a number.
    pub fn inside(&self, expr: ExprId, at: usize) -> Option<RegionId> {
        self.inside.get(&expr).map(|first| RegionId::from_usize(first.index() + at))
    }

    /// The region of a root, by its number among them.
    pub fn of_root(&self, at: usize) -> RegionId {
        RegionId::from_usize(1 + at)
    }

    /// Opens a region whose result is an expression.
    fn open(&mut self, result: ExprId, around: RegionId) {
        let region = RegionId::from_usize(self.around.len());
        self.around.push((around, self.around[around.index()].1 + 1));
        self.use_in(result, region);
    }

    fn use_in(&mut self, expr: ExprId, region: RegionId) {
        let joined = self.of[expr.index()].map_or(region, |other| self.common(other, region));
        self.of[expr.index()] = Some(joined);
    }

    /// The innermost region around both.
    fn common(&self, mut a: RegionId, mut b: RegionId) -> RegionId {
        while a != b {
            let deeper = if self.around[a.index()].1 >= self.around[b.index()].1 { &mut a } else { &mut b };
            *deeper = self.around[deeper.index()].0;
        }
        a
    }
}
