//! Edits that make a program smaller. An edit works on a copy, and does not ask whether the result still has types.
//!
//! The caller prints the changed module and checks its text, which is what a command will read. So an edit may be bold: an
//! invalid result fails the check and costs no run.

use crate::bind::leaves;
use crate::optimise::{PassPlan, Target};
use crate::specialise::with_shapes;
use relayc_base::{IndexVec, Span};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{Dim, Ty, TyData, Types, dims_of};
use relayc_ir::{AdtId, AttrValue, Clause, CtorId, ExprId, ExprKind, GlobalId, Module, Operand, VarId};
use relayc_passes::rewrite::substitute;
use relayc_passes::{self as passes, build};
use rustc_hash::{FxHashMap, FxHashSet};

/// A change of a program.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    /// Inlines functions at their calls.
    Inline,
    /// Runs a pass that changes no value.
    Pass(&'static str),
    /// Returns an intermediate value from the entry.
    Result(ExprId),
    /// Replaces computed values by parameters of the entry.
    Params(Vec<ExprId>),
    /// Replaces an expression by another.
    Other(ExprId, ExprId),
    /// Replaces an expression by a constant of its type, with this number in every element.
    Constant(ExprId, f64),
    /// Replaces a match by the body of a clause; the variables of its pattern become parameters of the entry.
    Branch(ExprId, Clause),
    /// Removes a clause of a match.
    Clause(ExprId, usize),
    /// Removes a field of a tuple.
    Field(ExprId, usize),
    /// Removes a parameter of a function.
    Argument(GlobalId, usize),
    /// Changes attributes of a call: the number of each, and its value.
    Attrs(ExprId, Vec<(usize, AttrValue)>),
    /// Changes shapes of the entry's parameters. A number in attributes and in other functions' types may become another.
    Shapes(FxHashMap<usize, Vec<Vec<i64>>>, Option<(i64, i64)>),
    /// Removes the functions that the entry does not reach.
    Apart,
    /// Removes functions.
    Functions(Vec<GlobalId>),
    /// Makes another function the entry.
    Entry(GlobalId),
    /// Removes a data type, with those whose constructors take it.
    DataType(AdtId),
}

/// A changed program.
pub(crate) struct Edited {
    pub(crate) module: Module,
    /// The new parameters, and the expressions of the old module whose values they replace.
    pub(crate) fresh: Vec<(String, ExprId)>,
}

/// Applies an edit; `None` if it does not apply.
pub(crate) fn apply(module: &Module, entry: &str, edit: &Edit) -> Option<Edited> {
    let mut change = Change { module: module.clone(), entry: module.find_global(entry)?, fresh: vec![] };
    // The test may need what the entry does not: that goes by an edit of its own.
    let reached = change.reached();
    let stays = |global: GlobalId| match edit {
        Edit::Apart => false,
        Edit::Entry(entry) => global != *entry,
        _ => true,
    };
    let apart = change.names(|global| !reached.contains(&global) && stays(global));
    match edit {
        Edit::Inline => change.inline(entry),
        Edit::Pass(name) => change.pass(entry, name),
        Edit::Result(expr) => {
            let func = change.module.globals[change.entry].func;
            change.module.funcs[func].body = *expr;
            Some(())
        }
        Edit::Params(exprs) => change.params(exprs),
        Edit::Other(expr, other) => change.replace(&[(*expr, *other)]),
        Edit::Constant(expr, value) => change.constant(*expr, *value),
        Edit::Branch(expr, clause) => change.branch(*expr, *clause),
        Edit::Clause(expr, index) => change.clause(*expr, *index),
        Edit::Field(expr, index) => change.field(*expr, *index),
        Edit::Argument(global, index) => change.argument(*global, *index),
        Edit::Attrs(expr, values) => change.attrs(*expr, values),
        Edit::Shapes(shapes, numbers) => change.shapes(shapes, *numbers),
        Edit::Apart => Some(()),
        Edit::Functions(globals) => change.functions(globals),
        Edit::Entry(global) => change.become_entry(*global),
        Edit::DataType(adt) => change.data_type(*adt),
    }?;
    change.tidy(&apart);
    Some(Edited { module: change.module, fresh: change.fresh })
}

