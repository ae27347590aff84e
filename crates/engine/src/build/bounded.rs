//! Programs in which data decides shapes: their tensors have room for the largest ones ([`relayc_passes::bound_shapes`]).

use super::part::{NoPart, Part};
use super::{Request, TargetCode, control, refused};
use crate::compile::{self, Settings};
use relayc_base::diag::Diagnostic;
use relayc_check::infer;
use relayc_driver::Program;
use relayc_driver::optimise::{self, PassPlan};
use relayc_exec::plan::NotCompiled;
use relayc_ir::types::{Ty, dims_of};
use relayc_ir::{ExprId, FuncId, Module, VarId};
use relayc_ops as ops;
use relayc_passes as passes;

/// The code of such a program. `None` for a program whose shapes are known, and for one that has another reason to be compiled by
/// subgraphs. Errors: E0603 with the place that has no bound, and those of the compiler.
pub(super) fn of(program: &Program, request: &Request, settings: &Settings) -> Result<Option<TargetCode>, Vec<Diagnostic>> {
    if has_known_shapes(&program.module, &program.module.roots()) {
        return Ok(None);
    }
    let mut module = program.module.clone();
    let how = PassPlan { passes: passes::before_partition(settings.level), ..compile::how(&request.entry, settings) };
    optimise::optimise(&mut module, &how, &mut ()).map_err(|error| vec![error])?;
    let Some(func) = module.find_global(&request.entry).map(|global| module.globals[global].func) else { return Ok(None) };
    if !is_decided_by_data(&module, func) {
        return Ok(None);
    }
    let open = match optimise::bound_shapes(&mut module, &how, func) {
        Ok(Some(open)) => open,
        Ok(None) => return Ok(None),
        // Shapes may be known once the inputs' are.
        Err((expr, words)) => {
            let followed = control::followed(program, program.module.clone(), request, settings);
            return followed.map(Some).map_err(|_| vec![refused::obstacle(program, &module, &request.entry, expr, words)]);
        }
    };
    if let Some(error) = infer::reinfer(&mut module, ops::table()).into_iter().find(Diagnostic::is_error) {
        return Err(vec![*passes::broken("bound-shapes", &error.message)]);
    }
    match Part::of(program, &mut module.clone(), &request.entry, request, settings) {
        Ok(part) => Ok(Some(TargetCode::whole(part, open))),
        Err(NoPart::Wrong(diagnostics)) => Err(diagnostics),
        Err(NoPart::Not(NotCompiled::ControlFlow)) => {
            control::followed(program, module, request, settings).map(|code| Some(TargetCode { open, ..code }))
        }
        Err(NoPart::Not(reason)) => Err(vec![refused::not_compiled(&request.entry, reason)]),
    }
}

/// Whether a function has inputs with shapes, and something else without one.
fn is_decided_by_data(module: &Module, func: FuncId) -> bool {
    let of = &module.funcs[func];
    let ty = |&var: &VarId| module.vars[var].checked_ty.or(module.vars[var].ty);
    let are_known = of.params.iter().all(|var| ty(var).is_some_and(|ty| has_known_shape(module, ty)));
    are_known && !has_known_shapes(module, &[of.body])
}

/// Whether all tensors that expressions compute have known shapes.
fn has_known_shapes(module: &Module, roots: &[ExprId]) -> bool {
    module.post_order(roots).into_iter().all(|expr| has_known_shape(module, module.ty(expr)))
}

fn has_known_shape(module: &Module, ty: Ty) -> bool {
    let fields = module.types.as_tuple(ty).unwrap_or(std::slice::from_ref(&ty));
    fields.iter().all(|&ty| module.types.as_tensor(ty).is_none_or(|(dims, _)| dims_of(dims).is_some()))
}
