//! Commands: running the tests of a text, its profile, what passes make of it, its picture, and pages of codes.
//!
//! What takes long is [`Work`], which [`perform`] does in a process of its own (`jobs.rs`); [`finished`] turns what it found, in bytes and
//! lines, into the places of the protocol. Each command takes one object, [`Args`]. A profile takes machine code, which this crate does not
//! know: it is what `relayc profile` says.

use crate::text::Text;
use lsp_types::{Position, Range, TextDocumentIdentifier, Uri};
use relayc_base::diag::{self, Code};
use relayc_base::text::duration;
use relayc_driver::example::{self, Example, Runner};
use relayc_driver::optimise::{self, Arg, PassPlan, PassPrinting, Step, Target};
use relayc_driver::viz::{self, Form, Part};
use relayc_driver::{Phase, Program, check_text, show};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The commands of the server.
pub(crate) const NAMES: [&str; 6] = [RUN, PROFILE, "relayc.pass", "relayc.picture", "relayc.passes", "relayc.explain"];

/// The command that runs tests, which lenses name.
pub(super) const RUN: &str = "relayc.run";

/// The command that measures a program.
pub(super) const PROFILE: &str = "relayc.profile";

/// What commands take; each says what it needs of this.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Args {
    pub(crate) text_document: Option<TextDocumentIdentifier>,
    /// Of `relayc.run`: the lines of the tests, from 0; all without it.
    pub(super) lines: Option<Vec<u32>>,
    /// Of `relayc.profile`: what `relayc profile --json` has written; measured now without it.
    profile: Option<Value>,
    /// Of `relayc.pass`: a level `-O2`, or passes as `relayc opt --passes` takes them.
    passes: Option<String>,
    /// Of `relayc.pass` and `relayc.picture`: a function, without its `@`, rather than the whole text.
    function: Option<String>,
    /// Of `relayc.picture`: `html`, or `svg`, which it is by default.
    format: Option<String>,
    /// Of `relayc.explain`.
    code: Option<String>,
}

/// Work on a text.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Work {
    what: What,
    /// The name of the text in messages.
    name: String,
    /// Where the files lie that its tests name.
    folder: PathBuf,
    text: String,
    args: Args,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum What {
    Run,
    Profile,
    Pass,
    Picture,
}

/// A command, read: what it is about, or its answer where that takes no time.
pub(crate) enum Command {
    Answered(Value),
    Work(What, Args),
}

/// The outcome of a test.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Its line, from 0.
    pub(crate) line: u32,
    call: String,
    pub(crate) holds: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

/// What the operators that begin in a line take of the time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Heat {
    /// Its line, from 0.
    pub(crate) line: u32,
    ms: f64,
    /// Of the time of the whole program.
    share: f64,
    /// Each group of operators, in words.
    pub(crate) groups: Vec<String>,
}

impl Heat {
    /// What is shown at the line.
    pub(crate) fn label(&self) -> String {
        format!("{:.1} %, {}", 100.0 * self.share, duration(self.ms))
    }
}

/// Reads a command. Errors: what is wrong with it, in words.
pub(crate) fn read(name: &str, arguments: Vec<Value>) -> Result<Command, String> {
    let args = arguments.into_iter().next().unwrap_or_else(|| json!({}));
    let args: Args = serde_json::from_value(args).map_err(|error| format!("`{name}`: {error}"))?;
    Ok(match name {
        RUN => Command::Work(What::Run, args),
        PROFILE => Command::Work(What::Profile, args),
        "relayc.pass" => Command::Work(What::Pass, args),
        "relayc.picture" => Command::Work(What::Picture, args),
        "relayc.passes" => {
            let passes: Vec<Value> = optimise::all().into_iter().map(optimise::object).collect();
            Command::Answered(json!({ "passes": passes }))
        }
        "relayc.explain" => {
            let wanted = args.code.unwrap_or_default();
            let code = Code::find(&wanted).ok_or_else(|| format!("there is no code `{wanted}`"))?;
            Command::Answered(json!({ "code": code.id(), "page": code.page() }))
        }
        _ => return Err(format!("there is no command `{name}`")),
    })
}

impl Work {
    pub(crate) fn new(what: What, args: Args, uri: &Uri, text: &Text) -> Work {
        let path = uri.path().as_estr().decode().into_string_lossy().into_owned();
        let folder = PathBuf::from(path).parent().map(PathBuf::from).unwrap_or_default();
        Work { what, name: super::name(uri), folder, text: text.text.to_string(), args }
    }

