//! The command line: one file for each subcommand. Parses arguments, calls `driver`, prints.
//!
//! Data goes to standard output, messages to standard error. `exit.rs` lists the exit codes.

#[cfg(feature = "jit")]
mod bench;
#[cfg(feature = "jit")]
mod build;
#[cfg(feature = "jit")]
mod cache;
mod check;
mod choices;
mod compiled;
mod completions;
mod deadline;
mod diff;
#[cfg(feature = "jit")]
mod doctor;
mod exit;
mod explain;
mod export;
mod fmt;
mod import;
mod inspect;
mod lsp;
mod man;
mod model;
mod ops;
mod opt;
mod params;
mod passes;
mod print;
#[cfg(feature = "jit")]
mod profile;
mod progress;
mod projects;
mod quantize;
mod reduce;
mod run;
mod test;
#[cfg(feature = "jit")]
mod tune;
mod viz;
mod watch;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use relayc_base::Sources;
use relayc_base::contain::is_contained;
use relayc_base::diag::render::{self, Format};
use relayc_base::diag::{Diagnostic, Severity, codes};
use relayc_base::limits::{self, Limit};
use relayc_base::text::{escape_control, join_words, nearest};
use relayc_driver::bind::{self, Requests};
use relayc_driver::optimise::{Step, Target};
use relayc_driver::tensors::Format as TensorFormat;
use relayc_driver::{self as driver, Dialect, Phase, Program, ReadOptions};
use relayc_sys::{self as sys, Awaited};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// A toolchain for the Relay text language.
#[derive(Parser)]
#[command(name = "relayc", version, about)]
struct Args {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Flags of every subcommand.
#[derive(clap::Args)]
pub(crate) struct Global {
    /// The format of messages: `human` on a terminal or with `--color always`, else `plain`.
    #[arg(long, global = true, value_name = "FORMAT")]
    message_format: Option<MessageFormat>,
    /// Whether messages are coloured; NO_COLOR switches colours off too.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: When,
    /// Report errors only.
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Report more.
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Set another limit: `nesting=1M`; `K`, `M` and `G` multiply by 1,024.
    #[arg(long, global = true, value_name = "NAME=N", value_parser = parse_limit)]
    limit: Vec<(&'static Limit, u64)>,
}

/// Parses a limit and sets it.
fn parse_limit(text: &str) -> Result<(&'static Limit, u64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=N")?;
    let limit = limits::ALL.iter().find(|limit| limit.name == name).ok_or_else(|| {
        let names = limits::ALL.map(|limit| format!("`{}`", limit.name));
        let near = nearest(name, limits::ALL.map(|limit| limit.name)).map(|near| format!("did you mean `{near}`?"));
        let near = near.unwrap_or_else(|| format!("there are {}", join_words(&names, "and")));
        format!("no limit has the name `{name}`: {near}")
    })?;
    let value = parse_bytes(value)?;
    limit.set(value)?;
    Ok((limit, value))
}

/// How a program's text is read; a flag of every subcommand that reads one.
#[derive(clap::Args)]
pub(crate) struct Reading {
    /// Read the text as its older TVM meant it: a bare number has the type in the comment after it, calls of changed operators are
    /// today's.
    #[arg(long)]
    compat: bool,
    /// Read the parts of a model of ONNX in other files of its folder.
    #[arg(long)]
    external_data: bool,
}

impl Reading {
    fn dialect(&self) -> Dialect {
        if self.compat { Dialect::Old } else { Dialect::Today }
    }

