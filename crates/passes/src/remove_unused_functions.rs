//! Removes the functions that no entry reaches: TVM's `RemoveUnusedFunctions` (`src/relay/backend/vm/removed_unused_funcs.cc`).
//!
//! The rewrite is sound because nothing that starts at an entry mentions a removed function.
//!
//! ```text
//! def @f() { 1 }  def @g() { 2 }  def @main() { @f() }    →    def @f() { 1 }  def @main() { @f() }
//! ```

use super::dead_code::keep_globals;
use super::step::{ArgKind, Param};
use super::{Pass, PassCx, function};
use relayc_base::diag::Diagnostic;
use relayc_ir::Module;

pub(crate) const PASS: Pass = Pass {
    name: "remove-unused-functions",
    doc: "Takes away the functions that none of the entries reaches.",
    params: &[Param {
        name: "entries",
        kind: ArgKind::Words,
        default: "[main]",
        doc: "the functions at which execution may start",
    }],
    needs_types: false,
    run,
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> Result<bool, Box<Diagnostic>> {
    let find = |name: &str| function(module, &PASS, name);
    let entries: Result<Vec<_>, _> = cx.args.words("entries").into_iter().map(find).collect();
    Ok(keep_globals(module, entries?))
}
