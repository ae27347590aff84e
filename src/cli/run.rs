//! `relayc run`: checks, binds inputs and weights, executes, and shows or writes the result.

#[cfg(feature = "jit")]
mod artifact;
#[cfg(feature = "jit")]
mod cached;

#[cfg(feature = "jit")]
use super::cache;
use super::deadline::{self, FailureReporter};
use super::{Console, choices, compiled, exit, named_tensors, progress, seconds, tolerance};
use crate::engine::compile::{self, Refused, Settings};
use crate::engine::cross_check;
use crate::engine::external::Externals;
use crate::engine::steps as compiled_steps;
use crate::engine::subgraphs::{self, CompileTrigger, Prepared};
use clap::ValueEnum;
use relayc_base::Sources;
use relayc_base::diag::{Diagnostic, codes};
use relayc_driver::bind::{self, Bound, Requests};
use relayc_driver::detect::{self, View};
use relayc_driver::draw;
use relayc_driver::endings;
use relayc_driver::inspect;
use relayc_driver::optimise;
use relayc_driver::outputs::{self, Named, OutputRequests, Tolerance};
use relayc_driver::run::{self, Entry, Limits, Outcome};
use relayc_driver::steps::{self, StepSelection, Steps};
use relayc_driver::{Phase, Program, top};
use relayc_sys as sys;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Execute a program.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("classes").args(["top", "detect"]).multiple(true)))]
pub(crate) struct Args {
    #[command(flatten)]
    program: compiled::Given,
    #[command(flatten)]
    passes: compiled::Passes,
    /// Write one output.
    #[arg(short = 'o', long = "output", value_name = "NAME=@FILE.npy")]
    output: Vec<String>,
    #[arg(long, value_name = "FILE", help = format!("Write all outputs: {}", named_tensors()))]
    outputs: Option<PathBuf>,
    /// Compare an output with an expected value; exit 1 if it differs.
    #[arg(long, value_name = "NAME=SPEC")]
    expect: Vec<String>,
    /// The relative tolerance of `--expect`.
    #[arg(long, default_value_t = 1e-5, value_parser = tolerance)]
    rtol: f64,
    /// The absolute tolerance of `--expect`.
    #[arg(long, default_value_t = 1e-6, value_parser = tolerance)]
    atol: f64,
    /// Show the K best classes of the first output.
    #[arg(long, value_name = "K")]
    top: Option<NonZeroUsize>,
    /// The file with the names of the classes, one a line.
    #[arg(long, value_name = "FILE", requires = "classes")]
    labels: Option<PathBuf>,
    /// Show what is detected: the score, the left, top, right and bottom pixel, and the class of each box.
    #[arg(long, value_enum, value_name = "HEAD", conflicts_with = "top")]
    detect: Option<Head>,
    /// The score that a box of `--detect` exceeds; 0.5 without it.
    #[arg(long, value_name = "SCORE", requires = "detect", value_parser = part)]
    threshold: Option<f64>,
    /// How much two boxes of a class may overlap, intersection over union; 0.45 for `yolo`, any for `boxes`.
    #[arg(long, value_name = "OVERLAP", requires = "detect", value_parser = part)]
    nms: Option<f64>,
    /// Draw the boxes of `--detect` on the picture of the input, as a .png file.
    #[arg(long, value_name = "FILE", requires = "detect")]
    draw: Option<PathBuf>,
    /// The engine that executes the program.
    #[arg(long, value_enum, default_value_t = Engine::Jit)]
    engine: Engine,
    /// Write the intermediate values, by function and variable (`@main/%3`); the compiled engine writes the results of its fused
    /// groups.
    #[arg(long, value_name = "FILE.npz")]
    save_steps: Option<PathBuf>,
    /// Stop at the first operator with NaN or infinity in its result but not in its operands.
    #[arg(long)]
    check_nan: bool,
    /// Show a value each time it is computed: type, least, mean and greatest element, NaN and infinity. `%3`, or `@f/%3` in one
    /// function; may be repeated.
    #[arg(long, value_name = "%NAME")]
    watch: Vec<String>,
    /// Print a stage of the compilation instead of running.
    #[arg(long, value_enum, value_name = "STAGE")]
    emit: Option<compiled::Stage>,
    /// Give up when running takes more than this many seconds, even inside an operator.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
}