    /// The options for reading a program with this entry and these sizes of dynamic dimensions.
    fn how(&self, entry: &str, set: &[String]) -> ReadOptions {
        let external_data = self.external_data;
        ReadOptions { set: set.to_vec(), entry: entry.to_owned(), external_data, ..ReadOptions::of(self.dialect()) }
    }
}

/// Weights and inputs for a program's parameters.
#[derive(clap::Args)]
pub(crate) struct Values {
    #[arg(long, value_name = "FILE", help = weight_files("Weights"))]
    params: Vec<PathBuf>,
    /// One input: `@x.npy`, `@b.npz:key`, `@pic.png:imagenet`, `1x3xf32=[1,2,3]`, `1x3xf32=0.5`, `zeros`, `ones`, `rand:seed=7`.
    #[arg(short = 'i', long = "input", value_name = "NAME=SPEC")]
    input: Vec<String>,
    #[arg(long, value_name = "FILE", help = format!("Inputs by parameter name: {}", named_tensors()))]
    inputs: Option<PathBuf>,
    /// A filling for parameters without other values: `zeros`, `ones`, `rand[:seed=N]`.
    #[arg(long, value_name = "FILLING")]
    fill: Option<String>,
}

impl Values {
    /// The files that a run reads: the program, and those that its values come from.
    fn files<'a>(&'a self, program: &'a Path) -> Vec<&'a Path> {
        let Values { params, input, inputs, .. } = self;
        let named = input.iter().filter_map(|text| bind::file_of(text));
        params.iter().chain(inputs).map(PathBuf::as_path).chain([program]).chain(named).collect()
    }

    fn requests(&self) -> Requests {
        Requests {
            params: self.params.clone(),
            inputs: self.input.clone(),
            inputs_file: self.inputs.clone(),
            fill: self.fill.clone(),
            ..Requests::default()
        }
    }
}

/// The file that `-o` names, if it names one: `-` is standard output.
fn to_file(output: &Option<PathBuf>) -> Option<&Path> {
    output.as_deref().filter(|path| !sys::is_standard(path))
}

/// The extensions of files of named tensors, for helps.
fn named_tensors() -> String {
    join_words(&TensorFormat::extensions(), "or")
}

/// The help of `--params`.
fn weight_files(what: &str) -> String {
    format!("{what}: {}. May be repeated; the last file with a name wins", named_tensors())
}

/// Which parameters become inputs of what is written.
#[derive(clap::Args)]
pub(crate) struct Inputs {
    /// The parameters that become inputs: any other without a value is an error.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', conflicts_with = "weights_as_inputs")]
    inputs_only: Option<Vec<String>>,
    /// Make inputs of all parameters without values, also of those that are weights.
    #[arg(long)]
    weights_as_inputs: bool,
}

impl Inputs {
    fn meant(&self) -> driver::inputs::Inputs {
        match &self.inputs_only {
            Some(names) => driver::inputs::Inputs::Only(names.clone()),
            None if self.weights_as_inputs => driver::inputs::Inputs::All,
            None => driver::inputs::Inputs::Plain,
        }
    }
}

/// Sizes for dynamic dimensions.
#[derive(clap::Args)]
pub(crate) struct Setting {
    /// The size of a dynamic dimension, which makes the program static: parameter, axis, number; or the name of a size and its number.
    #[arg(long, value_name = "NAME.AXIS=N|SIZE=N")]
    set: Vec<String>,
    /// The function whose parameters `--set` refers to.
    #[arg(long, value_name = "NAME", default_value = "main", requires = "set")]
    entry: String,
}

impl Setting {
    fn how(&self, reading: &Reading) -> ReadOptions {
        reading.how(&self.entry, &self.set)
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum MessageFormat {
    Human,
    Plain,
    Short,
    Json,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
enum Command {
    Check(check::Args),
    Print(print::Args),
    Fmt(fmt::Args),
    Run(Box<run::Args>),
    Model(model::Args),
    Import(import::Args),
    Export(export::Args),
    Inspect(inspect::Args),
    Ops(ops::Args),
    Opt(Box<opt::Args>),
    Params(Box<params::Args>),
    Diff(diff::Args),
    Quantize(Box<quantize::Args>),
    #[cfg(feature = "jit")]
    Build(Box<build::Args>),
    #[cfg(feature = "jit")]
    Bench(Box<bench::Args>),
    #[cfg(feature = "jit")]
    Profile(Box<profile::Args>),
    #[cfg(feature = "jit")]
    Tune(Box<tune::Args>),
    #[cfg(feature = "jit")]
    Cache(cache::Args),
    Reduce(Box<reduce::Args>),
    Passes(passes::Args),
    Explain(explain::Args),
    #[cfg(feature = "jit")]
    Doctor(doctor::Args),
    Completions(completions::Args),
    Man(man::Args),
    Test(test::Args),
    Lsp(lsp::Args),
    Viz(Box<viz::Args>),
    Watch(watch::Args),
}

/// The commands by what they are for, in the order of the help.
const GROUPS: &[(&str, &[&str])] = &[
    ("Write programs", &["check", "fmt", "print", "test", "watch", "lsp"]),
    ("Run them", &["run", "build", "inspect", "bench", "profile", "tune", "cache"]),
    ("Change them", &["opt", "quantize", "reduce", "diff", "viz"]),
    ("Exchange models and weights", &["import", "export", "params", "model"]),
    ("Find out", &["explain", "ops", "passes", "doctor", "completions", "man", "help"]),
];

/// The command line with its commands in groups, which clap does not know.
fn grouped() -> clap::Command {
    let mut command = Args::command();
    command.build();
    let mut text = String::from("Commands:\n");
    for (title, names) in GROUPS {
        text.push_str(&format!("  {title}:\n"));
        for subcommand in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("    {:12} {about}\n", subcommand.get_name()));
        }
    }
    let template = format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}\nOptions:\n{{options}}{{after-help}}");
    // A negative number is no flag: whoever takes the value says what is wrong with it.
    let signed = |arg: clap::Arg| {
        let takes_value = arg.get_long().is_some() && arg.get_action().takes_values();
        if takes_value { arg.allow_negative_numbers(true) } else { arg }
    };
    let command =
        Args::command().mut_subcommands(|command| command.mut_args(signed).mut_subcommands(|inner| inner.mut_args(signed)));
    command.help_template(template).after_help(FIRST_STEPS)
}

/// What to begin with.
const FIRST_STEPS: &str = "To begin with:
  relayc model mlp -o mlp.relay --params mlp.params     a network and its weights
  relayc check mlp.relay                                what is wrong with a program
  relayc run mlp.relay --params mlp.params --fill rand  what it computes
  relayc opt mlp.relay                                  what becomes of it
  relayc help run                                       all about a command";

/// Parses a time in seconds. Errors: why it is invalid, in words.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok();
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| "expected a number of seconds, 0 or more".into())
}

