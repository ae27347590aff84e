//! Binds the expressions that several branches or functions share: TVM's `ToBasicBlockNormalForm`
//! (`src/relay/transforms/to_basic_block_normal_form.cc`).
//!
//! A function's body, a branch of an `if`, a clause of a `match` and a `let` are blocks. An expression whose users lie in blocks of which
//! none is around the others gets a name in the innermost block around all of them. Everything else stays as it is.
//!
//! The rewrite is sound because a shared expression is computed once, before its first user, in just that block (`regions.rs`); now the
//! text says so. An expression with effects stays where others, which stay too, come before it in the block. A program in which functions
//! share a computed expression stays: neither function could bind it for the other.
//!
//! ```text
//! %0 = add(%y, %y);                     let %x_0 = add(%y, %y);
//! if (%c) { %0 } else { exp(%0) }   →   if (%c) { %x_0 } else { exp(%x_0) }
//! ```

use super::Pass;
use super::bindings::Bindings;
use super::build::{bind, typed};
use super::effects::pure;
use super::regions::{RegionId, Regions};
use super::rewrite::with_children;
use relayc_base::{Idx, Span};
use relayc_ir::{ExprId, ExprKind, Module, Root, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) const PASS: Pass = Pass {
    name: "to-basic-block-normal-form",
    doc: "Binds each expression that several branches, clauses or functions share, in the block around them.",
    run: |module, _| Ok(run(module)),
    ..Pass::BASE
};

fn run(module: &mut Module) -> bool {
    let roots = module.roots();
    let order = module.post_order(&roots);
    let regions = Regions::with_whole_lets(module, &order);
    if regions.join_functions(module, &order) {
        return false;
    }
    let lifted = lifted(module, &regions);
    let var_regions = var_regions(module, &order, &regions);
    let bindings = Bindings::of(module, &order);
    let mut form = Form {
        regions,
        lifted,
        var_regions,
        bindings,
        pure: pure(module, &order),
        uses: module.use_counts(&roots),
        done: vec![None; module.exprs.len()],
        n_effects: FxHashMap::default(),
        n_bound: FxHashMap::default(),
        aliases: FxHashMap::default(),
        open: FxHashSet::default(),
        lists: FxHashMap::default(),
        n_vars: 0,
    };
    match module.root {
        Root::Expr(expr) => module.root = Root::Expr(form.body(module, expr, 0)),
        Root::Globals => {
            for (at, global) in module.globals.ids().enumerate() {
                let func = module.globals[global].func;
                if !module.funcs[func].is_for_a_compiler() {
                    module.funcs[func].body = form.body(module, module.funcs[func].body, at);
                }
            }
        }
    }
    true
}

fn is_atom(module: &Module, expr: ExprId) -> bool {
    let kind = module.exprs[expr].kind;
    matches!(kind, ExprKind::Error | ExprKind::Var(_) | ExprKind::Global(_) | ExprKind::Op(_) | ExprKind::Ctor(_))
}

/// A step of finding the users of expressions in TVM's order.
enum Step {
    Visit(ExprId),
    /// An expression is used in a region.
    Use(ExprId, RegionId),
}