impl Args {
    /// Whether the result is needed in another form than text.
    fn wants_outputs(&self) -> bool {
        !self.output.is_empty()
            || self.outputs.is_some()
            || !self.expect.is_empty()
            || self.top.is_some()
            || self.detect.is_some()
    }

    /// Whether the steps of the run are seen.
    fn is_seen(&self) -> bool {
        self.save_steps.is_some() || self.check_nan || !self.watch.is_empty()
    }

    /// What the input shows, if it is needed.
    fn view(&self, bound: &[Bound]) -> Result<Option<View>, Diagnostic> {
        let view = self.detect.map(|_| View::of(&self.program.requests().inputs, bound)).transpose()?;
        if let (Some(view), Some(_)) = (&view, &self.draw) {
            view.pixels()?;
        }
        Ok(view)
    }
}

/// A number from 0 to 1.
fn part(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

/// How results become boxes.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Head {
    /// Layers of Darknet, with what `relayc import` gives beside them.
    Yolo,
    /// Boxes, scores and labels, as SSD and R-CNN networks of torchvision give them.
    Boxes,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Engine {
    /// Machine code for this machine.
    Jit,
    /// The reference interpreter.
    Interp,
    /// Cross-check: run both and compare every group of the machine code on the same operands.
    Both,
}

pub(crate) fn run(console: &Console, args: &Args) -> Result<u8, u8> {
    let start = Instant::now();
    check_written(args).map_err(|wrong| console.files(&[wrong], &Sources::default()))?;
    if inspect::is_elf(&args.program.file) {
        #[cfg(feature = "jit")]
        return Ok(artifact::run(console, args, start));
        #[cfg(not(feature = "jit"))]
        return Err(console.files(&[super::no_artifacts(&args.program.file)], &Sources::default()));
    }
    if let Some(stage) = args.emit {
        if args.passes.are_given() {
            return Err(console.usage("`--passes` and `--emit`: `relayc opt --passes … | relayc run - --emit …`"));
        }
        return Ok(console.data(&args.program.emit(console, stage)?));
    }
    if args.is_seen() && !args.program.external.is_empty() {
        return Err(console
            .usage("`--save-steps`, `--check-nan` and `--watch` see the steps of relayc's own engines: leave `--external` out"));
    }
    if args.engine == Engine::Both && args.wants_outputs() {
        return Err(console.usage(
            "`--engine both` compares and gives no outputs: `-o`, `--outputs`, `--expect`, `--top` and `--detect` are for one engine",
        ));
    }
    if let (Engine::Interp, Some(flag)) = (args.engine, args.program.choices.given()) {
        return Err(console.usage(format_args!("`{flag}` is about compiled code: the interpreter has no strategies")));
    }
    let settings = match args.engine {
        Engine::Interp => args.program.settings_to_show(console),
        Engine::Jit | Engine::Both => args.program.settings(console),
    }?;
    #[cfg(feature = "jit")]
    if settings.is_none() && args.engine != Engine::Interp {
        console.changed(format_args!("{}: the program is interpreted", compile::no_machine()));
    }
    #[cfg(feature = "jit")]
    let place = match &settings {
        Some(settings) => cached::run(console, args, settings, start)?,
        None => None,
    };
    if let Some(threads) = args.program.threads_wanted(console)? {
        // The pool is made once in a process, and this is the first use of it.
        relayc_ir::threads::start(threads);
    }
    let until = if args.engine != Engine::Interp || args.passes.are_given() { Phase::Main } else { Phase::Infer };
    // Sizes that are set by their names are those of the whole program; axes are those of the inputs.
    let how = match args.program.set.iter().any(|setting| bind::size_setting(setting).is_some()) {
        true => args.program.how(),
        false => args.program.reading.how("main", &[]),
    };
    let mut program = console.checked(&args.program.file, until, &how)?;
    args.program.change(console, &args.passes, &mut program)?;
    let sources = program.sources.clone();
    let settings = settings.map(|settings| args.program.choices.chosen(console, settings, &sources)).transpose()?;
    let result = seers(args, &program).and_then(|seers| {
        #[cfg(feature = "jit")]
        let weights = place.as_ref().map(|_| cache::weights(&program, &args.program.values.params));
        let (entry, call) = prepare(args, &mut program)?;
        let view = args.view(&call.bound)?;
        #[cfg(feature = "jit")]
        let ports = weights.map(|weights| cache::ports(weights, &entry, &program));
        let running = Running { entry, seers, sources: &sources, start, view };
        let prepared = execute(console, args, settings.as_ref(), program, &running, call)?;
        #[cfg(feature = "jit")]
        if let (Some(place), Some(ports), Some(prepared)) = (place, ports, &prepared) {
            place.keep(console, prepared, ports);
        }
        #[cfg(not(feature = "jit"))]
        drop(prepared);
        Ok(())
    });
    match result {
        Ok(()) => Ok(exit::FINE),
        Err(Failed { diagnostics, running }) => {
            console.diagnostics(&diagnostics, &sources);
            Err(if running { exit::of_run(&diagnostics) } else { exit::of_files(&diagnostics) })
        }
    }
}

/// Why a run ends, and whether the program was running.
struct Failed {
    diagnostics: Vec<Diagnostic>,
    running: bool,
}

impl Failed {
    fn before(diagnostics: Vec<Diagnostic>) -> Failed {
        Failed { diagnostics, running: false }
    }
}

impl From<Diagnostic> for Failed {
    fn from(diagnostic: Diagnostic) -> Failed {
        Failed::before(vec![diagnostic])
    }
}

/// Checks and binds everything before the first instruction, so that a misspelt file name costs no time.
fn prepare(args: &Args, program: &mut Program) -> Result<(Entry, Call), Failed> {
    let entry = run::entry(&program.module, &args.program.entry)?;
    let requests = output_requests(args);
    let wrong = requests.check(&entry.results);
    if !wrong.is_empty() {
        return Err(Failed::before(wrong));
    }
    if args.engine != Engine::Interp {
        let bound = optimise::bind_all(program, &args.program.entry, &args.program.requests());
        let (entry, bound) = bound.map_err(Failed::before)?;
        let externals = args.program.externals(program, args.timeout)?;
        return Ok((entry, Call { bound, externals }));
    }
    let requests = Requests { packed: std::mem::take(&mut program.packed), ..args.program.requests() };
    let bound = bind::bind(&entry.slots, &program.module.types, &requests).map_err(Failed::before)?;
    Ok((entry, Call { bound, externals: Externals::default() }))
}

/// What a run is given: its arguments, and the functions that outside compilers made.
struct Call {
    bound: Vec<Bound>,
    externals: Externals,
}

/// The context of a run, besides its program.
struct Running<'a> {
    entry: Entry,
    seers: Vec<(Engine, Arc<Steps>)>,
    sources: &'a Sources,
    start: Instant,
    view: Option<View>,
}

