//! Regions: the parts of the program in which expressions are computed.
//!
//! A region is a function's body, a branch of an `if` or a clause of a `match`. A shared expression belongs to the innermost
//! region around all its uses. TVM's A-normal form puts it there (`src/relay/transforms/to_a_normal_form.cc`), and every engine
//! computes it there. A `let` opens no region unless the caller asks for it. Its body may use the variable, and so cannot move
//! before the `let`.

use relayc_base::Idx;
use relayc_base::index_type;
use relayc_ir::{ExprId, ExprKind, Module};
use rustc_hash::{FxHashMap, FxHashSet};

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

    /// The region in which a child of an expression is used, by its place among [`Module::children`], if no `let` opens regions.
    pub(crate) fn of_child(&self, module: &Module, expr: ExprId, at: usize) -> RegionId {
        let inside = match module.exprs[expr].kind {
            ExprKind::Fn(_) => self.inside(expr, at),
            ExprKind::If { .. } | ExprKind::Match { .. } => at.checked_sub(1).and_then(|at| self.inside(expr, at)),
            _ => None,
        };
        inside.unwrap_or(self.region(expr))
    }

    /// The expressions below a function literal that belong to it, and those that it captures, both in the order of evaluation. What is
    /// captured is computed around the literal, once. An expression that is newer than the regions belongs to its user.
    pub(crate) fn own_and_captured(&self, module: &Module, literal: ExprId) -> (Vec<ExprId>, Vec<ExprId>) {
        let inside = self.inside(literal, 0).unwrap_or(OUTERMOST);
        let is_around = |expr: ExprId| {
            let region = self.of.get(expr.index()).copied().flatten().filter(|_| is_computed(module, expr));
            region.is_some_and(|region| self.common(region, inside) != inside)
        };
        let (mut own, mut captured) = (Vec::new(), Vec::new());
        let mut seen = FxHashSet::default();
        let mut stack = vec![(literal, false)];
        let mut children = Vec::new();
        while let Some((expr, done)) = stack.pop() {
            if done {
                own.push(expr);
            } else if seen.insert(expr) {
                if is_around(expr) {
                    captured.push(expr);
                    continue;
                }
                stack.push((expr, true));
                children.clear();
                module.evaluated_children(expr, &mut children);
                stack.extend(children.iter().rev().map(|&child| (child, false)));
            }
        }
        (own, captured)
    }

    /// Whether functions share an expression that is no mere name or constant.
    pub(crate) fn join_functions(&self, module: &Module, order: &[ExprId]) -> bool {
        order.iter().any(|&expr| is_value(module, expr) && self.region(expr) == OUTERMOST)
    }

    /// The function literals, branches and matches that mention inside what is computed around them, or a function literal from there.
    pub(crate) fn capturing(&self, module: &Module, order: &[ExprId]) -> FxHashSet<ExprId> {
        // How far out what is mentioned in a region, and in those inside of it, is computed.
        let mut least: Vec<u32> = self.nesting.iter().map(|nested| nested.depth).collect();
        let mut children = Vec::new();
        for &expr in order {
            children.clear();
            module.children(expr, &mut children);
            for (at, &child) in children.iter().enumerate() {
                if is_value(module, child) {
                    let least = &mut least[self.of_child(module, expr, at).index()];
                    *least = (*least).min(self.nesting[self.region(child).index()].depth);
                }
            }
        }
        for (region, nested) in self.nesting.iter().enumerate().skip(1).rev() {
            least[nested.around.index()] = least[nested.around.index()].min(least[region]);
        }
        let captures = |&expr: &ExprId| {
            let n_inside = match module.exprs[expr].kind {
                ExprKind::Fn(_) => 1,
                ExprKind::If { .. } => 2,
                ExprKind::Match { clauses, .. } => clauses.len(),
                _ => 0,
            };
            let mut inside = (0..n_inside).filter_map(|at| self.inside(expr, at));
            inside.any(|inside| least[inside.index()] < self.nesting[inside.index()].depth)
        };
        order.iter().copied().filter(captures).collect()
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

/// Whether an expression is more than a name or a constant.
fn is_value(module: &Module, expr: ExprId) -> bool {
    let kind = module.exprs[expr].kind;
    let is_name = matches!(kind, ExprKind::Var(_) | ExprKind::Global(_) | ExprKind::Op(_) | ExprKind::Ctor(_));
    !is_name && !matches!(kind, ExprKind::Error | ExprKind::Const(_))
}

/// Whether an expression is computed when it is met: to make a function computes nothing.
fn is_computed(module: &Module, expr: ExprId) -> bool {
    is_value(module, expr) && !matches!(module.exprs[expr].kind, ExprKind::Fn(_))
}
