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

use super::{Pass, PassCx, liveness, refused};
use relayc_base::diag::Diagnostic;
use relayc_ir::types::{Ty, checked_bytes, dims_of};
use relayc_ir::{AttrValue, ExprId, ExprKind, FuncId, Module, PRIMITIVE, VarId};
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "annotate-used-memory",
    doc: "Writes how many bytes live at each call of a primitive function as its attribute `used_memory`, for a `@main` in A-normal form.",
    run,
    ..Pass::BASE
};

fn run(module: &mut Module, _: &PassCx) -> Result<bool, Box<Diagnostic>> {
    let no = |why: &str| refused(&PASS, why);
    let main = module.find_global("main").ok_or_else(|| no("there is no function `@main`"))?;
    let main = module.globals[main].func;
    let body = module.funcs[main].body;
    let bound = bound_functions(module, body);
    let bytes_of = |var: &VarId| bytes(module, module.vars[*var].checked_ty.or(module.vars[*var].ty).unwrap_or(Ty::ERROR));
    let dynamic = || no("AnnotateUsedMemory does not support dynamic shapes");
    let params = module.funcs[main].params.iter().map(bytes_of);
    let of_io = sum(params.chain([bytes(module, module.ty(body))])).ok_or_else(dynamic)?;
    let mut used: FxHashMap<FuncId, Vec<Option<i64>>> = FxHashMap::default();
    liveness::visit(module, body, |site| {
        let Some(func) = called(module, site.binding, &bound) else { return };
        let only_read = site.read.iter().filter(|var| !site.after.contains(var));
        used.entry(func).or_default().push(sum(site.after.iter().chain(only_read).map(bytes_of)));
    });
    for (func, mut sizes) in used {
        sizes.reverse();
        let sizes: Option<Vec<AttrValue>> = sizes.into_iter().map(|size| Some(size_attr(size?))).collect();
        module.funcs[func].attrs.push(("used_memory".into(), AttrValue::List(sizes.ok_or_else(dynamic)?.into())));
    }
    module.funcs[main].attrs.push(("io_used_memory".into(), size_attr(of_io)));
    Ok(true)
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
            && module.funcs[func].attrs.iter().any(|(name, _)| &**name == PRIMITIVE)
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

/// The bytes of the tensors of a value, if their shapes are known; what is no tensor has none. A type is counted once, however often
/// it stands in others.
fn bytes(module: &Module, ty: Ty) -> Option<i64> {
    let mut known: FxHashMap<Ty, Option<i64>> = FxHashMap::default();
    let mut left = vec![(ty, false)];
    while let Some((ty, fields_are_known)) = left.pop() {
        if known.contains_key(&ty) {
            continue;
        }
        let of = match (module.types.as_tuple(ty), module.types.as_tensor(ty)) {
            (Some(fields), _) if fields_are_known => sum(fields.iter().map(|field| known[field])),
            (Some(fields), _) => {
                left.push((ty, true));
                left.extend(fields.iter().map(|&field| (field, false)));
                continue;
            }
            (_, Some((shape, dtype))) => {
                dims_of(shape).and_then(|shape| checked_bytes(&shape, dtype)).and_then(|bytes| i64::try_from(bytes).ok())
            }
            _ => Some(0),
        };
        known.insert(ty, of);
    }
    known[&ty]
}