/// The traces of each engine that runs; none if no trace is requested.
fn seers(args: &Args, program: &Program) -> Result<Vec<(Engine, Arc<Steps>)>, Failed> {
    let wanted = StepSelection { save: args.save_steps.is_some(), watch: args.watch.clone(), check: args.check_nan };
    if !wanted.anything() {
        return Ok(vec![]);
    }
    let engines: &[Engine] = match args.engine {
        Engine::Both => &[Engine::Jit, Engine::Interp],
        Engine::Jit => &[Engine::Jit],
        Engine::Interp => &[Engine::Interp],
    };
    let max_bytes = args.program.limits().max_tensor_bytes;
    let seer = |&engine: &Engine| {
        let before = prefix(args, engine);
        let say = Box::new(move |line: &str| super::words(&format!("{before}{line}")));
        Steps::new(program, &wanted, max_bytes, say).map(|steps| (engine, Arc::new(steps))).map_err(Failed::before)
    };
    engines.iter().map(seer).collect()
}

/// The prefix of a step's name, if two engines have one.
fn prefix(args: &Args, engine: Engine) -> &'static str {
    match (args.engine, engine) {
        (Engine::Both, Engine::Interp) => "interp/",
        (Engine::Both, _) => "jit/",
        _ => "",
    }
}

fn output_requests(args: &Args) -> OutputRequests {
    OutputRequests { files: args.output.clone(), all: args.outputs.clone() }
}

/// Requires that no output goes to a file that the run reads, or that has the name of another format. Errors: E0702, E0721.
fn check_written(args: &Args) -> Result<(), Diagnostic> {
    [&args.outputs, &args.save_steps].into_iter().flatten().try_for_each(|path| outputs::format_of(path).map(drop))?;
    args.draw.as_deref().map_or(Ok(()), |path| endings::one_of(path, "a picture", &["png"]))?;
    let named = args.output.iter().filter_map(|text| bind::file_of(text));
    let written: Vec<&Path> =
        named.chain([&args.outputs, &args.save_steps, &args.draw].into_iter().filter_map(|path| path.as_deref())).collect();
    let mut read = args.program.values.files(&args.program.file);
    read.extend([&args.labels, &args.program.choices.tuning].into_iter().filter_map(|path| path.as_deref()));
    sys::replaces_none(&written, &read, "the run reads")
}

