//! Wraps a bare expression as the `@main` of a module.

use super::{ExprKind, Func, Global, Module, Root};
use relayc_base::Span;

impl Module {
    /// Makes a bare expression the function `@main`. A function literal becomes the definition itself. For any other expression,
    /// the free variables become parameters, in the order of their first mention (`IRModule.from_expr`, TVM's
    /// `src/ir/module.cc`). A module of definitions stays unchanged.
    pub fn wrap_as_main(&mut self) {
        let Root::Expr(body) = self.root else { return };
        let func = match self.exprs[body].kind {
            ExprKind::Fn(func) => func,
            _ => {
                let params = self.free_vars();
                let span = self.exprs[body].span;
                let (type_params, attrs, ret, ret_span) = (vec![], vec![], None, Span::NONE);
                self.funcs.push(Func { span, type_params, params, ret, ret_span, body, attrs })
            }
        };
        let span = self.funcs[func].span;
        self.globals.push(Global { name: "main".into(), func, span });
        self.root = Root::Globals;
    }
}
