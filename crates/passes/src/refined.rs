//! Follows the types that a rewrite makes more exact, from operands to users.
//!
//! An operand of unknown size may become one whose size is known. A relation that accepted the first may refuse the second: the
//! program is at fault then, and a run says so where it comes to the call, which may be never. Such a call keeps the operand that
//! it had, so that the program still types.
//!
//! ```text
//! strided_slice(dyn.full(1f, meta[Constant][0]), begin=[1], end=[-1], …)    stays, if the constant is 1
//! ```

use super::PassCx;
use super::build::{args, set_ty, typed};
use super::effects::Pure;
use super::rewrite::Replaced;
use relayc_ir::types::Ty;
use relayc_ir::{ExprId, ExprKind, Module, Operand, Operands, VarId};
use rustc_hash::FxHashMap;

/// The expressions whose types are more exact than those that inference found.
#[derive(Default)]
pub(crate) struct Refined {
    /// Behind each the expression that has the former type, and the same value.
    former: FxHashMap<ExprId, ExprId>,
}

impl Refined {
    /// Takes note that `new` replaces an expression.
    pub(crate) fn replaced(&mut self, module: &Module, expr: ExprId, new: ExprId) {
        let former = self.former.get(&expr).copied();
        let typed = module.expr_tys.get(new).copied().flatten().is_some();
        if former.is_some() || (typed && module.ty(new) != module.ty(expr)) {
            self.former.entry(new).or_insert(former.unwrap_or(expr));
        }
    }

    /// Gives an expression the type that follows from its operands, which have been replaced. A call that they do not fit gets
    /// back those that it had. `lets` are the values of variables.
    pub(crate) fn follow(
        &mut self,
        module: &mut Module,
        cx: &PassCx,
        lets: &FxHashMap<VarId, ExprId>,
        replaced: &Replaced,
        pure: &mut Pure,
        expr: ExprId,
    ) {
        if self.former.is_empty() {
            return;
        }
        match module.exprs[expr].kind {
            ExprKind::Call { callee, args: list, attrs: of } => {
                let Some(def) = cx.called(module, expr) else { return };
                let Some(former) = self.former_list(module, list) else { return };
                let former = ExprKind::Call { callee, args: former, attrs: of };
                let (operands, attrs) = (args(module, expr), module.call_attrs(expr).to_vec());
                match cx.call_ty(module, def, &operands, &attrs) {
                    Some(ty) => self.refine(module, expr, ty, former),
                    None => module.exprs[expr].kind = former,
                }
            }
            ExprKind::Tuple(list) => {
                let Some(former) = self.former_list(module, list) else { return };
                let tys: Vec<Ty> = args(module, expr).into_iter().map(|field| module.ty(field)).collect();
                let ty = module.types.tuple(&tys);
                self.refine(module, expr, ty, ExprKind::Tuple(former));
            }
            ExprKind::Proj { tuple, index } => {
                let Some(&former) = self.former.get(&tuple) else { return };
                let of = module.types.as_tuple(module.ty(tuple)).and_then(|fields| fields.get(usize::try_from(index).ok()?));
                let Some(&ty) = of else { return };
                self.refine(module, expr, ty, ExprKind::Proj { tuple: former, index });
            }
            ExprKind::Var(var) => {
                let Some(value) = lets.get(&var).map(|&value| replaced.get(value)) else { return };
                let Some(&former) = self.former.get(&value) else { return };
                pure.learn(module);
                if module.vars[var].ty.is_none() && pure.is(former) {
                    let ty = module.ty(value);
                    set_ty(module, expr, ty);
                    self.former.insert(expr, former);
                }
            }
            _ => {}
        }
    }

    /// The former operands, if any of them is another one.
    fn former_list(&self, module: &mut Module, list: Operands) -> Option<Operands> {
        let items = module.items(list);
        items.iter().any(|item| self.former.contains_key(&item.expr)).then_some(())?;
        let former = |item: &Operand| self.former.get(&item.expr).copied().unwrap_or(item.expr);
        let former: Vec<Operand> = items.iter().map(|item| Operand { expr: former(item), ..*item }).collect();
        Some(module.operands(&former))
    }

    /// Gives an expression a more exact type; `former` is what it was.
    fn refine(&mut self, module: &mut Module, expr: ExprId, ty: Ty, former: ExprKind) {
        if ty != module.ty(expr) {
            let former = typed(module, module.exprs[expr].span, former, module.ty(expr));
            set_ty(module, expr, ty);
            self.former.insert(expr, former);
        }
    }
}
