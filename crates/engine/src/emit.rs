//! `--emit groups|plan|kernels|asm`: prints a program on its way to machine code. IR output parses back.

use super::compile::{self, Policy, Refused, Settings};
use super::subgraphs;
use relayc_base::Sources;
use relayc_base::text::count;
use relayc_driver::Program;
use relayc_driver::emit::{origin, place};
use relayc_driver::optimise::{self, PassPrinting};
use relayc_driver::run::Limits;
use relayc_driver::show::{self, Options};
use relayc_exec::assemble::Assembled;
use relayc_exec::plan::{self, PlanNotes};
use relayc_exec::{chain, listing};
use relayc_ir::{ExprId, Module};
use std::fmt::Write;

/// The stages of a program on its way to code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    Groups,
    Plan,
    Kernels,
    Asm,
}

/// Prints a stage of an error-free program, whose weights are constants by now. Errors: E0901 for a bug; a program that is not
/// compiled has no stages.
pub fn stage(program: &mut Program, entry: &str, settings: &Settings, limits: &Limits, stage: Stage) -> Result<String, Refused> {
    let wrong = |error| Refused::Wrong(Box::new(error));
    if stage == Stage::Groups {
        let dim_names = show::names_sizes(&program.module);
        let options = Options { types: true, meta: false, exact: false, dim_names };
        return optimise::text(program, &compile::how(entry, settings), &PassPrinting::default(), options, None).map_err(wrong);
    }
    let show = |module: &Module, all: &Assembled| staged(stage, &program.sources, module, all, settings.threads);
    let mut module = program.module.clone();
    match compile::assembled(&mut module, entry, settings, limits, &mut program.timings) {
        Ok(all) => Ok(format!("{}{}", head(entry, settings), show(&module, &all))),
        Err(Refused::Not(reason)) => {
            let found = subgraphs::subgraphs(program.module.clone(), entry, settings, limits)?;
            // Where no shape is known before it is called there is nothing to show.
            if found.iter().all(|one| one.code.is_err()) {
                let why = found.iter().find_map(|one| one.code.as_ref().err().copied());
                return Err(Refused::Not(why.unwrap_or(reason)));
            }
            let mut out = head(entry, settings);
            let n = found.len();
            let _ = writeln!(out, "not compiled as a whole: {}; {} of its dataflow", reason.text(), count(n, "subgraph"));
            for (at, subgraph) in found.iter().enumerate() {
                let _ = writeln!(out, "\nsubgraph {} of {n} at {}", at + 1, place(&program.sources, subgraph.span));
                match &subgraph.code {
                    Ok((module, all)) => out.push_str(&show(module, all)),
                    Err(why) => _ = writeln!(out, "not compiled before it is called: {}", why.text()),
                }
            }
            Ok(out)
        }
        Err(wrong) => Err(wrong),
    }
}

/// The text of a code stage.
fn staged(stage: Stage, sources: &Sources, module: &Module, all: &Assembled, threads: usize) -> String {
    let origin = |expr| origin(sources, module, expr);
    let chains = chain::find(&all.plan, &all.launches, threads).into_iter().map(|chain| chain.steps).collect::<Vec<_>>();
    let told = PlanNotes { reasons: &all.reasons, chains: &chains, origin: &origin };
    match stage {
        Stage::Plan => plan::text(&all.plan, &told),
        Stage::Kernels => format!("\n{}", plan::kernels(&all.plan, &told)),
        Stage::Asm | Stage::Groups => assembly(all, &origin),
    }
}

fn head(entry: &str, settings: &Settings) -> String {
    let accuracy = match settings.accuracy {
        Policy::Fast => "fast",
        Policy::Strict => "strict: sums as they are written, no winograd",
    };
    let plural = if settings.threads == 1 { "" } else { "s" };
    let target = listing::target_name(settings.isa);
    format!("@{entry} for {target}, {} thread{plural}, accuracy {accuracy}\n", settings.threads)
}

/// The code of every step that has some, then the constants.
pub(super) fn assembly(all: &Assembled, origin: &dyn Fn(ExprId) -> String) -> String {
    let mut out = String::new();
    for (at, (step, reason)) in all.plan.steps.iter().zip(&all.reasons).enumerate() {
        let _ = writeln!(out, "\n; step {at}: {}, {}", plan::ops_text(step), origin(step.origin));
        let _ = writeln!(out, "; {}", reason.name);
        out.push_str(&listing::step(all, at));
    }
    let constants = listing::constants(all);
    if !constants.is_empty() {
        let _ = write!(out, "\n; constants\n{constants}");
    }
    out
}