/// Parses a tolerance, with which everything is finite.
fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected a number, 0 or more".to_owned())
}

/// Parses a size: `512M`, `2G`, `1000000`.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| "expected a number, perhaps with K, M or G behind it".to_owned())?;
    number.checked_shl(shift).filter(|bytes| bytes >> shift == number).ok_or_else(|| "too many bytes".to_owned())
}

/// The outputs of a subcommand, in the requested format.
pub(crate) struct Console {
    format: Format,
    color: bool,
    pub quiet: bool,
    pub verbose: bool,
}

impl Console {
    fn new(global: &Global) -> Console {
        let terminal = std::io::stderr().is_terminal();
        let format = match global.message_format {
            Some(MessageFormat::Human) => Format::Human,
            Some(MessageFormat::Plain) => Format::Plain,
            Some(MessageFormat::Short) => Format::Short,
            Some(MessageFormat::Json) => Format::Json,
            None if terminal || global.color == When::Always => Format::Human,
            None => Format::Plain,
        };
        let color = match global.color {
            When::Always => true,
            When::Never => false,
            When::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        };
        Console { format, color, quiet: global.quiet, verbose: global.verbose }
    }

    /// Whether messages are JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Prints diagnostics; with `-q` errors only.
    pub(crate) fn diagnostics(&self, diagnostics: &[Diagnostic], sources: &Sources) {
        let shown: Vec<Diagnostic> = diagnostics.iter().filter(|d| d.is_error() || !self.quiet).cloned().collect();
        self.words(&render::render(&shown, sources, self.format, self.color));
    }