fn execute(
    console: &Console,
    args: &Args,
    settings: Option<&Settings>,
    program: Program,
    running: &Running,
    call: Call,
) -> Result<Option<Prepared>, Failed> {
    let Call { bound, externals } = call;
    let labels = args.labels.as_deref().map(top::read_labels).transpose()?;
    let ready = Instant::now();
    let limits = limits(args, ready);
    let failed = |diagnostic| Failed { diagnostics: vec![diagnostic], running: true };
    let only = |diagnostic| vec![diagnostic];
    let teller = FailureReporter { console, sources: running.sources, failed: &only };
    if args.engine == Engine::Both {
        // A difference is no failure of the program.
        let differs = |diagnostic: Diagnostic| Failed { running: diagnostic.code != codes::E0508, diagnostics: vec![diagnostic] };
        let compare =
            || progress::spin(console, "comparing", || compared(args, settings, &program, (&bound, externals), limits.clone()));
        let (words, anything) = deadline::within(&teller, &limits, compare).map_err(differs)?;
        settings.into_iter().for_each(|settings| choices::say_unused(console, settings));
        if !(console.quiet && anything) {
            console.words(&format!("{words}\n"));
        }
        if running.seers.is_empty() {
            return Ok(None);
        }
        let (_, steps) = seen(console, args, settings, &program, running, &bound, limits)?;
        return outputs::write(&vec![], &OutputRequests::default(), saved(args, &steps))
            .map_or_else(|wrong| Err(Failed::before(wrong)), |()| Ok(None));
    }
    let (Ran { result, words, prepared }, steps) = if running.seers.is_empty() {
        let compute = || compute(console, args, settings, program, &running.entry, Call { bound, externals }, limits.clone());
        let run = || progress::spin(console, "running", compute);
        (deadline::within(&teller, &limits, run).map_err(failed)?, vec![])
    } else {
        let ((result, words), steps) = seen(console, args, settings, &program, running, &bound, limits)?;
        (Ran { result: Outcome::Data(result), words, prepared: None }, steps)
    };
    settings.into_iter().for_each(|settings| choices::say_unused(console, settings));
    if console.verbose {
        let (load, run) = ((ready - running.start).as_secs_f64() * 1e3, ready.elapsed().as_secs_f64() * 1e3);
        console.words(&format!("load {load:.1} ms, run {run:.1} ms, {words}\n"));
    }
    let result = match result {
        // Nothing but reading can become of it.
        Outcome::Text(text, _) if !args.wants_outputs() => {
            sys::stdout(&text)?;
            return Ok(None);
        }
        other => other.data().map_err(|why| failed(*why))?,
    };
    let named = outputs::named(&running.entry.results, &result);
    finish(args, &named, saved(args, &steps), &Shown { labels: labels.as_deref(), view: running.view.as_ref() })?;
    Ok(prepared)
}

/// The result of a run, how it was computed, and what computed it.
struct Ran {
    result: Outcome,
    words: String,
    prepared: Option<Prepared>,
}

/// What results are shown with.
struct Shown<'a> {
    labels: Option<&'a [String]>,
    view: Option<&'a View>,
}

/// Checks, writes and shows a result, with the traced steps if they are kept.
fn finish(args: &Args, named: &Named, steps: Option<(&Path, &Named)>, shown: &Shown) -> Result<(), Failed> {
    outputs::write(named, &output_requests(args), steps).map_err(Failed::before)?;
    show(args, named, shown)?;
    let differences = outputs::check_expectations(named, &args.expect, Tolerance { rtol: args.rtol, atol: args.atol });
    if differences.is_empty() { Ok(()) } else { Err(Failed::before(differences)) }
}

/// The file for the steps, and the steps, if they are kept.
fn saved<'a>(args: &'a Args, steps: &'a Named) -> Option<(&'a Path, &'a Named)> {
    args.save_steps.as_deref().map(|path| (path, steps))
}