/// The expressions to bind: those whose first user, in the order of TVM's dependency graph, lies deeper than the region around all
/// users.
fn lifted(module: &Module, regions: &Regions) -> FxHashSet<ExprId> {
    let mut used = vec![false; module.exprs.len()];
    let mut visited = vec![false; module.exprs.len()];
    let mut lifted = FxHashSet::default();
    let mut children = Vec::new();
    let roots = module.roots().into_iter().enumerate().rev();
    let mut steps: Vec<Step> = roots.flat_map(|(at, root)| [Step::Use(root, regions.of_root(at)), Step::Visit(root)]).collect();
    while let Some(step) = steps.pop() {
        let expr = match step {
            Step::Use(expr, region) => {
                if !std::mem::replace(&mut used[expr.index()], true) && regions.region(expr) != region {
                    lifted.insert(expr);
                }
                continue;
            }
            Step::Visit(expr) => expr,
        };
        if std::mem::replace(&mut visited[expr.index()], true) {
            continue;
        }
        children.clear();
        module.children(expr, &mut children);
        let region_of = |at: usize| match module.exprs[expr].kind {
            ExprKind::Let { .. } => regions.inside(expr, 0).unwrap_or(regions.region(expr)),
            _ => regions.of_child(module, expr, at),
        };
        // TVM uses the operands of dataflow together, after it visited all of them.
        let is_dataflow = matches!(module.exprs[expr].kind, ExprKind::Call { .. } | ExprKind::Tuple(_) | ExprKind::Proj { .. });
        let uses = |at: usize| Step::Use(children[at], region_of(at));
        if is_dataflow {
            steps.extend((0..children.len()).rev().map(uses));
            steps.extend(children.iter().rev().map(|&child| Step::Visit(child)));
        } else {
            steps.extend((0..children.len()).rev().flat_map(|at| [uses(at), Step::Visit(children[at])]));
        }
    }
    lifted
}

/// The region of each variable: where it is bound; for one of a pattern, the innermost around its mentions.
fn var_regions(module: &Module, order: &[ExprId], regions: &Regions) -> FxHashMap<VarId, RegionId> {
    let mut found: FxHashMap<VarId, RegionId> = FxHashMap::default();
    for &expr in order {
        if let ExprKind::Var(var) = module.exprs[expr].kind {
            let region = regions.region(expr);
            found.entry(var).and_modify(|known| *known = regions.common(*known, region)).or_insert(region);
        }
    }
    for &expr in order {
        match module.exprs[expr].kind {
            ExprKind::Let { var, .. } => found.extend(regions.inside(expr, 0).map(|region| (var, region))),
            ExprKind::Fn(func) => {
                let region = regions.inside(expr, 0);
                found.extend(module.funcs[func].params.iter().filter_map(|&param| Some((param, region?))));
            }
            _ => {}
        }
    }
    if module.root == Root::Globals {
        for (at, global) in module.globals.iter().enumerate() {
            found.extend(module.funcs[global.func].params.iter().map(|&param| (param, regions.of_root(at))));
        }
    }
    found
}

enum Work {
    /// Brings an expression to normal form, as the value of a variable if one is given.
    Visit(ExprId, Option<VarId>),
    /// The children of an expression have been visited; so many expressions with effects came before them.
    Finish(ExprId, Option<VarId>, u64),
    /// Binds an expression to a variable in the region of its `let`.
    Bind(ExprId, VarId),
}

struct Form {
    regions: Regions,
    lifted: FxHashSet<ExprId>,
    var_regions: FxHashMap<VarId, RegionId>,
    bindings: Bindings,
    /// By the number of an expression: whether it has no effects, and how often it is mentioned.
    pure: Vec<bool>,
    uses: Vec<u32>,
    /// By the number of an expression: what replaces it.
    done: Vec<Option<ExprId>>,
    /// How many expressions with effects a function or branch has computed so far.
    n_effects: FxHashMap<RegionId, u64>,
    /// That number where all effects so far in a region were in its bindings.
    n_bound: FxHashMap<RegionId, u64>,
    /// What replaces the mentions of a variable, once another is bound to it.
    aliases: FxHashMap<VarId, VarId>,
    /// The variables of `let`s whose values have no place yet; the functions among them may mention themselves.
    open: FxHashSet<VarId>,
    /// The bindings of each region, in order.
    lists: FxHashMap<RegionId, Vec<(VarId, ExprId)>>,
    n_vars: usize,
}