    /// Writes data to standard output; returns the exit code.
    pub(crate) fn data(&self, text: &str) -> u8 {
        match sys::stdout(text) {
            Ok(()) => exit::FINE,
            Err(wrong) => self.files(&[wrong], &Sources::default()),
        }
    }

    /// Prints diagnostics of input files; returns the exit code.
    pub(crate) fn files(&self, diagnostics: &[Diagnostic], sources: &Sources) -> u8 {
        self.diagnostics(diagnostics, sources);
        exit::of_files(diagnostics)
    }

    /// Reports wrong usage; returns the exit code.
    pub(crate) fn usage(&self, wrong: impl std::fmt::Display) -> u8 {
        self.wrong_usage(Diagnostic::new(codes::E0748, wrong.to_string()))
    }

    /// As [`Console::usage`], with what to write instead.
    pub(crate) fn usage_with_help(&self, wrong: impl std::fmt::Display, help: impl std::fmt::Display) -> u8 {
        self.wrong_usage(Diagnostic::new(codes::E0748, wrong.to_string()).help(help.to_string()))
    }

    fn wrong_usage(&self, wrong: Diagnostic) -> u8 {
        if self.is_json() {
            self.diagnostics(&[wrong], &Sources::new());
        } else {
            // It may quote the command line.
            self.words(&format!("error: {}\n", escape_control(&wrong.message)));
            wrong.helps.iter().for_each(|help| self.words(&format!("\nhelp: {}\n", escape_control(&help.text))));
        }
        exit::USAGE
    }

    /// Writes a note about something that is right but may not be meant; programs that read JSON need none.
    pub(crate) fn note(&self, text: impl std::fmt::Display) {
        if !self.quiet && !self.is_json() {
            self.words(&format!("note: {text}\n"));
        }
    }

    /// Warns of what the machine or the environment changes.
    pub(crate) fn changed(&self, text: impl std::fmt::Display) {
        let warning = Diagnostic::new(codes::W0023, text.to_string());
        self.diagnostics(&[Diagnostic { severity: Severity::Warning, ..warning }], &Sources::new());
    }

    /// Reads a list of passes with arguments. Errors: the exit code, after reporting what is not understood.
    pub(crate) fn steps(&self, text: &str) -> Result<Vec<Step>, u8> {
        Step::parse_list(text).map_err(|wrong| self.files(&[*wrong], &Sources::default()))
    }

    /// Reads and checks a program. The exit code on errors, after reporting them.
    pub(crate) fn checked(&self, file: &Path, until: Phase, how: &ReadOptions) -> Result<Program, u8> {
        let program = driver::check_file(file, until, how);
        self.diagnostics(&program.diagnostics, &program.sources);
        if program.has_errors() { Err(exit::of(&program.diagnostics)) } else { Ok(program) }
    }

    /// The files that these paths name: those below a folder, and those that fit a pattern such as `nets/**/*.relay`, sorted. A folder or
    /// a pattern without programs is reported as E0701, which `code` then is.
    pub(crate) fn programs(&self, paths: &[PathBuf], code: &mut u8) -> Vec<PathBuf> {
        let mut programs = vec![];
        for path in paths {
            let found = driver::programs::of(path).unwrap_or_else(|| vec![path.clone()]);
            if found.is_empty() {
                let error = Diagnostic::new(codes::E0701, format!("there is no program in `{}`", path.display()))
                    .help("programs have names that end in `.relay`");
                *code = (*code).max(self.files(&[error], &Sources::new()));
            }
            programs.extend(found);
        }
        programs
    }

    /// Warns about parameters of an archive's program that stay inputs, because their weights are missing.
    pub(crate) fn lacking(&self, program: &Program, entry: &str, params: &[PathBuf]) {
        self.diagnostics(driver::left_open(program, entry, params).as_slice(), &program.sources);
    }

    /// Checks that no weight of a program becomes an input unless that is meant. The exit code on failure, after reporting it.
    pub(crate) fn inputs(&self, program: &Program, entry: &str, params: &[PathBuf], inputs: &Inputs) -> Result<(), u8> {
        let checked = driver::inputs::check(program, entry, params, &inputs.meant());
        let warning = checked.map_err(|wrong| self.files(&wrong, &program.sources))?;
        self.diagnostics(warning.as_slice(), &program.sources);
        Ok(())
    }