    /// What it does, for people.
    pub(crate) fn title(&self) -> String {
        let what = match self.what {
            What::Run => "Running the tests of",
            What::Profile => "Profiling",
            What::Pass => "Running passes on",
            What::Picture => "Drawing",
        };
        format!("{what} {}", self.name)
    }

    pub(crate) fn what(&self) -> What {
        self.what
    }

    /// What is found where nothing has to be run for it.
    pub(crate) fn given(&self) -> Option<&Value> {
        self.args.profile.as_ref().filter(|_| self.what == What::Profile)
    }

    /// How this program is started to do the work, and what it reads.
    pub(crate) fn process(&self) -> serde_json::Result<(&'static [&'static str], Vec<u8>)> {
        match self.what {
            What::Profile => {
                let args = &["profile", "-", "--json", "--fill", "rand:seed=1", "--message-format", "short", "--color", "never"];
                Ok((args, self.text.clone().into_bytes()))
            }
            What::Run | What::Pass | What::Picture => Ok((&["lsp", "--job"], serde_json::to_vec(self)?)),
        }
    }
}

/// The profile in what `relayc profile` has written. Errors: its first words.
pub(crate) fn profile(output: &[u8]) -> Result<Value, String> {
    let output = String::from_utf8_lossy(output);
    let profile = output.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
    profile.filter(|profile| profile.get("groups").is_some()).ok_or_else(|| {
        let error = output.lines().find(|line| line.contains("error")).or(output.lines().next());
        error.unwrap_or("the profile ended early").to_owned()
    })
}

/// Does the work, in a process that does nothing else. Errors: why it cannot be done, in words.
pub(crate) fn perform(work: &Work) -> Result<Value, String> {
    let as_json = |value: Vec<Outcome>| serde_json::to_value(value).map_err(|error| error.to_string());
    match work.what {
        What::Run => run(work).and_then(as_json),
        What::Profile => Err("a profile is no job".to_owned()),
        What::Pass => pass(work),
        What::Picture => picture(work),
    }
}

fn without_errors(program: &Program) -> Result<(), String> {
    if !program.has_errors() {
        return Ok(());
    }
    let errors: Vec<&diag::Diagnostic> = program.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
    let line = |diagnostic: &&diag::Diagnostic| {
        let line = program.sources.line_col(diagnostic.span()).map_or(String::new(), |(line, _)| format!(", line {line}"));
        format!("{}: {}{line}", diagnostic.code.id(), diagnostic.message)
    };
    const SHOWN: usize = 5;
    let mut lines: Vec<String> = errors.iter().take(SHOWN).map(line).collect();
    if errors.len() > SHOWN {
        lines.push(format!("and {} more", errors.len() - SHOWN));
    }
    Err(lines.join("\n"))
}

fn run(work: &Work) -> Result<Vec<Outcome>, String> {
    let program = check_text(&work.name, &work.text, Phase::Infer);
    without_errors(&program)?;
    let runner = Runner::new(&program, &work.folder);
    let tests = example::lines(&work.text, example::RUN).into_iter();
    let tests = tests.map(|(line, call)| (line as u32 - 1, call));
    let wanted = |line: &u32| work.args.lines.as_ref().is_none_or(|lines| lines.contains(line));
    let outcome = |(line, call): (u32, String)| {
        let message = Example::parse(&call).and_then(|example| runner.check(&example)).err();
        Outcome { line, call, holds: message.is_none(), message }
    };
    Ok(tests.filter(|(line, _)| wanted(line)).map(outcome).collect())
}

fn pass(work: &Work) -> Result<Value, String> {
    let asked = work.args.passes.as_deref().unwrap_or("-O3");
    let mut plan = match asked.strip_prefix("-O") {
        Some(level) => {
            let level = level.parse().ok().filter(|&level| level <= optimise::MAX_LEVEL);
            PassPlan::level(level.ok_or_else(|| format!("there is no level `{asked}`"))?, Target::V3)
        }
        None => PassPlan::requested(Step::parse_list(asked).map_err(|wrong| wrong.message)?, Target::V3),
    };
    let mut program = check_text(&work.name, &work.text, optimise::UNTIL);
    without_errors(&program)?;
    if let Some(name) = &work.args.function {
        // What the function does not reach is left out.
        let entries = vec![("entries".to_owned(), Arg::List(vec![Arg::Word(name.clone())]))];
        plan.passes.insert(0, Step::new("remove-unused-functions", entries).map_err(|wrong| wrong.message)?);
        plan.entry = Some(name.clone());
    }
    let dim_names = show::names_sizes(&program.module);
    // An editor shows types as it does those of any text.
    let options = show::Options { types: false, meta: false, exact: false, dim_names };
    let text = optimise::text(&mut program, &plan, &PassPrinting::default(), options, None).map_err(|wrong| wrong.message)?;
    Ok(json!({ "text": text }))
}

