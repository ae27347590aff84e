//! `relayc reduce`: finds the smallest program with which a command still succeeds.

use super::{Console, Reading, Values, exit, seconds, to_file};
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::{count, shortened, thousands};
use relayc_driver::bind::{self, Requests};
use relayc_driver::outputs::Named;
use relayc_driver::reduce::{self, Bounds, Candidate, Counts, Outcome, Property, Size};
use relayc_driver::{Phase, Program, endings, outputs, run};
use relayc_sys as sys;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Make a program smaller while a command still succeeds with it.
///
/// The path of a candidate replaces `{}` in the command, or is appended to it. The command succeeds (exit code 0) if the
/// candidate still shows the problem: `relayc reduce net.relay -o small.relay --exit 1 -- relayc run {} --fill rand:seed=1
/// --engine both` finds operators that are compiled wrongly. With `--params`, `-i`, `--inputs` or `--fill` the parameters have
/// values, and an archive of them replaces `{inputs}`: `relayc run {} --inputs {inputs}`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: Reading,
    /// The program; `-` is standard input.
    file: PathBuf,
    /// The function to make smaller, with the functions that it calls.
    #[arg(long, value_name = "NAME", default_value = "main")]
    entry: String,
    /// The size of a dynamic dimension: parameter, axis, number; or the name of a size and its number. May be repeated.
    #[arg(long, value_name = "NAME.AXIS=N|SIZE=N")]
    set: Vec<String>,
    #[command(flatten)]
    values: Values,
    /// The file for the smallest program so far, with its values beside it as .npz. Without it the smallest program is printed.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The exit code that counts as success.
    #[arg(long, value_name = "N")]
    exit: Option<i32>,
    /// The words on standard error that count as success; the exit code may then be any, unless `--exit` gives it.
    #[arg(long, value_name = "TEXT")]
    stderr: Option<String>,
    /// End a run of the command after this many seconds; such a run has not succeeded.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    timeout: Duration,
    /// Stop after this many runs.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    max_runs: usize,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

/// The placeholders for the path of the candidate and for that of its values.
const PROGRAM: &str = "{}";
const INPUTS: &str = "{inputs}";

/// So many lines of what the command wrote are shown.
const SHOWN: usize = 5;

pub(crate) fn run(console: &Console, args: &Args) -> Result<u8, u8> {
    let program = console.checked(&args.file, Phase::Main, &args.reading.how(&args.entry, &args.set))?;
    let sources = program.sources.clone();
    reduced(console, args, program).map_err(|wrong| console.files(&wrong, &sources))
}

fn reduced(console: &Console, args: &Args, mut program: Program) -> Result<u8, Vec<Diagnostic>> {
    let takes_inputs = args.command.iter().any(|word| word.contains(INPUTS));
    let values = values(args, &mut program, takes_inputs)?;
    if takes_inputs != values.is_some() {
        let words = match takes_inputs {
            true => {
                "the command takes `{inputs}`, and no parameter has a value: `--fill rand:seed=1`, `--params` or `-i` give some"
            }
            false => "the parameters have values, and the command does not take them: write `--inputs {inputs}` in it",
        };
        return Ok(console.usage(words));
    }
    if let Some(output) = to_file(&args.output) {
        let values = values.is_some().then(|| values_path(output));
        if values.as_deref() == Some(output) {
            let shown = output.display();
            let words =
                format_args!("`{shown}` is where the values go: the program needs another name, such as `-o small.relay`");
            return Ok(console.usage(words));
        }
        let written: Vec<&Path> = [output].into_iter().chain(values.as_deref()).collect();
        let free = sys::replaces_none(&written, &args.values.files(&args.file), "the smallest program is made from");
        free.and_then(|()| endings::program(output)).map_err(|error| vec![error])?;
    }
    let mut test = Command::new(console, args).map_err(|error| vec![error])?;
    sys::note_interrupts();
    let bounds = Bounds { max_runs: args.max_runs, timeout: args.timeout };
    let outcome = reduce::reduce(program, &args.entry, values, bounds, &mut test).map_err(|error| vec![error])?;
    finish(console, args, &mut test, &outcome).map_err(|error| vec![error])?;
    Ok(sys::interrupted().unwrap_or(exit::FINE))
}

/// The values of all parameters, if the command line gives any, with the weights that came with the program if the command takes
/// values.
fn values(args: &Args, program: &mut Program, takes_inputs: bool) -> Result<Option<Named>, Vec<Diagnostic>> {
    let Values { params, input, inputs, fill } = &args.values;
    let given = !params.is_empty() || !input.is_empty() || inputs.is_some() || fill.is_some();
    if !given && (program.packed.weights.is_empty() || !takes_inputs) {
        return Ok(None);
    }
    let entry = run::entry(&program.module, &args.entry).map_err(|error| vec![error])?;
    let requests = Requests { packed: std::mem::take(&mut program.packed), ..args.values.requests() };
    let bound = bind::bind(&entry.slots, &program.module.types, &requests)?;
    let named = entry.slots.iter().zip(&bound).flat_map(|(slot, value)| bind::leaves::flatten(&slot.name, value));
    Ok(Some(named.collect()))
}

