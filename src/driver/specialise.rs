//! `--set NAME.AXIS=N`: makes a dynamic program a static one, by giving numbers to dimensions of the entry's parameters.
//!
//! Operators whose attributes are tensors become those with numbers, where the numbers follow. Types are for inference to
//! find: annotations of results and of `let` that leave dimensions open are taken away. Parameters of other functions keep
//! their types, since others may call them.

use super::bind::{self, Requests, Slot, leaves};
use super::compile;
use super::{Program, run};
use crate::diag::{self, Diagnostic};
use crate::ir::{FuncId, Module, Root, VarId};
use crate::types::{Dim, Ty, Types};
use crate::{infer, ops, passes};
use rustc_hash::FxHashSet;

/// Carries out settings on the parameters of `@entry`, or on the free variables of a bare expression, before inference.
/// Errors: E0706 for a name that is no parameter, E0707 for a setting that is not understood or not possible, E0202 where
/// there is no such function.
pub fn specialise(module: &mut Module, entry: &str, settings: &[String]) -> Vec<Diagnostic> {
    if settings.is_empty() {
        return vec![];
    }
    let (vars, func) = match module.root {
        Root::Globals => match module.find_global(entry) {
            Some(global) => {
                let func = module.globals[global].func;
                (module.funcs[func].params.clone(), Some(func))
            }
            None => return vec![super::run::no_entry(module, entry)],
        },
        Root::Expr(_) => (module.free_vars(), None),
    };
    let params: Vec<(VarId, Ty)> = vars.into_iter().filter_map(|var| Some((var, module.vars[var].ty?))).collect();
    let mut all = Vec::new();
    let mut typed = Vec::new();
    for (var, ty) in params {
        // What is no data has no dimensions to set.
        let found = leaves::leaves(&module.vars[var].name, ty, &module.types).unwrap_or_default();
        typed.push((var, ty, found.len()));
        all.extend(found);
    }
    let wrong: Vec<Diagnostic> = settings.iter().filter_map(|setting| bind::carry_out(&mut all, setting).err()).collect();
    if !wrong.is_empty() {
        return wrong;
    }
    let mut shapes = all.into_iter().map(|leaf| leaf.dims);
    for (var, ty, n_leaves) in typed {
        if n_leaves > 0 {
            module.vars[var].ty = Some(with_shapes(&mut module.types, ty, &mut shapes));
        }
    }
    forget_open(module, func);
    passes::dynamic_to_static(module, ops::table());
    vec![]
}

/// Gives the dimensions that an entry's parameters leave open the sizes of the inputs that a run would be given, for who does not run it;
/// what has no input and no size open needs none. Errors: as [`bind::bind`], with E0704 for a size that nothing gives.
pub fn to_inputs(program: &mut Program, entry: &str, requests: &Requests) -> Result<(), Vec<Diagnostic>> {
    let Some(global) = program.module.find_global(entry) else { return Ok(()) };
    let slots = run::entry(&program.module, entry).map_err(|error| vec![error])?.slots;
    let types = &program.module.types;
    let is_open = |slot: &Slot| {
        let leaves = leaves::leaves(&slot.name, slot.ty, types).unwrap_or_default();
        leaves.iter().flat_map(|leaf| &leaf.dims).any(|dim| dim.value().is_none())
    };
    if !slots.iter().any(is_open) {
        return Ok(());
    }
    let fill = requests.fill.clone().or_else(|| Some("zeros".to_owned()));
    let bound = bind::bind(&slots, types, &Requests { fill, ..requests.clone() })?;
    let shapes: Vec<&[usize]> = compile::leaves(&bound).into_iter().map(|tensor| tensor.shape()).collect();
    let mut module = program.module.clone();
    let func = module.globals[global].func;
    if to_shapes(&mut module, func, &shapes) {
        program.module = module;
    }
    Ok(())
}

