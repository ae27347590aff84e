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
use super::{Pass, PassCx, Stop, function, refused};
use convert::Program;
use relayc_base::diag::Diagnostic;
use relayc_ir::types::{Ty, TyData, Types};
use relayc_ir::{Ctor, FuncId, Global, Module};

pub(crate) const PASS: Pass = Pass {
    name: "defunctionalization",
    doc: "Makes data of functions that are values, and a call of a function `apply` of a call of such a value.",
    params: &[Param { name: "function", kind: ArgKind::Word, default: "main", doc: "the function at which execution starts" }],
    run,
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> Result<bool, Box<Diagnostic>> {
    let found = function(module, &PASS, cx.args.word("function"))?;
    let Global { func, span, .. } = module.globals[found];
    check(module, func).map_err(|stop| refused(&PASS, stop.at(span)))?;
    if !without_sharing(module) {
        return Err(refused(&PASS, "functions share an expression"));
    }
    let mut program = Program::new(module);
    let new = program.converted(module, func).map_err(|stop| refused(&PASS, stop))?;
    program.finish(module).map_err(|stop| refused(&PASS, stop))?;
    module.globals[found].func = new;
    Ok(true)
}

fn check(module: &Module, func: FuncId) -> Result<(), Stop> {
    let func = &module.funcs[func];
    if !func.type_params.is_empty() {
        return Err("the function has type parameters".into());
    }
    let params = func.params.iter().filter_map(|&param| module.vars[param].checked_ty.or(module.vars[param].ty));
    if params.chain(func.ret).any(|ty| has_function(&module.types, ty)) {
        return Err("a parameter or the result of the function holds a function".into());
    }
    let holds_function = |ctor: &&Ctor| ctor.inputs.iter().any(|&ty| has_function(&module.types, ty));
    let holder = module.ctors.iter().find(holds_function);
    holder.map_or(Ok(()), |ctor| Err(Stop::from("a data type holds functions").at(ctor.span)))
}

fn has_function(types: &Types, ty: Ty) -> bool {
    types.parts(ty, |_| false).into_iter().any(|ty| matches!(types.data(ty), TyData::Fn { .. }))
}