fn finish(console: &Console, args: &Args, test: &mut Command, outcome: &Outcome) -> Result<(), Diagnostic> {
    let Outcome { smallest, size, counts, done } = outcome;
    match to_file(&args.output) {
        // Nothing may have been smaller.
        Some(path) => write(path, smallest)?,
        None => sys::stdout(&smallest.text)?,
    }
    if !console.quiet {
        let why = match () {
            () if *done => "nothing makes it smaller",
            () if sys::interrupted().is_some() => "interrupted",
            () => "--max-runs",
        };
        console.words(&format!("{}; {why}\n", progress(counts, size)));
    }
    // A command that fails now and then has led the search astray.
    if *done && !console.quiet && !test.holds(smallest)? {
        let ended = test.told().into_iter().next().unwrap_or_default();
        console.words(&format!("the command does not always do the same: run once more on the smallest program, {ended}\n"));
    }
    if let Some(path) = to_file(&args.output).filter(|_| !console.quiet) {
        let words: Vec<String> = test.words(path, &values_path(path)).iter().map(|word| quoted(word)).collect();
        console.words(&format!("to see it again: {}\n", words.join(" ")));
    }
    Ok(())
}

/// The progress line: `12 runs: 4 calls and functions, 3 parameters, 1,204 elements`.
fn progress(counts: &Counts, size: &Size) -> String {
    let elements = match size.elements {
        1 => "1 element".to_owned(),
        n => format!("{} elements", thousands(n)),
    };
    let (work, params) = (count(size.work, "function and call"), count(size.params, "parameter"));
    let work = work.replace("function and calls", "functions and calls");
    format!("{}, {} spared: {work}, {params}, {elements}", count(counts.runs, "run"), thousands(counts.spared as u64))
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

fn values_path(program: &Path) -> PathBuf {
    program.with_extension("npz")
}

/// Writes a program and its values: both or none.
fn write(path: &Path, candidate: &Candidate) -> Result<(), Diagnostic> {
    match &candidate.values {
        Some(named) => outputs::write_tensors(named, &values_path(path), Some((path, &candidate.text))),
        None => sys::write_atomic(&[(path, candidate.text.as_bytes())]),
    }
}

/// The command, as the test of a candidate.
struct Command<'a> {
    console: &'a Console,
    args: &'a Args,
    /// The folder of the candidates; removed with this value.
    folder: tempfile::TempDir,
    /// The end of the last run.
    ended: Option<sys::Ended>,
}

impl<'a> Command<'a> {
    fn new(console: &'a Console, args: &'a Args) -> Result<Command<'a>, Diagnostic> {
        let folder = tempfile::Builder::new().prefix("relayc-reduce-").tempdir().map_err(|error| unwritable(&error))?;
        Ok(Command { console, args, folder, ended: None })
    }

    /// The arguments of the command for a program and its values.
    fn words(&self, program: &Path, values: &Path) -> Vec<String> {
        let (program, values) = (program.display().to_string(), values.display().to_string());
        let command = &self.args.command;
        let word = |word: &String| word.replace(INPUTS, &values).replace(PROGRAM, &program);
        let mut words: Vec<String> = command.iter().map(word).collect();
        if !command.iter().any(|word| word.contains(PROGRAM)) {
            words.push(program);
        }
        words
    }
}

fn unwritable(error: &std::io::Error) -> Diagnostic {
    Diagnostic::new(codes::E0702, format!("a candidate cannot be written to a temporary folder: {}", sys::reason(error)))
}

impl Property for Command<'_> {
    fn holds(&mut self, candidate: &Candidate) -> Result<bool, Diagnostic> {
        let (program, values) = (self.folder.path().join("candidate.relay"), self.folder.path().join("candidate.npz"));
        write(&program, candidate)?;
        let words = self.words(&program, &values);
        let ended = sys::run(&words, Some(self.args.timeout)).map_err(|error| {
            let wrong =
                Diagnostic::new(codes::E0736, format!("`{}` cannot be run: {}", self.args.command[0], sys::reason(&error)));
            match &self.args.command[..] {
                [whole] if whole.contains(' ') => wrong.help(format!("write its words without quotes around them: `-- {whole}`")),
                _ => wrong.help("the command and its arguments stand behind `--`: `relayc reduce net.relay -- ./is_wrong.sh {}`"),
            }
        })?;
        let Args { exit, stderr, .. } = self.args;
        let wanted = exit.or(if stderr.is_none() { Some(0) } else { None });
        let right_code = wanted.is_none_or(|wanted| ended.code == Some(wanted));
        let says = stderr.as_ref().is_none_or(|text| String::from_utf8_lossy(&ended.stderr).contains(text.as_str()));
        let holds = !ended.timed_out && right_code && says;
        self.ended = Some(ended);
        Ok(holds)
    }

    fn told(&self) -> Vec<String> {
        let Some(ended) = &self.ended else { return vec![] };
        let end = match ended.code {
            _ if ended.timed_out => format!("it did not end in {} s", self.args.timeout.as_secs_f64()),
            Some(code) => format!("it ended with exit code {code}"),
            None => "a signal ended it".to_owned(),
        };
        let words = String::from_utf8_lossy(&ended.stderr);
        let lines = words.lines().filter(|line| !line.trim().is_empty()).take(SHOWN);
        std::iter::once(end).chain(lines.map(|line| format!("it wrote: {}", shortened(line, 120)))).collect()
    }

    fn kept(&mut self, candidate: &Candidate, counts: &Counts, size: &Size) -> Result<(), Diagnostic> {
        if !self.console.quiet {
            self.console.words(&format!("{}\n", progress(counts, size)));
        }
        // A stream gets the last one only.
        let file = self.args.output.as_deref().filter(|path| !sys::is_stream(path));
        file.map_or(Ok(()), |path| write(path, candidate))
    }

    fn stopped(&self) -> bool {
        sys::interrupted().is_some()
    }
}