/// Gives the parameters of a function of a typed module the shapes that tensors have, leaf by leaf. Whether the program has a type
/// with them: a value may contradict a type, or shapes each other, which only a run says. If not, the module is of no use.
pub fn to_shapes(module: &mut Module, func: FuncId, shapes: &[&[usize]]) -> bool {
    let params = module.funcs[func].params.clone();
    let tys: Vec<Ty> =
        params.iter().map(|&var| module.vars[var].checked_ty.or(module.vars[var].ty).unwrap_or(Ty::ERROR)).collect();
    let mut found: Vec<Vec<Dim>> = vec![];
    for &ty in &tys {
        match leaves::leaves("", ty, &module.types) {
            Ok(leaves) => found.extend(leaves.into_iter().map(|leaf| leaf.dims)),
            Err(_) => return false,
        }
    }
    let fit = |(dims, shape): (&Vec<Dim>, &&[usize])| {
        let fits = |(dim, &n): (&Dim, &usize)| dim.value().is_none_or(|dim| dim == n as i64);
        dims.len() == shape.len() && dims.iter().zip(*shape).all(fits)
    };
    if found.len() != shapes.len() || !found.iter().zip(shapes).all(fit) {
        return false;
    }
    if found.iter().flatten().all(|dim| dim.value().is_some()) {
        return true;
    }
    for (dims, shape) in found.iter_mut().zip(shapes) {
        // What is known keeps the width of its literal.
        let open = dims.iter_mut().zip(*shape).filter(|(dim, _)| dim.value().is_none());
        open.for_each(|(dim, &n)| *dim = Dim::known(n as i64));
    }
    let mut found = found.into_iter();
    for (var, ty) in params.into_iter().zip(tys) {
        let ty = with_shapes(&mut module.types, ty, &mut found);
        module.vars[var].ty = Some(ty);
        module.vars[var].checked_ty = Some(ty);
    }
    forget_open(module, Some(func));
    passes::dynamic_to_static(module, ops::table());
    !diag::has_errors(&infer::reinfer(module, ops::table()))
}

/// A type with other shapes for its tensors, from left to right. [`leaves::leaves`] has limited how deep it is.
pub(super) fn with_shapes(types: &mut Types, ty: Ty, shapes: &mut impl Iterator<Item = Vec<Dim>>) -> Ty {
    match types.as_tuple(ty).map(<[Ty]>::to_vec) {
        Some(fields) => {
            let fields: Vec<Ty> = fields.into_iter().map(|field| with_shapes(types, field, shapes)).collect();
            types.tuple(&fields)
        }
        None => {
            let dtype = types.as_tensor(ty).expect("a leaf is a tensor").1;
            types.tensor(&shapes.next().expect("a shape for every leaf"), dtype)
        }
    }
}

/// Takes annotations away that leave a dimension open.
fn forget_open(module: &mut Module, entry: Option<FuncId>) {
    let params: FxHashSet<VarId> = module.funcs.iter().flat_map(|func| func.params.iter().copied()).collect();
    let is_open = |types: &Types, ty: Option<Ty>| ty.is_some_and(|ty| has_open(types, ty));
    for var in module.vars.ids() {
        if !params.contains(&var) && is_open(&module.types, module.vars[var].ty) {
            module.vars[var].ty = None;
        }
    }
    if let Some(entry) = entry.filter(|&entry| is_open(&module.types, module.funcs[entry].ret)) {
        module.funcs[entry].ret = None;
    }
}

/// Whether a type has a dimension that is no number.
fn has_open(types: &Types, ty: Ty) -> bool {
    let mut pending = vec![ty];
    let mut seen = FxHashSet::default();
    while let Some(ty) = pending.pop() {
        if !seen.insert(ty) {
            continue;
        }
        if types.as_tensor(ty).is_some_and(|(shape, _)| shape.iter().any(|dim| dim.value().is_none())) {
            return true;
        }
        types.children(ty, &mut pending);
    }
    false
}