struct Change {
    module: Module,
    entry: GlobalId,
    fresh: Vec<(String, ExprId)>,
}

impl Change {
    fn order(&self) -> Vec<ExprId> {
        self.module.post_order(&self.module.roots())
    }

    fn replace(&mut self, pairs: &[(ExprId, ExprId)]) -> Option<()> {
        let order = self.order();
        let mut by = vec![None; self.module.exprs.len()];
        for &(expr, other) in pairs {
            by[expr.0 as usize] = Some(other);
        }
        substitute(&mut self.module, &order, by);
        Some(())
    }

    fn inline(&mut self, entry: &str) -> Option<()> {
        if self.module.globals.len() < 2 {
            return None;
        }
        for at in self.module.globals.ids().collect::<Vec<_>>() {
            let func = self.module.globals[at].func;
            if at != self.entry && self.module.funcs[func].attrs.is_empty() {
                self.module.funcs[func].attrs.push(("Inline".into(), AttrValue::int(1)));
            }
        }
        self.pass(entry, "inline")?;
        for func in self.module.funcs.ids().collect::<Vec<_>>() {
            self.module.funcs[func].attrs.retain(|(name, _)| &**name != "Inline");
        }
        Some(())
    }

    fn pass(&mut self, entry: &str, name: &str) -> Option<()> {
        let pass = passes::find(name)?;
        let how = PassPlan { entry: Some(entry.to_owned()), ..PassPlan::level(0, Target::V3) };
        (pass.run)(&mut self.module, &how.cx()).ok()?;
        self.entry = self.module.find_global(entry)?;
        Some(())
    }

    /// A new parameter of the entry, as an expression. `None` for values that are not data.
    fn param(&mut self, ty: Ty, stands_for: ExprId) -> Option<ExprId> {
        leaves::leaves("", ty, &self.module.types).ok()?;
        let taken: FxHashSet<&str> = self.module.vars.iter().map(|var| &*var.name).collect();
        let name = (0..).map(|n| format!("p{n}")).find(|name| !taken.contains(name.as_str()))?;
        let var = self.module.var(&name, Some(ty), Span::NONE);
        let func = self.module.globals[self.entry].func;
        self.module.funcs[func].params.push(var);
        self.fresh.push((name, stands_for));
        Some(self.module.expr(Span::NONE, ExprKind::Var(var)))
    }

    fn params(&mut self, exprs: &[ExprId]) -> Option<()> {
        let mut pairs = vec![];
        for &expr in exprs {
            let ty = self.module.ty(expr);
            pairs.push((expr, self.param(ty, expr)?));
        }
        self.replace(&pairs)
    }

    fn constant(&mut self, expr: ExprId, value: f64) -> Option<()> {
        const MAX_ELEMENTS: i64 = 4096;
        let (shape, dtype) = self.module.types.as_tensor(self.module.ty(expr))?;
        let shape = dims_of(shape)
            .filter(|shape| shape.iter().try_fold(1i64, |n, &dim| n.checked_mul(dim)).is_some_and(|n| n <= MAX_ELEMENTS))?;
        let shape: Vec<usize> = shape.into_iter().map(|dim| usize::try_from(dim).ok()).collect::<Option<_>>()?;
        let tensor = Tensor::full(dtype, &shape, value)?;
        let constant = self.module.constant(tensor, Span::NONE);
        self.replace(&[(expr, constant)])
    }

