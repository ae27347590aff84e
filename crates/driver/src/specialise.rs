//! `--set NAME.AXIS=N` and `--set SIZE=N`: makes a dynamic program static by fixing dimensions of the entry's parameters, and the
//! sizes that have names.
//!
//! A size gets its number in all types and attributes of the program ([`Module::substitute_sizes`]).
//! Operators with tensors as attributes become those with numbers, if the numbers can be derived. [`infer::infer_sized`] finds
//! the types: annotations of results and of `let` with dynamic dimensions are removed. Parameters of other functions keep their
//! types, since other callers may exist.

use super::bind::{self, Requests, Slot, leaves};
use super::sized::forget_open;
use super::sizes::solve;
use super::{Program, run};
use relayc_base::diag::Diagnostic;
use relayc_check::infer::{self, TypeClasses};
use relayc_ir::types::{Dim, Ty, Types};
use relayc_ir::{FuncId, Module, Root, VarId};
use relayc_ops as ops;
use relayc_passes as passes;

/// Applies settings to the parameters of `@entry`, or to the free variables of a bare expression, before inference. Errors: E0706
/// for an unknown parameter, E0707 for a malformed or impossible setting, E0706 for an unknown function.
pub(crate) fn specialise(module: &mut Module, entry: &str, settings: &[String]) -> Vec<Diagnostic> {
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
    let wrong = set_sizes(module, &vars, settings);
    if !wrong.is_empty() {
        return wrong;
    }
    let params: Vec<(VarId, Ty)> = vars.into_iter().filter_map(|var| Some((var, module.vars[var].ty?))).collect();
    let mut all = Vec::new();
    let mut typed = Vec::new();
    for (var, ty) in params {
        // What is no data has no dimensions to set.
        let found = leaves::leaves(&module.vars[var].name, ty, &module.types).unwrap_or_default();
        typed.push((var, ty, found.len()));
        all.extend(found);
    }
    let of_axes = settings.iter().filter(|setting| bind::size_setting(setting).is_none());
    let wrong: Vec<Diagnostic> = of_axes.filter_map(|setting| bind::carry_out(&mut all, "--set", setting).err()).collect();
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

/// Gives the sizes that settings determine their numbers, in all of the program. Settings that cannot be understood are left to
/// [`bind::carry_out`]. Errors: E0706 for an unknown size, E0707 for settings that contradict each other.
fn set_sizes(module: &mut Module, params: &[VarId], settings: &[String]) -> Vec<Diagnostic> {
    let mut wrong = vec![];
    let mut facts: Vec<(Dim, i64)> = vec![];
    let mut of_fact: Vec<&str> = vec![];
    let names = module.size_names();
    let symbols = &module.types.symbols;
    for setting in settings {
        if let Some((name, n)) = bind::size_setting(setting) {
            match (names.iter().find(|(_, known)| **known == name), n) {
                (_, None) => wrong.push(bind::errors::bad_setting("--set", setting, bind::errors::NO_SIZE)),
                (None, _) => {
                    let mut known: Vec<&str> = names.values().copied().collect();
                    known.sort_unstable();
                    wrong.push(bind::errors::unknown_size(name, known));
                }
                (Some((&id, _)), Some(n)) => {
                    facts.push((symbols.dim(id), n));
                    of_fact.push(setting);
                }
            }
        } else if let Ok((name, axis, n)) = bind::axis_setting("--set", setting) {
            let of_var = |&var: &VarId| leaves::leaves(&module.vars[var].name, module.vars[var].ty?, &module.types).ok();
            let leaf = params.iter().filter_map(of_var).flatten().find(|leaf| leaf.name == name);
            if let Some(dim) = leaf.and_then(|leaf| leaf.dims.get(axis).copied()) {
                facts.push((dim, n));
                of_fact.push(setting);
            }
        }
    }
    if !wrong.is_empty() {
        return wrong;
    }
    let values = match solve(symbols, &facts) {
        Ok(values) => values,
        Err(wrong) => return vec![bind::errors::settings_disagree(&wrong, |at| of_fact[at])],
    };
    if values.is_empty() {
        return vec![];
    }
    match module.substitute_sizes(&values) {
        Ok(()) => vec![],
        Err(negative) => vec![bind::errors::negative_size(&negative, &of_fact)],
    }
}

/// Sets the dynamic dimensions of an entry's parameters to the sizes of the given inputs, for commands that do not run it. A
/// parameter without dynamic dimensions needs no input. Errors: as [`bind::bind`], with E0704 for an unknown size.
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
    let shapes: Vec<&[usize]> = super::bind::tensors_in(&bound).into_iter().map(|tensor| tensor.shape()).collect();
    let mut module = program.module.clone();
    let func = module.globals[global].func;
    if to_shapes(&mut module, func, &shapes).is_ok() {
        program.module = module;
    }
    Ok(())
}