fn limits(args: &Args, ready: Instant) -> Limits {
    Limits { deadline: args.timeout.and_then(|timeout| ready.checked_add(timeout)), ..args.program.limits() }
}

/// Computes the result, and says how.
fn compute(
    console: &Console,
    args: &Args,
    settings: Option<&Settings>,
    mut program: Program,
    entry: &Entry,
    call: Call,
    limits: Limits,
) -> Result<Ran, Diagnostic> {
    let Call { bound, externals } = call;
    if args.engine == Engine::Interp {
        args.program.say_times(console, &program.timings);
        let result = run::outcome(&program, entry, bound, limits)?;
        return Ok(Ran { result, words: "engine interp".into(), prepared: None });
    }
    let compiled = prepared(settings, |settings| {
        subgraphs::prepare_taking(
            &mut program,
            &args.program.entry,
            Some(&bound),
            settings,
            limits.clone(),
            CompileTrigger::ItPays,
            externals,
        )
    });
    match compiled {
        Ok(prepared) => {
            args.program.say_times(console, &prepared.timings().map_or(program.timings.clone(), |own| program.timings.then(own)));
            drop(program);
            let result = prepared.outcome(&bound).map_err(|error| *error)?;
            let words = prepared.summary();
            let comma = if words.is_empty() { "" } else { ", " };
            Ok(Ran { result, words: format!("engine jit{comma}{words}"), prepared: Some(prepared) })
        }
        Err(Uncompiled::Not(reason)) => {
            let words = format!("engine interp, as the program is not compiled: {reason}");
            let entry = &run::entry(&program.module, &args.program.entry)?;
            Ok(Ran { result: run::outcome(&program, entry, bound, limits)?, words, prepared: None })
        }
        Err(Uncompiled::Wrong(diagnostic)) => Err(*diagnostic),
    }
}

/// Runs each traced engine. Returns the result of the last one, how it was computed, and the steps to keep. The steps of a failed
/// run are written here.
fn seen(
    console: &Console,
    args: &Args,
    settings: Option<&Settings>,
    program: &Program,
    running: &Running,
    bound: &[Bound],
    limits: Limits,
) -> Result<((Bound, String), Named), Failed> {
    let Running { seers, sources, .. } = running;
    let failed = |diagnostic| failed_seen(args, seers, diagnostic);
    let run = || {
        let mut result = (Bound::Tuple(vec![]), String::new());
        for (engine, steps) in seers {
            result = seen_by(args, settings, program, bound, &limits, *engine, steps)?;
            steps.say_unseen();
        }
        Ok(result)
    };
    let result = deadline::within(&FailureReporter { console, sources, failed: &failed }, &limits, run);
    let result = result.map_err(|diagnostic| Failed { diagnostics: failed(diagnostic), running: true })?;
    let named = kept(args, seers).map_err(|diagnostics| Failed { diagnostics, running: true })?;
    Ok((result, named))
}

/// The steps to keep. Errors: E0803 for each engine with too many.
fn kept(args: &Args, seers: &[(Engine, Arc<Steps>)]) -> Result<Named, Vec<Diagnostic>> {
    let (mut named, mut too_many) = (vec![], vec![]);
    for (engine, steps) in seers.iter().filter(|_| args.save_steps.is_some()) {
        match steps.saved() {
            Ok(saved) => named.extend(saved.into_iter().map(|(key, tensor)| (format!("{}{key}", prefix(args, *engine)), tensor))),
            Err(diagnostic) => too_many.push(diagnostic),
        }
    }
    if too_many.is_empty() { Ok(named) } else { Err(too_many) }
}

/// Writes the steps of a failed run. The failure comes first, also if its steps cannot be written.
fn failed_seen(args: &Args, seers: &[(Engine, Arc<Steps>)], why: Diagnostic) -> Vec<Diagnostic> {
    let written = kept(args, seers).and_then(|named| match saved(args, &named) {
        Some((path, named)) => outputs::write_tensors(named, path, None).map_err(|error| vec![error]),
        None => Ok(()),
    });
    [vec![why], written.err().unwrap_or_default()].concat()
}

