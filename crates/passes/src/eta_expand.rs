//! Writes functions that are mentioned by name as function literals that call them: TVM's `EtaExpand`
//! (`src/relay/transforms/eta_expand.cc`).
//!
//! The rewrite is sound because a function is known by its results only: `@f` and `fn (%p) { @f(%p) }` give the same for every argument,
//! and neither computes anything before it is called. As in TVM, a name that is called is expanded too, a constructor that is called is
//! not. The literals for one name are one shared expression.
//!
//! ```text
//! (Cons, @f)    →    (fn [A](%p: A, %p1: List[A]) -> List[A] { Cons(%p, %p1) }, fn (%p: int32) { @f(%p) })
//! ```

use super::build::set_ty;
use super::let_list::mention;
use super::rewrite::{substitute, with_children};
use super::step::{ArgKind, Param};
use super::{Pass, PassCx, refused};
use relayc_base::diag::Diagnostic;
use relayc_base::{Idx, Span};
use relayc_ir::types::{Ty, TyData};
use relayc_ir::{CtorId, ExprId, ExprKind, Func, GlobalId, Module, Operand, VarId};
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "eta-expand",
    doc: "Writes names of functions, and constructors that are not called, as function literals that call them.",
    params: &[
        Param { name: "constructors", kind: ArgKind::Bool, default: "true", doc: "whether constructors are expanded" },
        Param { name: "globals", kind: ArgKind::Bool, default: "true", doc: "whether names of functions are expanded" },
    ],
    run,
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> Result<bool, Box<Diagnostic>> {
    let (constructors, globals) = (cx.args.bool("constructors"), cx.args.bool("globals"));
    if !constructors && !globals {
        return Err(refused(&PASS, "neither constructors nor names of functions are to be expanded"));
    }
    Ok(expand(module, constructors, globals))
}

/// Writes constructors that are not called as function literals, which have types.
pub(crate) fn expand_constructors(module: &mut Module) {
    expand(module, true, false);
}

fn expand(module: &mut Module, constructors: bool, globals: bool) -> bool {
    let wanted = |module: &Module, expr: ExprId| match module.exprs[expr].kind {
        ExprKind::Global(_) => globals,
        ExprKind::Ctor(_) => constructors,
        _ => false,
    };
    let mut any = false;
    for root in module.roots() {
        let mut literals = Literals::default();
        let order = module.post_order(&[root]);
        let mut children = Vec::new();
        for expr in order {
            children.clear();
            module.children(expr, &mut children);
            let new: Vec<ExprId> = children
                .iter()
                .map(|&child| {
                    let applied = child == children[0] && module.called_ctor(expr).is_some();
                    if wanted(module, child) && !applied { literals.of(module, child) } else { child }
                })
                .collect();
            if new != children {
                any = true;
                let changed = with_children(module, expr, &new);
                module.exprs[expr].kind = module.exprs[changed].kind;
            }
        }
        if wanted(module, root) {
            any = true;
            let mut by = vec![None; module.exprs.len()];
            by[root.index()] = Some(literals.of(module, root));
            substitute(module, &[], by);
        }
    }
    any
}

/// The literals of a function, each once.
#[derive(Default)]
struct Literals {
    globals: FxHashMap<GlobalId, ExprId>,
    ctors: FxHashMap<CtorId, ExprId>,
}

impl Literals {
    fn of(&mut self, module: &mut Module, named: ExprId) -> ExprId {
        match module.exprs[named].kind {
            ExprKind::Global(global) => *self.globals.entry(global).or_insert_with(|| literal(module, named)),
            ExprKind::Ctor(ctor) => *self.ctors.entry(ctor).or_insert_with(|| literal(module, named)),
            _ => named,
        }
    }
}

/// The function literal that calls what an expression names.
fn literal(module: &mut Module, named: ExprId) -> ExprId {
    let span = module.exprs[named].span;
    let (params, func) = match module.exprs[named].kind {
        ExprKind::Global(global) => {
            let func = module.funcs[module.globals[global].func].clone();
            let tys: Vec<Option<Ty>> = func.params.iter().map(|&param| module.vars[param].ty).collect();
            (tys, func)
        }
        ExprKind::Ctor(ctor) => {
            let inputs = module.ctors[ctor].inputs.iter().map(|&input| Some(input)).collect();
            let TyData::Fn { type_params, ret, .. } = module.types.data(module.ctors[ctor].ty) else {
                unreachable!("a constructor is a function")
            };
            let (type_params, ret) = (type_params.to_vec(), Some(*ret));
            (inputs, Func { span, type_params, params: vec![], ret, ret_span: Span::NONE, body: named, attrs: vec![] })
        }
        _ => unreachable!("only names are expanded"),
    };
    let params: Vec<VarId> = params.into_iter().map(|ty| module.var("eta_expand_param", ty, span)).collect();
    let args: Vec<Operand> = params.iter().map(|&param| Operand { expr: mention(module, span, param), span }).collect();
    let args = module.operands(&args);
    let body = module.expr(span, ExprKind::Call { callee: named, args, attrs: None });
    // What is said of a function is said of the named one.
    let ret = func.ret;
    let func = module.funcs.push(Func { span, params, body, attrs: vec![], ..func });
    let literal = module.expr(span, ExprKind::Fn(func));
    if let (ExprKind::Ctor(ctor), Some(ret)) = (module.exprs[named].kind, ret) {
        let ty = module.ctors[ctor].ty;
        set_ty(module, body, ret);
        set_ty(module, literal, ty);
    }
    literal
}