    fn branch(&mut self, expr: ExprId, clause: Clause) -> Option<()> {
        let vars: FxHashSet<VarId> = self.module.pat_vars(clause.pat).into_iter().collect();
        let mentions: Vec<(ExprId, VarId)> = self
            .module
            .post_order(&[clause.body])
            .into_iter()
            .filter_map(|expr| match self.module.exprs[expr].kind {
                ExprKind::Var(var) if vars.contains(&var) => Some((expr, var)),
                _ => None,
            })
            .collect();
        let mut params: FxHashMap<VarId, ExprId> = FxHashMap::default();
        let mut pairs = vec![(expr, clause.body)];
        for (mention, var) in mentions {
            let param = match params.get(&var) {
                Some(&param) => param,
                None => {
                    let ty = self.module.vars[var].checked_ty.or(self.module.vars[var].ty)?;
                    *params.entry(var).or_insert(self.param(ty, mention)?)
                }
            };
            pairs.push((mention, param));
        }
        self.replace(&pairs)
    }

    fn clause(&mut self, expr: ExprId, index: usize) -> Option<()> {
        let ExprKind::Match { scrutinee, clauses, total } = self.module.exprs[expr].kind else { return None };
        let mut items = self.module.clause_items(clauses).to_vec();
        if items.len() < 2 || index >= items.len() {
            return None;
        }
        items.remove(index);
        let clauses = self.module.clauses(&items);
        self.module.exprs[expr].kind = ExprKind::Match { scrutinee, clauses, total };
        Some(())
    }

    fn field(&mut self, expr: ExprId, index: usize) -> Option<()> {
        let ExprKind::Tuple(fields) = self.module.exprs[expr].kind else { return None };
        let mut items = self.module.items(fields).to_vec();
        if items.len() < 2 || index >= items.len() {
            return None;
        }
        items.remove(index);
        let fields = self.module.operands(&items);
        self.module.exprs[expr].kind = ExprKind::Tuple(fields);
        for user in self.order() {
            if let ExprKind::Proj { tuple, index: at } = self.module.exprs[user].kind
                && tuple == expr
            {
                let at = usize::try_from(at).ok().filter(|&at| at != index)?;
                let at = at - usize::from(at > index);
                self.module.exprs[user].kind = ExprKind::Proj { tuple, index: at as i32 };
            }
        }
        Some(())
    }

    fn argument(&mut self, global: GlobalId, index: usize) -> Option<()> {
        let func = self.module.globals[global].func;
        if global == self.entry || index >= self.module.funcs[func].params.len() {
            return None;
        }
        let order = self.order();
        let mentions = order.iter().filter(|&&expr| matches!(self.module.exprs[expr].kind, ExprKind::Global(g) if g == global));
        let mentions: FxHashSet<ExprId> = mentions.copied().collect();
        self.module.funcs[func].params.remove(index);
        for &expr in &order {
            let ExprKind::Call { callee, args, attrs } = self.module.exprs[expr].kind else { continue };
            let passed = self.module.items(args).iter().any(|arg| mentions.contains(&arg.expr));
            if passed {
                return None;
            }
            if mentions.contains(&callee) {
                let mut items: Vec<Operand> = self.module.items(args).to_vec();
                if index < items.len() {
                    items.remove(index);
                }
                let args = self.module.operands(&items);
                self.module.exprs[expr].kind = ExprKind::Call { callee, args, attrs };
            }
        }
        Some(())
    }

    fn attrs(&mut self, expr: ExprId, values: &[(usize, AttrValue)]) -> Option<()> {
        let ExprKind::Call { callee, args, attrs: Some(attrs) } = self.module.exprs[expr].kind else { return None };
        let mut new = self.module.attrs[attrs].clone();
        for (at, value) in values {
            *new.values.get_mut(*at)? = value.clone();
        }
        let attrs = Some(self.module.attrs.push(new));
        self.module.exprs[expr].kind = ExprKind::Call { callee, args, attrs };
        Some(())
    }

