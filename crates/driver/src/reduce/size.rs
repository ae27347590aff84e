//! Measures the size of a program for the reduction.

use relayc_ir::types::{Ty, Types};
use relayc_ir::{AttrSchema, ExprId, ExprKind, Module, OpTable};
use relayc_ops as ops;

/// The size of a program. Earlier fields count most, so that a new parameter may replace an operator.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Size {
    /// Calls, branches, bindings and functions.
    pub work: usize,
    /// Tuples, projections and constants.
    pub(crate) others: usize,
    pub params: usize,
    /// The elements of all parameters of functions and of constants.
    pub elements: u64,
    /// The number of non-default attributes, and the sum of their numbers.
    pub(crate) attrs: (usize, u64),
    pub(crate) text: usize,
}

impl Size {
    pub(crate) fn of(module: &Module, text: &str) -> Size {
        let mut size = Size { work: module.globals.len(), others: 0, params: 0, elements: 0, attrs: (0, 0), text: text.len() };
        let mut vars: Vec<_> = module.globals.iter().flat_map(|global| module.funcs[global.func].params.clone()).collect();
        for expr in module.post_order(&module.roots()) {
            match module.exprs[expr].kind {
                ExprKind::Tuple(_) | ExprKind::Proj { .. } => size.others += 1,
                ExprKind::Const(id) => {
                    size.others += 1;
                    size.elements = size.elements.saturating_add(module.consts[id].len() as u64);
                }
                ExprKind::Fn(func) => {
                    size.work += 1;
                    vars.extend(&module.funcs[func].params);
                }
                ExprKind::Call { .. } => {
                    size.work += 1;
                    size.add_attrs(module, expr);
                }
                ExprKind::Match { clauses, .. } => size.work += clauses.len(),
                ExprKind::Let { .. }
                | ExprKind::If { .. }
                | ExprKind::RefNew(_)
                | ExprKind::RefRead(_)
                | ExprKind::RefWrite { .. } => size.work += 1,
                ExprKind::Error | ExprKind::Var(_) | ExprKind::Global(_) | ExprKind::Op(_) | ExprKind::Ctor(_) => {}
            }
        }
        size.params = vars.len();
        let types = vars.iter().filter_map(|&var| module.vars[var].checked_ty.or(module.vars[var].ty));
        size.elements = types.fold(size.elements, |n, ty| n.saturating_add(elements(&module.types, ty)));
        size
    }

    fn add_attrs(&mut self, module: &Module, call: ExprId) {
        for (value, default) in attrs(module, call) {
            if default.is_none_or(|default| !value.same(&default)) {
                self.attrs.0 += 1;
            }
            let mut left = vec![value];
            while let Some(value) = left.pop() {
                match value.as_list() {
                    Some(items) => left.extend(items.iter().cloned()),
                    None => self.attrs.1 = self.attrs.1.saturating_add(value.as_int().unwrap_or(0).unsigned_abs()),
                }
            }
        }
    }
}

/// The schema of the attributes of a call of an operator.
pub(crate) fn schema(module: &Module, call: ExprId) -> Option<&'static AttrSchema> {
    module.called_op(call).and_then(|op| ops::table().schema(op))
}

/// The attributes of a call of an operator, each with its default.
fn attrs(module: &Module, call: ExprId) -> Vec<(relayc_ir::AttrValue, Option<relayc_ir::AttrValue>)> {
    let (ExprKind::Call { attrs: Some(attrs), .. }, Some(schema)) = (module.exprs[call].kind, schema(module, call)) else {
        return vec![];
    };
    let values = module.attrs[attrs].values.iter().cloned();
    values.zip(schema.fields).map(|(value, field)| (value, field.default.map(|default| default()))).collect()
}

/// The elements of the tensors of a type; a dynamic dimension counts as one.
fn elements(types: &Types, ty: Ty) -> u64 {
    let (mut n, mut left) = (0u64, vec![ty]);
    while let Some(ty) = left.pop() {
        match types.as_tensor(ty) {
            Some((shape, _)) => {
                let own = shape.iter().fold(1u64, |n, dim| n.saturating_mul(dim.value().map_or(1, i64::unsigned_abs)));
                n = n.saturating_add(own);
            }
            None => types.children(ty, &mut left),
        }
        // A type may say a tuple of a million fields in a few lines.
        if left.len() > 100_000 {
            return u64::MAX;
        }
    }
    n
}
