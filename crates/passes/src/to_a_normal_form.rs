//! Gives every computed value a name, in the order of computation: TVM's `ToANormalForm`
//! (`src/relay/transforms/to_a_normal_form.cc`).
//!
//! The rewrite is sound because it keeps the order of evaluation, effects included. Each expression is bound once, in the
//! innermost region around all its uses (`regions.rs`). Variables, constants, operators and names of functions need no names. A
//! named value keeps its name, and loses a second one, unless the annotation of the second differs from the type of the value
//! (`bindings.rs`). A program in which functions share a computed expression stays as it is: neither function could bind it for
//! the other.
//!
//! ```text
//! add(nn.relu(%x), %x)    →    let %x_0 = nn.relu(%x);  let %x_1 = add(%x_0, %x);  %x_1
//! ```

use super::bindings::Bindings;
use super::build::{bind, typed};
use super::regions::{RegionId, Regions};
use super::{ON_REQUEST, Pass};
use relayc_base::{Idx, Span};
use relayc_ir::types::Ty;
use relayc_ir::{Clause, ExprId, ExprKind, Module, Operand, Operands, Root, VarId};
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "to-a-normal-form",
    doc: "Binds every value that is computed to a variable, in the order of computing. `to-graph-normal-form` takes the names \
          of values without effects away.",
    level: ON_REQUEST,
    run: |module, _| Ok(normalise(module)),
    ..Pass::BASE
};

/// Brings a program in which expressions are shared to A-normal form, for passes that may visit each expression once only. Returns
/// false if functions share an expression.
pub(crate) fn without_sharing(module: &mut Module) -> bool {
    let roots = module.roots();
    let uses = module.use_counts(&roots);
    let is_shared = |expr: &ExprId| {
        let needs_none = is_atom(module, *expr) && !matches!(module.exprs[*expr].kind, ExprKind::Const(_));
        uses[expr.index()] > 1 && !needs_none
    };
    !module.post_order(&roots).iter().any(is_shared) || normalise(module)
}

/// Brings all functions to A-normal form.
fn normalise(module: &mut Module) -> bool {
    let roots = module.roots();
    let order = module.evaluation_order(&roots);
    let regions = Regions::of(module, &module.post_order(&roots));
    if regions.join_functions(module, &order) {
        return false;
    }
    let mut names: FxHashMap<ExprId, VarId> = FxHashMap::default();
    let mut aliases: FxHashMap<VarId, ExprId> = FxHashMap::default();
    let mut others: FxHashMap<ExprId, Vec<ExprId>> = FxHashMap::default();
    let bindings = Bindings::of(module, &order);
    for &expr in &order {
        if let ExprKind::Let { var, value, .. } = module.exprs[expr].kind
            && !bindings.may_go(module, var, value)
        {
            others.entry(value).or_default().push(expr);
        } else if let ExprKind::Let { var, value, .. } = module.exprs[expr].kind
            && !is_atom(module, value)
            && !matches!(module.exprs[value].kind, ExprKind::Let { .. })
            && !names.contains_key(&value)
        {
            names.insert(value, var);
        } else if let ExprKind::Let { var, value, .. } = module.exprs[expr].kind {
            aliases.insert(var, value);
        }
    }
    // A name of a name of … is one of the first, which the outermost `let` binds.
    for &expr in order.iter().rev() {
        if let ExprKind::Let { var, value, .. } = module.exprs[expr].kind
            && let ExprKind::Var(other) = module.exprs[value].kind
            && let Some(&first) = aliases.get(&other)
        {
            aliases.insert(var, first);
        }
    }
    let atoms = vec![None; module.exprs.len()];
    let mut normal = Normal { regions, names, aliases, atoms, bindings: FxHashMap::default(), n_vars: 0 };
    for expr in order {
        normal.visit(module, expr);
        for binding in others.remove(&expr).unwrap_or_default() {
            if let ExprKind::Let { var, .. } = module.exprs[binding].kind {
                let value = normal.atom(module, expr);
                normal.bind(binding, var, value);
            }
        }
    }
    normal.finish(module);
    true
}

/// Whether an expression needs no name.
fn is_atom(module: &Module, expr: ExprId) -> bool {
    matches!(
        module.exprs[expr].kind,
        ExprKind::Error | ExprKind::Const(_) | ExprKind::Var(_) | ExprKind::Global(_) | ExprKind::Op(_) | ExprKind::Ctor(_)
    )
}

struct Normal {
    regions: Regions,
    /// The variables that the program binds values to.
    names: FxHashMap<ExprId, VarId>,
    /// Variables of values that need no name, or have another.
    aliases: FxHashMap<VarId, ExprId>,
    /// The expression that replaces a value among operands: itself, or its variable.
    atoms: Vec<Option<ExprId>>,
    /// The bindings of each region, in order.
    bindings: FxHashMap<RegionId, Vec<(VarId, ExprId)>>,
    n_vars: usize,
}

