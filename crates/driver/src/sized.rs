//! A program with the sizes of a run's arguments: types and attributes get the numbers, and the rest is inferred anew.
//! [`super::specialise::to_shapes`] gives numbers to dimensions without names as well.

use super::bind::{Bound, Slot, leaves, tensors_in};
use super::sizes::solve;
use relayc_base::diag::Diagnostic;
use relayc_check::infer;
use relayc_ir::types::{Dim, Ty, Types};
use relayc_ir::{FuncId, Module, VarId};
use relayc_ops as ops;
use rustc_hash::FxHashSet;

/// A function of the module, if an entry is one, and the parameters of the entry.
type Callee<'a> = (Option<FuncId>, &'a [Slot]);

/// The module with the sizes of these arguments of an entry. `None` if it has no sizes, or the arguments do not
/// determine any, or contradict the types; a run shows what is wrong then. Errors: what is wrong with the program at these sizes.
pub fn sized(module: &Module, callee: Callee, args: &[Bound]) -> Result<Option<Module>, Box<Diagnostic>> {
    let Some(mut module) = substituted(module, callee, args) else { return Ok(None) };
    let wrong = infer::reinfer(&mut module, ops::table()).into_iter().find(Diagnostic::is_error);
    wrong.map_or(Ok(Some(module)), |wrong| Err(Box::new(wrong)))
}

fn substituted(module: &Module, (func, slots): Callee, args: &[Bound]) -> Option<Module> {
    if !module.has_sizes() {
        return None;
    }
    let leaves = slots.iter().map(|slot| leaves::leaves(&slot.name, slot.ty, &module.types).ok());
    let leaves = leaves.collect::<Option<Vec<_>>>()?;
    let tensors = tensors_in(args);
    let dims = leaves.iter().flatten().zip(&tensors).flat_map(|(leaf, tensor)| leaf.dims.iter().copied().zip(tensor.shape()));
    let facts: Vec<(Dim, i64)> = dims.map(|(dim, &n)| (dim, n as i64)).collect();
    let values = solve(&module.types.symbols, &facts).ok().filter(|values| !values.is_empty())?;
    let mut module = module.clone();
    forget_open(&mut module, func);
    module.substitute_sizes(&values).ok().map(|()| module)
}

/// Removes annotations with dynamic dimensions, but those of parameters: of the sizes of two operands inference says that of the
/// one that cannot be 1, which is the other if the first is 1 after all.
pub(super) fn forget_open(module: &mut Module, entry: Option<FuncId>) {
    let params: FxHashSet<VarId> = module.funcs.iter().flat_map(|func| func.params.iter().copied()).collect();
    let is_open = |types: &Types, ty: Option<Ty>| ty.is_some_and(|ty| types.has_open(ty));
    for var in module.vars.ids() {
        if !params.contains(&var) && is_open(&module.types, module.vars[var].ty) {
            module.vars[var].ty = None;
        }
    }
    if let Some(entry) = entry.filter(|&entry| is_open(&module.types, module.funcs[entry].ret)) {
        module.funcs[entry].ret = None;
    }
}
