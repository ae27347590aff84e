//! `relayc opt`: runs passes, shows what comes of it and what each did.

use super::compiled::TargetName;
use super::{Console, Reading, exit};
use crate::diag::Diagnostic;
use crate::driver::compile::Settings;
use crate::driver::optimise::{self, How, MAX_LEVEL, Shown, Target};
use crate::driver::{self, Program, show};
use crate::sys;
use std::path::PathBuf;

/// Optimise a program, and print what comes of it.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    reading: Reading,
    /// The program; `-` is standard input.
    file: PathBuf,
    /// The number of a `?` dimension, which makes the program a static one: parameter, axis, number.
    #[arg(long, value_name = "NAME.AXIS=N")]
    set: Vec<String>,
    /// The function that the program is entered by; others may go.
    #[arg(long, value_name = "NAME", default_value = "main")]
    entry: String,
    /// How much is done, from 0 (what is needed to run) to 3 (all).
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = MAX_LEVEL, value_parser = clap::value_parser!(u8).range(..=i64::from(MAX_LEVEL)))]
    level: u8,
    /// Only these passes, in this order; `relayc passes` lists them.
    #[arg(long, value_name = "PASS,…", value_delimiter = ',', conflicts_with = "level")]
    passes: Option<Vec<String>>,
    /// Weights that become constants first: .params, .npz or .safetensors; may be repeated.
    #[arg(long, value_name = "FILE")]
    params: Vec<PathBuf>,
    /// The machine that is optimised for.
    #[arg(long, value_enum, default_value_t = TargetName::Native)]
    target: TargetName,
    /// Check the program's invariants and types after each pass.
    #[arg(long)]
    verify_each: bool,
    /// Print the program after a pass, or after `all`, in place of the result; may be repeated.
    #[arg(long, value_name = "PASS")]
    print_after: Vec<String>,
    /// Print what each pass changed, as a diff, in place of the result.
    #[arg(long)]
    print_changed: bool,
    /// Print for each pair of operators why it was or was not fused, in place of the result.
    #[arg(long)]
    explain_fusion: bool,
    /// Say what reading, inference and every pass took.
    #[arg(long)]
    time_passes: bool,
    /// With the metadata section, where there is one.
    #[arg(long)]
    meta: bool,
    /// Floats with as many digits as it takes to read them back to the bit; TVM prints six.
    #[arg(long)]
    exact: bool,
}

pub fn run(console: &Console, args: &Args) -> u8 {
    let (how, shown) = match asked(args) {
        Ok(asked) => asked,
        Err(why) => {
            console.words(&format!("error: {why}\n"));
            return exit::USAGE;
        }
    };
    let reading = driver::How { set: args.set.clone(), entry: args.entry.clone(), ..driver::How::of(args.reading.dialect()) };
    let mut program = driver::check_file(&args.file, optimise::UNTIL, &reading);
    console.diagnostics(&program.diagnostics, &program.sources);
    if program.has_errors() {
        return exit::of(&program.diagnostics);
    }
    match optimised(console, args, &mut program, &how, &shown) {
        Ok(()) => exit::FINE,
        Err(diagnostics) => console.files(&diagnostics, &program.sources),
    }
}

/// Errors: an environment that asks for no machine there is, in words.
fn target(name: TargetName) -> Result<Target, String> {
    Ok(match name {
        TargetName::Native => Settings::native(0, 1)?.map_or(Target::V3, |settings| Target::of(settings.isa)),
        TargetName::V3 => Target::V3,
        TargetName::V4 => Target::V4,
    })
}

/// What is to be done and shown. Errors: a name that is no pass, in words.
fn asked(args: &Args) -> Result<(How, Shown), String> {
    let target = target(args.target)?;
    let how = match &args.passes {
        Some(names) => How::named(names.iter().map(|name| name.trim()), target)?,
        None => How::level(args.level, target),
    };
    let mut after = Vec::new();
    for name in &args.print_after {
        let of_name = |pass: &&'static optimise::Pass| name == "all" || pass.name == name;
        let found = optimise::all().into_iter().filter(of_name).map(|pass| pass.name);
        let n_before = after.len();
        after.extend(found);
        if after.len() == n_before {
            return Err(optimise::unknown(name));
        }
        let runs = |name: &str| name == "all" || how.passes.iter().any(|pass| pass.name == name);
        if !runs(name) {
            return Err(format!("`--print-after {name}`: the pass is not among those that run"));
        }
    }
    if args.explain_fusion && !how.passes.iter().any(|pass| pass.name == optimise::FUSION) {
        return Err(format!("`--explain-fusion`: `{}` is not among the passes that run", optimise::FUSION));
    }
    let shown = Shown { after, changed: args.print_changed, fusion: args.explain_fusion };
    Ok((How { verify: args.verify_each, entry: Some(args.entry.clone()), ..how }, shown))
}

fn optimised(console: &Console, args: &Args, program: &mut Program, how: &How, shown: &Shown) -> Result<(), Vec<Diagnostic>> {
    // A module of functions may have no `@main`; a name that was asked for is there.
    if args.entry != "main" {
        driver::run::entry(&program.module, &args.entry).map_err(|error| vec![error])?;
    }
    optimise::bind_weights(program, &args.entry, &args.params)?;
    let options = show::Options { types: true, meta: args.meta, exact: args.exact };
    let text = optimise::text(program, how, shown, options).map_err(|error| vec![error])?;
    if args.time_passes {
        console.words(&program.timings.table());
    }
    sys::stdout(&text).map_err(|error| vec![error])
}