fn seen_by(
    args: &Args,
    settings: Option<&Settings>,
    program: &Program,
    bound: &[Bound],
    limits: &Limits,
    engine: Engine,
    steps: &Arc<Steps>,
) -> Result<(Bound, String), Diagnostic> {
    let name = &args.program.entry;
    let interpret = || steps::interpret(program, &run::entry(&program.module, name)?, bound.to_vec(), limits.clone(), steps);
    if engine == Engine::Interp {
        return Ok((interpret()?, "engine interp".into()));
    }
    let refused = match settings {
        None => compile::no_machine(),
        Some(settings) => match compiled_steps::compiled(program, name, bound, settings, limits.clone(), steps) {
            Ok(result) => return Ok((result, "engine jit".into())),
            Err(Refused::Wrong(diagnostic)) => return Err(*diagnostic),
            Err(Refused::Not(reason)) => reason.text(),
        },
    };
    Ok((interpret()?, format!("engine interp, as the program is not compiled: {refused}")))
}

/// Why nothing is compiled.
enum Uncompiled {
    Not(&'static str),
    Wrong(Box<Diagnostic>),
}

fn prepared(
    settings: Option<&Settings>,
    prepare: impl FnOnce(&Settings) -> Result<Prepared, Refused>,
) -> Result<Prepared, Uncompiled> {
    prepare(settings.ok_or(Uncompiled::Not(compile::no_machine()))?).map_err(|refused| match refused {
        Refused::Not(reason) => Uncompiled::Not(reason.text()),
        Refused::Wrong(diagnostic) => Uncompiled::Wrong(diagnostic),
    })
}

/// Cross-checks the compiled program with the interpreter. Returns the outcome in words, and whether anything was compared.
fn compared(
    args: &Args,
    settings: Option<&Settings>,
    program: &Program,
    (bound, externals): (&[Bound], Externals),
    limits: Limits,
) -> Result<(String, bool), Diagnostic> {
    // What is compared needs its weights.
    let entry = &args.program.entry;
    match prepared(settings, |settings| {
        subgraphs::prepare_with(program, entry, Some(bound), settings, limits.clone(), CompileTrigger::Compared, externals)
    }) {
        Ok(Prepared::Whole(compiled)) => {
            Ok((cross_check::summary(&cross_check::run(&compiled, bound).map_err(|error| *error)?), true))
        }
        Ok(Prepared::Partial(partial)) => {
            partial.carry_out(bound).map_err(|error| *error)?;
            let agreement = partial.agreement();
            Ok((format!("{}, {}", cross_check::summary(&agreement), partial.summary()), agreement.groups > 0))
        }
        // The interpreter alone tells whether it runs.
        Err(Uncompiled::Not(reason)) => {
            run::outcome(program, &run::entry(&program.module, entry)?, bound.to_vec(), limits)?;
            Ok((format!("nothing is compared, as the program is not compiled: {reason}"), false))
        }
        Err(Uncompiled::Wrong(diagnostic)) => Err(*diagnostic),
    }
}

/// Prints what is detected, and draws it.
fn show_detections(args: &Args, named: &Named, head: Head, view: &View, labels: Option<&[String]>) -> Result<(), Diagnostic> {
    let head = match head {
        Head::Yolo => detect::Head::Yolo,
        Head::Boxes => detect::Head::Boxes,
    };
    let found =
        detect::detections(named, view, &detect::Request { head, threshold: args.threshold.unwrap_or(0.5), nms: args.nms })?;
    if let Some(path) = &args.draw {
        let picture = draw::png(&path.display().to_string(), &view.pixels()?, &found, labels)?;
        sys::write_atomic(&[(path, &picture)])?;
    }
    sys::stdout(&detect::table(&found, labels))
}

/// Prints to standard output: the best classes, or the outputs unless they were written to files.
fn show(args: &Args, named: &Named, shown: &Shown) -> Result<(), Diagnostic> {
    let labels = shown.labels;
    if let (Some(head), Some(view)) = (args.detect, shown.view) {
        return show_detections(args, named, head, view, labels);
    }
    if let Some(k) = args.top {
        let Some((name, output)) = named.first() else {
            return Err(Diagnostic::new(codes::E0705, "there is no output to rank"));
        };
        return sys::stdout(&top::table(&top::top(name, output, k.get(), labels)?));
    }
    let elsewhere = !args.output.is_empty() || args.outputs.is_some() || !args.expect.is_empty();
    if elsewhere {
        return Ok(());
    }
    let texts = named.iter().map(|(name, tensor)| format!("{name}: {}\n{}\n", tensor.type_text(), tensor.preview()));
    sys::stdout(&texts.collect::<String>())
}
