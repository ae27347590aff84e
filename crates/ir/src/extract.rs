//! Extracts one function of a module as a module of its own.

use super::{
    AttrValue, Attrs, AttrsId, ConstId, Expr, ExprId, ExprKind, Func, FuncId, Global, Module, Object, Operand, Operands, Root,
    VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};

impl Module {
    /// Builds a module whose `@main` is the given function. The function may contain dataflow and function literals; returns
    /// `None` for a function that contains control flow or mentions a global. The module keeps spans and types, and shares the
    /// values of constants. The cost is proportional to the function, plus the types of the module.
    pub fn extract(&self, func: FuncId) -> Option<Module> {
        let mut own = Module::new();
        (own.types, own.objects) = (self.types.clone(), self.objects.clone());
        let (exprs, vars, consts) = Default::default();
        let mut copy = Copy { from: self, to: own, exprs, vars, consts };
        copy.objects();
        for expr in copy.order(func) {
            let kind = copy.kind(self.exprs[expr].kind)?;
            let new = copy.to.exprs.push(Expr { span: self.exprs[expr].span, kind });
            copy.to.expr_tys.push(self.expr_tys.get(expr).copied().flatten());
            copy.exprs.insert(expr, new);
        }
        let func = copy.func(func);
        let mut module = copy.to;
        let span = module.funcs[func].span;
        module.globals.push(Global { name: "main".into(), func, span });
        module.root = Root::Globals;
        Some(module)
    }
}

struct Copy<'a> {
    from: &'a Module,
    to: Module,
    exprs: FxHashMap<ExprId, ExprId>,
    vars: FxHashMap<VarId, VarId>,
    consts: FxHashMap<ConstId, ConstId>,
}

impl Copy<'_> {
    /// The expressions of a function, children before parents.
    fn order(&self, func: FuncId) -> Vec<ExprId> {
        let mut order = vec![];
        let mut seen: FxHashSet<ExprId> = FxHashSet::default();
        let mut stack = vec![(self.from.funcs[func].body, false)];
        let mut children = vec![];
        while let Some((expr, done)) = stack.pop() {
            if done {
                order.push(expr);
            } else if seen.insert(expr) {
                stack.push((expr, true));
                children.clear();
                self.from.children(expr, &mut children);
                stack.extend(children.iter().rev().map(|&child| (child, false)));
            }
        }
        order
    }

    fn kind(&mut self, kind: ExprKind) -> Option<ExprKind> {
        Some(match kind {
            ExprKind::Const(id) => ExprKind::Const(self.constant(id)),
            ExprKind::Var(var) => ExprKind::Var(self.var(var)),
            ExprKind::Op(op) => ExprKind::Op(op),
            ExprKind::Tuple(fields) => ExprKind::Tuple(self.operands(fields)),
            ExprKind::Proj { tuple, index } => ExprKind::Proj { tuple: self.exprs[&tuple], index },
            ExprKind::Call { callee, args, attrs } => {
                let attrs = attrs.map(|attrs| self.attrs(attrs));
                ExprKind::Call { callee: self.exprs[&callee], args: self.operands(args), attrs }
            }
            ExprKind::Fn(func) => ExprKind::Fn(self.func(func)),
            ExprKind::Let { var, value, body } => {
                ExprKind::Let { var: self.var(var), value: self.exprs[&value], body: self.exprs[&body] }
            }
            ExprKind::Error
            | ExprKind::Global(_)
            | ExprKind::If { .. }
            | ExprKind::Ctor(_)
            | ExprKind::Match { .. }
            | ExprKind::RefNew(_)
            | ExprKind::RefRead(_)
            | ExprKind::RefWrite { .. } => return None,
        })
    }

    fn func(&mut self, func: FuncId) -> FuncId {
        let Func { params, body, .. } = &self.from.funcs[func];
        let params = params.iter().map(|&var| self.var(var)).collect();
        let body = self.exprs[body];
        self.to.funcs.push(Func { params, body, ..self.from.funcs[func].clone() })
    }

    fn constant(&mut self, id: ConstId) -> ConstId {
        *self.consts.entry(id).or_insert_with(|| self.to.consts.push(self.from.consts[id].clone()))
    }

    /// Copies the constants inside objects to the new module.
    fn objects(&mut self) {
        for id in self.from.objects.ids() {
            if let Object::Const(constant) = self.from.objects[id] {
                self.to.objects[id] = Object::Const(self.constant(constant));
            }
        }
    }

    fn var(&mut self, var: VarId) -> VarId {
        *self.vars.entry(var).or_insert_with(|| self.to.vars.push(self.from.vars[var].clone()))
    }

    fn attrs(&mut self, attrs: AttrsId) -> AttrsId {
        let Attrs { values, spans } = &self.from.attrs[attrs];
        let value = |value: &AttrValue| match value {
            AttrValue::Const(id, tensor) => AttrValue::Const(self.constant(*id), tensor.clone()),
            other => other.clone(),
        };
        let values = values.iter().map(value).collect();
        self.to.attrs.push(Attrs { values, spans: spans.clone() })
    }

    fn operands(&mut self, list: Operands) -> Operands {
        let items: Vec<Operand> =
            self.from.items(list).iter().map(|item| Operand { expr: self.exprs[&item.expr], ..*item }).collect();
        self.to.operands(&items)
    }
}
