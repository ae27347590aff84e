//! A program with the sizes of a run's arguments.
//!
//! Types and attributes get the numbers; nothing is inferred anew. [`super::specialise::to_shapes`] does that as well.

use super::bind::{Bound, Slot, leaves, tensors_in};
use super::sizes::solve;
use relayc_ir::Module;
use relayc_ir::types::Dim;

/// The module with the sizes of these arguments, which are values of the slots, in its types and attributes. `None` if it has no
/// sizes, or the arguments do not determine any, or contradict the types; a run shows what is wrong then.
pub fn sized(module: &Module, slots: &[Slot], args: &[Bound]) -> Option<Module> {
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
    module.substitute_sizes(&values).ok().map(|()| module)
}
