//! `relayc opt`: runs passes, and shows the result and the effect of each.

use super::compiled::TargetName;
use super::{Console, Reading, exit, named_tensors, weight_files};
use clap::ValueEnum;
use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_driver::bind::Requests;
use relayc_driver::optimise::{self, Answers, MAX_LEVEL, PassPlan, PassPrinting};
use relayc_driver::{self as driver, Program, show};
use relayc_sys as sys;
use std::path::PathBuf;

/// Optimise a program, and print the result.
///
/// What is printed is a complete program: `relayc opt net.relay --passes fold-constants | relayc run -`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: Reading,
    /// The program; `-` is standard input.
    file: PathBuf,
    /// The size of a dynamic dimension, which makes the program static: parameter, axis, number; or the name of a size and its number.
    #[arg(long, value_name = "NAME.AXIS=N|SIZE=N")]
    set: Vec<String>,
    /// The entry function; other functions may be removed.
    #[arg(long, value_name = "NAME", default_value = "main")]
    entry: String,
    /// The level of optimisation, from 0 (only what running needs) to 3 (everything).
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = MAX_LEVEL, value_parser = clap::value_parser!(u8).range(..=i64::from(MAX_LEVEL)))]
    level: u8,
    /// Run only these passes, in this order; `relayc passes` lists them. Arguments stand in brackets: `split-args(max=3)`. TVM's names
    /// are understood: `FoldConstant`.
    #[arg(long, value_name = "PASS,…", conflicts_with = "level")]
    passes: Option<String>,
    #[arg(long, value_name = "FILE", help = weight_files("Weights to turn into constants first"))]
    params: Vec<PathBuf>,
    /// The machine to optimise for.
    #[arg(long, value_enum, default_value_t = TargetName::Native)]
    target: TargetName,
    /// Check the program after each pass.
    #[arg(long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "types")]
    verify_each: Option<Verified>,
    /// An input for `--verify-each=values`; what is missing is random. May be repeated.
    #[arg(short, long, value_name = "NAME=SPEC", requires = "verify_each")]
    input: Vec<String>,
    #[arg(long, value_name = "FILE", requires = "verify_each", help = format!("Inputs for `--verify-each=values`: {}", named_tensors()))]
    inputs: Option<PathBuf>,
    /// Print the program after a pass, or after `all`, instead of the result; may be repeated.
    #[arg(long, value_name = "PASS")]
    print_after: Vec<String>,
    /// Print the changes of each pass, as a diff, instead of the result.
    #[arg(long)]
    print_changed: bool,
    /// Print for each pair of operators why it was or was not fused, instead of the result.
    #[arg(long)]
    explain_fusion: bool,
    /// Print the time of reading, inference and every pass.
    #[arg(long)]
    time_passes: bool,
    /// Leave out the metadata section, which holds the constants, and print floats with six digits, as TVM does; the program may not
    /// be complete then.
    #[arg(long)]
    brief: bool,
    /// Print sizes by their names, such as `2*batch`, where they have one; always so if the program names sizes.
    #[arg(long)]
    dim_names: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Verified {
    /// Its invariants, and the types of its functions.
    Types,
    /// Also what the entry computes on the interpreter.
    Values,
}

pub(crate) fn run(console: &Console, args: &Args) -> Result<u8, u8> {
    let (how, shown) = asked(console, args)?;
    let mut program = console.checked(&args.file, optimise::UNTIL, &args.reading.how(&args.entry, &args.set))?;
    let done = optimised(console, args, &mut program, &how, &shown);
    done.map_err(|wrong| console.files(&wrong, &program.sources))?;
    Ok(exit::FINE)
}

/// The requested passes and reports. Errors: the exit code, after reporting the error.
fn asked(console: &Console, args: &Args) -> Result<(PassPlan, PassPrinting), u8> {
    let target = args.target.of_passes().map_err(|why| console.usage(why))?;
    let how = match &args.passes {
        Some(text) => PassPlan::requested(console.steps(text)?, target),
        None => PassPlan::level(args.level, target),
    };
    let mut after = Vec::new();
    for name in &args.print_after {
        if name == "all" {
            after.extend(optimise::all().into_iter().map(|pass| pass.name));
            continue;
        }
        let Some(pass) = optimise::find(name) else {
            return Err(console.files(&[*optimise::unknown_pass(name)], &Sources::default()));
        };
        after.push(pass.name);
        if !how.passes.iter().any(|step| step.pass.name == pass.name) {
            return Err(console.usage(format!("`--print-after {name}`: the pass is not among those that run")));
        }
    }
    if args.explain_fusion && !how.passes.iter().any(|step| step.pass.name == optimise::FUSION) {
        return Err(console.usage(format!("`--explain-fusion`: `{}` is not among the passes that run", optimise::FUSION)));
    }
    let shown = PassPrinting { after, changed: args.print_changed, fusion: args.explain_fusion };
    Ok((PassPlan { verify: args.verify_each.is_some(), entry: Some(args.entry.clone()), ..how }, shown))
}

fn optimised(
    console: &Console,
    args: &Args,
    program: &mut Program,
    how: &PassPlan,
    shown: &PassPrinting,
) -> Result<(), Vec<Diagnostic>> {
    // A module of functions may have no `@main`; a name that was asked for is there.
    if args.entry != "main" {
        driver::run::entry(&program.module, &args.entry).map_err(|error| vec![error])?;
    }
    console.lacking(program, &args.entry, &args.params);
    optimise::bind_weights(program, &args.entry, &args.params)?;
    let values = args.verify_each == Some(Verified::Values);
    let requests = Requests { inputs: args.input.clone(), inputs_file: args.inputs.clone(), ..Requests::default() };
    let mut answers = values.then(|| Answers::new(&program.module, &args.entry, &requests)).transpose()?;
    let dim_names = args.dim_names || show::names_sizes(&program.module);
    // What is printed to be read by people alone is brief.
    let complete = !(args.brief || shown.anything());
    let options = show::Options { types: true, meta: complete, exact: complete, dim_names };
    let text = optimise::text(program, how, shown, options, answers.as_mut()).map_err(|error| vec![error])?;
    if let Some(answers) = answers.as_ref().filter(|_| !console.quiet) {
        console.words(answers.changed());
    }
    if args.time_passes {
        console.words(&program.timings.table());
    }
    sys::stdout(&text).map_err(|error| vec![error])
}