    fn shapes(&mut self, shapes: &FxHashMap<usize, Vec<Vec<i64>>>, numbers: Option<(i64, i64)>) -> Option<()> {
        let params = self.module.funcs[self.module.globals[self.entry].func].params.clone();
        for (&param, leaves) in shapes {
            let &var = params.get(param)?;
            let ty = self.module.vars[var].ty.or(self.module.vars[var].checked_ty)?;
            let mut leaves = leaves.iter().map(|shape| shape.iter().map(|&dim| Dim::known(dim)).collect::<Vec<Dim>>());
            let ty = with_shapes(&mut self.module.types, ty, &mut leaves);
            self.module.vars[var].ty = Some(ty);
        }
        let Some((old, new)) = numbers else { return Some(()) };
        for var in self.module.vars.ids().collect::<Vec<_>>() {
            if let Some(ty) = self.module.vars[var].ty.filter(|_| !params.contains(&var)) {
                self.module.vars[var].ty = Some(renumbered(&mut self.module.types, ty, old, new));
            }
        }
        for expr in self.order() {
            let ExprKind::Call { callee, args, attrs: Some(attrs) } = self.module.exprs[expr].kind else { continue };
            let mut own = self.module.attrs[attrs].clone();
            own.values = own.values.iter().map(|value| with_number(value, old, new)).collect();
            let attrs = Some(self.module.attrs.push(own));
            self.module.exprs[expr].kind = ExprKind::Call { callee, args, attrs };
        }
        Some(())
    }

    /// A function that is still called becomes an error.
    fn functions(&mut self, globals: &[GlobalId]) -> Option<()> {
        if globals.is_empty() || globals.contains(&self.entry) {
            return None;
        }
        self.keep_functions(|global| !globals.contains(&global));
        Some(())
    }

    /// The two functions change their names.
    fn become_entry(&mut self, global: GlobalId) -> Option<()> {
        let name = self.module.globals.get(global)?.name.clone();
        let entry = std::mem::replace(&mut self.module.globals[self.entry].name, name);
        self.module.globals[global].name = entry;
        self.entry = global;
        Some(())
    }

    fn data_type(&mut self, adt: AdtId) -> Option<()> {
        let module = &mut self.module;
        let mut gone = FxHashSet::from_iter([module.adts.get(adt)?.name.clone()]);
        loop {
            let takes_one = |&ctor: &CtorId| module.ctors[ctor].inputs.iter().any(|&ty| mentions(&module.types, ty, &gone));
            let more = module.adts.iter().filter(|adt| !gone.contains(&adt.name) && adt.ctors.iter().any(takes_one));
            let more: Vec<Box<str>> = more.map(|adt| adt.name.clone()).collect();
            if more.is_empty() {
                break;
            }
            gone.extend(more);
        }
        let mut kept = IndexVec::new();
        for adt in module.adts.iter().filter(|adt| !gone.contains(&adt.name)) {
            let id = kept.push(adt.clone());
            adt.ctors.iter().for_each(|&ctor| module.ctors[ctor].adt = id);
        }
        module.adts = kept;
        Some(())
    }

    /// Removes unused parts: projections of written tuples, functions that the entry called before, unused parameters of the entry.
    /// Functions `apart` from the entry stay.
    fn tidy(&mut self, apart: &[Box<str>]) {
        self.take_fields();
        let reached = self.reached();
        let apart: FxHashSet<GlobalId> = apart.iter().filter_map(|name| self.module.find_global(name)).collect();
        let apart = self.reached_from(apart.into_iter().collect());
        self.keep_functions(|global| reached.contains(&global) || apart.contains(&global));
        let order = self.order();
        let is_entry = |expr: &ExprId| matches!(self.module.exprs[*expr].kind, ExprKind::Global(global) if global == self.entry);
        if order.iter().any(is_entry) {
            return;
        }
        let used: FxHashSet<VarId> = order
            .iter()
            .filter_map(|&expr| match self.module.exprs[expr].kind {
                ExprKind::Var(var) => Some(var),
                _ => None,
            })
            .collect();
        let func = self.module.globals[self.entry].func;
        self.module.funcs[func].params.retain(|var| used.contains(var));
    }

