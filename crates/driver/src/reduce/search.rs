//! The order of edits: those that halve the program first, single ones last, and again until none helps.

use super::edit::Edit;
use super::size::schema;
use super::{Reducer, Stop, Wanted};
use crate::bind::leaves;
use crate::run;
use relayc_ir::{AttrValue, ExprId, ExprKind, Global, GlobalId, Module};
use rustc_hash::{FxHashMap, FxHashSet};

/// Limit of axes that are made smaller one at a time.
const MAX_AXES: usize = 128;

/// Limit of functions that are tried as the entry.
const MAX_ENTRIES: usize = 64;

impl Reducer<'_> {
    /// Tries every edit until none makes the program smaller. Errors: why it ends early.
    pub(super) fn search(&mut self) -> Result<(), Stop> {
        self.functions()?;
        // Not smaller, but easier to take apart; what happens only with functions or bindings keeps them.
        self.attempt(&Edit::Inline, Wanted::Anything)?;
        self.attempt(&Edit::Pass("beta-reduce"), Wanted::Anything)?;
        self.attempt(&Edit::Pass("to-graph-normal-form"), Wanted::Anything)?;
        loop {
            let before = self.size.clone();
            // Small tensors make every later run a short one.
            self.all_shapes()?;
            self.cut_result()?;
            self.cut_operands()?;
            self.chunks()?;
            self.single_steps()?;
            self.arguments()?;
            self.functions()?;
            self.single_axes()?;
            self.attributes()?;
            self.data_types()?;
            if self.size >= before {
                return Ok(());
            }
        }
    }

    /// Removes functions, all that can go at once first, and makes another one the entry: most edits are for the entry.
    fn functions(&mut self) -> Result<(), Stop> {
        let others = |this: &Self| -> Vec<GlobalId> {
            let module = &this.program.module;
            module.globals.iter_ids().filter(|(_, global)| *global.name != *this.entry).map(|(id, _)| id).collect()
        };
        self.smaller(&Edit::Apart)?;
        let mut length = others(self).len();
        while length > 0 {
            let mut end = others(self).len();
            while end > 0 {
                let start = end.saturating_sub(length);
                let stretch = others(self).get(start..end).unwrap_or_default().to_vec();
                self.smaller(&Edit::Functions(stretch))?;
                end = start.min(others(self).len());
            }
            length /= 2;
        }
        // Given values are those of the entry.
        let most = if self.smallest.values.is_some() { 0 } else { MAX_ENTRIES };
        let mut at = others(self).len().min(most);
        while at > 0 {
            at -= 1;
            if let Some(&global) = others(self).get(at)
                && self.smaller(&Edit::Entry(global))?
            {
                at = others(self).len().min(at);
            }
        }
        Ok(())
    }

    /// The expressions with operands that the entry computes, in order, outside of functions in it.
    fn steps(&self) -> Vec<ExprId> {
        let module = &self.program.module;
        let Some(global) = module.find_global(self.entry) else { return vec![] };
        let body = module.funcs[module.globals[global].func].body;
        let order = module.post_order_by(&[body], |module, expr, children| {
            if !matches!(module.exprs[expr].kind, ExprKind::Fn(_)) {
                module.evaluated_children(expr, children);
            }
        });
        order.into_iter().filter(|&expr| !is_leaf(module, expr)).collect()
    }

    /// The same for all functions and their inner functions; the entry's come last.
    fn all_steps(&self) -> Vec<ExprId> {
        let module = &self.program.module;
        let is_entry = |global: &&Global| &*global.name == self.entry;
        let others = module.globals.iter().filter(|global| !is_entry(global));
        let bodies: Vec<ExprId> =
            others.chain(module.globals.iter().filter(is_entry)).map(|global| module.funcs[global.func].body).collect();
        let is_fn = |expr: ExprId| matches!(module.exprs[expr].kind, ExprKind::Fn(_));
        module.evaluation_order(&bodies).into_iter().filter(|&expr| is_fn(expr) || !is_leaf(module, expr)).collect()
    }

    fn root(&self) -> Option<ExprId> {
        let module = &self.program.module;
        module.find_global(self.entry).map(|global| module.funcs[module.globals[global].func].body)
    }

    fn smaller(&mut self, edit: &Edit) -> Result<bool, Stop> {
        self.attempt(edit, Wanted::Smaller)
    }

    /// Finds the first step that can be the result, by bisection.
    fn cut_result(&mut self) -> Result<(), Stop> {
        loop {
            let n = self.steps().len();
            let (mut low, mut high, mut any) = (0, n.saturating_sub(1), false);
            while low < high {
                let middle = (low + high) / 2;
                let Some(&step) = self.steps().get(middle) else { break };
                if self.smaller(&Edit::Result(step))? {
                    // The steps before it are still there, perhaps fewer: what the result does not need is gone.
                    high = self.steps().len().saturating_sub(1);
                    low = low.min(high);
                    any = true;
                } else {
                    low = middle + 1;
                }
            }
            if !any {
                return Ok(());
            }
        }
    }

    /// Finds the last step up to which everything can become parameters, by bisection.
    fn cut_operands(&mut self) -> Result<(), Stop> {
        let mut high = self.steps().len().saturating_sub(1);
        while high > 0 {
            let n = self.steps().len();
            let at = high.min(n.saturating_sub(1));
            if at == 0 {
                break;
            }
            let edge = self.edge(at);
            if !edge.is_empty() && self.smaller(&Edit::Params(edge))? {
                high = self.steps().len().saturating_sub(1);
            } else {
                high = at / 2;
            }
        }
        // What halving steps over.
        let mut low = 0;
        let mut high = self.steps().len().saturating_sub(1);
        while low < high {
            let middle = (low + high).div_ceil(2);
            let edge = self.edge(middle);
            if !edge.is_empty() && self.smaller(&Edit::Params(edge))? {
                (low, high) = (0, self.steps().len().saturating_sub(1));
            } else {
                high = middle - 1;
                low = low.min(high);
            }
        }
        Ok(())
    }

    /// Those of the first `n` steps that later ones use.
    fn edge(&self, n: usize) -> Vec<ExprId> {
        let module = &self.program.module;
        let steps = self.steps();
        let (before, behind) = steps.split_at(n.min(steps.len()));
        let before: FxHashSet<ExprId> = before.iter().copied().collect();
        let (mut edge, mut found, mut children) = (vec![], FxHashSet::default(), vec![]);
        for &user in behind {
            children.clear();
            module.children(user, &mut children);
            for &child in &children {
                if before.contains(&child) && found.insert(child) {
                    edge.push(child);
                }
            }
        }
        edge
    }

    /// Replaces ever shorter stretches of steps by parameters.
    fn chunks(&mut self) -> Result<(), Stop> {
        let mut length = self.steps().len() / 2;
        while length > 1 {
            let mut end = self.steps().len();
            while end > 0 {
                let start = end.saturating_sub(length);
                let steps = self.steps();
                let stretch: FxHashSet<ExprId> = steps[start..end.min(steps.len())].iter().copied().collect();
                let needed = self.needed_outside(&stretch);
                if !needed.is_empty() {
                    self.smaller(&Edit::Params(needed))?;
                }
                end = start.min(self.steps().len());
            }
            length /= 2;
        }
        Ok(())
    }

    /// The steps of a stretch that others use.
    fn needed_outside(&self, stretch: &FxHashSet<ExprId>) -> Vec<ExprId> {
        let module = &self.program.module;
        let mut needed: Vec<ExprId> = self.root().filter(|root| stretch.contains(root)).into_iter().collect();
        let mut found: FxHashSet<ExprId> = needed.iter().copied().collect();
        let mut children = vec![];
        for user in self.steps().into_iter().filter(|step| !stretch.contains(step)) {
            children.clear();
            module.children(user, &mut children);
            for &child in &children {
                if stretch.contains(&child) && found.insert(child) {
                    needed.push(child);
                }
            }
        }
        needed
    }

    /// Edits every step by itself, from the last to the first; continues there after a success.
    fn single_steps(&mut self) -> Result<(), Stop> {
        let mut at = self.all_steps().len();
        while at > 0 {
            at -= 1;
            let Some(&step) = self.all_steps().get(at) else { continue };
            for edit in self.edits_of(step) {
                if self.smaller(&edit)? {
                    // The same number is another step now.
                    at = (at + 1).min(self.all_steps().len());
                    break;
                }
            }
        }
        Ok(())
    }

    /// The edits of one step, the boldest first.
    fn edits_of(&self, step: ExprId) -> Vec<Edit> {
        let module = &self.program.module;
        let mut operands = vec![];
        module.children(step, &mut operands);
        operands
            .retain(|&operand| !matches!(module.exprs[operand].kind, ExprKind::Op(_) | ExprKind::Ctor(_) | ExprKind::Global(_)));
        let mut edits = vec![];
        // Where the types agree first; where they do not, the program may still have one.
        let (same, others): (Vec<ExprId>, Vec<ExprId>) =
            operands.iter().partition(|&&operand| module.ty(operand) == module.ty(step));
        edits.extend(same.iter().chain(&others).map(|&operand| Edit::Other(step, operand)));
        edits.push(Edit::Params(vec![step]));
        edits.extend([0.0, 1.0].map(|value| Edit::Constant(step, value)));
        match module.exprs[step].kind {
            ExprKind::Tuple(fields) => edits.extend((0..fields.len()).map(|field| Edit::Field(step, field))),
            ExprKind::Match { clauses, .. } => {
                edits.extend(module.clause_items(clauses).iter().map(|&clause| Edit::Branch(step, clause)));
                edits.extend((0..clauses.len()).map(|clause| Edit::Clause(step, clause)));
            }
            _ => {}
        }
        edits
    }

    /// Parameters of functions other than the entry.
    fn arguments(&mut self) -> Result<(), Stop> {
        let mut tried = FxHashSet::default();
        while let Some((name, index)) = self.next_argument(&tried) {
            let Some(global) = self.program.module.find_global(&name) else { break };
            // One that goes makes room for the next.
            if !self.smaller(&Edit::Argument(global, index))? {
                tried.insert((name, index));
            }
        }
        Ok(())
    }

    fn next_argument(&self, tried: &FxHashSet<(String, usize)>) -> Option<(String, usize)> {
        let module = &self.program.module;
        let others = module.globals.iter().filter(|global| &*global.name != self.entry);
        let mut all =
            others.flat_map(|global| (0..module.funcs[global.func].params.len()).map(|at| (global.name.to_string(), at)));
        all.find(|argument| !tried.contains(argument))
    }

    /// The shapes of the entry's parameters: by parameter, then by the tensors in it. `None` for one that is open.
    fn shapes(&self) -> FxHashMap<usize, Vec<Vec<i64>>> {
        let module = &self.program.module;
        let Ok(entry) = run::entry(module, self.entry) else { return FxHashMap::default() };
        let of = |(at, slot): (usize, &crate::bind::Slot)| {
            let leaves = leaves::leaves("", slot.ty, &module.types).ok()?;
            let shapes: Option<Vec<Vec<i64>>> =
                leaves.iter().map(|leaf| leaf.dims.iter().map(|dim| dim.value()).collect()).collect();
            shapes.map(|shapes| (at, shapes))
        };
        entry.slots.iter().enumerate().filter_map(of).collect()
    }

    /// Shrinks every extent of the parameters everywhere at once, with the attributes that state it; the largest first.
    fn all_shapes(&mut self) -> Result<(), Stop> {
        self.maps()?;
        let mut left: Vec<i64> = self.shapes().into_values().flatten().flatten().filter(|&dim| dim > 1).collect();
        left.sort_unstable();
        left.dedup();
        while let Some(old) = left.pop() {
            for new in smaller_extents(old) {
                let mut shapes = self.shapes();
                for dim in shapes.values_mut().flatten().flatten() {
                    if *dim == old {
                        *dim = new;
                    }
                }
                if self.smaller(&Edit::Shapes(shapes.clone(), None))? || self.smaller(&Edit::Shapes(shapes, Some((old, new))))? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Shrinks rows and columns of all feature maps in proportion, as strided windows need it; filters keep their sizes.
    fn maps(&mut self) -> Result<(), Stop> {
        /// The largest size of a filter.
        const FILTER: i64 = 7;
        let is_map = |shape: &Vec<i64>| shape.len() > 2 && shape[2..].iter().any(|&dim| dim > FILTER);
        loop {
            let largest =
                self.shapes().values().flatten().filter(|shape| is_map(shape)).flat_map(|shape| shape[2..].to_vec()).max();
            let Some(largest) = largest else { return Ok(()) };
            let mut any = false;
            for new in smaller_extents(largest) {
                let mut shapes = self.shapes();
                for shape in shapes.values_mut().flatten().filter(|shape| is_map(shape)) {
                    for dim in &mut shape[2..] {
                        // Rounded up; both factors may be as large as an extent is.
                        let scaled = (i128::from(*dim) * i128::from(new) + i128::from(largest) - 1) / i128::from(largest);
                        *dim = i64::try_from(scaled).unwrap_or(*dim).max(1);
                    }
                }
                if self.smaller(&Edit::Shapes(shapes, None))? {
                    any = true;
                    break;
                }
            }
            if !any {
                return Ok(());
            }
        }
    }

    /// One axis of one parameter at a time.
    fn single_axes(&mut self) -> Result<(), Stop> {
        let mut axes: Vec<(usize, usize, usize)> = vec![];
        for (param, shapes) in self.shapes() {
            for (leaf, shape) in shapes.iter().enumerate() {
                axes.extend((0..shape.len()).filter(|&axis| shape[axis] > 1).map(|axis| (param, leaf, axis)));
            }
        }
        axes.sort_unstable();
        for (param, leaf, axis) in axes.into_iter().take(MAX_AXES) {
            let extent = |shapes: &FxHashMap<usize, Vec<Vec<i64>>>| shapes.get(&param)?.get(leaf)?.get(axis).copied();
            let Some(old) = extent(&self.shapes()) else { continue };
            for new in smaller_extents(old) {
                let mut shapes = self.shapes();
                let Some(dim) = shapes.get_mut(&param).and_then(|shapes| shapes.get_mut(leaf)?.get_mut(axis)) else { break };
                *dim = new;
                if self.smaller(&Edit::Shapes(FxHashMap::from_iter([(param, shapes[&param].clone())]), None))? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Resets attributes to their defaults: all of a call, then one by one.
    fn attributes(&mut self) -> Result<(), Stop> {
        let mut at = self.all_steps().len();
        while at > 0 {
            at -= 1;
            let Some(&step) = self.all_steps().get(at) else { continue };
            let values = plainer(&self.program.module, step);
            if values.is_empty() || self.smaller(&Edit::Attrs(step, first_of_each(&values)))? {
                continue;
            }
            for (field, value) in values {
                let Some(&step) = self.all_steps().get(at) else { break };
                self.smaller(&Edit::Attrs(step, vec![(field, value)]))?;
            }
        }
        Ok(())
    }

    /// Removes unused data types.
    fn data_types(&mut self) -> Result<(), Stop> {
        let mut at = self.program.module.adts.len();
        while at > 0 {
            // Others may go with one; what stood before it stands before it still.
            at = (at - 1).min(self.program.module.adts.len().saturating_sub(1));
            if let Some(adt) = self.program.module.adts.ids().nth(at) {
                self.smaller(&Edit::DataType(adt))?;
            }
        }
        Ok(())
    }
}

fn is_leaf(module: &Module, expr: ExprId) -> bool {
    let kind = module.exprs[expr].kind;
    if let ExprKind::Const(id) = kind {
        return module.consts[id].rank() == 0;
    }
    matches!(
        kind,
        ExprKind::Var(_) | ExprKind::Op(_) | ExprKind::Ctor(_) | ExprKind::Global(_) | ExprKind::Error | ExprKind::Fn(_)
    )
}

/// The extents to try in place of another, the least first.
fn smaller_extents(old: i64) -> Vec<i64> {
    let mut all: Vec<i64> = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 32, old / 8, old / 4, old / 2, old - 1]
        .into_iter()
        .filter(|&new| new >= 1 && new < old)
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Simpler values for a call's attributes: the default, `None`, ones or zeros.
fn plainer(module: &Module, call: ExprId) -> Vec<(usize, AttrValue)> {
    let ExprKind::Call { attrs: Some(attrs), .. } = module.exprs[call].kind else { return vec![] };
    let Some(schema) = schema(module, call) else { return vec![] };
    let mut found = vec![];
    for (at, (value, field)) in module.attrs[attrs].values.iter().zip(schema.fields).enumerate() {
        let mut others: Vec<AttrValue> = field.default.map(|default| default()).into_iter().collect();
        match value {
            AttrValue::Int { value, bits } if *value > 1 => others.push(AttrValue::Int { value: 1, bits: *bits }),
            AttrValue::List(items) if items.iter().all(|item| matches!(item, AttrValue::Int { .. })) => {
                let all = |n: i64| AttrValue::List(items.iter().map(|_| AttrValue::int(n)).collect());
                others.extend([all(0), all(1)]);
            }
            _ => {}
        }
        others.retain(|other| !other.same(value));
        found.extend(others.into_iter().map(|other| (at, other)));
    }
    found
}

/// The first value of each attribute.
fn first_of_each(values: &[(usize, AttrValue)]) -> Vec<(usize, AttrValue)> {
    let mut first: Vec<(usize, AttrValue)> = vec![];
    for (at, value) in values {
        if first.iter().all(|(known, _)| known != at) {
            first.push((*at, value.clone()));
        }
    }
    first
}