/// Sets the shapes of a function's parameters, leaf by leaf, in a typed module.
///
/// Errors: the program has no types with them, since a value contradicts a type, or shapes each other, which only a run shows. The
/// errors of inference, none if the shapes are not those of the parameters. The module must not be used then.
pub fn to_shapes(module: &mut Module, func: FuncId, shapes: &[&[usize]]) -> Result<(), Vec<Diagnostic>> {
    match set_shapes(module, func, shapes) {
        Shapes::Refused => Err(vec![]),
        Shapes::AsBefore => Ok(()),
        Shapes::New => {
            passes::dynamic_to_static(module, ops::table());
            let mut found = infer::reinfer(module, ops::table());
            found.retain(Diagnostic::is_error);
            if found.is_empty() { Ok(()) } else { Err(found) }
        }
    }
}

/// As [`to_shapes`], for a function of operators, fused or not, on tensors with named sizes, of these classes. Other types than those
/// of its parameters are not read.
pub fn dataflow_to_shapes(module: &mut Module, func: FuncId, classes: &TypeClasses, shapes: &[&[usize]]) -> bool {
    match set_shapes(module, func, shapes) {
        Shapes::Refused => false,
        Shapes::AsBefore | Shapes::New => classes.retype(module, ops::table()),
    }
}

/// What became of the parameters of a function.
enum Shapes {
    /// The shapes do not fit, or contradict each other.
    Refused,
    AsBefore,
    /// The parameters have their types, and sizes their numbers; the rest is to be typed.
    New,
}

fn set_shapes(module: &mut Module, func: FuncId, shapes: &[&[usize]]) -> Shapes {
    let params = module.funcs[func].params.clone();
    let tys: Vec<Ty> =
        params.iter().map(|&var| module.vars[var].checked_ty.or(module.vars[var].ty).unwrap_or(Ty::ERROR)).collect();
    let mut found: Vec<Vec<Dim>> = vec![];
    for &ty in &tys {
        match leaves::leaves("", ty, &module.types) {
            Ok(leaves) => found.extend(leaves.into_iter().map(|leaf| leaf.dims)),
            Err(_) => return Shapes::Refused,
        }
    }
    let fit = |(dims, shape): (&Vec<Dim>, &&[usize])| {
        let fits = |(dim, &n): (&Dim, &usize)| dim.value().is_none_or(|dim| dim == n as i64);
        dims.len() == shape.len() && dims.iter().zip(*shape).all(fits)
    };
    if found.len() != shapes.len() || !found.iter().zip(shapes).all(fit) {
        return Shapes::Refused;
    }
    if found.iter().flatten().all(|dim| dim.value().is_some()) {
        return Shapes::AsBefore;
    }
    forget_open(module, Some(func));
    let pairs = found.iter().zip(shapes).flat_map(|(dims, shape)| dims.iter().copied().zip(*shape));
    let facts: Vec<(Dim, i64)> = pairs.map(|(dim, &n)| (dim, n as i64)).collect();
    match solve(&module.types.symbols, &facts) {
        Ok(values) if values.is_empty() => {}
        Ok(values) if module.substitute_sizes(&values).is_ok() => {}
        _ => return Shapes::Refused,
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
    Shapes::New
}

/// A type with other shapes for its tensors, from left to right. [`leaves::leaves`] has limited its depth.
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