    /// Reports a fix by `--fix`.
    pub(crate) fn fixed(&self, diagnostic: &Diagnostic, sources: &Sources) {
        if !self.quiet {
            self.words(&render::fixed(diagnostic, sources, self.format));
        }
    }

    /// Writes the closing line.
    pub(crate) fn summary(&self, diagnostics: &[Diagnostic], what: &str) {
        if !self.quiet {
            self.words(&render::summary(diagnostics, what, self.format));
        }
    }

    /// Writes text to standard error; a write error is ignored.
    pub(crate) fn words(&self, text: &str) {
        words(text);
    }
}

/// As [`Console::words`], without a console.
fn words(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The text of a usage error. clap removes the sign that begins its own colours from what was given, but no other one that could
/// control a terminal.
fn usage_error(error: &clap::Error) -> String {
    let styled = error.render();
    let is_coloured = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let text = of_numbers(if is_coloured { styled.ansi().to_string() } else { styled.to_string() });
    text.split('\x1b').map(escape_control).collect::<Vec<_>>().join("\x1b")
}

/// What Rust says of text that is no number of some type, and what is expected.
const OF_NUMBERS: [(&str, &str); 4] = [
    ("invalid digit found in string", "expected a whole number"),
    ("cannot parse integer from empty string", "expected a whole number"),
    ("number too large to fit in target type", "the number is too large"),
    ("number too small to fit in target type", "the number is too small"),
];

/// A usage error in the words of its reader.
fn of_numbers(text: String) -> String {
    OF_NUMBERS.iter().fold(text, |text, (theirs, ours)| text.replace(theirs, ours))
}

/// What other tools call a command.
const ELSEWHERE: [(&str, &str); 22] = [
    ("analyze", "check"),
    ("benchmark", "bench"),
    ("compile", "build"),
    ("convert", "import"),
    ("disassemble", "inspect"),
    ("draw", "viz"),
    ("dump", "print"),
    ("eval", "run"),
    ("exec", "run"),
    ("execute", "run"),
    ("format", "fmt"),
    ("infer", "check"),
    ("lint", "check"),
    ("minimize", "reduce"),
    ("optimise", "opt"),
    ("optimize", "opt"),
    ("pass", "passes"),
    ("plot", "viz"),
    ("show", "print"),
    ("validate", "check"),
    ("verify", "check"),
    ("weights", "params"),
];

/// A usage error with the tips that fit relayc: its values hardly ever begin with a dash, and its commands come before files.
fn with_tips(mut error: clap::Error) -> clap::Error {
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Suggested);
    }
    if let Some(tip) = tip_of_value(&error).or_else(|| tip_of_file(&error)) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return error;
    }
    if let Some(all) = near_options(&error) {
        error.insert(ContextKind::SuggestedArg, ContextValue::Strings(all));
        return error;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let of_cache = error.get(ContextKind::Usage).is_some_and(|usage| usage.to_string().contains(" cache "));
    let tip = match ELSEWHERE.iter().find(|(theirs, _)| theirs == word) {
        _ if of_cache => match ["clean", "delete", "purge", "remove", "rm"].contains(&word.as_str()) {
            true => "`relayc cache clear` does that".to_owned(),
            false => return error,
        },
        Some((_, ours)) => format!("`relayc {ours}` does that"),
        None if Path::new(word).exists() => format!("a command comes first: `relayc check {word}`"),
        None => return error,
    };
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    error
}

/// The options that begin with an unknown one, if there are several: clap names only one.
fn near_options(error: &clap::Error) -> Option<Vec<String>> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return None };
    let begun = word.strip_prefix("--").filter(|begun| error.kind() == ErrorKind::UnknownArgument && !begun.is_empty())?;
    let mut command = grouped();
    for arg in std::env::args_os().skip(1) {
        let Some(inner) = arg.to_str().and_then(|arg| command.find_subcommand(arg)) else { continue };
        command = inner.clone();
    }
    let longs = command.get_opts().filter_map(|option| option.get_long());
    let near: Vec<String> = longs.filter(|long| long.starts_with(begun)).map(|long| format!("--{long}")).collect();
    (near.len() > 1).then_some(near)
}

