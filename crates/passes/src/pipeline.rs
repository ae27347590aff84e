//! Runs passes one after the other and infers types again after each that changed something.
//!
//! A pass may leave a program that does not type. With checks on request, the program may also be malformed, or its functions may
//! have other types. Each of these is a bug of relayc: the run stops with an error that names the pass.

use super::build::consts_of_attrs;
use super::{Pass, PassCx, Step};
use relayc_base::Idx;
use relayc_base::diag::{Diagnostic, codes};
use relayc_check::infer;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{Solver, Ty};
use relayc_ir::{ExprKind, Module, Root, verify};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Callbacks between passes.
pub trait Observer {
    /// The module is typed.
    fn before(&mut self, _pass: &Pass, _module: &Module) {}

    /// The module has been rewritten and is typed again. An error stops the run.
    fn after(&mut self, _pass: &Pass, _module: &Module) -> Result<(), Box<Diagnostic>> {
        Ok(())
    }
}

/// Observes nothing.
impl Observer for () {}

/// Settings of a run.
#[derive(Clone, Copy, Default)]
pub struct Settings {
    /// Whether to check the invariants of the representation, and the types of functions, after each pass.
    pub verify: bool,
}

/// Runs passes on a typed module without errors. Errors: E0901, for a pass that broke the program; E0743, for a program that a pass
/// cannot rewrite.
pub fn run(
    module: &mut Module,
    cx: &PassCx,
    steps: &[Step],
    settings: Settings,
    observer: &mut dyn Observer,
) -> Result<(), Box<Diagnostic>> {
    let mut types_before = if settings.verify { types_of(module) } else { vec![] };
    for step in steps {
        let pass = step.pass;
        observer.before(pass, module);
        if (pass.run)(module, &PassCx { args: step.args(), ..*cx })? {
            retype(module, cx, pass)?;
            let_go(module);
        }
        if settings.verify {
            if !pass.keeps_answers {
                types_before = types_of(module);
            }
            check(module, pass, &types_before)?;
        }
        observer.after(pass, module)?;
    }
    Ok(())
}

fn retype(module: &mut Module, cx: &PassCx, pass: &Pass) -> Result<(), Box<Diagnostic>> {
    let errors = infer::reinfer(module, cx.ops).into_iter().find(Diagnostic::is_error);
    errors.map_or(Ok(()), |error| Err(broken(pass.name, &error.message)))
}

/// Frees the memory of constants without mentions, which a pass has replaced. Unreachable expressions may mention them, but have
/// no value.
fn let_go(module: &mut Module) {
    let mut mentioned = vec![false; module.consts.len()];
    for expr in module.post_order(&module.roots()) {
        if let ExprKind::Const(id) = module.exprs[expr].kind {
            mentioned[id.index()] = true;
        }
    }
    consts_of_attrs(module).for_each(|id| mentioned[id.index()] = true);
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
            let of = |global: &relayc_ir::Global| {
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
        return Err(broken(pass.name, &format!("{violation:?}")));
    }
    let known: FxHashMap<&str, &[Ty]> = types_before.iter().map(|(name, tys)| (&**name, &**tys)).collect();
    for (name, after) in types_of(module) {
        let Some(&before) = known.get(&*name) else { continue };
        // A dimension that was open may have become known.
        let mut solver = Solver::with_written(&module.types);
        let mut same = |(&before, &after): (&Ty, &Ty)| {
            let holes = module.types.has_hole(before) || module.types.has_hole(after);
            holes || solver.unify(&mut module.types, before, after).is_ok()
        };
        if before.len() != after.len() || !before.iter().zip(&after).all(&mut same) {
            return Err(broken(pass.name, &format!("the type of `@{name}` has changed")));
        }
    }
    Ok(())
}

/// The error for a pass that broke the program.
pub fn broken(pass: &str, why: &str) -> Box<Diagnostic> {
    let diagnostic = Diagnostic::new(codes::E0901, format!("the pass `{pass}` broke the program: {why}"));
    Box::new(
        diagnostic
            .note("this is a bug in relayc, not in your program")
            .help("please report it with the command line and the input"),
    )
}
