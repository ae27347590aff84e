//! Says how many bytes live at each call of a primitive function: TVM's `AnnotateUsedMemory` (`src/relay/backend/annotate_used_memory.cc`).
//!
//! The primitive functions that `@main` binds get `used_memory`, a number for each of their calls in the order they run. `@main` gets
//! `io_used_memory`, the bytes of its inputs and its result. Attributes change no value.
//!
//! ```text
//! let %f = fn (%a: Tensor[(4), int8], Primitive=1) { … };  %f(%x)
//! →
//! let %f = fn (%a: Tensor[(4), int8], Primitive=1, used_memory=[8]) { … };  %f(%x)
//! ```

use super::{Pass, PassCx, Stop, function, liveness, refused};
use relayc_base::diag::Diagnostic;
use relayc_ir::types::{Ty, checked_bytes, dims_of};
use relayc_ir::{AttrValue, ExprId, ExprKind, FuncId, Global, Module, VarId};
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "annotate-used-memory",
    doc: "Writes how many bytes live at each call of a primitive function as its attribute `used_memory`, for a `@main` in A-normal form.",
    run,
    ..Pass::BASE
};

fn run(module: &mut Module, _: &PassCx) -> Result<bool, Box<Diagnostic>> {
    let main = function(module, &PASS, "main")?;
    let Global { func: main, span, .. } = module.globals[main];
    let body = module.funcs[main].body;
    let bound = bound_functions(module, body);
    let mut known = FxHashMap::default();
    let dynamic = || refused(&PASS, Stop::from("AnnotateUsedMemory does not support dynamic shapes").at(span));
    let io = module.funcs[main].params.iter().map(|&param| var_ty(module, param)).chain([module.ty(body)]);
    let of_io = sum(io.map(|ty| bytes(module, &mut known, ty))).ok_or_else(dynamic)?;
    let mut used: FxHashMap<FuncId, Vec<Option<i64>>> = FxHashMap::default();
    liveness::visit(module, body, |site| {
        let Some(func) = called(module, site.binding, &bound) else { return };
        let only_read = site.read.iter().filter(|var| !site.after.contains(var));
        let live = site.after.iter().chain(only_read);
        used.entry(func).or_default().push(sum(live.map(|&var| bytes(module, &mut known, var_ty(module, var)))));
    });
    let mut any = false;
    for (func, mut sizes) in used {
        sizes.reverse();
        let sizes: Option<Vec<AttrValue>> = sizes.into_iter().map(|size| Some(size_attr(size?))).collect();
        any |= set_attr(module, func, "used_memory", AttrValue::List(sizes.ok_or_else(dynamic)?.into()));
    }
    any |= set_attr(module, main, "io_used_memory", size_attr(of_io));
    Ok(any)
}

/// Gives a function an attribute, in the place of one of that name. Says whether that changes anything.
fn set_attr(module: &mut Module, func: FuncId, name: &str, value: AttrValue) -> bool {
    let attrs = &mut module.funcs[func].attrs;
    match attrs.iter_mut().find(|(known, _)| &**known == name) {
        Some((_, old)) if *old == value => return false,
        Some((_, old)) => *old = value,
        None => attrs.push((name.into(), value)),
    }
    true
}

fn var_ty(module: &Module, var: VarId) -> Ty {
    module.vars[var].checked_ty.or(module.vars[var].ty).unwrap_or(Ty::ERROR)
}

fn sum(mut sizes: impl Iterator<Item = Option<i64>>) -> Option<i64> {
    sizes.try_fold(0, |total: i64, size| total.checked_add(size?))
}

fn size_attr(value: i64) -> AttrValue {
    AttrValue::Int { value, bits: 64 }
}

/// The primitive functions that a chain of bindings binds.
fn bound_functions(module: &Module, mut body: ExprId) -> FxHashMap<VarId, FuncId> {
    let mut bound = FxHashMap::default();
    while let ExprKind::Let { var, value, body: inner } = module.exprs[body].kind {
        if let ExprKind::Fn(func) = module.exprs[value].kind
            && module.funcs[func].is_primitive()
        {
            bound.insert(var, func);
        }
        body = inner;
    }
    bound
}

/// The bound function that the value of a `let` is a call of.
fn called(module: &Module, binding: ExprId, bound: &FxHashMap<VarId, FuncId>) -> Option<FuncId> {
    let ExprKind::Let { value, .. } = module.exprs[binding].kind else { return None };
    let ExprKind::Call { callee, .. } = module.exprs[value].kind else { return None };
    let ExprKind::Var(var) = module.exprs[callee].kind else { return None };
    bound.get(&var).copied()
}

/// The bytes of the tensors of a value, if their shapes are known; what is no tensor has none. Those of a type are found once.
fn bytes(module: &Module, known: &mut FxHashMap<Ty, Option<i64>>, ty: Ty) -> Option<i64> {
    for part in module.types.parts(ty, |ty| known.contains_key(&ty)) {
        let of = match (module.types.as_tuple(part), module.types.as_tensor(part)) {
            (Some(fields), _) => sum(fields.iter().map(|field| known[field])),
            (_, Some((shape, dtype))) => {
                dims_of(shape).and_then(|shape| checked_bytes(&shape, dtype)).and_then(|bytes| i64::try_from(bytes).ok())
            }
            _ => Some(0),
        };
        known.insert(part, of);
    }
    known[&ty]
}
