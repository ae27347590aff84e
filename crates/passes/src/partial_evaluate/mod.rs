//! Runs the parts of a program whose operands are known, and writes what is left: TVM's `PartialEvaluate`
//! (`src/relay/transforms/partial_eval.cc`).
//!
//! An expression has a variable that holds its value in the new program and, where that is known, the value itself: a constant, a tuple,
//! data, a closure or a cell. A call of a known function is evaluated in its place. A branch on a known condition is its branch. What is
//! known of cells is forgotten where other code may write them: after a branch, after an unknown call, in a function's own body.
//!
//! The evaluation ends, because a function is entered anew only if an argument is older or a smaller number than in the call that it is
//! in, and because the number of calls and of expressions in them is limited (`machine.rs`): calls beyond it stay calls. The rewrite is
//! sound because every effect is written in the order in which the program has it. `dead-code` removes what nobody needs; a program with
//! shared expressions is brought to A-normal form first.
//!
//! ```text
//! let %f = fn (%d: float32) { add(%d, %d) };  %f(4f)    →    let %f = …;  let %x = 4f;  let %y = 8f;  %y
//! ```

mod machine;
mod operators;
mod values;

use super::to_a_normal_form::without_sharing;
use super::{Pass, PassCx};
use machine::Machine;
use relayc_ir::{ExprId, FuncId, Module, Root};

pub(crate) const PASS: Pass = Pass {
    name: "partial-evaluate",
    doc: "Evaluates what is known before a run: calls of known functions, branches, matches, cells, and operators on constants.",
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let Root::Globals = module.root else { return false };
    if !without_sharing(module) {
        return false;
    }
    let funcs: Vec<FuncId> = module.globals.iter().map(|global| global.func).collect();
    let mut machine = Machine::new(module, cx);
    let mut bodies: Vec<(FuncId, ExprId)> = Vec::new();
    for (global, func) in module.globals.ids().zip(funcs).collect::<Vec<_>>() {
        if !module.funcs[func].is_for_a_compiler() && !module.funcs[func].is_primitive() {
            bodies.push((func, machine.global(module, global)));
        }
    }
    // Functions are entered as they were written.
    for (func, body) in bodies {
        module.funcs[func].body = body;
    }
    true
}
