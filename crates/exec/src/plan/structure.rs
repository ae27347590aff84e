//! The structure of a function: its groups, the order of their expressions and their forms, which no shape changes.

use super::form::Form;
use super::group_plans::GroupPlans;
use super::not_compiled::NotCompiled;
use super::order::{Lets, order};
use relayc_ir::{ExprId, ExprKind, FuncId, Module};
use rustc_hash::FxHashMap;

/// What a function consists of, found once for any shapes.
#[derive(Debug)]
pub struct Structure {
    /// The expressions of the function in evaluation order, with each group as one, and the values of variables.
    pub(super) order: Vec<ExprId>,
    pub(super) lets: Lets,
    groups: FxHashMap<FuncId, Group>,
}

/// A group of operators: its expressions in evaluation order, the values of variables, and its form if it has one.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) order: Vec<ExprId>,
    pub(super) lets: Lets,
    pub(super) form: Option<Form>,
}

impl Structure {
    /// The structure of a function whose groups are marked, to be planned with these plans of groups. Errors: it has control flow.
    pub fn of(module: &Module, func: FuncId, groups: &GroupPlans) -> Result<Structure, NotCompiled> {
        let (whole, lets) = order(module, module.funcs[func].body)?;
        let group = |&expr: &ExprId| {
            let ExprKind::Call { callee, .. } = module.exprs[expr].kind else { return None };
            let ExprKind::Fn(group) = module.exprs[callee].kind else { return None };
            Some(order(module, module.funcs[group].body).map(|(order, lets)| {
                let form = Form::of(module, group, &order, &lets, groups);
                (group, Group { order, lets, form })
            }))
        };
        let groups = whole.iter().filter_map(group).collect::<Result<_, _>>()?;
        Ok(Structure { order: whole, lets, groups })
    }

    pub(super) fn group(&self, func: FuncId) -> &Group {
        &self.groups[&func]
    }
}