impl Form {
    /// The normal form of the body of the root with the number `at`.
    fn body(&mut self, module: &mut Module, root: ExprId, at: usize) -> ExprId {
        let mut work = vec![Work::Visit(root, None)];
        while let Some(next) = work.pop() {
            match next {
                Work::Visit(expr, var) => self.visit(module, expr, var, &mut work),
                Work::Finish(expr, var, n_before) => self.finish(module, expr, var, n_before),
                Work::Bind(value, var) => {
                    let now = self.done[value.index()].unwrap_or(value);
                    self.bind(self.own_region(value, var), var, now);
                }
            }
        }
        self.close(module, root, Some(self.regions.of_root(at)))
    }

    fn visit(&mut self, module: &mut Module, expr: ExprId, var: Option<VarId>, work: &mut Vec<Work>) {
        let region = self.regions.region(expr);
        if let Some(done) = self.done[expr.index()] {
            if let Some(var) = var {
                let moves = self.pure[expr.index()] || matches!(module.exprs[done].kind, ExprKind::Var(_));
                let region = if moves { region } else { self.own_region(expr, var) };
                self.push(region, var, done);
            }
            return;
        }
        let n_before = self.n_effects(region);
        work.push(Work::Finish(expr, var, n_before));
        match module.exprs[expr].kind {
            ExprKind::Fn(func) if module.funcs[func].is_primitive() => {}
            ExprKind::Let { var, value, body } => {
                // An annotation that says another type must stay with this name only.
                let is_only_name = !matches!(module.exprs[value].kind, ExprKind::Var(_)) && self.uses[value.index()] == 1;
                let plain = is_only_name || self.bindings.may_go(module, var, value);
                self.n_bound.extend(self.regions.inside(expr, 0).map(|inside| (inside, n_before)));
                self.open.insert(var);
                work.push(Work::Visit(body, None));
                work.extend((!plain).then_some(Work::Bind(value, var)));
                work.push(Work::Visit(value, plain.then_some(var)));
            }
            _ => {
                let mut children = Vec::new();
                module.evaluated_children(expr, &mut children);
                work.extend(children.into_iter().rev().map(|child| Work::Visit(child, None)));
            }
        }
    }

    fn finish(&mut self, module: &mut Module, expr: ExprId, var: Option<VarId>, n_before: u64) {
        let now = match module.exprs[expr].kind {
            ExprKind::Var(of) => {
                self.atom(module, expr, of, var);
                return;
            }
            ExprKind::Let { var, value, body } => self.close_let(module, expr, (var, value, body)),
            _ => {
                let new = self.children(module, expr);
                with_children(module, expr, &new)
            }
        };
        let region = self.regions.region(expr);
        if !self.pure[expr.index()] {
            *self.n_effects.entry(self.regions.home(region)).or_default() += 1;
        }
        // What moves to the bindings of its region moves before all that is not in them.
        let moves = self.pure[expr.index()] || n_before == self.n_bound.get(&region).copied().unwrap_or(0);
        self.done[expr.index()] = Some(match var {
            Some(var) if !moves => {
                self.bind(self.own_region(expr, var), var, now);
                now
            }
            None if !moves || !self.lifted.contains(&expr) || is_atom(module, expr) => now,
            _ => self.bound(module, expr, now, var),
        });
    }

    /// The region of the `let` of a variable.
    fn own_region(&self, value: ExprId, var: VarId) -> RegionId {
        self.var_regions.get(&var).copied().unwrap_or(self.regions.region(value))
    }

    /// How many expressions with effects have been computed in the function or branch around a region.
    fn n_effects(&self, region: RegionId) -> u64 {
        self.n_effects.get(&self.regions.home(region)).copied().unwrap_or(0)
    }

    /// Binds the expression whose effects are the last so far.
    fn bind(&mut self, region: RegionId, var: VarId, value: ExprId) {
        self.push(region, var, value);
        self.n_bound.insert(region, self.n_effects(region));
    }

