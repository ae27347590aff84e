//! Compiled runs that show, save or check their steps, for programs compiled as a whole or by subgraphs.
//!
//! The driver defines steps, and how they are shown and saved (`relayc_driver::steps`).

use crate::compile::{Refused, Settings};
use crate::subgraphs::{PartialProgram, with_sizes};
use crate::tap;
use relayc_driver::Program;
use relayc_driver::bind::{Bound, tensors_in};
use relayc_driver::run::{self, Limits};
use relayc_driver::specialise::to_shapes;
use relayc_driver::steps::{Steps, interpret, is_finite};
use relayc_exec::plan::NotCompiled;
use std::sync::Arc;

/// Compiles an entry and runs it, as a whole or by subgraphs. Errors: why nothing of it is compiled; errors of the run, and
/// E0509.
pub fn compiled(
    program: &Program,
    entry: &str,
    args: &[Bound],
    settings: &Settings,
    limits: Limits,
    steps: &Arc<Steps>,
) -> Result<Bound, Refused> {
    let mut module = program.module.clone();
    let global = module.find_global(entry).ok_or(Refused::Not(NotCompiled::ControlFlow))?;
    let func = module.globals[global].func;
    let shapes: Vec<&[usize]> = tensors_in(args).into_iter().map(|tensor| tensor.shape()).collect();
    let whole = match to_shapes(&mut module, func, &shapes) {
        Ok(()) => tap::compile(&mut module, entry, settings, limits.clone(), steps),
        Err(_) => Err(Refused::Not(NotCompiled::UnknownShape)),
    };
    let result = match whole {
        Ok((compiled, taps)) => {
            let mut session = compiled.session().map_err(Refused::Wrong)?;
            tap::run(steps, &compiled, &taps, &mut session, args).map_err(Refused::Wrong)?
        }
        Err(Refused::Not(reason)) => {
            let sized = with_sizes(program, entry, Some(args)).map_err(Refused::Wrong)?;
            let partial = PartialProgram::seen(sized, entry, settings, limits.clone(), steps.clone())?;
            if partial.is_empty() {
                return Err(Refused::Not(reason));
            }
            partial.run(args).map_err(Refused::Wrong)?
        }
        Err(wrong) => return Err(wrong),
    };
    let finite = |values: &[Bound]| tensors_in(values).into_iter().all(is_finite);
    let check = steps.checks() && finite(args) && !finite(std::slice::from_ref(&result));
    if steps.leave_unseen() || check {
        // A call that was inlined has no value of its own, and NaN may come about where the compiled program holds no value.
        let wrong = |error| Refused::Wrong(Box::new(error));
        let found = run::entry(&program.module, entry).map_err(wrong)?;
        let interpreted = interpret(program, &found, args.to_vec(), limits, steps);
        steps.take_up();
        interpreted.map_err(wrong)?;
    }
    Ok(result)
}
