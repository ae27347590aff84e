//! Regions: the parts of the program in which expressions are computed.
//!
//! A region is a function's body, a branch of an `if` or a clause of a `match`. A shared expression belongs to the innermost
//! region around all its uses. TVM's A-normal form puts it there (`src/relay/transforms/to_a_normal_form.cc`), and every engine
//! computes it there. A `let` opens no region unless the caller asks for it. Its body may use the variable, and so cannot move
//! before the `let`.

use relayc_base::Idx;
use relayc_base::index_type;
use relayc_ir::{ExprId, ExprKind, Module};
use rustc_hash::FxHashMap;

index_type! {
    /// A region.
    pub(crate) struct RegionId;
}

/// The regions of a module.
pub(crate) struct Regions {
    of: Vec<Option<RegionId>>,
    /// The first of the regions that a function, an `if` or a `match` has inside; the others follow it.
    inside: FxHashMap<ExprId, RegionId>,
    /// The first is around all.
    nesting: Vec<Nested>,
}

/// The part of a `let` that is a region.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lets {
    Nothing,
    Bodies,
    Wholes,
}

/// Where a region lies.
#[derive(Clone, Copy)]
struct Nested {
    around: RegionId,
    /// How many regions there are around it.
    depth: u32,
    /// A region further out, so that a way of any length takes few steps (Myers, "An applicative random-access stack", 1983).
    jump: RegionId,
    /// The innermost region around it, or itself, that no `let` opened.
    home: RegionId,
}

/// The region around all functions: it holds the expressions that several functions share.
pub(crate) const OUTERMOST: RegionId = RegionId(0);

impl Regions {
    /// Computes the regions. `order` holds the expressions under the roots, children before parents.
    pub(crate) fn of(module: &Module, order: &[ExprId]) -> Regions {
        Regions::find(module, order, Lets::Nothing)
    }

    /// As [`Regions::of`], with a region for the body of each `let`.
    pub(crate) fn with_lets(module: &Module, order: &[ExprId]) -> Regions {
        Regions::find(module, order, Lets::Bodies)
    }

    /// As [`Regions::of`], with a region for the value and the body of each `let`, as TVM's `CalcScope` has it.
    pub(crate) fn with_whole_lets(module: &Module, order: &[ExprId]) -> Regions {
        Regions::find(module, order, Lets::Wholes)
    }

    fn find(module: &Module, order: &[ExprId], lets: Lets) -> Regions {
        let outermost = Nested { around: OUTERMOST, depth: 0, jump: OUTERMOST, home: OUTERMOST };
        let mut regions = Regions { of: vec![None; module.exprs.len()], inside: FxHashMap::default(), nesting: vec![outermost] };
        for root in module.roots() {
            regions.open(root, OUTERMOST, false);
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
                ExprKind::Let { .. } if lets == Lets::Bodies => 1,
                ExprKind::Let { value, body, .. } if lets == Lets::Wholes => {
                    let region = RegionId::from_usize(regions.nesting.len());
                    regions.inside.insert(expr, region);
                    regions.open(body, here, true);
                    regions.use_in(value, region);
                    continue;
                }
                _ => children.len(),
            };
            children[..n_here].iter().for_each(|&child| regions.use_in(child, here));
            if n_here < children.len() {
                regions.inside.insert(expr, RegionId::from_usize(regions.nesting.len()));
            }
            let by_let = matches!(module.exprs[expr].kind, ExprKind::Let { .. });
            children[n_here..].iter().for_each(|&child| regions.open(child, here, by_let));
        }
        regions
    }

    /// The region of an expression under the roots.
    pub(crate) fn region(&self, expr: ExprId) -> RegionId {
        self.of[expr.index()].unwrap_or(OUTERMOST)
    }

    /// A region inside an expression: a function's body, or the branch or clause with the number `at`.
    pub(crate) fn inside(&self, expr: ExprId, at: usize) -> Option<RegionId> {
        self.inside.get(&expr).map(|first| RegionId::from_usize(first.index() + at))
    }

    /// The region of the root with the number `at`.
    pub(crate) fn of_root(&self, at: usize) -> RegionId {
        RegionId::from_usize(1 + at)
    }

    /// The innermost enclosing region that no `let` opened, possibly the region itself: a function's body, a branch or a clause.
    pub(crate) fn home(&self, region: RegionId) -> RegionId {
        self.nesting[region.index()].home
    }

    /// Opens a region whose result is an expression.
    fn open(&mut self, result: ExprId, around: RegionId, by_let: bool) {
        let region = RegionId::from_usize(self.nesting.len());
        let outer = self.nesting[around.index()];
        let jumped = self.nesting[outer.jump.index()];
        let depth_of = |region: RegionId| self.nesting[region.index()].depth;
        // Two jumps of one length become one of twice the length and one.
        let twice = outer.depth - jumped.depth == jumped.depth - depth_of(jumped.jump);
        let jump = if twice { jumped.jump } else { around };
        let home = if by_let { outer.home } else { region };
        self.nesting.push(Nested { around, depth: outer.depth + 1, jump, home });
        self.use_in(result, region);
    }

    fn use_in(&mut self, expr: ExprId, region: RegionId) {
        let joined = self.of[expr.index()].map_or(region, |other| self.common(other, region));
        self.of[expr.index()] = Some(joined);
    }

    /// The innermost region around both.
    pub(crate) fn common(&self, mut a: RegionId, mut b: RegionId) -> RegionId {
        let at = |region: RegionId| self.nesting[region.index()];
        if at(a).depth < at(b).depth {
            std::mem::swap(&mut a, &mut b);
        }
        let depth = at(b).depth;
        while at(a).depth > depth {
            a = if at(at(a).jump).depth >= depth { at(a).jump } else { at(a).around };
        }
        // At one depth jumps are of one length.
        while a != b {
            (a, b) = if at(a).jump != at(b).jump { (at(a).jump, at(b).jump) } else { (at(a).around, at(b).around) };
        }
        a
    }
}