fn picture(work: &Work) -> Result<Value, String> {
    let mut program = check_text(&work.name, &work.text, Phase::Main);
    viz::soften(&mut program);
    without_errors(&program)?;
    let part = Part { function: work.args.function.clone(), depth: viz::DEPTH, ..Part::default() };
    let graph = viz::graph(&program, &part).map_err(|wrong| wrong.message)?;
    let form = match work.args.format.as_deref() {
        Some("html") => Form::Html { title: work.name.clone(), heat: None, memory: None },
        _ => Form::Svg,
    };
    let is_page = matches!(form, Form::Html { .. });
    let page = viz::text(&graph, &program.sources, form);
    let spans = graph.nodes.iter().map(|node| (!node.span.is_none()).then_some([node.span.start, node.span.end]));
    let spans: Vec<Option<[u32; 2]>> = if is_page { spans.collect() } else { vec![] };
    Ok(json!({ if is_page { "html" } else { "svg" }: page, "nodes": spans }))
}

/// The answer to the client about work that was done: lines and bytes as ranges of the text.
pub(crate) fn finished(work: &Work, text: &Text, mut found: Value) -> Value {
    match work.what {
        What::Run => {
            let outcomes = outcomes(&found);
            let result = |outcome: &Outcome| {
                let mut result = serde_json::to_value(outcome).unwrap_or_default();
                result["range"] = json!(line(text, outcome.line));
                result
            };
            json!({ "results": outcomes.iter().map(result).collect::<Vec<_>>() })
        }
        What::Profile => {
            let heat = heat(&found);
            let line = |heat: &Heat| {
                let mut shown = json!(heat);
                (shown["label"], shown["range"]) = (json!(heat.label()), json!(line(text, heat.line)));
                shown
            };
            json!({ "lines": heat.iter().map(line).collect::<Vec<_>>() })
        }
        What::Picture => {
            for node in found.get_mut("nodes").and_then(Value::as_array_mut).into_iter().flatten() {
                if let Ok([start, end]) = serde_json::from_value::<[u32; 2]>(node.clone()) {
                    *node = json!(Range { start: text.position(start), end: text.position(end) });
                }
            }
            found
        }
        What::Pass => found,
    }
}

/// The outcomes that a run has found.
pub(crate) fn outcomes(found: &Value) -> Vec<Outcome> {
    serde_json::from_value(found.clone()).unwrap_or_default()
}

/// What lines take in a profile, `relayc.profile/2`. What has no place in the text has no line.
pub(crate) fn heat(profile: &Value) -> Vec<Heat> {
    let mut lines: BTreeMap<u32, Heat> = BTreeMap::new();
    for group in profile.get("groups").and_then(Value::as_array).into_iter().flatten() {
        let number = |key: &str| group.get(key).and_then(Value::as_f64).unwrap_or(0.0);
        let word = |key: &str| group.get(key).and_then(Value::as_str).unwrap_or("");
        let line = group.get("line").and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok()?.checked_sub(1));
        let Some(line) = line else { continue };
        let heat = lines.entry(line).or_insert(Heat { line, ms: 0.0, share: 0.0, groups: vec![] });
        heat.ms += number("ms");
        heat.share += number("share");
        let operators = group.get("operators").and_then(Value::as_array).into_iter().flatten();
        let operators: Vec<&str> = operators.filter_map(Value::as_str).collect();
        let (of, limit) = match word("bound") {
            "compute" => (number("of_peak"), "the peak"),
            _ => (number("of_bandwidth"), "the bandwidth"),
        };
        let (operators, time) = (operators.join(" + "), duration(number("ms")));
        heat.groups.push(format!("{operators}: {time}, {:.0} % of {limit}; {}", 100.0 * of, word("kernel")));
    }
    lines.into_values().collect()
}

/// A whole line, without its end.
pub(super) fn line(text: &Text, line: u32) -> Range {
    let start = Position { line, character: 0 };
    // A column past the end is the end.
    let end = text.position(text.offset(Position { line, character: u32::MAX }));
    Range { start, end }
}