    /// A variable, which another may be bound to.
    fn atom(&mut self, module: &mut Module, expr: ExprId, of: VarId, var: Option<VarId>) {
        let now = self.aliases.get(&of).copied().unwrap_or(of);
        let mention = if now == of { expr } else { mention(module, expr, now) };
        let Some(var) = var else {
            // The same variable may have another name later, as another expression.
            self.done[expr.index()] = Some(mention);
            return;
        };
        if self.open.contains(&of) {
            // Before the binding of the function that is named, inside of which this is, it would have no meaning.
            return self.push(self.own_region(expr, var), var, mention);
        }
        let region = self.var_regions.get(&of).copied().unwrap_or(self.regions.region(expr));
        self.push(region, var, mention);
        self.aliases.entry(of).or_insert(var);
    }

    /// Binds an expression in its region, after the bindings around it, if it has any.
    fn bound(&mut self, module: &mut Module, expr: ExprId, mut now: ExprId, var: Option<VarId>) -> ExprId {
        let region = self.regions.region(expr);
        while let ExprKind::Let { var, value, body } = module.exprs[now].kind {
            self.push(region, var, value);
            now = body;
        }
        let own = var.map_or(region, |var| self.own_region(expr, var));
        let var = var.unwrap_or_else(|| self.fresh(module, module.exprs[expr].span));
        if self.pure[expr.index()] {
            self.push(region, var, now);
        } else {
            self.bind(region, var, now);
            self.n_bound.insert(own, self.n_effects(own));
        }
        mention(module, expr, var)
    }

    fn push(&mut self, region: RegionId, var: VarId, value: ExprId) {
        self.open.remove(&var);
        self.lists.entry(region).or_default().push((var, value));
    }

    /// A binding: those of its region around its body.
    fn close_let(&mut self, module: &mut Module, expr: ExprId, (var, value, body): (VarId, ExprId, ExprId)) -> ExprId {
        let region = self.regions.inside(expr, 0);
        let list = region.and_then(|region| self.lists.get(&region));
        let unchanged = list.is_some_and(|list| *list == [(var, value)]) && self.done[body.index()] == Some(body);
        if unchanged {
            self.lists.remove(&region.expect("a `let` is a region"));
            return expr;
        }
        self.close(module, body, region)
    }

    /// The children that replace those of an expression.
    fn children(&mut self, module: &mut Module, expr: ExprId) -> Vec<ExprId> {
        let mut children = Vec::new();
        module.children(expr, &mut children);
        let first_inside = match module.exprs[expr].kind {
            ExprKind::Fn(func) if module.funcs[func].is_primitive() => return children,
            ExprKind::Fn(_) => 0,
            ExprKind::If { .. } | ExprKind::Match { .. } => 1,
            _ => children.len(),
        };
        for (at, child) in children.iter_mut().enumerate() {
            let region = at.checked_sub(first_inside).and_then(|at| self.regions.inside(expr, at));
            *child = self.close(module, *child, region);
        }
        children
    }

    /// What replaces a result, with the bindings of its region around it.
    fn close(&mut self, module: &mut Module, result: ExprId, region: Option<RegionId>) -> ExprId {
        let list = region.and_then(|region| self.lists.remove(&region)).unwrap_or_default();
        let result = self.done[result.index()].unwrap_or(result);
        let (span, ty) = (module.exprs[result].span, module.ty(result));
        bind(module, span, ty, list.into_iter(), result)
    }

    /// A new variable; those of one name are told apart when printed.
    fn fresh(&mut self, module: &mut Module, span: Span) -> VarId {
        let name = format!("x_{}", self.n_vars);
        self.n_vars += 1;
        module.var(&name, None, span)
    }
}

/// A mention of a variable in the place of an expression.
fn mention(module: &mut Module, expr: ExprId, var: VarId) -> ExprId {
    let (span, ty) = (module.exprs[expr].span, module.ty(expr));
    typed(module, span, ExprKind::Var(var), ty)
}
