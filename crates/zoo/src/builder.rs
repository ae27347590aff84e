//! Builds a network: variables, calls with attributes completed from the schemas, and finally `@main`.
//!
//! A call of an unknown operator, or with attributes that do not fit its schema, is recorded; [`Net::finish`] reports it. So a
//! network's code reads like its layers.

use super::ZooError;
use relayc_base::Span;
use relayc_ir::attrs::OpTable;
use relayc_ir::types::{DType, MAX_ELEMENTS, Ty, checked_elements};
use relayc_ir::{AttrValue, Attrs, AttrsId, ExprId, ExprKind, Func, Global, Module, OpId, Operand, VarId};
use relayc_ops::table;

pub(crate) struct Net {
    module: Module,
    /// The first error.
    fault: Option<ZooError>,
}

impl Net {
    pub(crate) fn new() -> Net {
        Net { module: Module::new(), fault: None }
    }

    pub(crate) fn tensor(&mut self, shape: &[i64], dtype: DType) -> Ty {
        if checked_elements(shape).is_none() {
            let message = format!("a tensor of the shape {shape:?} is too large");
            self.fail(message, format!("a tensor has at most {MAX_ELEMENTS} elements"));
            return Ty::ERROR;
        }
        self.module.types.tensor_of(shape, dtype)
    }

    pub(crate) fn tuple_ty(&mut self, fields: &[Ty]) -> Ty {
        self.module.types.tuple(fields)
    }

    /// A variable of a known type.
    pub(crate) fn var(&mut self, name: &str, ty: Ty) -> ExprId {
        self.new_var(name, Some(ty))
    }

    /// A variable whose type inference finds.
    pub(crate) fn untyped(&mut self, name: &str) -> ExprId {
        self.new_var(name, None)
    }

    fn new_var(&mut self, name: &str, ty: Option<Ty>) -> ExprId {
        let var = self.module.var(name, ty, Span::NONE);
        self.expr(ExprKind::Var(var))
    }

    /// A call of an operator; omitted attributes have their defaults.
    pub(crate) fn call(&mut self, op: &str, args: &[ExprId], attrs: &[(&str, AttrValue)]) -> ExprId {
        let Some(id) = table().find(op) else {
            self.fail(format!("this build has no operator `{op}`"), "`relayc ops` lists those it has");
            return self.expr(ExprKind::Error);
        };
        let attrs = self.attrs(id, attrs);
        let callee = self.expr(ExprKind::Op(id));
        let args = self.operands(args);
        self.expr(ExprKind::Call { callee, args, attrs })
    }

    pub(crate) fn apply(&mut self, callee: ExprId, args: &[ExprId]) -> ExprId {
        let args = self.operands(args);
        self.expr(ExprKind::Call { callee, args, attrs: None })
    }

    pub(crate) fn tuple(&mut self, fields: &[ExprId]) -> ExprId {
        let fields = self.operands(fields);
        self.expr(ExprKind::Tuple(fields))
    }

    pub(crate) fn proj(&mut self, tuple: ExprId, index: u32) -> ExprId {
        self.expr(ExprKind::Proj { tuple, index: index as i32 })
    }

    /// `let v = …; …; body`, the first binding outermost.
    pub(crate) fn lets(&mut self, bindings: &[(ExprId, ExprId)], body: ExprId) -> ExprId {
        bindings.iter().rev().fold(body, |body, &(var, value)| {
            let var = self.var_of(var);
            self.expr(ExprKind::Let { var, value, body })
        })
    }

    pub(crate) fn func(&mut self, params: &[ExprId], ret: Ty, body: ExprId) -> ExprId {
        let params = params.iter().map(|&param| self.var_of(param)).collect();
        let func = self.module.funcs.push(new_func(params, Some(ret), body));
        self.expr(ExprKind::Fn(func))
    }

    /// The module whose `@main` has this body and its free variables as parameters.
    pub(crate) fn finish(self, body: ExprId) -> Result<Module, ZooError> {
        self.finish_with(body, None)
    }