impl Normal {
    fn atom(&self, module: &Module, mut expr: ExprId) -> ExprId {
        loop {
            let alias = match module.exprs[expr].kind {
                ExprKind::Var(var) => self.aliases.get(&var).copied(),
                _ => self.atoms.get(expr.index()).copied().flatten(),
            };
            match alias {
                Some(other) => expr = other,
                None => return expr,
            }
        }
    }

    /// Binds a value whose parts are bound.
    fn visit(&mut self, module: &mut Module, expr: ExprId) {
        if is_atom(module, expr) {
            return;
        }
        if let ExprKind::Let { body, .. } = module.exprs[expr].kind {
            self.atoms[expr.index()] = Some(self.atom(module, body));
            return;
        }
        let (span, ty) = (module.exprs[expr].span, module.ty(expr));
        let kind = self.kind(module, expr);
        let value = typed(module, span, kind, ty);
        let var = match self.names.get(&expr) {
            Some(&var) => var,
            None => self.fresh(module, span, ty),
        };
        self.bind(expr, var, value);
        let mention = typed(module, span, ExprKind::Var(var), ty);
        self.atoms[expr.index()] = Some(mention);
    }

    fn bind(&mut self, expr: ExprId, var: VarId, value: ExprId) {
        self.bindings.entry(self.regions.region(expr)).or_default().push((var, value));
    }

    /// Wraps the bindings of a region around its result.
    fn close(&mut self, module: &mut Module, result: ExprId, region: Option<RegionId>) -> ExprId {
        let bindings = region.and_then(|region| self.bindings.remove(&region)).unwrap_or_default();
        let result = self.atom(module, result);
        let (span, ty) = (module.exprs[result].span, module.ty(result));
        bind(module, span, ty, bindings.into_iter(), result)
    }

    /// Closes the regions of the roots.
    fn finish(mut self, module: &mut Module) {
        match module.root {
            Root::Expr(expr) => {
                let region = self.regions.of_root(0);
                module.root = Root::Expr(self.close(module, expr, Some(region)));
            }
            Root::Globals => {
                for (at, global) in module.globals.ids().enumerate() {
                    let func = module.globals[global].func;
                    let region = self.regions.of_root(at);
                    module.funcs[func].body = self.close(module, module.funcs[func].body, Some(region));
                }
            }
        }
    }

    /// A new variable; those of one name are told apart when printed.
    fn fresh(&mut self, module: &mut Module, span: Span, ty: Ty) -> VarId {
        let name = format!("x_{}", self.n_vars);
        self.n_vars += 1;
        let var = module.var(&name, None, span);
        // Passes that begin with this form ask for the types of variables.
        module.vars[var].checked_ty = Some(ty).filter(|&ty| ty != Ty::ERROR);
        var
    }

    /// The expression with atoms as operands and normal regions inside.
    fn kind(&mut self, module: &mut Module, expr: ExprId) -> ExprKind {
        match module.exprs[expr].kind {
            ExprKind::Tuple(fields) => ExprKind::Tuple(self.operands(module, fields)),
            ExprKind::Proj { tuple, index } => ExprKind::Proj { tuple: self.atom(module, tuple), index },
            ExprKind::Call { callee, args, attrs } => {
                ExprKind::Call { callee: self.atom(module, callee), args: self.operands(module, args), attrs }
            }
            ExprKind::Fn(func) => {
                let body = module.funcs[func].body;
                module.funcs[func].body = self.close(module, body, self.regions.inside(expr, 0));
                ExprKind::Fn(func)
            }
            ExprKind::If { cond, then_branch, else_branch } => {
                let then_branch = self.close(module, then_branch, self.regions.inside(expr, 0));
                let else_branch = self.close(module, else_branch, self.regions.inside(expr, 1));
                ExprKind::If { cond: self.atom(module, cond), then_branch, else_branch }
            }
            ExprKind::Match { scrutinee, clauses, total } => {
                let clauses: Vec<Clause> = module.clause_items(clauses).to_vec();
                let mut closed = Vec::new();
                for (at, clause) in clauses.into_iter().enumerate() {
                    closed.push(Clause { body: self.close(module, clause.body, self.regions.inside(expr, at)), ..clause });
                }
                ExprKind::Match { scrutinee: self.atom(module, scrutinee), clauses: module.clauses(&closed), total }
            }
            ExprKind::RefNew(value) => ExprKind::RefNew(self.atom(module, value)),
            ExprKind::RefRead(cell) => ExprKind::RefRead(self.atom(module, cell)),
            ExprKind::RefWrite { cell, value } => {
                ExprKind::RefWrite { cell: self.atom(module, cell), value: self.atom(module, value) }
            }
            kind => kind,
        }
    }

    fn operands(&self, module: &mut Module, list: Operands) -> Operands {
        let items: Vec<Operand> =
            module.items(list).iter().map(|item| Operand { expr: self.atom(module, item.expr), ..*item }).collect();
        module.operands(&items)
    }
}
