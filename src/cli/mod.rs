//! The command line: one file a subcommand. Parses arguments, calls `driver`, prints.
//!
//! Data goes to standard output, words to standard error. The exit codes are those of `exit.rs`.

mod bench;
mod build;
mod check;
mod compiled;
mod completions;
mod deadline;
mod diff;
mod doctor;
mod exit;
mod explain;
mod export;
mod fmt;
mod import;
mod inspect;
mod model;
mod ops;
mod opt;
mod params;
mod passes;
mod print;
mod profile;
mod progress;
mod reduce;
mod run;
mod test;
mod viz;

use crate::base::Sources;
use crate::diag::render::{self, Format};
use crate::diag::{Diagnostic, codes};
use crate::driver::{Dialect, How};
use crate::sys;
use clap::{Parser, Subcommand, ValueEnum};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

/// A toolchain for the Relay text language.
#[derive(Parser)]
#[command(name = "relayc", version, about, disable_help_subcommand = true)]
struct Args {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Flags every subcommand takes.
#[derive(clap::Args)]
pub(crate) struct Global {
    /// How messages look: `human` on a terminal, else `plain`.
    #[arg(long, global = true, value_name = "FORMAT")]
    message_format: Option<MessageFormat>,
    /// Whether messages are coloured; NO_COLOR switches it off too.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: When,
    /// Say errors only.
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Say more.
    #[arg(short, long, global = true)]
    verbose: bool,
}

/// How a program's text is read; every subcommand that reads one takes it.
#[derive(clap::Args)]
pub(crate) struct Reading {
    /// Read the text as the TVM before 0.9 that printed it meant it: bare numbers are of the type in the comment behind them.
    #[arg(long)]
    compat: bool,
}

impl Reading {
    fn dialect(&self) -> Dialect {
        if self.compat { Dialect::Old } else { Dialect::Today }
    }
}

/// Numbers for dimensions that a program leaves open.
#[derive(clap::Args)]
pub(crate) struct Setting {
    /// The number of a `?` dimension, which makes the program a static one: parameter, axis, number.
    #[arg(long, value_name = "NAME.AXIS=N")]
    set: Vec<String>,
    /// The function whose parameters `--set` is about.
    #[arg(long, value_name = "NAME", default_value = "main", requires = "set")]
    entry: String,
}

impl Setting {
    fn how(&self, reading: &Reading) -> How {
        How { set: self.set.clone(), entry: self.entry.clone(), ..How::of(reading.dialect()) }
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
    Build(Box<build::Args>),
    Bench(Box<bench::Args>),
    Profile(Box<profile::Args>),
    Reduce(Box<reduce::Args>),
    Passes(passes::Args),
    Explain(explain::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
    Test(test::Args),
    Viz(Box<viz::Args>),
}

/// A time of the command line. Errors: what is none, in words.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok();
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| "expected a number of seconds, 0 or more".into())
}

/// What a subcommand writes to, in the format asked for.
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
            None if terminal => Format::Human,
            None => Format::Plain,
        };
        let color = match global.color {
            When::Always => true,
            When::Never => false,
            When::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        };
        Console { format, color, quiet: global.quiet, verbose: global.verbose }
    }

    /// Whether messages are for programs.
    pub fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Writes diagnostics; warnings only unless `-q`.
    pub fn diagnostics(&self, diagnostics: &[Diagnostic], sources: &Sources) {
        let shown: Vec<Diagnostic> = diagnostics.iter().filter(|d| d.is_error() || !self.quiet).cloned().collect();
        self.words(&render::render(&shown, sources, self.format, self.color));
    }

    /// Says what is wrong with the files that were read; the exit code.
    pub fn files(&self, diagnostics: &[Diagnostic], sources: &Sources) -> u8 {
        self.diagnostics(diagnostics, sources);
        exit::of_files(diagnostics)
    }

    /// Says what `--fix` did.
    pub fn fixed(&self, diagnostic: &Diagnostic, sources: &Sources) {
        if !self.quiet {
            self.words(&render::fixed(diagnostic, sources, self.format));
        }
    }

    /// Writes the closing line.
    pub fn summary(&self, diagnostics: &[Diagnostic], what: &str) {
        if !self.quiet {
            self.words(&render::summary(diagnostics, what, self.format));
        }
    }

    /// Writes words to standard error; if nobody reads them, nobody misses them.
    pub fn words(&self, text: &str) {
        words(text);
    }
}

/// As [`Console::words`], for who has no console at hand.
fn words(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Runs the command line.
pub fn main() -> ExitCode {
    sys::own_process();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version are no mistakes.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { exit::USAGE } else { exit::FINE });
        }
    };
    let console = Console::new(&args.global);
    std::panic::set_hook(Box::new(report_bug));
    // A bug must not look like the program's mistake: a panic ends here, with its own code and exit.
    let run = std::panic::AssertUnwindSafe(|| match args.command {
        Command::Check(args) => check::run(&console, &args),
        Command::Print(args) => print::run(&console, &args),
        Command::Fmt(args) => fmt::run(&console, &args),
        Command::Run(args) => run::run(&console, &args),
        Command::Model(args) => model::run(&console, &args),
        Command::Import(args) => import::run(&console, &args),
        Command::Export(args) => export::run(&console, &args),
        Command::Inspect(args) => inspect::run(&console, &args),
        Command::Ops(args) => ops::run(&console, &args),
        Command::Opt(args) => opt::run(&console, &args),
        Command::Params(args) => params::run(&console, &args),
        Command::Diff(args) => diff::run(&console, &args),
        Command::Build(args) => build::run(&console, &args),
        Command::Bench(args) => bench::run(&console, &args),
        Command::Profile(args) => profile::run(&console, &args),
        Command::Reduce(args) => reduce::run(&console, &args),
        Command::Passes(args) => passes::run(&console, &args),
        Command::Explain(args) => explain::run(&console, &args),
        Command::Doctor(args) => doctor::run(&console, &args),
        Command::Completions(args) => completions::run(&console, &args),
        Command::Test(args) => test::run(&console, &args),
        Command::Viz(args) => viz::run(&console, &args),
    });
    ExitCode::from(std::panic::catch_unwind(run).unwrap_or(exit::BUG))
}

fn report_bug(info: &std::panic::PanicHookInfo<'_>) {
    let place = info.location().map_or(String::new(), |at| format!(" at {}:{}", at.file(), at.line()));
    let what = info.payload_as_str().unwrap_or("no message");
    let diagnostic = Diagnostic::new(codes::E0901, format!("relayc panicked{place}: {what}"))
        .note("this is a bug in relayc, not in your program")
        .help("please report it with the command line and the input; `relayc --version` names the version");
    eprint!("{}", render::render(&[diagnostic], &Sources::new(), Format::Plain, false));
}