    fn take_fields(&mut self) {
        let mut by = vec![None; self.module.exprs.len()];
        let order = self.order();
        for &expr in &order {
            if let ExprKind::Proj { tuple, index } = self.module.exprs[expr].kind {
                let field = usize::try_from(index).ok().and_then(|index| build::args(&self.module, tuple).get(index).copied());
                if let (ExprKind::Tuple(_), Some(field)) = (self.module.exprs[tuple].kind, field) {
                    // Operands come first, so that what stands in the place of a field is known.
                    by[expr.0 as usize] = Some(by[field.0 as usize].unwrap_or(field));
                }
            }
        }
        substitute(&mut self.module, &order, by);
    }

    /// The functions that the entry calls, and itself.
    fn reached(&self) -> FxHashSet<GlobalId> {
        self.reached_from(vec![self.entry])
    }

    fn reached_from(&self, mut left: Vec<GlobalId>) -> FxHashSet<GlobalId> {
        let mut reached = FxHashSet::from_iter(left.iter().copied());
        while let Some(global) = left.pop() {
            let body = self.module.funcs[self.module.globals[global].func].body;
            for expr in self.module.post_order(&[body]) {
                if let ExprKind::Global(callee) = self.module.exprs[expr].kind
                    && reached.insert(callee)
                {
                    left.push(callee);
                }
            }
        }
        reached
    }

    /// The names of some functions.
    fn names(&self, of: impl Fn(GlobalId) -> bool) -> Vec<Box<str>> {
        self.module.globals.iter_ids().filter(|&(id, _)| of(id)).map(|(_, global)| global.name.clone()).collect()
    }

    /// Removes the other functions. The entry is one of those that are kept.
    fn keep_functions(&mut self, keeps: impl Fn(GlobalId) -> bool) {
        let mut kept = IndexVec::new();
        let mut numbers = FxHashMap::default();
        for (id, global) in std::mem::take(&mut self.module.globals).iter_ids() {
            if keeps(id) {
                numbers.insert(id, kept.push(global.clone()));
            }
        }
        self.module.globals = kept;
        for expr in self.module.exprs.ids().collect::<Vec<_>>() {
            if let ExprKind::Global(global) = self.module.exprs[expr].kind {
                self.module.exprs[expr].kind = numbers.get(&global).map_or(ExprKind::Error, |&global| ExprKind::Global(global));
            }
        }
        self.entry = numbers[&self.entry];
    }
}

/// Whether a type mentions one of these data types.
fn mentions(types: &Types, ty: Ty, names: &FxHashSet<Box<str>>) -> bool {
    let (mut seen, mut left) = (FxHashSet::default(), vec![ty]);
    while let Some(ty) = left.pop() {
        if !seen.insert(ty) {
            continue;
        }
        if matches!(types.data(ty), TyData::Adt { name, .. } if names.contains(name)) {
            return true;
        }
        types.children(ty, &mut left);
    }
    false
}

/// A type with one number of its shapes replaced by another.
fn renumbered(types: &mut Types, ty: Ty, old: i64, new: i64) -> Ty {
    types.rewrite(ty, |types, ty| {
        let (shape, dtype) = types.as_tensor(ty)?;
        let shape: Vec<Dim> = shape.iter().map(|&dim| if dim.value() == Some(old) { Dim::known(new) } else { dim }).collect();
        Some(types.tensor(&shape, dtype))
    })
}

/// An attribute with one number replaced by another; lists of attributes nest at most two levels deep.
fn with_number(value: &AttrValue, old: i64, new: i64) -> AttrValue {
    match value {
        AttrValue::Int { value, bits } if *value == old => AttrValue::Int { value: new, bits: *bits },
        AttrValue::List(items) => AttrValue::List(items.iter().map(|item| with_number(item, old, new)).collect()),
        other => other.clone(),
    }
}
