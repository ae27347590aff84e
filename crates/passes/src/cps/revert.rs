//! Calls a function in continuation-passing style with the identity as its continuation.
//!
//! The rewrite is sound because such a function does nothing with its result but give it to the continuation. Those that call it call a
//! copy of it as it was, `@f_0`.
//!
//! ```text
//! def @f[answer](%x: int32, %k: fn (int32) -> answer) -> answer { %k(%x) }
//! →
//! def @f(%x: int32) -> int32 { (fn [answer](%x: int32, %k: fn (int32) -> answer) { %k(%x) })(%x, fn (%y: int32) { %y }) }
//! ```

use super::super::callers::keep_callers;
use super::super::let_list::mention;
use super::super::names::Names;
use super::super::step::{ArgKind, Param};
use super::super::{Pass, PassCx, Stop, function, refused};
use super::fresh_type_params;
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_ir::types::{Ty, TyData};
use relayc_ir::{ExprId, ExprKind, Func, FuncId, Global, Module, Operand, VarId};

pub(crate) const PASS: Pass = Pass {
    name: "un-cps",
    doc: "Gives a function in continuation-passing style back its own result.",
    params: &[Param { name: "function", kind: ArgKind::Word, default: "main", doc: "the function" }],
    keeps_answers: false,
    run,
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> Result<bool, Box<Diagnostic>> {
    let name = cx.args.word("function");
    let found = function(module, &PASS, name)?;
    let Global { func, span, .. } = module.globals[found];
    let stopped = |why: String| refused(&PASS, Stop::from(why).at(span));
    let continuation = continuation(module, func);
    let (ret, answer) = continuation.ok_or_else(|| stopped(format!("`@{name}` has no continuation as its last parameter")))?;
    // A function among them hands its result on for an answer of the same type, which is no longer a parameter.
    let params = module.funcs[func].params.clone();
    let (_, params) = params.split_last().expect("the continuation is one");
    let tys = params.iter().filter_map(|&param| module.vars[param].checked_ty.or(module.vars[param].ty));
    for ty in tys.chain([ret]).collect::<Vec<_>>() {
        if module.types.rewrite(ty, |_, part| (part == answer).then_some(Ty::ERROR)) != ty {
            return Err(stopped(format!("`@{name}` takes or returns functions in continuation-passing style")));
        }
    }
    let was = module.funcs[func].clone();
    revert(module, func, ret, answer);
    keep_callers(module, found, &was, &mut Names::of_globals(module));
    Ok(true)
}

/// What the last parameter takes and returns, if it is a function and the function returns what it returns.
fn continuation(module: &Module, func: FuncId) -> Option<(Ty, Ty)> {
    let func = &module.funcs[func];
    let var = &module.vars[*func.params.last()?];
    let TyData::Fn { params, ret, .. } = module.types.data(var.checked_ty.or(var.ty)?) else { return None };
    let [param] = **params else { return None };
    (func.type_params.last() == Some(ret) && func.ret == Some(*ret)).then_some((param, *ret))
}

fn revert(module: &mut Module, func: FuncId, ret: Ty, answer: Ty) {
    let inner = module.funcs[func].clone();
    let span = inner.span;
    let mut own: Vec<(Ty, Ty)> = Vec::new();
    let mut fresh = fresh_type_params(module);
    for &old in inner.type_params.iter().filter(|&&param| param != answer) {
        let TyData::Param { name, .. } = module.types.data(old).clone() else { continue };
        own.push((old, fresh.fresh(module, &name)));
    }
    let of_outer = |module: &mut Module, ty: Ty| {
        module.types.rewrite(ty, |_, ty| own.iter().find(|(old, _)| *old == ty).map(|(_, new)| *new))
    };
    let (ret, n) = (of_outer(module, ret), inner.params.len() - 1);
    let mut params: Vec<VarId> = Vec::new();
    for &param in &inner.params[..n] {
        let of = module.vars[param].clone();
        let ty = of.checked_ty.or(of.ty).map(|ty| of_outer(module, ty));
        params.push(module.var(&of.name, ty, of.span));
    }
    let mut args: Vec<ExprId> = params.iter().map(|&param| mention(module, span, param)).collect();
    args.push(identity(module, span, ret));
    let args: Vec<Operand> = args.into_iter().map(|expr| Operand { expr, span }).collect();
    let args = module.operands(&args);
    let attrs = inner.attrs.clone();
    let inner = module.funcs.push(Func { attrs: vec![], ..inner });
    let callee = module.expr(span, ExprKind::Fn(inner));
    let body = module.expr(span, ExprKind::Call { callee, args, attrs: None });
    let type_params = own.into_iter().map(|(_, new)| new).collect();
    module.funcs[func] = Func { span, type_params, params, ret: Some(ret), ret_span: Span::NONE, body, attrs };
}

/// `fn (%x: ty) -> ty { %x }`.
fn identity(module: &mut Module, span: Span, ty: Ty) -> ExprId {
    let param = module.var("x", Some(ty), span);
    let body = mention(module, span, param);
    let (type_params, attrs) = (vec![], vec![]);
    let func =
        module.funcs.push(Func { span, type_params, params: vec![param], ret: Some(ty), ret_span: Span::NONE, body, attrs });
    module.expr(span, ExprKind::Fn(func))
}
