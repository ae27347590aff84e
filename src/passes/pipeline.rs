//! Running passes one after the other, types inferred again after each.
//!
//! A pass that leaves a program which does not type, or (checked on request) is not well formed or has other types at its
//! functions, is a bug of relayc: it is said with the name of the pass, and nothing is run on it.

use super::{Pass, PassCx};
use crate::base::Idx;
use crate::diag::{Diagnostic, codes};
use crate::infer;
use crate::ir::{AttrValue, ExprKind, Module, Root, verify};
use crate::tensor::Tensor;
use crate::types::{Solver, Ty};
use std::borrow::Cow;

/// What happens between passes.
pub trait Observer {
    /// The module is typed.
    fn before(&mut self, _pass: &Pass, _module: &Module) {}

    /// The module has been rewritten and is typed again.
    fn after(&mut self, _pass: &Pass, _module: &Module) {}
}

/// For whom nothing needs to be shown.
impl Observer for () {}

/// How passes are run.
#[derive(Clone, Copy, Default)]
pub struct Settings {
    /// Whether the invariants of the representation are checked after each pass, and that types stay.
    pub verify: bool,
}

/// Runs passes on a typed module without errors. Errors: E0901, for a pass that broke the program.
pub fn run(
    module: &mut Module,
    cx: &PassCx,
    passes: &[&Pass],
    settings: Settings,
    observer: &mut dyn Observer,
) -> Result<(), Box<Diagnostic>> {
    let types_before = if settings.verify { types_of(module) } else { vec![] };
    for pass in passes {
        observer.before(pass, module);
        (pass.run)(module, cx);
        retype(module, cx, pass)?;
        let_go(module);
        if settings.verify {
            check(module, pass, &types_before)?;
        }
        observer.after(pass, module);
    }
    Ok(())
}

fn retype(module: &mut Module, cx: &PassCx, pass: &Pass) -> Result<(), Box<Diagnostic>> {
    let errors = infer::reinfer(module, cx.ops).into_iter().find(Diagnostic::is_error);
    errors.map_or(Ok(()), |error| Err(broken(pass, &error.message)))
}

/// Gives back the memory of constants that nothing mentions any more: those that a pass has replaced by others. What is
/// mentioned by what cannot be reached has no value, so none is missing there.
fn let_go(module: &mut Module) {
    let mut mentioned = vec![false; module.consts.len()];
    for expr in module.post_order(&module.roots()) {
        if let ExprKind::Const(id) = module.exprs[expr].kind {
            mentioned[id.index()] = true;
        }
    }
    let of_calls = module.attrs.iter().flat_map(|attrs| &attrs.values);
    let of_funcs = module.funcs.iter().flat_map(|func| func.attrs.iter().map(|(_, value)| value));
    for value in of_calls.chain(of_funcs) {
        if let AttrValue::Const(id, _) = value {
            mentioned[id.index()] = true;
        }
    }
    for (id, mentioned) in module.consts.ids().zip(mentioned) {
        if !mentioned {
            module.consts[id] = Tensor::scalar(false);
        }
    }
}

/// The types by which others know the program: those of its functions, by name, or of the bare expression.
fn types_of(module: &Module) -> Vec<(Cow<'static, str>, Vec<Ty>)> {
    match module.root {
        Root::Expr(expr) => vec![("".into(), vec![module.ty(expr)])],
        Root::Globals => {
            let of = |global: &crate::ir::Global| {
                let func = &module.funcs[global.func];
                let params = func.params.iter().map(|&var| module.vars[var].ty.unwrap_or(Ty::ERROR));
                let tys = params.chain([func.ret.unwrap_or(Ty::ERROR)]).collect();
                (global.name.to_string().into(), tys)
            };
            module.globals.iter().map(of).collect()
        }
    }
}

fn check(module: &mut Module, pass: &Pass, types_before: &[(Cow<'static, str>, Vec<Ty>)]) -> Result<(), Box<Diagnostic>> {
    if let Some(violation) = verify::well_formed(module).first() {
        return Err(broken(pass, &format!("{violation:?}")));
    }
    for (name, after) in types_of(module) {
        let Some((_, before)) = types_before.iter().find(|(known, _)| *known == name) else { continue };
        // A dimension that was open may have become known.
        let mut solver = Solver::with_written(&module.types);
        let mut same = |(&before, &after): (&Ty, &Ty)| {
            let holes = module.types.has_hole(before) || module.types.has_hole(after);
            holes || solver.unify(&mut module.types, before, after).is_ok()
        };
        if before.len() != after.len() || !before.iter().zip(&after).all(&mut same) {
            return Err(broken(pass, &format!("the type of `@{name}` has changed")));
        }
    }
    Ok(())
}

fn broken(pass: &Pass, why: &str) -> Box<Diagnostic> {
    let diagnostic = Diagnostic::new(codes::E0901, format!("the pass `{}` broke the program: {why}", pass.name));
    Box::new(
        diagnostic
            .note("this is a bug in relayc, not in your program")
            .help("please report it with the command line and the input"),
    )
}