/// What a value of another tool is here.
fn tip_of_value(error: &clap::Error) -> Option<String> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (flag, value) = (context(ContextKind::InvalidArg)?, context(ContextKind::InvalidValue)?);
    flag.starts_with("--target").then(|| Target::elsewhere(value)).flatten().map(str::to_owned)
}

/// The option that takes a file which stands behind those that a command has.
fn tip_of_file(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(file)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument || file.starts_with('-') {
        return None;
    }
    let usage = error.get(ContextKind::Usage)?.to_string();
    let runs = ["run", "bench", "profile", "tune"].iter().any(|command| usage.contains(&format!(" {command} ")));
    let ending = Path::new(file).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "npy" | "png" | "jpg" | "jpeg" if runs => Some(format!("an input is given by its name: `-i NAME=@{file}`")),
        "npz" | "params" | "safetensors" if runs => Some(format!("weights are given with `--params {file}`")),
        _ if usage.contains("--output") => Some(format!("a file is written with `-o {file}`")),
        _ => None,
    }
}

/// Whether the command line asks for JSON, also where it is not understood.
fn asks_for_json() -> bool {
    const FLAG: &str = "--message-format";
    let mut args = std::env::args_os().skip(1).take_while(|arg| arg != "--");
    let mut format = None;
    while let Some(arg) = args.next() {
        match arg.to_str().and_then(|arg| arg.strip_prefix(FLAG)) {
            Some("") => format = args.next(),
            Some(value) => format = value.strip_prefix('=').map(Into::into).or(format),
            None => {}
        }
    }
    format.is_some_and(|format| format == "json")
}

/// A usage error as a diagnostic: clap writes paragraphs, first what is wrong, then tips and the usage.
fn usage_diagnostic(error: &clap::Error) -> Diagnostic {
    let text = of_numbers(error.render().to_string());
    let mut paragraphs = text.split("\n\n").map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    let message = paragraphs.next().unwrap_or_default();
    let diagnostic = Diagnostic::new(codes::E0748, message.strip_prefix("error: ").unwrap_or(&message));
    paragraphs.fold(diagnostic, |diagnostic, paragraph| match paragraph.split_once(": ") {
        Some(("tip", tip)) => diagnostic.help(tip),
        Some(("Usage", usage)) => diagnostic.note(format!("usage: {usage}")),
        _ => diagnostic,
    })
}

