//! `relayc viz`: draws programs.

use super::{Console, compiled, exit};
use crate::engine::profile_overlay;
use crate::engine::subgraphs::CompileTrigger;
use clap::ValueEnum;
use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_driver::endings;
use relayc_driver::viz::{self, Form, Graph, Memory, Part};
use relayc_driver::{self as driver, Phase, Program};
use relayc_driver::{optimise, run};
use relayc_sys as sys;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Draw a program.
///
/// `relayc viz net.relay` draws it in the terminal, `relayc viz net.relay -o net.html` makes an interactive page.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    program: compiled::Given,
    /// The format; without it what the name of the file says, and `term` on standard output.
    #[arg(short, long, value_enum)]
    format: Option<Format>,
    /// The file to write; standard output without it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draw this function only.
    #[arg(long = "fn", value_name = "@NAME")]
    function: Option<String>,
    /// Draw only the neighbourhood of this node: a variable of the text, an operator.
    #[arg(long, value_name = "%NAME")]
    around: Option<String>,
    /// The radius of the neighbourhood, in edges.
    #[arg(long, value_name = "N", default_value_t = viz::DEPTH, requires = "around")]
    depth: usize,
    /// Draw the changes of these passes: removed and added nodes.
    #[arg(long, value_name = "PASS,…", conflicts_with_all = ["profile", "plan"])]
    passes: Option<String>,
    /// Compile and run it, and colour the nodes by time.
    #[arg(long)]
    profile: bool,
    /// Plan its memory, and show where values are stored; without `--profile`, colour the nodes by size.
    #[arg(long)]
    plan: bool,
    /// Draw weights as nodes too.
    #[arg(long)]
    weights: bool,
    /// Draw every repeated block in full.
    #[arg(long)]
    no_fold: bool,
    /// The number of columns of the drawing; those of the terminal, or 80.
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(viz::WIDTHS))]
    width: Option<u16>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    /// Lines of text.
    Term,
    /// For Graphviz.
    Dot,
    /// A drawing.
    Svg,
    /// A page: zoom, search, fold, and inspect nodes.
    Html,
}

impl Format {
    /// The endings of files.
    const ENDINGS: [(&str, Format); 4] =
        [("txt", Format::Term), ("dot", Format::Dot), ("svg", Format::Svg), ("html", Format::Html)];
}

impl Args {
    /// The format: the chosen one, or else that of the file's name. Errors: E0721.
    fn format(&self) -> Result<Format, Diagnostic> {
        let path = match (self.format, &self.output) {
            (Some(format), _) => return Ok(format),
            (None, None) => return Ok(Format::Term),
            (None, Some(path)) => path,
        };
        let Some(ending) = path.extension() else { return Ok(Format::Term) };
        let found = Format::ENDINGS.iter().find(|(known, _)| ending.eq_ignore_ascii_case(known)).map(|&(_, format)| format);
        found.ok_or_else(|| {
            let endings: Vec<String> = Format::ENDINGS.iter().map(|(ending, _)| format!(".{ending}")).collect();
            endings::unknown(path, "a drawing", &endings).help("or choose the format: `-f svg`")
        })
    }

    /// The width of a drawing on a terminal.
    fn columns(&self) -> usize {
        let least = u16::try_from(*viz::WIDTHS.start()).unwrap_or(0);
        let of_terminal = || sys::terminal_width().map(|columns| columns.max(least));
        self.width.or_else(of_terminal).map_or(viz::WIDTH, usize::from)
    }
}

/// The time of measuring.
const MEASURED: Duration = Duration::from_millis(500);

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    drawn(console, args).unwrap_or_else(|code| code)
}

/// Draws the program; returns the exit code. Errors: the exit code, after reporting the error.
fn drawn(console: &Console, args: &Args) -> Result<u8, u8> {
    let given = &args.program;
    let format = args.format().map_err(|wrong| console.files(&[wrong], &Sources::default()))?;
    let passes = args.passes.as_ref().map(|text| passes_of(console, text)).transpose()?;
    let mut program = driver::check_file(&given.file, Phase::Main, &given.how());
    // What is wrong can be drawn, but neither optimised nor compiled.
    if passes.is_none() && !args.profile && !args.plan {
        viz::soften(&mut program);
    }
    console.diagnostics(&program.diagnostics, &program.sources);
    if program.has_errors() {
        return Err(exit::of(&program.diagnostics));
    }
    // A text without `@main` can be drawn.
    if given.entry != "main"
        && let Err(wrong) = run::entry(&program.module, &given.entry)
    {
        return Err(console.files(&[wrong], &program.sources));
    }
    let read = given.values.files(&given.file);
    let written: Vec<&Path> = args.output.as_deref().into_iter().collect();
    let said = |diagnostic: Diagnostic| console.files(&[diagnostic], &program.sources);
    sys::replaces_none(&written, &read, "the drawing is made from").map_err(said)?;
    let part = Part {
        function: args.function.as_deref().map(|name| name.trim_start_matches('@').to_owned()),
        around: args.around.clone(),
        depth: args.depth,
        weights: args.weights,
        unfolded: args.no_fold,
    };
    let mut graph = match &passes {
        Some(passes) => viz::changes(&program, passes, &part),
        None => viz::graph(&program, &part),
    }
    .map_err(said)?;
    if args.profile {
        times(console, args, &program, &mut graph)?;
    }
    let memory = if args.plan { Some(memory(console, args, &program, &mut graph)?) } else { None };
    let form = match format {
        Format::Term => Form::Term { width: args.columns() },
        Format::Dot => Form::Dot,
        Format::Svg => Form::Svg,
        Format::Html => Form::Html {
            title: given.file.file_name().map_or("-".into(), |name| name.to_string_lossy()).into_owned(),
            heat: if args.profile { Some("time") } else { args.plan.then_some("memory") },
            memory,
        },
    };
    let text = viz::text(&graph, &program.sources, form);
    let written = match &args.output {
        Some(path) => sys::write_atomic(&[(path, text.as_bytes())]),
        None => sys::stdout(&text),
    };
    written.map_err(said)?;
    Ok(exit::FINE)
}

/// The options for these passes. Errors: the exit code, after reporting what is not understood.
fn passes_of(console: &Console, text: &str) -> Result<optimise::PassPlan, u8> {
    // What passes for one machine do to another's program is shown by `relayc opt --target`.
    Ok(optimise::PassPlan::requested(console.steps(text)?, optimise::Target::V3))
}

fn times(console: &Console, args: &Args, program: &Program, graph: &mut Graph) -> Result<(), u8> {
    let settings = args.program.machine(console)?;
    let ready = args.program.compile_checked(console, program.clone(), settings, CompileTrigger::Called)?;
    profile_overlay::times(graph, &ready.prepared, &ready.bound, MEASURED, &ready.sources).map_err(|diagnostic| {
        console.diagnostics(std::slice::from_ref(&*diagnostic), &ready.sources);
        exit::of_run(&[*diagnostic])
    })
}

fn memory(console: &Console, args: &Args, program: &Program, graph: &mut Graph) -> Result<Memory, u8> {
    let planned = args.program.assembled(console, program.clone())?;
    Ok(profile_overlay::memory(graph, &planned.program.module, &planned.all.plan, &planned.program.sources, !args.profile))
}
