//! Finds the origin of a dimension when a message needs it.
//!
//! Running a relation again on the inferred types gives the origin of each dimension of its result: an operand's axis, an
//! attribute, a rule. Following operands leads to the place where the number was written.

use super::repair::Site;
use super::{Infer, call_attrs};
use relayc_base::Span;
use relayc_ir::{ExprId, ExprKind, Module, VarId};
use relayc_ops::Table;
use relayc_ops::rel::{DimOrigin, Origins};
use rustc_hash::FxHashMap;

/// The place a dimension was decided, in words.
pub(super) struct Origin {
    pub(crate) span: Span,
    pub(crate) text: String,
    /// The text to change for another number.
    pub(crate) site: Option<Site>,
}

/// What inference knew of a program that says where the dimensions of its types come from.
#[derive(Clone, Default, Debug)]
pub struct DimOrigins {
    pub(super) decided_by: FxHashMap<VarId, (ExprId, usize)>,
    pub(super) let_values: FxHashMap<VarId, ExprId>,
}

impl DimOrigins {
    /// The places that decided the first axes of a tensor, in words; `None` where nothing is known. The module is the one that was
    /// inferred; only types are added to it.
    pub fn find(&self, module: &mut Module, ops: &Table, expr: ExprId, n_axes: usize) -> Vec<Option<(Span, String)>> {
        let tys = module.expr_tys.clone();
        let mut infer = Infer::new(module, ops, "", false);
        infer.tys = tys;
        infer.decided_by.clone_from(&self.decided_by);
        infer.let_values.clone_from(&self.let_values);
        (0..n_axes).map(|axis| infer.origin(expr, None, axis).map(|origin| (origin.span, origin.text))).collect()
    }
}

/// A chain longer than this is not followed to its end: the reader would not either.
const MAX_STEPS: usize = 10_000;

impl Infer<'_> {
    /// The origin of an axis of an expression's type; `field` for one of a tuple. `None` where nothing is known of it.
    pub(super) fn origin(&mut self, expr: ExprId, field: Option<usize>, axis: usize) -> Option<Origin> {
        let (mut expr, mut field, mut axis) = (expr, field, axis);
        for _ in 0..MAX_STEPS {
            let from = match self.module.exprs[expr].kind {
                ExprKind::Var(var) => match self.var_origin(var, axis) {
                    VarOrigin::Here(origin) => return Some(origin),
                    VarOrigin::Value(value) => {
                        expr = value;
                        continue;
                    }
                    VarOrigin::DecidedBy(call, from) => {
                        expr = call;
                        from
                    }
                },
                ExprKind::Let { body, .. } => {
                    expr = body;
                    continue;
                }
                ExprKind::Proj { tuple, index } => {
                    (expr, field) = (tuple, Some(index as usize));
                    continue;
                }
                ExprKind::Tuple(fields) => {
                    expr = self.module.items(fields).get(field.take()?)?.expr;
                    continue;
                }
                ExprKind::Call { .. } => match self.module.called_op(expr) {
                    Some(_) => self.rerun(expr, field)?.out.get(axis)?.from,
                    None => return self.here(expr, "the result of this call"),
                },
                ExprKind::Const(_) => return self.here(expr, "a constant"),
                _ => return None,
            };
            match from {
                DimOrigin::Arg { arg, field: arg_field, axis: arg_axis } => {
                    let ExprKind::Call { args, .. } = self.module.exprs[expr].kind else { return None };
                    expr = self.module.items(args).get(arg as usize)?.expr;
                    (field, axis) = (arg_field.map(usize::from), arg_axis as usize);
                }
                DimOrigin::Attr(name) => return self.attr_origin(expr, name),
                DimOrigin::Rule(rule) => {
                    let name = self.op_name(expr);
                    return self.here(expr, &format!("computed by `{name}`, rule {rule}"));
                }
                DimOrigin::Op => {
                    let name = self.op_name(expr);
                    return self.here(expr, &format!("decided by `{name}`"));
                }
            }
        }
        None
    }

    fn here(&self, expr: ExprId, text: &str) -> Option<Origin> {
        let span = self.module.exprs[expr].span;
        (!span.is_none()).then(|| Origin { span, text: text.to_owned(), site: None })
    }

    fn op_name(&self, call: ExprId) -> &'static str {
        self.module.called_op(call).map_or("?", |op| self.ops.def(op).name)
    }

    fn attr_origin(&self, call: ExprId, name: &'static str) -> Option<Origin> {
        let span = self.attr_span(call, name);
        if span.is_none() {
            return self.here(call, &format!("by the default of `{name}`"));
        }
        Some(Origin { span, text: format!("decided by `{name}`"), site: Some(Site::Attr(call, name)) })
    }

    /// Where an attribute of a call is written; none for a default.
    pub(super) fn attr_span(&self, call: ExprId, name: &str) -> Span {
        let ExprKind::Call { attrs: Some(attrs), .. } = self.module.exprs[call].kind else { return Span::NONE };
        let schema = self.module.called_op(call).and_then(|op| self.ops.def(op).attrs);
        let index = schema.and_then(|schema| schema.position(name));
        index.map_or(Span::NONE, |index| self.module.attrs[attrs].span(index))
    }

    fn var_origin(&mut self, var: VarId, axis: usize) -> VarOrigin {
        if let Some(&(call, arg)) = self.decided_by.get(&var) {
            let origins = self.rerun(call, None).unwrap_or_default();
            let shape = origins.args.into_iter().find(|(at, _)| *at == arg);
            if let Some(dim) = shape.and_then(|(_, shape)| shape.get(axis).copied()) {
                return VarOrigin::DecidedBy(call, dim.from);
            }
        }
        if let (None, Some(&value)) = (self.module.vars[var].ty, self.let_values.get(&var)) {
            return VarOrigin::Value(value);
        }
        let decl = &self.module.vars[var];
        VarOrigin::Here(Origin {
            span: decl.span,
            text: format!("`%{}` is declared here", decl.name),
            site: Some(Site::Var(var, axis)),
        })
    }

    /// The origins that the relation of a call gives, with the types known so far; `field` is that of a result that is a tuple.
    fn rerun(&mut self, call: ExprId, field: Option<usize>) -> Option<Origins> {
        let (def, args) = self.op_call(call).filter(|_| !self.lacks_attrs(call))?;
        let attrs = call_attrs(self.module, call).to_vec();
        let out = self.fresh();
        let (result, origins) = self.run_relation(def, &attrs, (&args, out), Some(field.unwrap_or(0)));
        result.ok().map(|()| origins)
    }
}

enum VarOrigin {
    Here(Origin),
    Value(ExprId),
    DecidedBy(ExprId, DimOrigin),
}