/// Runs the command line.
pub(crate) fn main() -> ExitCode {
    sys::own_process();
    let parsed = grouped().try_get_matches().and_then(|matches| Args::from_arg_matches(&matches));
    let args = match parsed {
        Ok(args) => args,
        Err(error) if error.use_stderr() => {
            let error = with_tips(error);
            if asks_for_json() {
                words(&render::render(&[usage_diagnostic(&error)], &Sources::new(), Format::Json, false));
            } else {
                words(&usage_error(&error));
            }
            return ExitCode::from(exit::USAGE);
        }
        // Help and version go to standard output.
        Err(data) => {
            return ExitCode::from(match sys::stdout_with(|| data.print()) {
                Ok(()) => exit::of_end(exit::FINE),
                Err(wrong) => {
                    words(&render::render(&[wrong], &Sources::new(), Format::Plain, false));
                    exit::USAGE
                }
            });
        }
    };
    let console = Console::new(&args.global);
    if !console.quiet && !console.is_json() {
        sys::when_waiting(|awaited| match awaited {
            Awaited::Pipe(path) => {
                words(&format!("waiting until somebody writes to `{}`\n", escape_control(&path.display().to_string())))
            }
            Awaited::Command(program) => {
                words(&format!("waiting until `{}` ends; `--timeout` sets a limit\n", escape_control(program)))
            }
        });
    }
    let format = if console.is_json() { Format::Json } else { Format::Plain };
    std::panic::set_hook(Box::new(move |info| report_bug(info, format)));
    // A bug must not look like the program's mistake: a panic ends here, with its own code and exit.
    let run = std::panic::AssertUnwindSafe(|| match args.command {
        Command::Check(args) => check::run(&console, &args),
        Command::Print(args) => print::run(&console, &args),
        Command::Fmt(args) => fmt::run(&console, &args),
        Command::Run(args) => run::run(&console, &args).unwrap_or_else(|code| code),
        Command::Model(args) => model::run(&console, &args),
        Command::Import(args) => import::run(&console, &args),
        Command::Export(args) => export::run(&console, &args).unwrap_or_else(|code| code),
        Command::Inspect(args) => inspect::run(&console, &args),
        Command::Ops(args) => ops::run(&console, &args),
        Command::Opt(args) => opt::run(&console, &args).unwrap_or_else(|code| code),
        Command::Params(args) => params::run(&console, &args),
        Command::Diff(args) => diff::run(&console, &args),
        Command::Quantize(args) => quantize::run(&console, &args),
        #[cfg(feature = "jit")]
        Command::Build(args) => build::run(&console, &args).unwrap_or_else(|code| code),
        #[cfg(feature = "jit")]
        Command::Bench(args) => bench::run(&console, &args),
        #[cfg(feature = "jit")]
        Command::Profile(args) => profile::run(&console, &args),
        #[cfg(feature = "jit")]
        Command::Tune(args) => tune::run(&console, &args).unwrap_or_else(|code| code),
        #[cfg(feature = "jit")]
        Command::Cache(args) => cache::run(&console, &args),
        Command::Reduce(args) => reduce::run(&console, &args).unwrap_or_else(|code| code),
        Command::Passes(args) => passes::run(&console, &args),
        Command::Explain(args) => explain::run(&console, &args),
        #[cfg(feature = "jit")]
        Command::Doctor(args) => doctor::run(&console, &args),
        Command::Completions(args) => completions::run(&console, &args),
        Command::Man(args) => man::run(&console, &args),
        Command::Test(args) => test::run(&console, &args),
        Command::Lsp(args) => lsp::run(&console, &args),
        Command::Viz(args) => viz::run(&console, &args),
        Command::Watch(args) => watch::run(&console, &args),
    });
    ExitCode::from(exit::of_end(std::panic::catch_unwind(run).unwrap_or(exit::BUG)))
}

/// Refuses an artifact: only a build with the feature `jit` runs or inspects its machine code.
#[cfg(not(feature = "jit"))]
fn no_artifacts(file: &std::path::Path) -> Diagnostic {
    let message = format!("`{}`: artifacts are read by builds of relayc with the feature `jit`", file.display());
    Diagnostic::new(codes::E0713, message).help("build relayc with its default features")
}

fn report_bug(info: &std::panic::PanicHookInfo<'_>, format: Format) {
    if is_contained() {
        return;
    }
    let place = info.location().map_or(String::new(), |at| format!(" at {}:{}", at.file(), at.line()));
    let what = info.payload_as_str().unwrap_or("no message");
    let diagnostic = Diagnostic::new(codes::E0901, format!("relayc panicked{place}: {what}"))
        .note("this is a bug in relayc, not in your program")
        .help("please report it with the command line and the input; `relayc --version` names the version");
    words(&render::render(&[diagnostic], &Sources::new(), format, false));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_help_has_all_commands() {
        let mut command = Args::command();
        command.build();
        let commands: BTreeSet<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let shown: BTreeSet<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        if cfg!(feature = "jit") {
            assert_eq!(commands, shown);
        } else {
            assert!(commands.is_subset(&shown), "{commands:?}");
        }
    }

    #[test]
    fn the_readme_names_all_commands() {
        let readme = include_str!("../../README.md");
        let names = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).filter(|name| *name != "help");
        let missing: Vec<&str> = names.filter(|name| !readme.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "README.md lacks {missing:?}");
    }
}