    /// As [`Net::finish`], for a function with a declared result type.
    pub(crate) fn finish_with(mut self, body: ExprId, ret: Option<Ty>) -> Result<Module, ZooError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let params = free_vars(&self.module, body);
        let func = self.module.funcs.push(new_func(params, ret, body));
        self.module.globals.push(Global { name: "main".into(), func, span: Span::NONE });
        Ok(self.module)
    }

    fn expr(&mut self, kind: ExprKind) -> ExprId {
        self.module.expr(Span::NONE, kind)
    }

    fn operands(&mut self, items: &[ExprId]) -> relayc_ir::Operands {
        let items: Vec<Operand> = items.iter().map(|&expr| Operand { expr, span: Span::NONE }).collect();
        self.module.operands(&items)
    }

    fn var_of(&self, expr: ExprId) -> VarId {
        match self.module.exprs[expr].kind {
            ExprKind::Var(var) => var,
            other => panic!("zoo: expected a variable, found {other:?}"),
        }
    }

    fn attrs(&mut self, op: OpId, given: &[(&str, AttrValue)]) -> Option<AttrsId> {
        let name = table().name(op);
        let fields = table().schema(op).map_or(&[][..], |schema| schema.fields);
        if let Some((unknown, _)) = given.iter().find(|(key, _)| !fields.iter().any(|field| field.name == *key)) {
            self.fail(format!("`{name}` has no attribute `{unknown}`"), "the network and the operator table disagree");
        }
        let mut values = Vec::with_capacity(fields.len());
        for field in fields {
            let value = given.iter().find(|(key, _)| *key == field.name).map(|(_, value)| value.clone());
            match value.or_else(|| field.default.map(|default| default())) {
                Some(value) => values.push(value),
                None => {
                    values.push(AttrValue::None);
                    self.fail(
                        format!("`{name}` needs the attribute `{}`", field.name),
                        "the network and the operator table disagree",
                    );
                }
            }
        }
        table().schema(op)?;
        Some(self.module.attrs.push(Attrs { values: values.into(), spans: [].into() }))
    }

    fn fail(&mut self, message: String, help: impl Into<String>) {
        self.fault.get_or_insert_with(|| ZooError::new(message, help.into()));
    }
}

fn new_func(params: Vec<VarId>, ret: Option<Ty>, body: ExprId) -> Func {
    Func { span: Span::NONE, type_params: vec![], params, ret, ret_span: Span::NONE, body, attrs: vec![] }
}

/// The free variables of `body`, in post-order (`FreeVars` of `src/relay/analysis/util.cc`).
fn free_vars(module: &Module, body: ExprId) -> Vec<VarId> {
    let order = module.post_order(&[body]);
    let mut bound = vec![];
    let mut met = vec![];
    for expr in order {
        match module.exprs[expr].kind {
            ExprKind::Var(var) => met.push(var),
            ExprKind::Let { var, .. } => bound.push(var),
            ExprKind::Fn(func) => bound.extend(&module.funcs[func].params),
            _ => {}
        }
    }
    let bound: rustc_hash::FxHashSet<VarId> = bound.into_iter().collect();
    met.retain(|var| !bound.contains(var));
    met
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_in_the_order_of_use() {
        let mut net = Net::new();
        let ty = net.tensor(&[2], DType::F32);
        let (a, b, c, x) = (net.var("a", ty), net.var("b", ty), net.var("c", ty), net.var("x", ty));
        let inner = net.tuple(&[c, x]);
        let all = net.tuple(&[inner, a, c, b]);
        let body = net.lets(&[(x, a)], all);
        let module = net.finish(body).expect("a module");
        let params = &module.funcs[module.globals.iter().next().expect("main").func].params;
        let names: Vec<&str> = params.iter().map(|&var| &*module.vars[var].name).collect();
        assert_eq!(names, ["a", "c", "b"]);
    }

    #[test]
    fn faults_are_reported_at_the_end() {
        let mut net = Net::new();
        let x = net.untyped("x");
        let y = net.call("nn.no_such_operator", &[x], &[]);
        let error = net.finish(y).expect_err("no such operator");
        assert_eq!(error.message, "this build has no operator `nn.no_such_operator`");

        let mut net = Net::new();
        let x = net.untyped("x");
        let y = net.call("nn.relu", &[x], &[("alpha", AttrValue::float(1.0))]);
        assert_eq!(net.finish(y).expect_err("no such attribute").message, "`nn.relu` has no attribute `alpha`");

        let mut net = Net::new();
        let ty = net.tensor(&[1 << 30, 1 << 30], DType::F32);
        let x = net.var("x", ty);
        assert!(net.finish(x).expect_err("too large").message.contains("too large"));
    }
}
