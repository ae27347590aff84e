//! Makes a program first-order: TVM's `Defunctionalization` (`src/relay/transforms/defunctionalization.cc`).
//!
//! A function that is a value becomes data: a constructor of a data type for its type, with what it captures as fields. A call of such a
//! value becomes a call of `apply`, which matches the constructor and calls the function. Functions with type parameters are copied for
//! the types at their calls. Where TVM takes functions as arguments only, here they may also be bound, returned and held in tuples.
//!
//! The rewrite is sound because a constructor stands for one function literal, and its fields hold what the literal captured, which never
//! changes.
//!
//! ```text
//! def @twice(%f: fn (int32) -> int32, %x: int32) { %f(%f(%x)) }  def @main(%x: int32) { @twice(fn (%y) { add(%y, %x) }, %x) }
//! →
//! type Function0 { Closure0(int32), }
//! def @apply0(%f: Function0, %y: int32) { match (%f) { Closure0(%x) => (fn (%y) { add(%y, %x) })(%y) } }
//! def @twice0(%f: Function0, %x: int32) { @apply0(%f, @apply0(%f, %x)) }  def @main(%x: int32) { @twice0(Closure0(%x), %x) }
//! ```

mod convert;
mod encode;

use super::step::{ArgKind, Param};
use super::to_a_normal_form::without_sharing;
use super::{Pass, PassCx, function, refused};
use convert::Program;
use relayc_base::diag::Diagnostic;
use relayc_ir::types::{Ty, TyData, Types};
use relayc_ir::{FuncId, Module};

pub(crate) const PASS: Pass = Pass {
    name: "defunctionalization",
    doc: "Makes data of functions that are values, and a call of a function `apply` of a call of such a value.",
    params: &[Param { name: "function", kind: ArgKind::Word, default: "main", doc: "the function at which execution starts" }],
    run,
    ..Pass::BASE
};

/// What stops the pass, in words.
type Stop = String;

fn run(module: &mut Module, cx: &PassCx) -> Result<bool, Box<Diagnostic>> {
    let found = function(module, &PASS, cx.args.word("function"))?;
    let func = module.globals[found].func;
    check(module, func).map_err(|why| refused(&PASS, &why))?;
    if !without_sharing(module) {
        return Err(refused(&PASS, "functions share an expression"));
    }
    let mut program = Program::new(module);
    let new = program.converted(module, func).map_err(|why| refused(&PASS, &why))?;
    program.finish(module).map_err(|why| refused(&PASS, &why))?;
    module.globals[found].func = new;
    Ok(true)
}

fn check(module: &Module, func: FuncId) -> Result<(), Stop> {
    let func = &module.funcs[func];
    if !func.type_params.is_empty() {
        return Err("the function has type parameters".to_owned());
    }
    let params = func.params.iter().filter_map(|&param| module.vars[param].checked_ty.or(module.vars[param].ty));
    if params.chain(func.ret).any(|ty| has_function(&module.types, ty)) {
        return Err("a parameter or the result of the function holds a function".to_owned());
    }
    if module.ctors.iter().flat_map(|ctor| &ctor.inputs).any(|&ty| has_function(&module.types, ty)) {
        return Err("a data type holds functions".to_owned());
    }
    Ok(())
}

fn has_function(types: &Types, ty: Ty) -> bool {
    types.parts(ty, |_| false).into_iter().any(|ty| matches!(types.data(ty), TyData::Fn { .. }))
}
